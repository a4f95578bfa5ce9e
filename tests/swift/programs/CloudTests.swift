import WalleRT

/// A `walle serve --tls` has released the task `shop`, which sends what is bought.
struct CloudTests {
    let phone: Phone
    let folder: String
    let url: String
    let authority: String
    let code: String
    let another: String

    private var http: PhoneHttp { PhoneHttp(phone: phone, authority: authority) }

    func run() async throws {
        try await isCancelled()
        let device = try await Device.open(folder)
        let http = Counting(http)
        try await refusesServers(device, http)
        try await follows(device, http)
        try await device.disconnect()
        let alone = try device.cloud == nil
        promise(try device.requestHeaders.isEmpty && alone, "it follows nobody any more")
        try await device.disconnect()
        try await connect(device, http, Refusing(PhoneStream(phone: phone)), broker: "")
        same(try device.cloud?.tunnel, "", "there may be no tunnel")
        try await device.aclose()
    }

    @discardableResult
    private func connect(
        _ device: Device, _ http: any Transport, _ stream: any StreamTransport, _ code: String? = nil,
        keys: (any Keys)? = nil, broker: String? = nil
    ) async throws -> CloudState {
        try await device.connect(
            url, root: nil, app: "com.example.shop", appVersion: "1.0.0", enrolCode: code,
            device: "iPhone", osVersion: "18.0", transport: http, stream: stream,
            keys: keys ?? PhoneKeys(phone: phone), broker: broker, reportAfter: .milliseconds(200))
    }

    /// The reply of a device that enrols waits until the task is cancelled.
    private func isCancelled() async throws {
        let (asked, goOn) = (Shared(false), Shared(false))
        let slow = Counting(http) {
            asked.change { $0 = true }
            try await until { goOn.now }
        }
        let device = try await Device.open("\(folder)-second")
        let stream = PhoneStream(phone: phone)
        let connecting = Task { try await connect(device, slow, stream, another) }
        try await until { asked.now }
        connecting.cancel()
        goOn.change { $0 = true }
        let left = await connecting.result.isCancellation
        promise(try device.cloud == nil && left, "who is cancelled follows nobody")
        let state = try await connect(device, slow, stream)
        promise(state.device.hasPrefix("d-"), "but has enrolled")
        try await device.aclose()
    }

    private func refusesServers(_ device: Device, _ http: Counting) async throws {
        let stream = PhoneStream(phone: phone)
        await refused(.network, "reply", "the system's authorities do not vouch for this server") {
            try await connect(device, PhoneHttp(phone: phone, authority: ""), stream, code)
        }
        http.seen.change { $0.down = true }
        await refused(.network, "reply", "a network that is not there is an error") {
            try await connect(device, http, stream, code)
        }
        http.seen.change { $0.down = false }
        await refused(.argument, "code", "who has not enrolled needs a code") {
            try await connect(device, http, stream)
        }
        await refused(.network, "code", "that the server knows") {
            try await connect(device, http, stream, "another-code")
        }
        await refused(.resource, "key", "keys that refuse are an error") {
            try await connect(device, http, stream, code, keys: NoKeys())
        }
        promise(try device.cloud == nil, "it follows nobody")
    }

    private func follows(_ device: Device, _ http: Counting) async throws {
        let stream = Refusing(PhoneStream(phone: phone))
        let state = try await connect(device, http, stream, code)
        promise(
            state.device.hasPrefix("d-") && state.transport == "the app's", "the device enrols over TLS")
        await refused(.argument, "is connected", "once") { try await connect(device, http, stream) }
        try await until { try device.cloud!.pulls > 0 && !device.tasks().isEmpty }
        same(try device.cloud!.error, "", "it pulls by itself")
        same(try device.task("shop").version, "1.0.0", "and has the task that was released")
        let seen = http.seen.now
        promise(seen.gets > 3 && seen.posts > 0, "over the app's HTTP")
        promise(seen.late?.take([1]) == false, "whose sink ends with its request")
        same(try device.requestHeaders["X-Walle"]?.count, 48, "the header of a request is there")
        try await until { try device.cloud!.tunnelError.contains("says no to 127.0.0.1") }
        promise(true, "the app refuses a connection, and says why")
        stream.seen.change { $0.refuses = false }
        try await until { try device.cloud!.tunnel == "online" }
        same(stream.seen.now.peers, ["127.0.0.1"], "the tunnel opens over the app's TLS")
        try await sends(device)
        try await pulls(device)
        try await device.disconnect()
        same(stream.seen.now.closed, 1, "the connection is closed with it")
    }

    private func sends(_ device: Device) async throws {
        var fired = try device.watch("shop").makeAsyncIterator()
        try device.record("buy", contents: ["price": 7, "name": "it"])
        same(await fired.next()?.sends, 1, "what the task sends waits to leave")
        try await until { try device.cloud!.acknowledged >= 1 }
        promise(true, "and the server has it")
    }

    private func pulls(_ device: Device) async throws {
        let before = try device.cloud!.pulls
        try device.saw(["x-walle-up": "999"])
        try await until { try device.cloud!.pulls > before }
        promise(true, "a reply that tells of a newer plan means a pull")
        promise(try await device.pull(timeout: .seconds(60)).pulls > before, "and so does the app")
    }
}
