// swift-tools-version: 6.2
import PackageDescription

/// Every target: Swift 6, warnings are errors, and the language features that will be the default one day.
let common: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

/// Targets that speak to no C library also prove that they hold no unsafe code.
let safe = common + [.strictMemorySafety()]

let package = Package(
    name: "hiroba",
    platforms: [.iOS(.v17), .macOS(.v14)],
    products: [
        .library(name: "HirobaClient", targets: ["HirobaClient", "HirobaContract", "HirobaJSON"]),
        .executable(name: "hiroba", targets: ["hiroba"]),
        .executable(name: "hiroba-thumbnailer", targets: ["hiroba-thumbnailer"]),
        .executable(name: "marvel", targets: ["marvel"]),
        .executable(name: "marvel-server", targets: ["marvel-server"]),
    ],
    targets: [
        // What apps import.
        .target(name: "HirobaJSON", swiftSettings: safe),
        .target(name: "HirobaContract", dependencies: ["HirobaJSON"], swiftSettings: safe),
        .target(name: "HirobaClient", dependencies: ["HirobaContract", "HirobaJSON"], swiftSettings: safe),

        // The server, from the socket up.
        .target(name: "HirobaThreads", dependencies: ["CLinux"], swiftSettings: common),
        .target(name: "HirobaCrypto", dependencies: ["COpenSSL", "CSodium"], swiftSettings: common),
        .target(
            name: "HirobaHTTP",
            dependencies: ["HirobaThreads", "CLinux", "COpenSSL", "CNghttp2"], swiftSettings: common),
        .target(
            name: "HirobaStore",
            dependencies: ["HirobaThreads", "HirobaJSON", "HirobaCrypto", "CSQLite", "CPostgres", "CLinux"],
            swiftSettings: common),
        .target(name: "HirobaPictures", swiftSettings: safe),
        .target(
            name: "HirobaCore",
            dependencies: [
                "HirobaContract", "HirobaJSON", "HirobaStore", "HirobaCrypto", "HirobaThreads", "HirobaPictures",
            ],
            swiftSettings: safe),
        .target(
            name: "HirobaGateways", dependencies: ["HirobaCore", "HirobaHTTP", "HirobaCrypto", "HirobaJSON"],
            swiftSettings: common),
        .target(
            name: "HirobaServer",
            dependencies: [
                "HirobaCore", "HirobaContract", "HirobaGateways", "HirobaJSON", "HirobaHTTP", "HirobaStore",
                "HirobaCrypto", "HirobaThreads", "CWebFiles",
            ],
            swiftSettings: common),
        .target(
            name: "HirobaSimulator",
            dependencies: [
                "HirobaJSON", "HirobaHTTP", "HirobaCrypto", "HirobaThreads", "CSimulatorFiles", "COpenSSL", "CLinux",
            ],
            swiftSettings: common),
        .executableTarget(
            name: "hiroba",
            dependencies: [
                "HirobaServer", "HirobaSimulator", "HirobaCore", "HirobaContract", "HirobaHTTP", "HirobaJSON",
                "HirobaThreads", "CLinux",
            ],
            swiftSettings: common),
        .executableTarget(
            name: "hiroba-thumbnailer", dependencies: ["HirobaPictures", "CVips", "CLinux"], swiftSettings: common),

        // C libraries, and the few lines of C that Swift cannot say.
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "COpenSSLSystem", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CNghttp2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
        .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
        .target(name: "COpenSSL", dependencies: ["COpenSSLSystem"]),
        .target(name: "CLinux"),
        .target(
            name: "CVips",
            linkerSettings: [.linkedLibrary("vips"), .linkedLibrary("gobject-2.0"), .linkedLibrary("glib-2.0")]),
        .target(name: "CWebFiles", exclude: ["pictures", "site"]),
        .target(name: "CSimulatorFiles", exclude: ["web"]),

        // The typed client on a foreign API.
        .target(
            name: "MarvelAPI", dependencies: ["HirobaClient", "HirobaJSON"], path: "Examples/Marvel/API",
            swiftSettings: safe),
        .executableTarget(
            name: "marvel", dependencies: ["MarvelAPI", "HirobaClient"], path: "Examples/Marvel/App",
            swiftSettings: safe),
        .executableTarget(
            name: "marvel-server", dependencies: ["HirobaHTTP", "HirobaJSON", "COpenSSL"],
            path: "Examples/Marvel/Server",
            swiftSettings: common),

        // Tests, one target a library.
        .testTarget(name: "HirobaJSONTests", dependencies: ["HirobaJSON"], swiftSettings: common),
        .testTarget(
            name: "HirobaContractTests", dependencies: ["HirobaContract", "HirobaJSON"], exclude: ["Golden"],
            swiftSettings: common),
        .testTarget(
            name: "HirobaClientTests",
            dependencies: ["HirobaClient", "HirobaContract", "HirobaJSON", "HirobaHTTP", "MarvelAPI", "HirobaThreads"],
            swiftSettings: common),
        .testTarget(name: "HirobaCryptoTests", dependencies: ["HirobaCrypto"], swiftSettings: common),
        .testTarget(
            name: "HirobaPicturesTests", dependencies: ["HirobaPictures", "TestSupport"], swiftSettings: common),
        .testTarget(
            name: "HirobaHTTPTests", dependencies: ["HirobaHTTP", "HirobaThreads", "CLinux", "COpenSSL", "CNghttp2"],
            swiftSettings: common),
        .testTarget(
            name: "HirobaStoreTests",
            dependencies: ["HirobaStore", "HirobaThreads", "HirobaCrypto", "HirobaJSON", "CSQLite", "TestSupport"],
            swiftSettings: common),
        .testTarget(
            name: "HirobaCoreTests",
            dependencies: [
                "HirobaCore", "HirobaContract", "HirobaStore", "HirobaCrypto", "HirobaThreads", "HirobaJSON",
                "TestSupport",
            ],
            swiftSettings: common),
        .testTarget(
            name: "HirobaGatewaysTests",
            dependencies: [
                "HirobaGateways", "HirobaSimulator", "HirobaCore", "HirobaHTTP", "HirobaCrypto", "HirobaJSON",
                "HirobaThreads", "CNghttp2", "COpenSSL", "TestSupport",
            ],
            swiftSettings: common),
        .testTarget(
            name: "HirobaServerTests",
            dependencies: [
                "HirobaServer", "HirobaCore", "HirobaContract", "HirobaClient", "HirobaHTTP", "HirobaStore",
                "HirobaJSON", "HirobaThreads", "TestSupport",
            ],
            swiftSettings: common),
        // The sender of Bench/APNs.
        .executableTarget(
            name: "apns-bench",
            dependencies: ["HirobaGateways", "HirobaCore", "HirobaHTTP", "HirobaCrypto", "HirobaJSON"],
            path: "Bench/APNs",
            swiftSettings: common),
        // The whole way of a push up to the gateway.
        .executableTarget(
            name: "outbox-bench",
            dependencies: ["HirobaCore", "HirobaContract", "HirobaStore", "HirobaCrypto"],
            path: "Bench/Outbox",
            swiftSettings: common),
        .testTarget(
            name: "HirobaSimulatorTests",
            dependencies: [
                "HirobaSimulator", "HirobaHTTP", "HirobaJSON", "HirobaCrypto", "HirobaThreads", "TestSupport",
            ],
            swiftSettings: common),
        // The writing program of Tests/Durability.
        .executableTarget(
            name: "store-writer", dependencies: ["HirobaStore"], path: "Tests/Durability/Writer",
            swiftSettings: common),
        .target(
            name: "TestSupport", dependencies: ["HirobaStore", "HirobaThreads", "CPostgres"], path: "Tests/Support",
            swiftSettings: common),
    ]
)
