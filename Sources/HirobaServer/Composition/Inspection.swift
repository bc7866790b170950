import Glibc
import HirobaContract
import HirobaCore
import HirobaJSON
import HirobaStore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// `hiroba push` and `hiroba device`: what the database tells, beside a running server.
struct Inspection {
    /// Why there is nothing to tell; a sentence for people.
    struct Failure: Error, CustomStringConvertible {
        let description: String

        init(_ description: String) { self.description = description }
    }

    private let invocation: Invocation

    init(_ invocation: Invocation) { self.invocation = invocation }

    func text() async throws -> String {
        let configuration = invocation.configuration
        if configuration.database == nil, access(configuration.databaseFile, F_OK) != 0 {
            throw Failure(
                "There is no database \(configuration.databaseFile): say with --data or --database where it is. "
                    + "The demo's is found with --data hiroba-demo.")
        }
        let database: Database
        do {
            database = try await Database.openForReading(HirobaApp.location(configuration))
        } catch {
            throw Failure("The database cannot be opened: \(error).")
        }
        do {
            try await checkSchema(database)
            let text = try await text(Push(database: database))
            await database.close()
            return text
        } catch {
            await database.close()
            throw error
        }
    }

    private func checkSchema(_ database: Database) async throws {
        let names = Set(try await database.appliedMigrations())
        guard Schema.migrations.allSatisfy({ names.contains($0.name) }) else {
            throw Failure(
                "The database is older than this program. hiroba migrate brings it up to date, and so does "
                    + "the next start of hiroba serve.")
        }
    }

    private func text(_ push: Push) async throws -> String {
        let caller = Caller(credential: .local)
        let operand = invocation.operand ?? ""
        do {
            switch (invocation.command, invocation.action) {
            case (.push, "story"):
                let story = try await push.story(GetPush(push: .init(operand)), by: caller)
                return try told(story) { $0.text }
            case (.push, _):
                return try told(try await push.notifications(ListPushes(limit: invocation.limit), by: caller)) { page in
                    page.items.isEmpty ? "There was nothing to push yet.\n" : page.items.map(\.line).joined()
                }
            case (_, "why"):
                let story = try await push.why(.init(operand), by: caller)
                return try told(WhyDevice(device: story.device, deliveries: story.deliveries)) { $0.text }
            default:
                return try told(try await push.devices(ListDevices(limit: invocation.limit), by: caller)) { page in
                    page.items.isEmpty ? "No device has registered yet.\n" : page.items.map(\.line).joined()
                }
            }
        } catch let error as HirobaError where error.code == .notFound {
            throw Failure(
                invocation.command == .device
                    ? "There is no device “\(operand)”."
                    : "There is no push and no delivery “\(operand)”, and no push about it.")
        } catch let error as HirobaError {
            throw Failure(error.cause ?? error.sentence.en)
        }
    }

    private func told<Value: Encodable>(_ value: Value, _ text: (Value) -> String) throws -> String {
        guard invocation.switches.contains("json") else { return text(value) }
        return String(decoding: try JSON.parse(JSONCoding.encode(value)).prettyBytes(), as: UTF8.self) + "\n"
    }
}

/// A device with what was last sent to it.
private struct WhyDevice: Encodable {
    var device: Device
    var deliveries: [PushDelivery]

    var text: String {
        var text = """
            Device \(device.id): \(device.health.condition.rawValue)
              \(device.health.sentence)

            """
        text += fact("person", device.user?.rawValue ?? "nobody is signed in")
        text += fact("app", "\(device.app)\(device.appVersion.map { ", version \($0)" } ?? "")")
        text += fact("environment", device.environment.rawValue)
        text += fact("permission", device.permission.rawValue)
        text += fact("token", device.hasToken ? "handed in \(time(device.registeredAt))" : "none")
        if let verdict = device.lastVerdict {
            text += fact("last verdict", "\(verdict), \(time(device.lastVerdictAt))")
        }
        text += deliveries.isEmpty ? "\nNothing was sent to it.\n" : "\nWhat was last sent to it:\n"
        for delivery in deliveries { text += delivery.text(of: "push \(delivery.push)") }
        return text
    }
}

// MARK: - For a terminal

extension PushSummary {
    fileprivate var line: String { "\(padded(id.rawValue, to: 17))\(time(happenedAt))  \(kind)  \(sentence)\n" }
}

extension Device {
    fileprivate var line: String {
        padded(id.rawValue, to: 17) + time(registeredAt) + "  " + padded(health.condition.rawValue, to: 14)
            + health.sentence + "\n"
    }
}

extension PushStory {
    fileprivate var text: String {
        var text = "Push \(push.id): \(push.sentence)\n"
        text += fact("what", "\(push.kind): \(push.subject)\(push.container.map { " in \($0)" } ?? "")")
        text += fact("who did it", push.actor?.rawValue ?? "nobody")
        text += fact("happened", time(push.happenedAt))
        text += fact("worth until", time(push.expiresAt))
        text += "\nWhom it could have been for:\n"
        if people.isEmpty { text += "  nobody\n" }
        for person in people {
            let name = person.name ?? "without a name"
            text += "  \(name) (\(person.user)), \(person.decision.rawValue): \(person.sentence)\n"
        }
        text += "\nWhat became of it:\n"
        if deliveries.isEmpty { text += "  It went to no device.\n" }
        for delivery in deliveries { text += delivery.text(of: "device \(delivery.device) of \(delivery.user)") }
        if !isWhole { text += "\nThere is more; these are the first.\n" }
        return text
    }
}

extension PushDelivery {
    fileprivate func text(of what: String) -> String {
        var text = "  \(what), \(state.rawValue): \(sentence)\n"
        var steps = ["made \(time(createdAt))"]
        if let sentAt { steps.append("sent \(time(sentAt))") }
        if attempts > 1 { steps.append("\(attempts) attempts") }
        if isResent { steps.append("resent") }
        if let dueAt, endedAt == nil { steps.append("due \(time(dueAt))") }
        if let endedAt { steps.append("over \(time(endedAt))") }
        if let openedAt { steps.append("opened \(time(openedAt))") }
        text += "    \(steps.joined(separator: ", "))\n    apns-id \(id)"
        if let uniqueID { text += ", apns-unique-id \(uniqueID)" }
        return text + "\n"
    }
}

private func fact(_ name: String, _ value: String) -> String { "  \(padded(name, to: 14))\(value)\n" }

private func time(_ date: Date?) -> String {
    date?.milliseconds.map(Timestamp.text) ?? padded("never", to: 24)
}
