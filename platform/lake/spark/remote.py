"""The address of a Spark Connect server, and its token, which must never be shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import quote

from tidegate.platform.core.spark_address import SparkAddress
from tidegate.platform.lake.spark.token_source import TOKEN, TokenSource

#: A variable of PySpark's own client, as `TOKEN`: an environment that works for Tidegate works for any PySpark client.
REMOTE = "SPARK_REMOTE"
_DEFAULT = "sc://localhost:15002"


@dataclass(frozen=True, repr=False)
class SparkRemote:
    """The address of a Spark Connect server. Its printed form is host and port.

    Attributes:
        address: `sc://host:port` with PySpark's parameters if any, but without a token.
        token: the token that the server requires; None if it requires none, or if `source` has it.
        source: where the token is read at each connection.
        named: whether the environment named it. Otherwise it is the default, and `spark` of lake.yaml counts.
        listed: whether lake.yaml lists it.
    """

    address: str
    token: str | None = field(default=None)
    source: TokenSource | None = field(default=None)
    named: bool = field(default=True, compare=False)
    listed: bool = field(default=False, compare=False)

    @classmethod
    def parse(cls, text: str, token: str | None = None, source: TokenSource | None = None) -> SparkRemote:
        """Parse an address as PySpark writes it. A token in the address takes precedence over the other arguments.

        Raises:
            BadSetting: the text is not such an address. The message does not repeat the text.
        """
        address = SparkAddress.parse(text, REMOTE)
        if address.token is not None:
            token, source = address.token, None
        return cls(address.text, token or None, source)

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> SparkRemote:
        """Return the server that an environment names; by default a server on this machine.

        Raises:
            ValueError: see `parse` and `TokenSource.from_environ`.
        """
        return cls.named_or_default(environ.get(REMOTE), environ.get(TOKEN), TokenSource.from_environ(environ))

    @classmethod
    def named_or_default(cls, text: str | None, token: str | None, source: TokenSource | None) -> SparkRemote:
        """Return the server at an address. Without an address, it is the default: a server on this machine.

        Raises:
            BadSetting: see `parse`.
        """
        return cls.parse(text, token, source) if text else replace(cls.parse(_DEFAULT, token, source), named=False)

    @property
    def is_always_there(self) -> bool:
        """True: somebody else keeps it running."""
        return True

    def obtain(self) -> SparkRemote:
        """Return this server: it is always there, by somebody else's work."""
        return self

    def find(self) -> list[SparkRemote]:
        """Return this server: it is always there, by somebody else's work."""
        return [self]

    def server_of(self, table: str) -> str:
        """Return nothing: all tables have this server."""
        return ""

    def release(self) -> None:
        """Do nothing: it runs whether it is used or not."""

    def describe(self) -> str:
        """Return nothing: there is nothing to know of it but its address."""
        return ""

    @property
    def url(self) -> str:
        """The whole address with the token of now. Only PySpark may receive it.

        Raises:
            SparkUnreachable: the token cannot be read now.
        """
        token = self.source.read() if self.source else self.token
        if token is None:
            return self.address
        return f"{self.address}{';' if ';' in self.address else '/;'}token={quote(token, safe='')}"

    @property
    def environ(self) -> dict[str, str]:
        """The variables that give this address to another process."""
        if self.source:
            return {REMOTE: self.address, self.source.variable: self.source.value}
        return {REMOTE: self.address} | ({} if self.token is None else {TOKEN: self.token})

    def hide(self, text: str) -> str:
        """Return a text from elsewhere, without the token."""
        for token in self.source.given if self.source else filter(None, [self.token]):
            text = text.replace(quote(token, safe=""), "…").replace(token, "…")
        return text

    def __str__(self) -> str:
        return self.address.partition(";")[0].rstrip("/")

    __repr__ = __str__
