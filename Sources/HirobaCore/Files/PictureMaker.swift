/// Whoever decodes pictures. The core never does: a decoder is where hostile bytes do their harm, so it lives elsewhere.
package protocol PictureMaker: Sendable {
    /// The same picture, upright, without metadata and without the place where it was taken.
    ///
    /// A picture that is already so comes back byte for byte.
    func clean(_ bytes: [UInt8]) async throws(PictureError) -> CleanPicture

    /// The picture scaled down to fit into a square of `size` pixels. Never scaled up.
    func thumbnail(_ bytes: [UInt8], size: Int) async throws(PictureError) -> CleanPicture
}

/// A picture that browsers can show and that tells nothing but what is seen on it.
package struct CleanPicture: Sendable, Equatable {
    /// The media type, such as `image/jpeg`.
    package var type: String
    /// In pixels, upright.
    package var width: Int
    package var height: Int
    package var bytes: [UInt8]

    package init(type: String, width: Int, height: Int, bytes: [UInt8]) {
        self.type = type
        self.width = width
        self.height = height
        self.bytes = bytes
    }
}

package enum PictureError: Error, Equatable {
    /// The bytes are no picture, or are damaged.
    case notAPicture
    /// More pixels than are decoded for anyone; told by the head of the file, before decoding.
    case tooManyPixels
    /// Too much work is waiting. Worth another try in a moment.
    case busy
    /// The decoder crashed, took too long or could not be started.
    case failed(String)
}
