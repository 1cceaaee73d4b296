# SPDX-License-Identifier: MIT
"""The frame of every Python test of the program: a scratch folder, TAP lines, calls of
txdiag. A test calls ok(), equal() or skip() and ends with finish()."""
import atexit
import os
import resource
import shutil
import subprocess
import sys
import tempfile

PROGRAM = os.environ.get("TXD_PROGRAM", "txdiag")
SOURCE = os.environ.get("TXD_SOURCE") or os.path.dirname(os.path.dirname(
    os.path.dirname(os.path.abspath(__file__))))
MODELS = os.environ.get("TXD_MODELS", "")

scratch = tempfile.mkdtemp(prefix="txdiag-test-")
atexit.register(shutil.rmtree, scratch, ignore_errors=True)
os.chdir(scratch)
_counts = {"tests": 0, "failures": 0, "skips": 0}


class Result:
    """How a call of txdiag ended."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def __str__(self):
        return f"exit {self.status}\nstdout: {self.out}\nstderr: {self.err}"


def txdiag(*arguments, env=None, file_limit=None):
    """Runs the program. file_limit: bytes that a file may reach."""
    def limit():
        if file_limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))
    done = subprocess.run([PROGRAM, *map(str, arguments)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace", preexec_fn=limit, check=False, timeout=240,
                          env=None if env is None else {**os.environ, **env})
    return Result(done.returncode, done.stdout, done.stderr)


def peak_of(*arguments):
    """Exit status and peak resident bytes of one call."""
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    pid = os.posix_spawn(PROGRAM, [PROGRAM, *arguments], os.environ,
                         file_actions=quiet)
    _, status, usage = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024


def ok(name, condition, detail=""):
    """One test. The detail is shown if the condition does not hold. In TAP a name must
    not hold a directive: "# SKIP" would make it one that was skipped."""
    _counts["tests"] += 1
    name = str(name).replace("#", "%23")
    if condition:
        print(f"ok {_counts['tests']} - {name}", flush=True)
        return True
    _counts["failures"] += 1
    print(f"not ok {_counts['tests']} - {name}")
    for line in str(detail).splitlines()[-30:]:
        print(f"# {line}")
    sys.stdout.flush()
    return False


def equal(name, found, expected):
    return ok(name, found == expected, f"found    {found!r}\nexpected {expected!r}")


def exits(status, name, *arguments, **options):
    """Runs the program; it must exit with `status`."""
    result = txdiag(*arguments, **options)
    ok(name, result.status == status, f"expected exit {status}: {arguments}\n{result}")
    return result


def holds(name, text, *parts):
    """Every part must stand in the text."""
    missing = [part for part in parts if part not in text]
    return ok(name, not missing, f"missing {missing} in:\n{text}")


def skip(name, reason):
    _counts["tests"] += 1
    _counts["skips"] += 1
    print(f"ok {_counts['tests']} - {name} # SKIP {reason}", flush=True)


def sanitized():
    """True in a build under sanitizers, which takes memory of its own and stops where
    a library that we only call errs."""
    return os.environ.get("TXD_SANITIZED") == "1"


def model(path):
    """A path below the folder of real models, or None."""
    full = os.path.join(MODELS, path)
    return full if MODELS and os.path.exists(full) else None


def write(path, text):
    mode = "wb" if isinstance(text, bytes) else "w"
    with open(path, mode) as file:
        file.write(text)
    return path


def read(path):
    with open(path, "rb") as file:
        return file.read()


def finish():
    print(f"1..{_counts['tests']}")
    if _counts["failures"] or not _counts["tests"]:
        sys.exit(1)
    sys.exit(77 if _counts["skips"] == _counts["tests"] else 0)
