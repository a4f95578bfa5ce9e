// Of docs/how-to/connect-an-app.md, where tests/python/test_docs.py looks for it.
import WalleRT

func follow(_ device: Device, root: [UInt8], code: String?) async throws {
    let state = try await device.connect(
        "https://cloud.example.com",
        root: root,
        app: "com.example.shop",
        appVersion: "10.30.4",
        enrolCode: code
    )
    print("\(state.device): \(state.transport)")
}
