public import Foundation
public import HirobaContract

extension HirobaClient {
    /// Uploads bytes or a file, which is read while it is sent.
    ///
    /// - Parameter type: the media type as far as known; the server looks at the bytes.
    public func upload(
        _ body: RequestBody, type: String = "application/octet-stream", progress: UploadProgress? = nil
    ) async throws(ClientError) -> StoredFile {
        var call = HirobaCall<UploadFile, StoredFile>(UploadFile())
        call.body = body
        call.bodyType = type
        call.uploadProgress = progress
        return try await send(call)
    }

    /// Downloads a file into memory.
    ///
    /// - Returns: the media type and the bytes.
    public func download(_ call: DownloadFile) async throws(ClientError) -> (type: String, bytes: [UInt8]) {
        let call = HirobaCall<DownloadFile, NoContent>(call)
        return try await retrying { () throws(ClientError) in try await self.client.bytes(of: call) }
    }

    /// Downloads into a file, which is there as a whole or not at all.
    ///
    /// - Returns: the media type.
    @discardableResult
    public func download(
        _ call: DownloadFile, to file: URL, progress: DownloadProgress? = nil
    ) async throws(ClientError) -> String {
        let call = HirobaCall<DownloadFile, NoContent>(call)
        return try await retrying { () throws(ClientError) in
            try await self.client.download(call, to: file, progress: progress)
        }
    }
}
