"""Runs a test in a child process, so that a crash or any output becomes a failure with a name."""
import os
import resource
import signal
import tempfile
import traceback


def folder():
    """A new folder, in memory if possible: the tests are not about the disk."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    return tempfile.TemporaryDirectory(prefix="plimsoll-", dir=place)


def run(body, memory=None, told=None):
    """Calls body(tell) in a fork. tell("case", text) announces a case, tell("failed", text) reports a failure, and
    tell("told", text) adds a text to `told`. Returns the number that body returns, the failures, and the number of cases."""
    reading, writing = os.pipe()
    printed = tempfile.TemporaryFile()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.dup2(printed.fileno(), 1)
        os.dup2(printed.fileno(), 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

        def tell(kind, text):
            line = f"{kind}\t{text}".replace("\n", " | ") + "\n"
            os.write(writing, line.encode(errors="replace"))

        try:
            tell("count", str(body(tell) or 0))
        except BaseException as error:
            tell("failed", f"the test itself: {error!r}: {traceback.format_exc()}")
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8", errors="replace") as stream:
        lines = [line.rstrip("\n").split("\t", 1) for line in stream if "\t" in line]
    _, status = os.waitpid(child, 0)
    failures = [text for kind, text in lines if kind == "failed"]
    if told is not None:
        told += [text for kind, text in lines if kind == "told"]
    cases = [text for kind, text in lines if kind == "case"]
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        failures.append(f"{cases[-1:]}: {'takes too long' if name == 'SIGALRM' else 'died of ' + name}")
    elif os.WEXITSTATUS(status):
        failures.append(f"{cases[-1:]}: died of exit code {os.WEXITSTATUS(status)}")
    printed.seek(0)
    output = printed.read().decode(errors="replace")
    printed.close()
    if output:
        failures.append(f"printed: {output[:500]}")
    return sum(int(text) for kind, text in lines if kind == "count"), failures, len(cases)
