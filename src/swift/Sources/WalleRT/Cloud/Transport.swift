import CWalle

/// Takes pieces of a reply's body.
public final class BodySink: Sendable {
    private struct Target: @unchecked Sendable {
        let take: walle_http_sink_t
        let sink: UnsafeMutableRawPointer?
    }

    /// Nil: the request has ended, and C's side is gone.
    private let target: Lock<Target?>

    init(_ take: walle_http_sink_t, _ sink: UnsafeMutableRawPointer?) {
        target = Lock(Target(take: take, sink: sink))
    }

    /// - Returns: whether more is wanted; otherwise end the request.
    @discardableResult
    public func take(_ bytes: [UInt8]) -> Bool {
        target.with { target in target.map { $0.take($0.sink, bytes, bytes.count) == 0 } ?? false }
    }

    /// A piece under way ends first.
    func end() {
        target.with { $0 = nil }
    }
}

/// What carries a device's requests: the app's own HTTP stack, with its proxies and pins.
///
/// Both functions return the HTTP status of the reply, or 0 where there was none or it was cut off, and give
/// pieces of its body to `sink` before they return: of 200 and 206 to a GET, of any 2xx and 429 to a POST. To
/// throw is to have no reply. One at a time; they must not block, as no asynchronous function must.
public protocol Transport: Sendable {
    /// - Parameter start: the bytes from there on (`Range`); of a server that sends all, what lies before is
    ///   left out.
    func get(
        _ url: String, start: Int, headers: [(name: String, value: String)], sink: BodySink
    ) async throws -> Int

    func post(
        _ url: String, contentType: String, body: [UInt8], headers: [(name: String, value: String)],
        sink: BodySink
    ) async throws -> Int
}

/// What C calls by number.
struct Carrier: Sendable {
    let device: UInt
    let transport: any Transport
}

func onHttp(
    _ user: UnsafeMutableRawPointer?, _ request: UnsafePointer<walle_http_request_t>?,
    _ take: walle_http_sink_t?, _ to: UnsafeMutableRawPointer?
) -> Int32 {
    guard let carrier = Upcalls.target(user, Carrier.self), let request = request?.pointee, let take else {
        return 0
    }
    let url = text(request.url)
    let headers = (0..<request.header_count).map { at in
        (name: text(request.headers[2 * at]), value: text(request.headers[2 * at + 1]))
    }
    let sink = BodySink(take, to)
    defer { sink.end() }
    let said: Result<Int, any Error>
    if text(request.method) == "GET" {
        let start = Int(clamping: request.from)
        said = awaited(carrier.device) {
            try await carrier.transport.get(url, start: start, headers: headers, sink: sink)
        }
    } else {
        let (type, body) = (text(request.content_type), bytes(request.body, request.body_bytes))
        said = awaited(carrier.device) {
            try await carrier.transport.post(
                url, contentType: type, body: body, headers: headers, sink: sink)
        }
    }
    return Int32(clamping: (try? said.get()) ?? 0)
}
