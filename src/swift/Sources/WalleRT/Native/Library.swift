import CWalle
import Foundation

/// The version of libwalle, "0.1.0".
public var version: String { text(walle_version()) }

/// Where the library of the VM that runs tasks lies.
enum Library {
    /// Beside libwalle: a file of its folder, or a framework beside libwalle's, as apps of iOS have them.
    static func vm() -> String {
        let walle = pathOfWalle()
        let folder = URL(fileURLWithPath: walle).deletingLastPathComponent()
        guard folder.pathExtension != "framework" else {
            let frameworks = folder.deletingLastPathComponent()
            return frameworks.appendingPathComponent("walle_vm_device.framework/walle_vm_device").path
        }
        #if canImport(Darwin)
            let name = "libwalle_vm_device.dylib"
        #else
            let name = "libwalle_vm_device.so"
        #endif
        return walle.isEmpty ? name : folder.appendingPathComponent(name).path
    }

    private static func pathOfWalle() -> String {
        guard let inside = walle_version() else { return "" }
        #if canImport(Darwin)
            var loaded = Dl_info()
            return dladdr(inside, &loaded) == 0 ? "" : text(loaded.dli_fname)
        #else
            var loaded = walle_loaded_t()
            return walle_loaded(inside, &loaded) == 0 ? "" : text(loaded.file)
        #endif
    }
}
