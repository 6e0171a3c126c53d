"""Runs a program that a user names, which prints what Tidegate needs: a token, or the address of a Spark server."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping, Sequence


class CommandFailed(Exception):
    """The program printed nothing to use. The message ends a sentence whose subject is the command.

    Attributes:
        said: what it printed on stderr.
    """

    def __init__(self, why: str, said: bytes = b"") -> None:
        super().__init__(why)
        self.said = said


def output_of(command: str | Sequence[str], seconds: float, environ: Mapping[str, str] | None = None) -> bytes:
    """Return what a program prints on stdout. No shell reads the command.

    Args:
        command: the program and its arguments, as a text or apart.
        seconds: within which it has to end.
        environ: its variables; None gives it those of this process.

    Raises:
        CommandFailed: it did not end in time, cannot be run, or failed. The message repeats nothing that it printed.
    """
    try:
        words = shlex.split(command) if isinstance(command, str) else list(command)
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, env=environ, check=False
        )
    except subprocess.TimeoutExpired:
        raise CommandFailed(f"did not end within {seconds:g} s") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise CommandFailed(f"cannot be run ({reason})") from None
    if done.returncode != 0:
        raise CommandFailed(f"ended with {done.returncode}", done.stderr)
    return done.stdout
