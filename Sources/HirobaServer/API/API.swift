import HirobaContract
import HirobaCore
import HirobaHTTP
import HirobaJSON

/// Our own JSON over HTTP, under `/v1`: every call of the contract, decoded, handed to the core once, and encoded.
struct API: Sendable {
    struct Options: Sendable {
        /// Largest JSON body, in bytes.
        var bodyBytes = 1 << 20
        /// Largest upload, in bytes.
        var uploadBytes = 20 << 20
        /// Web origins whose pages may call from a browser.
        var corsOrigins: [String] = []
        /// The server's address in the OpenAPI document.
        var publicURL: String?

        init() {}
    }

    let core: Core
    let options: Options
    let faults: Faults

    init(core: Core, options: Options, faults: Faults) {
        self.core = core
        self.options = options
        self.faults = faults
    }

    /// The table of contents: every call of `Calls.all`.
    func register(on routes: inout Routes) {
        let (accounts, files, community, push) = (core.accounts, core.files, core.community, core.push)

        serve(SignUp.self, on: &routes) { try await accounts.signUp($0, by: $1) }
        serve(SignIn.self, on: &routes) { try await accounts.signIn($0, by: $1) }
        serveAnonymousSignIn(on: &routes)
        serve(ListSessions.self, on: &routes) { try await accounts.sessions($0, by: $1) }
        serve(EndSession.self, on: &routes) { try await accounts.endSession($0, by: $1) }
        serve(EndAllSessions.self, on: &routes) { try await accounts.endAllSessions($0, by: $1) }
        serve(GetMe.self, on: &routes) { try await accounts.me($0, by: $1) }
        serve(UpdateMe.self, on: &routes) { try await accounts.updateMe($0, by: $1) }
        serve(GetUser.self, on: &routes) { try await accounts.user($0, by: $1) }

        serveUpload(on: &routes)
        serveDownload(on: &routes)
        serve(DeleteFile.self, on: &routes) { try await files.delete($0, by: $1) }

        serve(ListTopics.self, on: &routes) { try await community.topics($0, by: $1) }
        serve(CreateTopic.self, on: &routes) { try await community.createTopic($0, by: $1) }
        serve(GetTopic.self, on: &routes) { try await community.topic($0, by: $1) }
        serve(DeleteTopic.self, on: &routes) { try await community.deleteTopic($0, by: $1) }
        serve(ListComments.self, on: &routes) { try await community.comments($0, by: $1) }
        serve(CreateComment.self, on: &routes) { try await community.createComment($0, by: $1) }
        serve(DeleteComment.self, on: &routes) { try await community.deleteComment($0, by: $1) }

        serve(PutDevice.self, on: &routes) { try await push.register($0, by: $1) }
        serve(ReportOpened.self, on: &routes) { try await push.report($0, by: $1) }
        serve(ListDevices.self, on: &routes) { try await push.devices($0, by: $1) }
        serve(ListPushes.self, on: &routes) { try await push.notifications($0, by: $1) }
        serve(GetPush.self, on: &routes) { try await push.story($0, by: $1) }
        serve(FollowUser.self, on: &routes) { try await community.follow($0, by: $1) }
        serve(UnfollowUser.self, on: &routes) { try await community.unfollow($0, by: $1) }
        serve(GetSettings.self, on: &routes) { try await community.settings($0, by: $1) }
        serve(PutSettings.self, on: &routes) { try await community.putSettings($0, by: $1) }

        serveLive(on: &routes)
        serveDocument(on: &routes)
    }

    /// Whether the address lies below the API's.
    func owns(_ request: HTTPRequest) -> Bool { request.path.hasPrefix(Route.prefix + "/") }
}
