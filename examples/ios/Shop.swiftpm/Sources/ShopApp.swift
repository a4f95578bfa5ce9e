import SwiftUI
import UIKit
import WalleRT

@main
struct ShopApp: App {
    @UIApplicationDelegateAdaptor(AppDelegate.self) private var delegate

    var body: some Scene {
        WindowGroup { Page() }
    }
}

final class AppDelegate: NSObject, UIApplicationDelegate {
    /// What models hold between runs they make again.
    func applicationDidReceiveMemoryWarning(_: UIApplication) {
        trim()
    }
}
