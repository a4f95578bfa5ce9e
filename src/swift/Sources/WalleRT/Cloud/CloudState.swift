import CWalle

/// How a device stands with its server.
public struct CloudState: Sendable, Equatable {
    /// The device's id there.
    public let device: String

    /// What carries its requests: "the app's", "libcurl".
    public let transport: String

    /// Of the plan that it follows; 0: none yet.
    public let epoch: Int

    /// Whether a pull is under way, and how many have ended since connect.
    public let pulling: Bool
    public let pulls: Int

    /// Of the newest pull; "" where it worked.
    public let error: String

    /// Reports that the server has not got yet.
    public let pendingReports: Int

    /// "offline", "connecting", "online", "refused" or "stopped"; "": there is none.
    public let tunnel: String

    /// Records that the server holds durably, since connect.
    public let acknowledged: Int

    /// Of the newest connection of the tunnel that failed.
    public let tunnelError: String

    init(_ device: OpaquePointer) throws {
        var c = walle_cloud_state_t()
        c.struct_size = MemoryLayout.size(ofValue: c)
        try checked { walle_device_cloud(device, &c, $0) }
        self.device = text(in: c.device_id)
        transport = text(in: c.transport)
        epoch = Int(clamping: c.epoch)
        pulling = c.pulling != 0
        pulls = Int(clamping: c.pulls)
        error = text(in: c.error)
        pendingReports = Int(clamping: c.reports)
        tunnel = text(in: c.tunnel)
        acknowledged = Int(clamping: c.acknowledged)
        tunnelError = text(in: c.tunnel_error)
    }
}
