import Foundation
import WalleRT

/// The task `shop` of tests/install/test_device_program.py, in two versions.
struct DeviceTests {
    let folder: String
    let bundle: String
    let newer: String
    private let app = App()

    init(folder: String, bundle: String, newer: String) {
        self.folder = folder
        self.bundle = bundle
        self.newer = newer
    }

    func run() async throws {
        try await records()
        try await goesOn()
        try await EndTests(folder: folder, bundle: bundle, app: app).run()
    }

    private func records() async throws {
        let device = try await Device.open(folder, app: ["rate": app.rate])
        app.device.change { $0 = device }
        try await device.declare("buy", fields: ["price": Field(.int, .open), "name": Field(.text)])
        try await device.declarePage("cart")
        try await device.declareState("online")
        try await device.install(bundle)
        try await watches(device)
        try await reads(device)
        try await CallTests(device: device, app: app).run()
        try await device.setFacts(["charging": true, "idle": false])
        try await device.setZone(TimeZone(identifier: "Europe/Berlin")!)
        try await device.setZone()
        try await follows(device)
        app.device.change { $0 = nil }
        promise(device.closed && "\(device)".contains("closed"), "the device is closed")
        let error = await refused(.argument, "a closed device", "and says so") { try device.record("buy") }
        same(error?.where, "Device.record", "and where")
        await refused(.argument, "a closed device", "to whoever watches, too") { try device.watch() }
    }

    private func watches(_ device: Device) async throws {
        let heard = Shared<[TaskResult]>([])
        let listening = try device.onResult { result in heard.change { $0.append(result) } }
        let watched = try device.watch("shop")
        let others = try device.watch("other")
        let bought = (1...9).map { price in
            Event("buy", contents: ["price": .int(price), "name": price % 2 == 0 ? "even" : "odd"])
        }
        try await device.record(
            AsyncStream { events in
                bought.forEach { events.yield($0) }
                events.finish()
            })
        let seq = try device.record("buy", contents: ["price": 10, "name": "even"], durable: true)
        promise(seq >= 10, "events are numbered")
        var results: [TaskResult] = []
        for await result in watched {
            results.append(result)
            if results.count == 10 { break }
        }
        same(results.map(\.number), Array(1...10), "every firing is told, in order")
        promise(
            results.allSatisfy { $0.ok && $0.task == "shop" && $0.rows == 1 && $0.ts > 0 }, "as it went")
        same(results[6].value, ["price": 7, "name": "odd"], "with what the task returned")
        promise(try await device.wait(timeout: .seconds(30)), "the tasks are done")
        same(heard.now.count, 10, "and to listeners")
        listening.close()
        let watching = Task { await others.contains { _ in true } }
        watching.cancel()
        same(await watching.value, false, "who watches another task hears nothing, and can leave")
        let task = try device.task("shop")
        same([String(task.firings), task.version], ["10", "1.0.0"], "the device knows its task")
        await refused(.argument, "shop", "and no other") { try device.task("shoe") }
    }

    private func reads(_ device: Device) async throws {
        let sales = device.results("shop", "sales")
        let rows = try await sales.read()
        same(rows.count, 10, "every firing left a row")
        same(try rows.column("price").values, .ints(Array(1...10)), "numbers are in columns")
        same(rows.prefix(3).map { $0["name"] }, ["odd", "even", "odd"], "texts are, too")
        promise(rows.times.allSatisfy { $0 > 0 }, "and rows have times")
        same(try await sales.read(start: 9, limit: 1).numbers, [9], "a reader goes on where it was")
        var numbers: [Int] = []
        for try await row in sales.rows(start: 4) { numbers.append(row.number) }
        same(numbers, Array(4...10), "rows are a sequence")
        await refused(.argument, "price", "an unknown column is refused") { try rows.column("prize") }
        await refused(.argument, "sales", "an unknown table, too") {
            try await device.results("shop", "sale").read()
        }
        await refused(.argument, "negative", "and rows before the first") { try await sales.read(start: -1) }
        let spent = try await device.features("shop", "spent", ["even", "none"])
        same(spent, [24, nil], "features are looked up")
    }

    private func follows(_ device: Device) async throws {
        let followed = Shared<[Row]>([])
        let following = Task {
            for try await row in device.results("shop", "sales").follow() {
                followed.change { $0.append(row) }
            }
        }
        let leaving = Task {
            for try await _ in device.results("shop", "sales").follow(start: 1000) {}
        }
        try device.record("buy", page: "cart", contents: ["price": 11, "name": "ü🙂 \u{0}"])
        promise(try await device.wait(timeout: .seconds(30)), "a firing is done")
        try await until { followed.now.count == 11 }
        leaving.cancel()
        promise(await leaving.result.isCancellation, "who is cancelled follows no more")
        try device.close()
        try device.close()
        try await following.value
        same(followed.now.map(\.number), Array(1...11), "a table is followed until the device is closed")
        same(followed.now.last?["name"], "ü🙂 \u{0}", "any text comes back as it went")
    }

    /// Both copies of the outbox hold something else: told at every open until it is acknowledged.
    private func goesOn() async throws {
        for copy in ["outbox.wals", "outbox.wals.mirror"] {
            try Data("nothing of ours".utf8).write(to: URL(fileURLWithPath: "\(folder)/outbox/\(copy)"))
        }
        let device = try await Device.open(folder, app: ["rate": app.rate])
        let losses = try await device.losses(verify: true)
        same(losses.map { "\($0.what) \($0.kind) \($0.exact)" }, ["sends manifest false"], "a loss is told")
        promise(losses.first?.cause.contains("outbox") == true, "and why")
        try await device.acknowledgeLosses()
        same(try await device.losses(), [], "until it is acknowledged")
        same(try await device.results("shop", "sales").read().count, 11, "rows are there after a restart")
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: newer)))
        try await device.install(bytes)
        try device.record("buy", contents: ["price": 12, "name": "new"])
        promise(try await device.wait(), "the task is done")
        let last = try await device.results("shop", "sales").read(start: 12)
        same(last.map { $0["price"] }, [1012], "the new version has run")
        try await device.remove("shop")
        await refused(.argument, "shop", "a task is removed once") { try await device.remove("shop") }
        try await device.aclose()
    }
}

extension Result where Failure == any Error {
    var isCancellation: Bool {
        if case .failure(let error) = self { error is CancellationError } else { false }
    }
}
