"""The guard: a small program between the parent and one child, so that the child never outlives the parent.

It runs as `python -I -S guard.py FD GRACE COMMAND…` (standard library only, nothing of Tidegate is
imported: it must start in milliseconds). FD is the read end of a pipe that the parent holds open. The guard ends the
child and everything the child has started, also processes in a session of their own, when the parent writes so to the
pipe (`stop SECONDS`), when the pipe breaks because the parent is gone (SIGKILL included), and when the child ends.

A pipe is used because PR_SET_PDEATHSIG alone does not suffice: that signal is bound to the *thread* that forked,
reaches one process only, and no SIGKILL follows it. The guard, which has one thread, uses it for its child.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
import time

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_HANDLED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _descendants(root: int) -> list[int]:
    """Return every live process below `root`, from /proc. Empty on systems other than Linux."""
    children: dict[int, list[int]] = {}
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            with contextlib.suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as stat:
                    state, parent = stat.read().rpartition(")")[2].split()[:2]
                if state != "Z":
                    children.setdefault(int(parent), []).append(int(name))
    found: list[int] = []
    queue = [root]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found


def _signal_all(number: signal.Signals) -> None:
    """Signal the process group (the guard itself has a handler), and the descendants that left the group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if number != signal.SIGKILL or sys.platform != "linux":
            os.killpg(0, number)
    for pid in _descendants(os.getpid()):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if number == signal.SIGKILL or os.getpgid(pid) != os.getpgrp():
                os.kill(pid, number)


class _Children:
    """Reaps every process that ends below the guard, and remembers how the child ended."""

    def __init__(self, child: int) -> None:
        self.child = child
        self.code: int | None = None
        self.left = True

    def reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self.left = False
                return
            if pid == 0:
                return
            if pid == self.child:
                self.code = os.waitstatus_to_exitcode(status)

    def end(self, grace: float) -> None:
        """Send SIGTERM, and SIGKILL after `grace` seconds."""
        _signal_all(signal.SIGTERM)
        end = time.monotonic() + grace
        self.reap()
        while self.left and time.monotonic() < end:
            time.sleep(0.02)
            self.reap()
        for _ in range(100):
            if not self.left:
                return
            _signal_all(signal.SIGKILL)
            time.sleep(0.02)
            self.reap()


def _start(command: list[str], control: int) -> int:
    # A signal that arrives before the child has its own handler must wait, or the guard's handler would swallow it.
    signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)
    pid = os.fork()
    if pid:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED)
        return pid
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    for number in (*_HANDLED, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED)
    os.close(control)
    os.dup2(2, 1)  # until here stdout is the pipe for the pid
    try:
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"cannot start {command[0]}: {error}\n".encode())
        os._exit(127)


def _main(arguments: list[str]) -> int:
    control, grace, command = int(arguments[0]), float(arguments[1]), arguments[2:]
    for number in _HANDLED:
        signal.signal(number, lambda *_: None)
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    children = _Children(_start(command, control))
    os.write(1, f"{children.child}\n".encode())
    os.close(1)
    os.dup2(2, 1)
    while children.code is None:
        ready, _, _ = select.select([control, wake_read], [], [])
        if wake_read in ready:
            os.read(wake_read, 64)
        if control in ready:
            text = os.read(control, 64).decode()
            if text.startswith("stop "):
                grace = float(text.split()[1])
            children.end(grace)
            break
        children.reap()
    # Processes that the child leaves behind get a moment, not the full grace, because their owner is gone.
    children.end(min(grace, 2.0))
    code = children.code if children.code is not None else -signal.SIGKILL
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
