// The few classes of UIKit that examples/ios uses, so that its sources are compiled here: what they take and
// give, and nothing of what they do.
@_exported import Foundation

@MainActor open class UIResponder: NSObject {}

@MainActor public final class UIApplication: UIResponder {}

@MainActor public protocol UIApplicationDelegate: NSObjectProtocol {
    func applicationDidReceiveMemoryWarning(_ application: UIApplication)
}

@MainActor public final class UIDevice: NSObject {
    public static var current: UIDevice { fatalError("a stand-in") }
    public var model: String { fatalError("a stand-in") }
    public var systemVersion: String { fatalError("a stand-in") }
}
