import Foundation
import WalleRT

/// Models: matrix.walle is relu(x w) with a signature, counting.walle has a state.
struct ModelTests {
    let folder: String
    private let x: Tensor

    init(folder: String) throws {
        self.folder = folder
        x = try Tensor([1, 2, 3, 4, -1, -2, -3, -4] as [Float], shape: [2, 4])
    }

    func run() async throws {
        try await runs()
        try await keepsStates()
        try await refusesFiles()
        try await refusesMistakes()
        try await RunTests(folder: folder, x: x).run()
        try convertsValues()
    }

    private func file(_ name: String) -> String { "\(folder)/\(name)" }

    /// Row by column over w = -6 ... 5.
    private func expected(_ row: [Float]) -> [Float] {
        (0...2).map { j in max(0, (0...3).map { i in row[i] * Float(3 * i + j - 6) }.reduce(0, +)) }
    }

    private func runs() async throws {
        promise(!version.isEmpty, "the library has a version")
        let model = try await load(file("matrix.walle"))
        same(model.inputs.map(\.name), ["x"], "inputs are declared")
        same(model.inputs[0].dtype, .float32, "with their dtype")
        same(model.inputs[0].shape, [nil, 4], "a size that is not known is nil")
        same(model.inputs[0].symbols, ["n", nil], "and has a name")
        same(model.signatures["serve"]?.inputs, ["in": "x"], "signatures have names of their own")
        promise(!model.metadata.isEmpty, "metadata travels along")
        try await runs(try await model.session(threads: 1))
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: file("matrix.walle"))))
        same(try await load(bytes).outputs.map(\.name), ["y"], "bytes are a model, too")
    }

    private func runs(_ session: Session) async throws {
        let wanted = expected([1, 2, 3, 4]) + expected([-1, -2, -3, -4])
        let out = try await session.run(["x": x])["y"]!
        same(out.shape, [2, 3], "a result has its shape")
        same(try out.toArray(of: Float.self), wanted, "and its numbers")
        let served = try await session.run(["in": x], signature: "serve")
        same(served.keys.sorted(), ["out"], "a signature takes and gives its names")
        let room = try Tensor.zeros(.float32, shape: [2, 3])
        let given = try await session.run(["x": x], out: ["y": room])["y"]!
        promise(given.memory === room.memory, "a result may have memory of the caller's")
        same(try room.toArray(of: Float.self), wanted, "which then holds it")
        try await sharesMemory(session, Array(wanted.prefix(3)))
        try await session.prepare(["x": (.float32, [7, 4])])
        let plan = try await session.explain()
        promise(plan.contains("MatMul") || plan.contains("gemm"), "a session explains itself")
        promise(try await session.trim() > 0, "and gives back what it can make again")
        promise(trim() >= 0, "as all of them do")
        same(try await session.run(["x": x])["y"]!.shape, [2, 3], "and goes on")
        let none = try Tensor.zeros(.float32, shape: [0, 4])
        same(try await session.run(["x": none])["y"]!.shape, [0, 3], "nothing in, nothing out")
    }

    private func sharesMemory(_ session: Session, _ wanted: [Float]) async throws {
        let own = OwnMemory([1, 2, 3, 4])
        let view = try Tensor(.float32, shape: [1, 4], memory: Memory(own.bytes, owner: own))
        same(
            try await session.run(["x": view])["y"]!.toArray(of: Float.self), wanted,
            "memory of the app's own is read")
        own.floats[0] = 100
        promise(
            try await session.run(["x": view])["y"]!.toArray(of: Float.self) != wanted, "and is not copied")
    }

    private func keepsStates() async throws {
        let model = try await load(file("counting.walle"))
        same(model.states.map(\.name), ["total"], "states are declared")
        let session = try await model.session(threads: 1)
        _ = try await session.run(["x": Tensor([1, 2] as [Float])])
        same(try await session.state("total").toArray(of: Float.self), [3], "a state is kept")
        try await session.setState("total", Tensor([5] as [Float]))
        let seen = try await session.run(["x": Tensor([0] as [Float])])["seen"]!
        same(try seen.toArray(of: Float.self), [25], "and may be set")
        await refused(.argument, "total", "as what it is declared") {
            try await session.setState("total", Tensor([5, 6] as [Int32]))
        }
        try await session.resetStates()
        same(try await session.state("total").toArray(of: Float.self), [0], "and begins again")
    }

    private func refusesFiles() async throws {
        await refused(.resource, "absent.walle", "a file that is missing is named") {
            try await load(file("absent.walle"))
        }
        let error = await refused(.model, "", "a file that is none is refused") {
            try await load([UInt8](repeating: 0, count: 64))
        }
        let parts = [error?.given, error?.expected, error?.nextStep].map { $0 ?? "" }
        promise(!parts.contains(""), "an error says what was given, expected and what to do")
        promise(error?.localizedDescription == error?.message, "to those who know no WalleError, too")
        var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: file("matrix.walle"))))
        bytes[bytes.count / 2] &+= 1
        await refused(.model, "", "so is one that was damaged") { [bytes] in try await load(bytes) }
        await refused(.model, "", "and one that was cut") { [bytes] in
            try await load(Array(bytes.prefix(bytes.count / 2)))
        }
        await refused(.argument, "code 0", "a path ends where it says") {
            try await load(file("matrix.walle\u{0}more"))
        }
    }

    private func refusesMistakes() async throws {
        let model = try await load(file("matrix.walle"))
        await refused(.argument, "precision", "an option that is none is named") {
            try await model.session(precision: "half")
        }
        let session = try await model.session(threads: 1)
        await refused(.argument, "'z'", "so is another input") { try await session.run(["z": x]) }
        await refused(.argument, "x", "and one of another dtype") {
            try await session.run(["x": Tensor([1, 2, 3, 4] as [Int32], shape: [1, 4])])
        }
        await refused(.argument, "x", "and one of another shape") {
            try await session.run(["x": Tensor([1, 2, 3] as [Float], shape: [1, 3])])
        }
        await refused(.argument, "y", "and a result's of another shape") {
            try await session.run(["x": x], out: ["y": Tensor.zeros(.float32, shape: [2, 2])])
        }
        await refused(.argument, "timeout", "a timeout is positive") {
            try await session.run(["x": x], timeout: .zero)
        }
        await refused(.argument, "elements", "a shape has as many elements") {
            try Tensor([1, 2] as [Float], shape: [3])
        }
        await refused(.argument, "bytes", "and memory as many bytes") {
            try Tensor(.float32, shape: [2], memory: Memory(zeros: 7))
        }
        await refused(.argument, "fewer", "and no more than there are numbers for") {
            try Tensor.zeros(.float32, shape: [.max, 2])
        }
        await refused(.resource, "bytes", "nor than there is memory") {
            try Tensor.zeros(.float32, shape: [1 << 58])
        }
        await refused(.argument, "dimensions", "nor below zero") { try Tensor.zeros(.float32, shape: [-1]) }
        await refused(.argument, "-7 bytes", "nor has memory") { try Memory(zeros: -7) }
        await refused(.argument, "int32", "numbers are read as what they are") {
            try x.toArray(of: Int32.self)
        }
    }

    private func convertsValues() throws {
        let flags = [true, false]
        same(try Tensor(flags).toArray(of: Bool.self), flags, "booleans")
        same(try Tensor([0.5]).toArray(of: Double.self), [0.5], "doubles")
        same(try Tensor([1, 2], shape: [2, 1]).description, "int64[2, 1]", "and their names")
        same(DType.allCases.filter { "\($0)" == "bfloat16" }.count, 1, "dtypes are Python's")
        promise(DType.float32.bytes == 4 && DType.complex128.bytes == 16, "and have sizes")
        let odd = try Tensor(.bool, shape: [2], memory: Memory([0, 7]))
        same(try odd.toArray(of: Bool.self), [false, true], "whatever a byte holds")
    }
}

/// Four floats of somebody else's.
private final class OwnMemory: @unchecked Sendable {
    let floats: UnsafeMutablePointer<Float>
    var bytes: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(start: floats, count: 16) }

    init(_ values: [Float]) {
        floats = .allocate(capacity: 4)
        floats.initialize(from: values, count: 4)
    }

    deinit { floats.deallocate() }
}
