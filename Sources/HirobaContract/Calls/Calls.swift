/// The list of calls. The server refuses to start when it does not serve one of them, the OpenAPI document shows them
/// all, and the tests send each there and back.
public enum Calls {
    /// Every call of this version.
    public static let all: [any CallDescription.Type] = [
        SignInAnonymously.self, SignUp.self, SignIn.self, ListSessions.self, EndSession.self, EndAllSessions.self,
        GetMe.self, UpdateMe.self, GetUser.self,
        UploadFile.self, DownloadFile.self, DeleteFile.self,
        ListTopics.self, CreateTopic.self, GetTopic.self, DeleteTopic.self,
        ListComments.self, CreateComment.self, DeleteComment.self,
        Live.self,
        PutDevice.self, ReportOpened.self, ListDevices.self, ListPushes.self, GetPush.self,
        FollowUser.self, UnfollowUser.self, GetSettings.self, PutSettings.self,
    ]
}
