@MainActor public protocol View {
    associatedtype Body: View
    @ViewBuilder var body: Body { get }
}

extension Never: View {
    public var body: Never { fatalError("a stand-in") }
}

@MainActor @resultBuilder public enum ViewBuilder {
    public static func buildBlock<each Content: View>(_ content: repeat each Content) -> Group {
        fatalError("a stand-in for \((repeat each content))")
    }
    public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
}

public struct Group: View {
    public var body: Never { fatalError("a stand-in") }
}

public struct Text: View {
    public init(_ text: String) {}
    public var body: Never { fatalError("a stand-in") }
}

public struct Button: View {
    public init(_ title: String, action: @escaping @MainActor () -> Void) {}
    public var body: Never { fatalError("a stand-in") }
}

public struct VStack<Content: View>: View {
    public init(@ViewBuilder content: () -> Content) { fatalError("a stand-in for \(content())") }
    public var body: Never { fatalError("a stand-in") }
}

public struct ForEach<Data: RandomAccessCollection, ID: Hashable, Content: View>: View {
    public init(
        _ data: Data, id: KeyPath<Data.Element, ID>, @ViewBuilder content: @escaping (Data.Element) -> Content
    ) {}
    public var body: Never { fatalError("a stand-in") }
}

@propertyWrapper public struct State<Value> {
    public init(wrappedValue: Value) {}
    public var wrappedValue: Value {
        get { fatalError("a stand-in") }
        nonmutating set { fatalError("a stand-in for \(newValue)") }
    }
}

extension View {
    public func task(_ action: @escaping @MainActor @Sendable () async -> Void) -> some View { self }
}
