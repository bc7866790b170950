import Glibc
import TestSupport
import Testing

@testable import HirobaServer

@Suite("The data folder")
struct DataFolderTests {
    private func mode(_ path: String) -> mode_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o777 : nil
    }

    @Test("is made for its owner alone, with the folders above it")
    func making() async throws {
        try await withTemporaryFolder { temporary async throws in
            let path = temporary + "/a/b/data"
            let folder = try DataFolder(path: path)
            #expect(mode(path) == 0o700)
            #expect(mode(temporary + "/a") == 0o700)
            #expect(folder.isEmpty)
        }
    }

    @Test("is for one process at a time, and says so")
    func lock() async throws {
        try await withTemporaryFolder { temporary async throws in
            do {
                let first = try DataFolder(path: temporary + "/d")
                let refusal = #expect(throws: DataFolder.Refused.self) { try DataFolder(path: temporary + "/d") }
                #expect(
                    refusal?.description
                        == "Another hiroba is using the folder \(temporary)/d. Stop it, or give --data another folder.")
                withExtendedLifetime(first) {}
            }
            _ = try DataFolder(path: temporary + "/d")
        }
    }

    @Test("keeps a secret that nobody else can read, the same each time")
    func secrets() async throws {
        try await withTemporaryFolder { temporary async throws in
            let path = temporary + "/d"
            let first = try DataFolder(path: path).secret("site")
            #expect(first.count == 32)
            #expect(mode(path + "/site.secret") == 0o600)
            let folder = try DataFolder(path: path)
            #expect(try folder.secret("site") == first)
            #expect(try folder.secret("other") != first)
        }
    }

    @Test("refuses a secret that was cut short, in place of making another one")
    func brokenSecret() async throws {
        try await withTemporaryFolder { temporary async throws in
            let folder = try DataFolder(path: temporary + "/d")
            _ = try folder.secret("site")
            truncate(temporary + "/d/site.secret", 5)
            #expect(throws: DataFolder.Refused.self) { try folder.secret("site") }
        }
    }

    @Test("can be emptied, and follows no link out of itself")
    func emptying() async throws {
        try await withTemporaryFolder { temporary async throws in
            mkdir(temporary + "/outside", 0o700)
            mkdir(temporary + "/outside/kept", 0o700)
            let folder = try DataFolder(path: temporary + "/d")
            mkdir(temporary + "/d/blobs", 0o700)
            symlink(temporary + "/outside", temporary + "/d/blobs/link")
            try folder.mark("demo")
            #expect(!folder.isEmpty)
            #expect(folder.has("demo"))
            try folder.empty()
            #expect(folder.isEmpty)
            #expect(access(temporary + "/d/blobs", F_OK) != 0)
            #expect(access(temporary + "/outside/kept", F_OK) == 0)
        }
    }

    @Test("is refused when it is no folder")
    func noFolder() async throws {
        try await withTemporaryFolder { temporary async throws in
            #expect(throws: DataFolder.Refused(description: "/dev/null is not a folder.")) {
                try DataFolder(path: "/dev/null")
            }
            _ = temporary
        }
    }
}
