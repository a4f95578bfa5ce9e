import WalleRT

/// Runs that end early, and sessions that are closed under threads. rounds.walle runs as long as it is told.
struct RunTests {
    let folder: String
    let x: Tensor
    private let forever: [String: Tensor]
    private let few: [String: Tensor]

    init(folder: String, x: Tensor) throws {
        self.folder = folder
        self.x = x
        let half = try Tensor([0.5, 0.5] as [Float])
        forever = ["n": try Tensor([1_000_000_000_000], shape: []), "x": half]
        few = ["n": try Tensor([3], shape: []), "x": half]
    }

    func run() async throws {
        try await isCancelled()
        try await isClosedUnderThreads()
        try await isFreed()
    }

    private func isCancelled() async throws {
        let session = try await load("\(folder)/rounds.walle").session(threads: 1)
        let out = try Tensor.zeros(.float32, shape: [2])
        let running = Task { [forever] in try await session.run(forever, out: ["y": out]) }
        try await Task.sleep(for: .milliseconds(100))
        running.cancel()
        promise(await ended(running) is CancellationError, "a task that is cancelled ends its run")
        out.memory.withUnsafeMutableBytes { $0.storeBytes(of: 7, as: Float.self) }
        _ = try await session.run(few)
        same(
            try out.toArray(of: Float.self)[0], 7, "memory is free behind it, and the session goes on")
        await refused(.timeout, "", "a run ends at its timeout") {
            try await session.run(forever, timeout: .milliseconds(50))
        }
        let two = (0..<2).map { _ in Task { [forever] in try await session.run(forever) } }
        try await Task.sleep(for: .milliseconds(100))
        two.forEach { $0.cancel() }
        for one in two {
            promise(await ended(one) is CancellationError, "so does one that waits for another")
        }
        let late = Task { [forever] in
            try? await Task.sleep(for: .seconds(60))
            return try await session.run(forever)
        }
        late.cancel()
        promise(await ended(late) is CancellationError, "one that is cancelled before does not begin")
        let both = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<2 { group.addTask { [few] in try await session.run(few).count } }
            return try await group.reduce(0, +)
        }
        same(both, 2, "and the session goes on, in a group of tasks")
        session.close()
    }

    private func ended(_ run: Task<[String: Tensor], any Error>) async -> (any Error)? {
        switch await run.result {
        case .success: nil
        case .failure(let error): error
        }
    }

    private func isClosedUnderThreads() async throws {
        let model = try await load("\(folder)/matrix.walle")
        let session = try await model.session(threads: 1)
        model.close()
        model.close()
        same(try await session.run(["x": x]).count, 1, "a session outlives its model")
        await refused(.argument, "a closed model", "a closed model makes none") { try await model.session() }
        let ran = Shared(0)
        let threads = (0..<4).map { _ in
            Task { [x] in
                while true {
                    do {
                        _ = try await session.run(["x": x])
                        ran.change { $0 += 1 }
                    } catch let closed as WalleError {
                        return closed.code
                    }
                }
            }
        }
        try await until { ran.now > 20 }
        session.close()
        var told: [ErrorCode] = []
        for one in threads { told.append(try await one.value) }
        same(
            told, Array(repeating: .argument, count: 4),
            "a session that is closed under four threads is an error for each")
        let long = try await load("\(folder)/rounds.walle").session(threads: 1)
        let running = Task { [forever] in try await long.run(forever) }
        try await Task.sleep(for: .milliseconds(100))
        long.close()
        running.cancel()
        promise(await ended(running) is CancellationError, "one that runs is still cancelled")
        let error = await refused(.argument, "a closed session", "and ends first") {
            try await long.explain()
        }
        same(error?.where, "Session.explain", "an error says where")
    }

    /// What nobody closed goes with its last holder.
    private func isFreed() async throws {
        weak var forgotten: Session?
        var bytes = 0
        do {
            let session = try await load("\(folder)/matrix.walle").session(threads: 1)
            forgotten = session
            bytes = try await session.run(["x": x])["y"]!.memory.count
        }
        try await until { forgotten == nil }
        same(bytes, 24, "a session that nobody holds is freed")
    }
}
