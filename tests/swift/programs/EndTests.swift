import WalleRT

/// What is refused, and how devices end.
struct EndTests {
    let folder: String
    let bundle: String
    let app: App

    func run() async throws {
        try await refusesOptions()
        try await refusesMistakes()
        try await isClosedUnderThreads()
        try await isCancelled()
        try await tellsItsLog()
        try await isFreed()
        try await isHeldByStreams()
    }

    private func opened() async throws -> Device {
        try await Device.open(folder, app: ["rate": app.rate])
    }

    private func refusesOptions() async throws {
        await refused(.argument, "workers", "a negative number of workers is refused") {
            try await Device.open("\(folder)/x", workers: -1)
        }
        await refused(.backend, "absent.so", "a VM library that is missing is named") {
            try await Device.open("\(folder)/x", vmLibrary: "absent.so")
        }
        await refused(.argument, "32", "a key has its length") {
            try await Device.open("\(folder)/x", key: [1, 2, 3])
        }
        await refused(.argument, "code 0", "a folder ends where it says") {
            try await Device.open("\(folder)\u{0}/x")
        }
        await refused(.argument, "no name", "a function has a name") {
            try await Device.open("\(folder)/y", app: ["no name": { _ in nil }])
        }
    }

    private func refusesMistakes() async throws {
        let device = try await opened()
        await refused(.resource, "", "a folder has one device") { try await Device.open(folder) }
        await refused(.argument, "'bay'", "an event is declared") { try device.record("bay") }
        await refused(.argument, "'prize'", "so is a field") {
            try device.record("buy", contents: ["prize": 1])
        }
        await refused(.argument, "price", "which has a type") {
            try device.record("buy", contents: ["price": "much"])
        }
        await refused(.argument, "", "and a page, too") { try device.record("buy", page: "nowhere") }
        await refused(.resource, "absent.wtask", "a task has a file") {
            try await device.install("absent.wtask")
        }
        await refused(.task, "", "of a task") {
            try await device.install([UInt8](repeating: 0, count: 100))
        }
        await refused(.argument, "code 0", "a name ends where it says") { try device.record("buy\u{0}") }
        await refused(.argument, "not connected", "nobody is pulled from") { try await device.pull() }
        let quiet = try device.cloud == nil
        promise(try device.requestHeaders.isEmpty && quiet, "who follows nobody says nothing")
        try device.saw("X-Walle-Up", "7")
        let closes = Shared(0)
        try device.onResult { [weak device] _ in
            do { try device?.close() } catch { closes.change { $0 += 1 } }
        }
        try await device.install(bundle)
        try device.record("buy", contents: ["price": 1, "name": "n"])
        promise(try await device.wait(timeout: .seconds(30)), "a firing is done")
        same(closes.now, 1, "whose listener cannot close the device")
        try device.close()
    }

    private func isClosedUnderThreads() async throws {
        let device = try await opened()
        let busy: [@Sendable () async throws -> Void] = [
            { try device.record("buy", contents: ["price": 1, "name": "n"]) },
            { try await device.call("shop", "discount") },
            { _ = try await device.results("shop", "sales").read(limit: 10) },
            { _ = try await device.wait(timeout: .milliseconds(20)) },
            { _ = try device.tasks() },
        ]
        let threads = busy.map { one in
            Task { () -> ErrorCode? in
                while true {
                    do { try await one() } catch { return (error as? WalleError)?.code }
                    await Task.yield()
                }
            }
        }
        try await until { try device.task("shop").firings > 50 }
        try await device.aclose()
        // Of what begins behind the end, and of what it has ended.
        let ends: [ErrorCode?] = [.argument, .resource, .cancelled]
        var told = 0
        for one in threads {
            let code = await one.value
            if ends.contains(code) { told += 1 } else { say("        \(String(describing: code))") }
        }
        same(told, busy.count, "a device that is closed under five threads is an error for each")
    }

    private func isCancelled() async throws {
        let device = try await opened()
        try device.provide("rate") { _ in
            try await Task.sleep(for: .milliseconds(300))
            return 1.0
        }
        let asking = Task { try await device.call("shop", "rated", 1) }
        let waiting = Task { try await device.wait() }
        waiting.cancel()
        promise(await waiting.result.isCancellation, "who is cancelled waits no more")
        same(try await asking.value, 1.0, "and a call goes on to its end")
        await refused(.timeout, "", "or to its timeout") {
            try await device.call("shop", "rated", 1, timeout: .milliseconds(50))
        }
        try await device.aclose()
    }

    private func tellsItsLog() async throws {
        let lines = Shared<[String]>([])
        let device = try await Device.open(
            folder,
            log: { task, level, text in lines.change { $0.append("\(task) \(level) \(text)") } })
        // Nobody provides the rate, and the task says so.
        await refused(.task, "'rate'", "nobody is asked") { try await device.call("shop", "rated", 1) }
        promise(lines.now.allSatisfy { $0.hasPrefix("shop ") }, "lines of tasks have their name")
        try await device.aclose()
    }

    /// A device that nobody closed lets go of its folder with its last holder.
    private func isFreed() async throws {
        weak var forgotten: Device?
        do {
            let device = try await opened()
            forgotten = device
            promise(!device.closed, "a device that is left open")
        }
        try await until { forgotten == nil }
        promise(true, "is held by nobody")
        try await until { await opens() }
        promise(true, "and freed")
    }

    private func isHeldByStreams() async throws {
        weak var held: Device?
        do {
            let watched: AsyncStream<TaskResult>
            do {
                let device = try await opened()
                held = device
                watched = try device.watch("shop", limit: 1)
                for _ in 0..<3 { try device.record("buy", contents: ["price": 1, "name": "n"]) }
                promise(try await device.wait(timeout: .seconds(30)), "three firings are done")
            }
            promise(held != nil, "whoever watches holds the device")
            for await result in watched {
                promise(result.number > 0, "and has the newest of what it did not take")
                break
            }
        }
        try await until { held == nil }
        try await until { await opens() }
        promise(true, "but no longer than the stream")
    }

    private func opens() async -> Bool {
        do {
            try await Device.open(folder).aclose()
            return true
        } catch {
            return (error as? WalleError)?.code != .resource
        }
    }
}
