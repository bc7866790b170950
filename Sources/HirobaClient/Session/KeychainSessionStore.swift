#if canImport(Security)
    import Foundation
    import HirobaJSON
    import Security

    /// Keeps the session in the key chain, readable after the first unlock, on this device only.
    public struct KeychainSessionStore: SessionStore {
        private let service: String

        /// A store under that name. Apps that speak to two servers use two.
        public init(service: String) { self.service = service }

        private var query: [CFString: Any] {
            [kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: "session"]
        }

        /// Reads the item.
        public func load() throws(ClientError) -> StoredSession? {
            var query = query
            query[kSecReturnData] = true
            var item: CFTypeRef?
            // Unsafe only because the C function fills in a pointer; `item` lives through the call.
            let status = unsafe SecItemCopyMatching(query as CFDictionary, &item)
            if status == errSecItemNotFound { return nil }
            guard status == errSecSuccess, let data = item as? Data else { throw failure(status) }
            do {
                return try JSONCoding.decode(StoredSession.self, from: Array(data))
            } catch {
                throw .local("The session in the key chain cannot be read: \(error)")
            }
        }

        /// Replaces the item.
        public func save(_ session: StoredSession) throws(ClientError) {
            let data: Data
            do {
                data = Data(try JSONCoding.encode(session))
            } catch {
                throw .local(error.description)
            }
            var status = SecItemUpdate(query as CFDictionary, [kSecValueData: data] as CFDictionary)
            if status == errSecItemNotFound {
                var item = query
                item[kSecValueData] = data
                item[kSecAttrAccessible] = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
                status = unsafe SecItemAdd(item as CFDictionary, nil)
            }
            guard status == errSecSuccess else { throw failure(status) }
        }

        private func failure(_ status: OSStatus) -> ClientError { .local("The key chain answered \(status)") }
    }
#endif
