#if canImport(Security)
    import Foundation
    import Security

    /// HTTP by URLSession.
    public final class URLTransport: Transport {
        private let authorities: String?

        /// - Parameter authorities: PEM file of those who may vouch for the server's name;
        ///   nil: the system's.
        public init(authorities: String? = nil) {
            self.authorities = authorities
        }

        public func get(
            _ url: String, start: Int, headers: [(name: String, value: String)], sink: BodySink
        ) async throws -> Int {
            var request = try made(url, headers)
            if start > 0 { request.setValue("bytes=\(start)-", forHTTPHeaderField: "Range") }
            return await Exchange(sink, authorities, skip: start).status(of: request)
        }

        public func post(
            _ url: String, contentType: String, body: [UInt8], headers: [(name: String, value: String)],
            sink: BodySink
        ) async throws -> Int {
            var request = try made(url, headers)
            request.httpMethod = "POST"
            request.httpBody = Data(body)
            request.setValue(contentType, forHTTPHeaderField: "Content-Type")
            return await Exchange(sink, authorities, skip: 0).status(of: request)
        }

        private func made(_ url: String, _ headers: [(name: String, value: String)]) throws -> URLRequest {
            guard let address = URL(string: url) else {
                throw WalleError.argument("the address \(url)", "one of a server", "URLTransport", "check it")
            }
            var request = URLRequest(url: address)
            request.cachePolicy = .reloadIgnoringLocalCacheData
            request.timeoutInterval = 30
            for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
            return request
        }
    }

    /// One request and its reply. URLSession calls it from one queue.
    private final class Exchange: NSObject, URLSessionDataDelegate, Sendable {
        private struct State {
            var status = 0
            var skip: Int
            var full = false
            var done: CheckedContinuation<Int, Never>?
        }

        private let sink: BodySink
        private let authorities: String?
        private let state: Lock<State>

        init(_ sink: BodySink, _ authorities: String?, skip: Int) {
            self.sink = sink
            self.authorities = authorities
            state = Lock(State(skip: skip))
        }

        func status(of request: URLRequest) async -> Int {
            let session = URLSession(configuration: .ephemeral, delegate: self, delegateQueue: nil)
            defer { session.finishTasksAndInvalidate() }
            return await withCheckedContinuation { done in
                state.with { $0.done = done }
                session.dataTask(with: request).resume()
            }
        }

        // A plan is signed for its address: another one is another file.
        func urlSession(
            _: URLSession, task _: URLSessionTask, willPerformHTTPRedirection _: HTTPURLResponse,
            newRequest _: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) {
            completionHandler(nil)
        }

        func urlSession(
            _: URLSession, dataTask _: URLSessionDataTask, didReceive response: URLResponse,
            completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
        ) {
            let status = (response as? HTTPURLResponse)?.statusCode ?? 0
            state.with { state in
                state.status = status
                if status == 206 { state.skip = 0 }
            }
            completionHandler(.allow)
        }

        func urlSession(_: URLSession, dataTask task: URLSessionDataTask, didReceive data: Data) {
            let piece: Data? = state.with { state in
                guard state.status / 100 == 2 || state.status == 429, !state.full else { return nil }
                let before = min(state.skip, data.count)
                state.skip -= before
                return data.dropFirst(before)
            }
            guard let piece, !piece.isEmpty, !sink.take([UInt8](piece)) else { return }
            state.with { $0.full = true }
            task.cancel()
        }

        func urlSession(_: URLSession, task _: URLSessionTask, didCompleteWithError error: (any Error)?) {
            let (done, status) = state.with { state in
                defer { state.done = nil }
                // Ended here, it is no reply that was cut off.
                return (state.done, error == nil || state.full ? state.status : 0)
            }
            done?.resume(returning: status)
        }

        func urlSession(
            _: URLSession, didReceive challenge: URLAuthenticationChallenge,
            completionHandler:
                @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            guard let authorities, let trust = challenge.protectionSpace.serverTrust else {
                return completionHandler(.performDefaultHandling, nil)
            }
            guard Trust.believes(trust, authorities) else {
                return completionHandler(.cancelAuthenticationChallenge, nil)
            }
            completionHandler(.useCredential, URLCredential(trust: trust))
        }
    }
#endif
