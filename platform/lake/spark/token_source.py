"""Where the token of a Spark Connect server is read at each connection, so that a new token needs no restart."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tidegate.platform.core.errors import BadSetting
from tidegate.platform.lake.spark.server_errors import SparkUnreachable
from tidegate.platform.lake.spark.user_command import CommandFailed, output_of

#: PySpark's own variable with the token; and ours, with a file that has it, or with a command that prints it.
TOKEN, TOKEN_FILE, TOKEN_COMMAND = (
    "SPARK_CONNECT_AUTHENTICATE_TOKEN",
    "TIDEGATE_SPARK_TOKEN_FILE",
    "TIDEGATE_SPARK_TOKEN_COMMAND",
)
#: One connection asks for its token several times, and a command may take a second.
_COMMAND_COUNTS_SECONDS = 60.0
_COMMAND_ENDS_WITHIN = 15.0
#: A token goes into a header of HTTP/2, of which gRPC takes 8 KiB in total.
_MAX_LENGTH = 4096


@dataclass
class TokenSource:
    """A file with a token, or a command that prints one.

    Attributes:
        variable: the variable of the environment that names it, `TOKEN_FILE` or `TOKEN_COMMAND`.
        value: path of the file, or the command with its arguments. No shell reads it.
    """

    variable: str
    value: str
    _given: list[str] = field(default_factory=list, compare=False, repr=False)
    _asked: float = field(default=float("-inf"), compare=False, repr=False)

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> TokenSource | None:
        """Return the source that an environment names; None if it names none, or has the token itself.

        Raises:
            BadSetting: the environment names more than one.
        """
        named = [name for name in (TOKEN, TOKEN_FILE, TOKEN_COMMAND) if environ.get(name)]
        if len(named) > 1:
            raise BadSetting(f"{' and '.join(named)} are set, and each names a token: unset all but one")
        if not named or named == [TOKEN]:
            return None
        return cls(named[0], environ[named[0]])

    def read(self) -> str:
        """Return the token as it is now. The answer of a command counts for a minute.

        Raises:
            SparkUnreachable: there is no token now. The message repeats no output of the command.
        """
        if self.variable == TOKEN_COMMAND and self._given and time.monotonic() < self._asked + _COMMAND_COUNTS_SECONDS:
            return self._given[-1]
        self._asked = time.monotonic()
        text = self._run() if self.variable == TOKEN_COMMAND else self._read_file()
        token = text.strip()
        if not token or len(token) > _MAX_LENGTH or not token.isascii() or not token.isprintable() or " " in token:
            raise SparkUnreachable(
                f"{self} gives no token: one line of at most {_MAX_LENGTH} printable ASCII characters without spaces "
                "is expected"
            )
        self._given = [*[given for given in self._given if given != token][-3:], token]
        return token

    def forget(self) -> None:
        """Let the next `read` ask again, because the server has refused the token."""
        self._asked = float("-inf")

    @property
    def given(self) -> tuple[str, ...]:
        """The last tokens, which no text may show."""
        return tuple(self._given)

    def _read_file(self) -> str:
        try:
            with Path(self.value).open(encoding="utf-8") as file:
                return file.read(2 * _MAX_LENGTH)
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
            raise SparkUnreachable(
                f"{self} cannot be read ({reason}): it must have the token of the Spark server"
            ) from None

    def _run(self) -> str:
        try:
            return output_of(self.value, _COMMAND_ENDS_WITHIN).decode("ascii", "replace")
        except CommandFailed as error:
            raise SparkUnreachable(f"{self} {error}: it must print the token of the Spark server") from None

    def __str__(self) -> str:
        # Of a command only its name: an argument may be a secret.
        shown = self.value.split(maxsplit=1)[0] if self.variable == TOKEN_COMMAND and self.value.split() else self.value
        return f"{self.variable} ({shown})"
