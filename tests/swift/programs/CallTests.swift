import WalleRT

struct NoRate: Error, CustomStringConvertible {
    let description: String
}

/// walle.app.rate(of): half of it, but for 3; asks back, which is refused.
final class App: Sendable {
    let device = Shared<Device?>(nil)
    let refusedInside = Shared(0)

    var rate: AppFunction {
        { [self] arguments in
            if let here = device.now {
                var count = 0
                count += await failsInside { try await here.call("shop", "discount") }
                count += await failsInside { try await here.wait() }
                count += await failsInside { try await here.disconnect() }
                count += await failsInside { try here.close() }
                count += await failsInside { try await here.aclose() }
                refusedInside.change { [count] in $0 = count }
            }
            guard let of = arguments[0].asInt, of != 3 else { throw NoRate(description: "no rate of 3") }
            return .float(Double(of) / 2)
        }
    }

    private func failsInside(_ call: () async throws -> Any) async -> Int {
        do {
            _ = try await call()
            return 0
        } catch {
            return (error as? WalleError)?.code == .argument ? 1 : 0
        }
    }
}

/// A task is asked, and asks.
struct CallTests {
    let device: Device
    let app: App

    func run() async throws {
        try await asks()
        try await refuses()
        try await hasParameters()
        try await isAsked()
        try await isAskedByOthers()
    }

    private var rates: Value { get throws { .tensor(try Tensor([0.5, 0.25] as [Float])) } }

    private func asks() async throws {
        let rates = try rates
        same(
            try await device.call("shop", "taxed", 100.0, rates, timeout: .seconds(10)), 175.0,
            "the task answers")
        let many = try await withThrowingTaskGroup(of: Value.self) { [device] group in
            for price in 0..<8 {
                group.addTask { try await device.call("shop", "taxed", .int(price), rates) }
            }
            return try await group.reduce(into: []) { $0.append($1.asFloat ?? -1) }
        }
        same(many.sorted(), (0..<8).map { Double($0) * 1.75 }, "eight ask at once")
    }

    private func refuses() async throws {
        let rates = try rates
        let error = await refused(.argument, "float, tensor", "other arguments are refused") {
            try await device.call("shop", "taxed", 100.0)
        }
        promise(error?.where.isEmpty == false, "with the place")
        await refused(.argument, "absent", "and other functions") {
            try await device.call("shop", "absent")
        }
        await refused(.argument, "deeper", "and what is nested without end") {
            let deep = (0..<100).reduce(Value.none) { inner, _ in .list([inner]) }
            return try await device.call("shop", "taxed", deep, rates)
        }
        await refused(.argument, "timeout", "and no time at all") {
            try await device.call("shop", "discount", timeout: .zero)
        }
    }

    private func hasParameters() async throws {
        same(try await device.call("shop", "discount"), 0.5, "a parameter has its default")
        try await device.setParams("shop", ["discount": 0.25])
        same(try await device.call("shop", "discount"), 0.25, "and then what is set")
        await refused(.argument, "discount", "within its bounds") {
            try await device.setParams("shop", ["discount": 0.8])
        }
        try await device.setParams("shop", ["discount": nil])
        same(try await device.call("shop", "discount"), 0.5, "none goes back")
    }

    private func isAsked() async throws {
        same(try await device.call("shop", "rated", 5), 2.5, "the task asks the application")
        same(app.refusedInside.now, 5, "which cannot wait for the task meanwhile")
        await refused(.task, "NoRate: no rate of 3", "what fails there fails here") {
            try await device.call("shop", "rated", 3)
        }
        try device.provide("rate") { _ in "much" }
        await refused(.task, "rate", "an answer of another type is refused") {
            try await device.call("shop", "rated", 5)
        }
        try device.provide("rate") { _ in (0..<100).reduce(Value.none) { inner, _ in .list([inner]) } }
        await refused(.task, "deeper", "and one that is none") { try await device.call("shop", "rated", 5) }
        try device.provide("rate", nil)
        await refused(.task, "'rate'", "a function that is gone is named") {
            try await device.call("shop", "rated", 5)
        }
        await refused(.argument, "no name", "a name is one") { try device.provide("no name") { _ in nil } }
    }

    private func isAskedByOthers() async throws {
        try device.provide("rate") { arguments in
            try await Task.sleep(for: .milliseconds(10))
            return .float(Double(await Prices().doubled(arguments[0].asInt ?? 0)))
        }
        same(try await device.call("shop", "rated", 5), 10.0, "an actor may answer")
        let before = try device.task("shop").firings
        try device.provide("rate") { [weak device] _ in
            // Of no structure: it does not hold up the task that asks.
            Task.detached { try await device?.call("shop", "discount") }
            return 1.0
        }
        same(try await device.call("shop", "rated", 5), 1.0, "who is detached may ask back")
        same(try device.task("shop").firings, before, "and no call is a firing")
        try device.provide("rate", app.rate)
    }
}

private actor Prices {
    func doubled(_ of: Int) -> Int { 2 * of }
}
