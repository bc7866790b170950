import CLinux
import CVips
import Glibc
import HirobaPictures

// A picture is the most dangerous thing a stranger can send: decoders are large, old and written in C. They run in this
// process only, which holds no secret, can open nothing and is killed when it takes too long.

if CommandLine.arguments.count > 1 || isatty(STDIN_FILENO) == 1 {
    print(
        """
        hiroba-thumbnailer: the process in which hiroba decodes pictures.

        hiroba starts it by itself and looks for it in the folder where hiroba lies. There is nothing to set.
        It reads jobs from standard input and writes answers to standard output; Sources/HirobaPictures/PictureJob.swift
        describes both.
        """)
    exit(CommandLine.arguments.count == 2 && CommandLine.arguments[1] == "--help" ? 0 : 64)
}

Confinement.beforeStart()
guard cvips_start() == 0 else {
    print("hiroba-thumbnailer: libvips does not start: \(String(cString: cvips_error()))")
    exit(70)
}
Confinement.beforeJobs()

var frames = Frames(input: STDIN_FILENO, output: STDOUT_FILENO)
while let body = frames.read() {
    Confinement.beforeJob()
    let answer = PictureJob(body)?.run() ?? .failed("unknown job")
    guard frames.write(answer.frame) else { break }
    // The heap of a large picture goes back to the system at once; the next one may be hours away.
    malloc_trim(0)
}
