"""A Spark server that a command of the user starts, or names, for each session."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from tidegate.platform.core.errors import BadSetting
from tidegate.platform.core.foreign_json import foreign_json
from tidegate.platform.core.wording import one_line
from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.lake.spark.server_errors import SparkUnreachable
from tidegate.platform.lake.spark.session import probe
from tidegate.platform.lake.spark.token_source import TOKEN_COMMAND, TokenSource
from tidegate.platform.lake.spark.user_command import CommandFailed, output_of

#: A cluster may take minutes to start.
_ENDS_WITHIN = 900.0
#: A server that was only just started may refuse the first connections.
_ANSWERS_WITHIN = 60.0
_PAUSE = 1.0
_MAX_BYTES = 64 * 1024
_FIELDS = {"endpoint", "token", "token_command"}


class ServerByCommand:
    """The server that a command prints.

    Args:
        command: a program and its arguments. No shell reads it.
        environ: its variables.
    """

    def __init__(self, command: Sequence[str], environ: Mapping[str, str]) -> None:
        self._command, self._environ = list(command), dict(environ)
        self._found: SparkRemote | None = None

    @property
    def is_always_there(self) -> bool:
        """False: it is only there for work."""
        return False

    def obtain(self) -> SparkRemote:
        """Run the command, and return the server that it prints, once that answers. Later calls return it again.

        Raises:
            SparkUnreachable: the command failed, or its server does not answer.
        """
        if self._found is None:
            remote = self._run()
            until = time.monotonic() + _ANSWERS_WITHIN
            while time.monotonic() < until:
                with suppress(SparkUnreachable):
                    probe(remote)
                    break
                time.sleep(_PAUSE)
            else:
                probe(remote)
            self._found = remote
        return self._found

    def find(self) -> list[SparkRemote]:
        """Return the server that the command has printed for this session, if it was asked for."""
        return [] if self._found is None else [self._found]

    def server_of(self, table: str) -> str:
        """Return nothing: each session has the server that the command prints for it."""
        return ""

    def release(self) -> None:
        """Let the next session have a server of its own. The command says when this one ends."""
        self._found = None

    def describe(self) -> str:
        """Return a sentence for people about the server."""
        return f"not asked, because there is no work; each run starts {self._command[0]}"

    def _run(self) -> SparkRemote:
        try:
            return self._server_of(output_of(self._command, _ENDS_WITHIN, self._environ))
        except CommandFailed as error:
            # What it printed for us may have a token. What it printed for people has none.
            last = error.said.decode("utf-8", "replace").strip().splitlines()[-1:]
            raise SparkUnreachable(f"{self} {error}{''.join(f': {one_line(line)}' for line in last)}") from None

    def _server_of(self, output: bytes) -> SparkRemote:
        try:
            return server_of(output)
        except ValueError as error:
            raise SparkUnreachable(f"{self} printed no server: {error}") from None

    def __str__(self) -> str:
        # An argument may be a secret.
        return f"`spark.command` of lake.yaml ({self._command[0]})"


def server_of(output: bytes) -> SparkRemote:
    """Return the server that the output of a command names.

    Raises:
        BadSetting: it names none. The message repeats nothing of the output but names of fields.
    """
    if len(output) > _MAX_BYTES:
        raise BadSetting(f"it has more than {_MAX_BYTES >> 10} KiB")
    try:
        found = foreign_json(output)
    except ValueError:
        raise BadSetting('it is not one JSON object such as {"endpoint": "sc://host:443/;use_ssl=true"}') from None
    if not isinstance(found, dict) or not all(isinstance(value, str) and value for value in found.values()):
        raise BadSetting("it must be a JSON object whose values are texts")
    if unknown := sorted(found.keys() - _FIELDS):
        raise BadSetting(f"{unknown[0]!r} is not one of {', '.join(sorted(_FIELDS))}")
    if "endpoint" not in found:
        raise BadSetting("it has no `endpoint`")
    if {"token", "token_command"} <= found.keys():
        raise BadSetting("it has `token` and `token_command`, and must have one of them at most")
    command = found.get("token_command")
    source = TokenSource(TOKEN_COMMAND, command) if command else None
    return SparkRemote.parse(found["endpoint"], found.get("token"), source)
