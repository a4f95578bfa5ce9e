import Foundation
import UIKit
import WalleRT

/// The app's device: one per process, opened at the first use and closed never, as iOS ends processes.
actor Shop {
    static let shared = Shop()
    static let task = "suggest"

    private var opening: Task<Device, any Error>?

    /// What is on stock only the app knows; the task asks.
    private static let stock = ["cup": 3, "lamp": 0]

    func device() async throws -> Device {
        let opened = opening ?? Task { try await Shop.open() }
        opening = opened
        do {
            return try await opened.value
        } catch {
            opening = nil
            throw error
        }
    }

    private static func open() async throws -> Device {
        let folder = try folder()
        let device = try await Device.open(
            folder.path, app: ["stock": { items in .int(stock[items[0].asText ?? ""] ?? 0) }])
        // The task that came with the app, until the server's plan says otherwise.
        if try device.tasks()[task] == nil { try await device.install(resource("\(task).wtask")) }
        Task { await follow(device) }
        return device
    }

    /// Not in what the system backs up: a device is one, and its identity is not copied.
    private static func folder() throws -> URL {
        var folder = try FileManager.default.url(
            for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil, create: true
        ).appendingPathComponent("walle")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var values = URLResourceValues()
        values.isExcludedFromBackup = true
        try folder.setResourceValues(values)
        return folder
    }

    /// Where the app was given a server: `server.txt` of its resources has its address and a code.
    private static func follow(_ device: Device) async {
        guard let server = try? resource("server.txt") else { return }
        let lines = String(decoding: server, as: UTF8.self).split(whereSeparator: \.isNewline)
        guard lines.count == 2 else { return }
        do {
            try await device.connect(
                String(lines[0]), root: resource("root.json"), app: "com.example.shop", appVersion: "1.0.0",
                enrolCode: String(lines[1]), device: UIDevice.current.model,
                osVersion: UIDevice.current.systemVersion)
        } catch {
            let away = error as? WalleError
            print("no server: \(away?.given ?? "\(error)"); \(away?.nextStep ?? "")")
        }
    }

    private static func resource(_ name: String) throws -> [UInt8] {
        let folder = Bundle.main.bundleURL.appendingPathComponent("Resources")
        return [UInt8](try Data(contentsOf: folder.appendingPathComponent(name)))
    }
}
