// Where there is Security, a stand-in here, there is URLTransport; URLSession is Foundation's own.
#if canImport(Security)
    import WalleRT

    /// A `walle serve` has released the task `shop`. In plain: URLSession on Linux believes the system alone.
    struct UrlTests {
        let phone: Phone
        let folder: String
        let url: String
        let code: String

        func run() async throws {
            let device = try await Device.open(folder)
            await refused(.network, "reply", "a server that is not there is an error") {
                try await connect(device, "http://127.0.0.1:1")
            }
            await refused(.network, "code", "a code that the server does not know is refused by it") {
                try await connect(device, url, "another-code")
            }
            let state = try await connect(device, url, code)
            promise(state.device.hasPrefix("d-"), "the device enrols by URLSession")
            try await until { try device.cloud!.pulls > 0 && !device.tasks().isEmpty }
            same(try device.cloud!.error, "", "it pulls by it")
            same(try device.task("shop").version, "1.0.0", "and has the task that was released")
            promise(try await device.pull().pulls > 1, "a further pull costs one request")
            try await device.aclose()
        }

        @discardableResult
        private func connect(
            _ device: Device, _ url: String, _ code: String = "no-such-code"
        ) async throws -> CloudState {
            try await device.connect(
                url, root: nil, app: "com.example.shop", appVersion: "1.0.0", enrolCode: code,
                transport: URLTransport(), stream: PhoneStream(phone: phone),
                keys: PhoneKeys(phone: phone), broker: "")
        }
    }
#endif
