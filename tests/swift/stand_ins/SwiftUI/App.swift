// The little of SwiftUI that examples/ios uses: what it takes and gives, and nothing of what it does.
@_exported import UIKit

@MainActor public protocol Scene {}

@MainActor public struct WindowGroup<Content: View>: Scene {
    public init(@ViewBuilder content: () -> Content) { fatalError("a stand-in for \(content())") }
}

@MainActor public protocol App {
    associatedtype Body: Scene
    var body: Body { get }
    init()
}

extension App {
    public static func main() { fatalError("a stand-in for \(Self())") }
}

@MainActor @propertyWrapper public struct UIApplicationDelegateAdaptor<Delegate: UIApplicationDelegate> {
    public init(_: Delegate.Type = Delegate.self) {}
    public var wrappedValue: Delegate { fatalError("a stand-in") }
}
