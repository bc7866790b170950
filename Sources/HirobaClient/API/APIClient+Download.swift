public import Foundation

/// Told how many bytes have come, of how many if the server says so.
public typealias DownloadProgress = @Sendable (_ received: Int64, _ total: Int64?) -> Void

extension APIClient {
    /// Sends a call and keeps the bytes it answers in memory.
    ///
    /// - Returns: the media type and the bytes.
    public func bytes<Call: APIType>(
        of call: Call
    ) async throws(ClientError) -> (type: String, bytes: [UInt8]) where Call.API == API {
        let answer = try await answer(to: try call.request(for: api))
        return (answer.headers["Content-Type"] ?? "application/octet-stream", try await collect(answer.body))
    }

    /// Sends a call and writes the bytes it answers to a file, which is there as a whole or not at all.
    ///
    /// - Returns: the media type.
    @concurrent
    public func download<Call: APIType>(
        _ call: Call, to file: URL, progress: DownloadProgress? = nil
    ) async throws(ClientError) -> String where Call.API == API {
        let answer = try await answer(to: try call.request(for: api))
        let total = answer.headers["Content-Length"].flatMap { Int64($0) }
        let part = file.appendingPathExtension("part-\(UUID().uuidString)")
        do {
            try await write(answer.body, to: part, total: total, progress: progress)
            try PrivateFile.replace(file, by: part)
        } catch {
            try? FileManager.default.removeItem(at: part)
            throw error
        }
        return answer.headers["Content-Type"] ?? "application/octet-stream"
    }

    private func write(
        _ body: TransportBody, to file: URL, total: Int64?, progress: DownloadProgress?
    ) async throws(ClientError) {
        var received: Int64 = 0
        do {
            guard FileManager.default.createFile(atPath: file.path, contents: nil) else {
                throw ClientError.local("The file \(file.lastPathComponent) cannot be written")
            }
            let handle = try FileHandle(forWritingTo: file)
            defer { try? handle.close() }
            for try await part in body {
                try handle.write(contentsOf: Data(part))
                received += Int64(part.count)
                progress?(received, total)
            }
            try handle.synchronize()
        } catch let error as CocoaError {
            throw .local(error.localizedDescription)
        } catch {
            throw ClientError(transport: error)
        }
        if Task.isCancelled { throw .cancelled }
        if let total, received != total {
            throw .network(NetworkFailure(.lost, "The connection broke after \(received) of \(total) bytes"))
        }
    }
}
