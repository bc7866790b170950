#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A file that was uploaded.
public struct StoredFile: Codable, Hashable, Sendable, Identifiable {
    /// A file's id.
    public typealias ID = HirobaContract.ID<StoredFile>

    /// The file's id.
    public var id: ID
    /// The media type, found from the bytes.
    public var type: String
    /// The size in bytes.
    public var size: Int
    /// The width of a picture in pixels.
    public var width: Int?
    /// The height of a picture in pixels.
    public var height: Int?
    /// When it was uploaded.
    public var createdAt: Date

    /// A file that was uploaded.
    public init(id: ID, type: String, size: Int, width: Int? = nil, height: Int? = nil, createdAt: Date) {
        self.id = id
        self.type = type
        self.size = size
        self.width = width
        self.height = height
        self.createdAt = createdAt
    }
}
