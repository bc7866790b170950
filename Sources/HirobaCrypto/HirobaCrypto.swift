// Which library does what, and why.
//
// SHA-256 and HMAC: OpenSSL, which uses the processor's SHA instructions and is seven times as fast as libsodium here.
//     TLS needs it anyway.
// Passwords: libsodium's argon2id. OpenSSL 3.0 has none, and libsodium writes the parameters into the text it returns,
//     so that they can be raised later while old hashes stay good.
// Random bytes: libsodium, which reads the kernel's generator and ends the process rather than hand out anything else.
// Base64url and hex are a few lines of Swift; a library would be longer to call.
//
// What blocks: only `Password` (about 40 ms and 19 MiB a call). Everything else may run on an event loop.

import CSodium

/// libsodium wants one call before any other. `sodium_init` may be called again from any thread; the value is only
/// read to have it happen.
private let sodiumIsReady: Bool = {
    // Fails only where the kernel offers no random numbers. Nothing secret can be made there, so nothing may start.
    precondition(sodium_init() >= 0, "libsodium cannot reach the kernel's random numbers")
    return true
}()

func requireSodium() { _ = sodiumIsReady }
