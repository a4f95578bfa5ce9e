// The first block of src/swift/README.md; tests/swift/test_swift.py compares them.
import WalleRT

func readme() async throws {
    let price: AppFunction = { items in .float(Double(items[0].asInt ?? 0) * 0.5) }
    let device = try await Device.open("device", app: ["price": price])
    try await device.install("offers.wtask")
    let watching = Task { for await result in try device.watch("offers") { print(result.value) } }
    try device.record("view", contents: ["item": 7])
    _ = try await device.wait()
    for try await row in device.results("offers", "offers").rows() { print("\(row.number): \(row["price"])") }
    watching.cancel()
    try await device.aclose()

    let session = try await load("model.walle").session(threads: 1)
    let data = try Tensor([1, 2, 3, 4] as [Float], shape: [1, 4])
    print(try await session.run(["data": data])["prob"]!.toArray(of: Float.self))
}
