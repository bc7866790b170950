/// Uploads a file: the body is its bytes. The `Content-Type` is a hint; the type is found from the bytes.
public struct UploadFile: UploadCall, Hashable {
    /// The file as it was stored.
    public typealias Answer = StoredFile
    /// Where it goes.
    public static let route = Route(.post, "/files")
    /// What it does.
    public static let summary = "Upload a file; the body is its bytes"
    /// 201.
    public static let successStatuses = [201]
    /// Too large, or of a type that is not taken.
    public static let errors: [ErrorCode] = [.tooLarge, .unsupportedMediaType]

    /// Uploads a file.
    public init() {}
}

/// Downloads a file, or a picture in a smaller size.
public struct DownloadFile: DownloadCall, Hashable {
    /// Where it goes.
    public static let route = Route(.get, "/files/{file}")
    /// What it does.
    public static let summary = "Download a file, or a picture in a smaller size"
    /// 200, or 206 for a part.
    public static let successStatuses = [200, 206]
    /// Anybody.
    public static let credential = CallCredential.optional
    /// There may be no such file.
    public static let errors: [ErrorCode] = [.notFound]
    /// Limits of its fields.
    public static let limits: [String: FieldLimit] = ["size": .value(1...4_096)]

    /// The file.
    public var file: StoredFile.ID
    /// For a picture: the longer side in pixels at most. The server has a few fixed sizes and takes the next larger
    /// one.
    public var size: Int?

    /// Downloads a file.
    public init(file: StoredFile.ID, size: Int? = nil) {
        self.file = file
        self.size = size
    }
}

/// Deletes one's own file.
public struct DeleteFile: Call, Hashable {
    /// Nothing.
    public typealias Answer = NoContent
    /// Where it goes.
    public static let route = Route(.delete, "/files/{file}")
    /// What it does.
    public static let summary = "Delete one's own file"
    /// 204.
    public static let successStatuses = [204]
    /// Somebody else's, or none.
    public static let errors: [ErrorCode] = [.forbidden, .notFound]

    /// The file.
    public var file: StoredFile.ID

    /// Deletes one's own file.
    public init(file: StoredFile.ID) { self.file = file }
}
