import WalleRT

/// Values to a task and back: `same` gives what it was given, `fill` writes into it, `keep` keeps it.
struct ValueTests {
    let folder: String
    let bundle: String

    func run() async throws {
        let device = try await Device.open(folder)
        try await device.install(bundle)
        try await comeBack(device)
        try await areShared(device)
        areRead()
        try await device.aclose()
    }

    private func comeBack(_ device: Device) async throws {
        let tensor = try Tensor([1, 2, 3, 4, 5, 6] as [Float], shape: [2, 3])
        let values: [(Value, String)] = [
            (nil, "none comes back"), (true, "a bool"), (.int(.min), "an int"), (0.5, "a float"),
            ("ü🙂 \u{0}", "a text"), ("", "an empty one"), (.bytes([0, 255]), "bytes"), ([], "an empty list"),
            ([1, [2.5, "three"], nil], "a list of what it likes"), ([:], "an empty map"),
            (["a": ["b": [true]], "c": 1], "a map of what it likes"), (.tensor(tensor), "a tensor"),
            (.tensor(try Tensor([7], shape: [])), "a scalar"), (.tensor(try Tensor([true, false])), "flags"),
            (.tensor(try Tensor.zeros(.float16, shape: [0, 2])), "and one of no elements"),
        ]
        for (value, what) in values { same(try await device.call("echo", "same", value), value, what) }
    }

    private func areShared(_ device: Device) async throws {
        let memory = try Memory([1, 2, 3])
        same(try await device.call("echo", "fill", .buffer(memory)), 3, "a task sees the app's memory")
        same(memory.withUnsafeBytes { [UInt8]($0) }, [7, 2, 3], "and writes into it")
        weak var kept: Memory?
        do {
            let given = try Memory(zeros: 100)
            kept = given
            try await device.call("echo", "keep", .buffer(given))
        }
        try await device.call("echo", "same", 1)
        promise(kept != nil, "what a task keeps stays")
        try await device.call("echo", "keep", nil)
        try await until { kept == nil }
        promise(true, "until it lets go")
    }

    private func areRead() {
        let value: Value = ["price": 7, "name": "cup"]
        same(value.asMap?["price"]?.asInt, 7, "an int is read as one")
        same(value.asMap?["price"]?.asFloat, 7.0, "and as a float")
        promise(value.asText == nil && value.asMap?["name"]?.asInt == nil, "and nothing as what it is not")
        same("\(Value.list([1, "two"]))", "[1, two]", "and shown as it is")
    }
}
