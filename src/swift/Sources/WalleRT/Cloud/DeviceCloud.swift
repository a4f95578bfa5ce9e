import CWalle

extension Device {
    // Between two looks at a pull under way.
    private static let glance = Duration.milliseconds(20)

    /// Follow a server: its plans decide from now on which tasks run here. Enrols where that is needed.
    ///
    /// - Parameters:
    ///   - url: of the server; `https://`, or `http://` for one on the same machine.
    ///   - root: the bytes of the server's `root.json`, which comes with the app; nil: the one that enrolling
    ///     brings, which is as believable as that connection.
    ///   - app: the app's name, for policies.
    ///   - appVersion: its version, "10.30.4".
    ///   - enrolCode: lets the device in, once; not needed again for this folder.
    ///   - device: model of the device, for policies.
    ///   - osVersion: the system's version, for policies.
    ///   - transport: what carries requests; nil: `URLTransport` on Apple's systems, elsewhere libcurl.
    ///   - stream: what carries the tunnel; nil: `NetworkTransport`, elsewhere OpenSSL.
    ///   - keys: what makes the device's own key and signs with it; nil: `CryptoKeys`, elsewhere OpenSSL.
    ///   - broker: address for the tunnel, `mqtts://host:port`; nil: the one that the server named when the
    ///     device enrolled, "": no tunnel.
    ///   - reportAfter: a new version runs so long without a firing before the server is told that it does.
    ///   - plainEnrolment: whether the code may go to another machine over `http://`.
    /// - Returns: how things stand before the first pull; `cloud` tells later.
    /// - Throws: `WalleError` ARGUMENT: an option that is none, a device that is connected; NETWORK: a server
    ///   that cannot be reached or refuses the code while the device enrols. `CancellationError`: it follows
    ///   nobody, and has enrolled if it came to that.
    @discardableResult
    public func connect(
        _ url: String,
        root: [UInt8]?,
        app: String,
        appVersion: String,
        enrolCode: String? = nil,
        device: String = "",
        osVersion: String = "",
        transport: (any Transport)? = nil,
        stream: (any StreamTransport)? = nil,
        keys: (any Keys)? = nil,
        broker: String? = nil,
        reportAfter: Duration = .seconds(20),
        plainEnrolment: Bool = false
    ) async throws -> CloudState {
        let made = Connection(kept.number, transport, stream, keys)
        let kept = kept
        let state = try await used("connect") { handle, arena in
            var options = walle_cloud_options_t()
            options.struct_size = MemoryLayout.size(ofValue: options)
            options.url = try arena.text(url, "a server's address")
            options.root = root.map { UnsafeRawPointer(arena.array($0)) }
            options.root_bytes = root?.count ?? 0
            options.app = try arena.text(app, "the name of an app")
            options.app_version = try arena.text(appVersion, "a version")
            options.os_version = try arena.text(osVersion, "a version")
            options.device = try arena.text(device, "the model of a device")
            options.enrol_code = try arena.textOrNull(enrolCode, "a code")
            options.broker = try arena.textOrNull(broker, "a broker's address")
            options.report_after_ms = milliseconds(reportAfter)
            options.plain_enrolment = plainEnrolment ? 1 : 0
            made.fill(&options, arena)
            try checked { walle_device_connect(handle, &options, $0) }
            kept.connect(made)
            return try CloudState(handle)
        }
        if Task.isCancelled {
            // Nobody asked to follow any more; that the device has enrolled stays.
            try await disconnect()
            throw CancellationError()
        }
        return state
    }

    /// Follow nobody any more; tasks stay as they are. Waits for the step under way, which is cut short.
    public func disconnect() async throws {
        try Callback.refuse(kept.number, "Device.disconnect")
        let kept = kept
        try await used("disconnect") { device, _ in
            try checked { walle_device_disconnect(device, $0) }
            kept.connect(nil)
        }
    }

    /// How the device stands with its server; nil where it is not connected.
    public var cloud: CloudState? {
        get throws { kept.connected ? try use("cloud") { device, _ in try CloudState(device) } : nil }
    }

    /// What to send with the app's own requests to its server; empty where the device is not connected.
    public var requestHeaders: [String: String] {
        get throws {
            guard kept.connected else { return [:] }
            return try use("requestHeaders") { device, arena in
                let room = arena.array([CChar](repeating: 0, count: Int(WALLE_DEVICE_HEADER_BYTES)))
                try checked { walle_device_header(device, room, $0) }
                return ["X-Walle": text(room)]
            }
        }
    }

    /// Look at a header of a reply to the app: one that says that a newer plan is there means a pull.
    public func saw(_ name: String, _ value: String) throws {
        guard kept.connected else { return }
        try use("saw") { device, arena in
            let (header, contents) = (try arena.text(name, "a header"), try arena.text(value, "a header"))
            try checked { walle_device_saw_header(device, header, contents, $0) }
        }
    }

    /// Likewise at all of them: `response.allHeaderFields as? [String: String]`.
    public func saw(_ headers: [String: String]) throws {
        for (name, value) in headers { try saw(name, value) }
    }

    /// Pull now, and wait until that has ended.
    ///
    /// - Throws: `WalleError` ARGUMENT: the device is not connected; TIMEOUT: it takes longer, and goes on.
    @discardableResult
    public func pull(timeout: Duration = .seconds(60)) async throws -> CloudState {
        func state() throws -> CloudState { try use("pull") { device, _ in try CloudState(device) } }
        let before = try state()
        // One that is under way may have read the plan already.
        let wanted = before.pulls + (before.pulling ? 2 : 1)
        try use("pull") { device, _ in try checked { walle_device_pull(device, $0) } }
        let end = ContinuousClock.now + timeout
        while ContinuousClock.now < end {
            let now = try state()
            if now.pulls >= wanted { return now }
            try await Task.sleep(for: Device.glance)
        }
        throw WalleError.composed(
            .timeout, "a pull", "its end within \(timeout)", "Device.pull", "see Device.cloud")
    }
}
