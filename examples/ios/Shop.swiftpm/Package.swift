// swift-tools-version: 6.0
// Unproved here: it needs Xcode.
import AppleProductTypes
import PackageDescription

let package = Package(
    name: "Shop",
    platforms: [.iOS(.v16)],
    products: [
        .iOSApplication(
            name: "Shop",
            targets: ["Shop"],
            bundleIdentifier: "com.example.shop",
            displayVersion: "1.0.0",
            bundleVersion: "1",
            supportedDeviceFamilies: [.phone, .pad],
            supportedInterfaceOrientations: [.portrait]
        )
    ],
    dependencies: [.package(name: "WalleRT", path: "../../../src/swift")],
    targets: [
        .executableTarget(
            name: "Shop",
            dependencies: [.product(name: "WalleRT", package: "WalleRT")],
            path: ".",
            sources: ["Sources"],
            resources: [.copy("Resources")]
        )
    ]
)
