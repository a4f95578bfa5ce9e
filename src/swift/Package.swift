// swift-tools-version: 6.0
import PackageDescription

// Where the system has no libwalle for pkg-config, as for iOS: an XCFramework, named from this folder.
let framework = Context.environment["WALLE_XCFRAMEWORK"]

let package = Package(
    name: "WalleRT",
    platforms: [.iOS(.v16), .macOS(.v13)],
    products: [.library(name: "WalleRT", targets: ["WalleRT"])],
    targets: [
        framework.map { .binaryTarget(name: "CWalle", path: $0) }
            ?? .systemLibrary(name: "CWalle", path: "Sources/CWalle", pkgConfig: "walle"),
        .target(name: "WalleRT", dependencies: ["CWalle"]),
    ]
)
