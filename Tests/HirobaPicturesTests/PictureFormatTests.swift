import HirobaPictures
import Testing
import TestSupport

struct PictureFormatTests {
    @Test("Formats are told by the first bytes")
    func formats() {
        #expect(PictureFormat(of: SamplePictures.jpeg) == .jpeg)
        #expect(PictureFormat(of: SamplePictures.blackPNG(width: 1, height: 1)) == .png)
        #expect(PictureFormat(of: SamplePictures.webp) == .webp)
        #expect(PictureFormat(of: SamplePictures.gif) == .gif)
        #expect(PictureFormat(of: SamplePictures.heic) == .heic)
        #expect(PictureFormat(of: SamplePictures.avif) == .avif)
        #expect(PictureFormat(of: SamplePictures.tiff) == .tiff)
    }

    @Test(
        "Anything else is no picture",
        arguments: [
            "", "GIF", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>", "%PDF-1.7", "\0\0\0\u{18}ftypmp42",
            "RIFF\0\0\0\0WAVE",
        ])
    func others(text: String) {
        #expect(PictureFormat(of: Array(text.utf8)) == nil)
    }
}
