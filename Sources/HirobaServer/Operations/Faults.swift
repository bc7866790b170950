import HirobaHTTP

/// What is our fault: written to the log in full, told to the client as an id only.
struct Faults: Sendable {
    private let log: Log

    init(log: Log) { self.log = log }

    /// Writes the fault down.
    /// - Returns: the id under which the log has it.
    func record(_ cause: String, in request: HTTPRequest) -> String {
        let id = RequestID.next()
        log.line("fault") { line in
            line.append(contentsOf: ",\"id\":\"\(id)\",\"method\":".utf8)
            appendJSONString(request.method.rawValue, to: &line)
            line.append(contentsOf: ",\"path\":".utf8)
            appendJSONString(request.path, to: &line)
            line.append(contentsOf: ",\"cause\":".utf8)
            appendJSONString(cause, to: &line)
        }
        return id
    }
}
