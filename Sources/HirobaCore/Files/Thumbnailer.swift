import HirobaPictures
import HirobaThreads

/// Makes pictures in child processes, `hiroba-thumbnailer`, so that a picture that breaks a decoder breaks nothing else.
///
/// A child is started when there is work for it, goes on to the next job, is replaced when it crashes or hangs, and is
/// ended after some time without work, which gives its memory back.
package final class Thumbnailer: PictureMaker {
    package struct Options: Sendable {
        /// Children at once, each with one core and, for the largest pictures, some hundred MiB.
        package var children = 2
        /// How many more jobs may wait before `PictureError.busy`. Each holds its picture in memory.
        package var queue = 32
        /// For one job from its turn on. An ordinary photo takes a tenth of a second.
        package var deadline = Duration.seconds(30)
        /// A child without work for so long is ended. Starting one takes about 50 ms.
        package var idle = Duration.seconds(120)

        package init() {}
    }

    private struct State {
        var idle: [(child: ChildProcess, since: ContinuousClock.Instant)] = []
        var working: [Int32: ChildProcess] = [:]
        var isSweeping = false
        var isStopped = false
    }

    private let executable: String
    private let options: Options
    private let pool: WorkerPool
    private let state = Lock(State())

    /// - Parameter executable: the path of `hiroba-thumbnailer`. By default it lies beside the running program.
    package init(
        executable: String = ChildProcess.besideThisProgram("hiroba-thumbnailer"), options: Options = Options()
    ) {
        self.executable = executable
        self.options = options
        pool = WorkerPool(name: "pictures", threads: options.children, queue: options.queue)
    }

    package func clean(_ bytes: [UInt8]) async throws(PictureError) -> CleanPicture {
        try await run(.clean(bytes))
    }

    package func thumbnail(_ bytes: [UInt8], size: Int) async throws(PictureError) -> CleanPicture {
        try await run(.thumbnail(bytes, size: size))
    }

    /// Ends the children, also those at work. Jobs from now on fail.
    package func stop() {
        let children = state.withLock { state in
            state.isStopped = true
            let children = state.idle.map(\.child) + state.working.values
            state.idle = []
            return children
        }
        for child in children { child.end() }
    }

    /// The children there are, for whoever watches over them.
    package var processIDs: [Int32] {
        state.withLock { state in state.idle.map(\.child.id) + state.working.keys }
    }

    private func run(_ job: PictureJob) async throws(PictureError) -> CleanPicture {
        let answer: PictureJob.Answer
        do {
            answer = try await pool.run { try self.answer(to: job.frame) }
        } catch let error as PictureError {
            throw error
        } catch {
            throw .busy
        }
        switch answer {
        case .picture(let format, let width, let height, let bytes):
            return CleanPicture(type: format.mediaType, width: width, height: height, bytes: bytes)
        case .notAPicture: throw .notAPicture
        case .tooManyPixels: throw .tooManyPixels
        case .failed(let reason): throw .failed(reason)
        }
    }

    /// On a thread of the pool, which lives as long as the children that it starts.
    private func answer(to frame: [UInt8]) throws(PictureError) -> PictureJob.Answer {
        let deadline = ContinuousClock.now + options.deadline
        while true {
            let (child, isFresh) = try takeChild()
            do throws(ChildProcess.Failure) {
                let answer = try Self.ask(child, frame, until: deadline)
                if answer == nil { discard(child) } else { giveBack(child) }
                return answer ?? .failed("the picture process answered nonsense")
            } catch {
                discard(child)
                switch error {
                // It may have died long ago, of something else than this picture.
                case .ended where !isFresh: continue
                case .ended: throw .failed("the picture process crashed")
                case .tooSlow: throw .failed("the picture process took longer than \(options.deadline)")
                case .cannotStart(let number): throw .failed("cannot start: error \(number)")
                }
            }
        }
    }

    private static func ask(
        _ child: ChildProcess, _ frame: [UInt8], until deadline: ContinuousClock.Instant
    ) throws(ChildProcess.Failure) -> PictureJob.Answer? {
        try child.write(frame, until: deadline)
        guard let length = PictureJob.length(try child.read(PictureJob.lengthBytes, until: deadline)) else {
            return nil
        }
        return PictureJob.Answer(try child.read(length, until: deadline))
    }

    private func takeChild() throws(PictureError) -> (ChildProcess, isFresh: Bool) {
        let idle = try state.withLock { state throws(PictureError) -> ChildProcess? in
            if state.isStopped { throw .failed("pictures are no longer made: the server stops") }
            guard let child = state.idle.popLast()?.child else { return nil }
            state.working[child.id] = child
            return child
        }
        if let idle { return (idle, false) }

        let child: ChildProcess
        do {
            child = try ChildProcess(executable: executable)
        } catch {
            throw .failed("cannot start \(executable): \(error)")
        }
        let isStopped = state.withLock { state in
            state.working[child.id] = child
            return state.isStopped
        }
        // Whoever stopped did not know this one yet.
        if isStopped { child.end() }
        return (child, true)
    }

    private func discard(_ child: ChildProcess) {
        child.end()
        state.withLock { $0.working[child.id] = nil }
    }

    private func giveBack(_ child: ChildProcess) {
        let mustSweep = state.withLock { state in
            state.working[child.id] = nil
            // A child that was ended meanwhile does no harm here: the next job notices.
            state.idle.append((child, .now))
            defer { state.isSweeping = true }
            return !state.isSweeping && !state.isStopped
        }
        guard mustSweep else { return }
        let idle = options.idle
        Task { [weak self] in
            repeat { try? await Task.sleep(for: idle) } while self?.sweep() == true
        }
    }

    /// Ends children that had no work for long. Whether there are others to look after.
    private func sweep() -> Bool {
        let (old, goesOn) = state.withLock { state in
            let limit = ContinuousClock.now - options.idle
            let old = state.idle.filter { $0.since <= limit }
            state.idle.removeAll { $0.since <= limit }
            state.isSweeping = !state.idle.isEmpty || !state.working.isEmpty
            return (old, state.isSweeping)
        }
        for (child, _) in old { child.end() }
        return goesOn
    }
}
