public import HirobaJSON

/// The contract as an OpenAPI 3.1 document.
public enum OpenAPI {
    /// The document.
    ///
    /// - Parameter server: the address under which the server is reached, without the prefix of the paths.
    public static func document(server: String) -> JSON {
        [
            "openapi": "3.1.0",
            "info": ["title": "Hiroba", "version": "1"],
            "servers": [["url": .string(server)]],
            "paths": [:],
        ]
    }
}
