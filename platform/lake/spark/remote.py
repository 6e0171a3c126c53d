"""The address of a Spark Connect server, and its token, which must never be shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, unquote, urlsplit

from tidegate.platform.core.errors import BadSetting

#: Variables of PySpark's own client: an environment that works for Tidegate works for any PySpark client.
REMOTE, TOKEN = "SPARK_REMOTE", "SPARK_CONNECT_AUTHENTICATE_TOKEN"
_DEFAULT = "sc://localhost:15002"
_EXAMPLE = "write sc://host:port, or sc://host:443/;use_ssl=true"


@dataclass(frozen=True, repr=False)
class SparkRemote:
    """The address of a Spark Connect server. Its printed form is host and port.

    Attributes:
        address: `sc://host:port` with PySpark's parameters if any, but without a token.
        token: the token that the server requires; None if it requires none.
    """

    address: str
    token: str | None = field(default=None)

    @classmethod
    def parse(cls, text: str, token: str | None = None) -> SparkRemote:
        """Parse an address as PySpark writes it. A token in the address takes precedence over the argument.

        Raises:
            BadSetting: the text is not such an address. The message does not repeat the text.
        """
        base, *parameters = text.split(";")
        try:
            parts = urlsplit(base)
            right = parts.scheme == "sc" and bool(parts.hostname) and parts.path in ("", "/") and parts.port != 0
        except ValueError:
            right = False
        if not right or parts.username is not None or parts.query or parts.fragment:
            raise BadSetting(f"{REMOTE} is not an address of a Spark Connect server: {_EXAMPLE}")
        kept = []
        for parameter in parameters:
            name, equals, value = parameter.partition("=")
            if not equals or "=" in value:
                raise BadSetting(
                    f"a parameter of {REMOTE} is not name=value, with %3D for a = in the value: {_EXAMPLE}"
                )
            if name == "token":
                token = unquote(value)
            else:
                kept.append(parameter)
        return cls(";".join([f"{base.rstrip('/')}/", *kept]) if kept else base.rstrip("/"), token or None)

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> SparkRemote:
        """Return the server that an environment names; by default a server on this machine.

        Raises:
            ValueError: see `parse`.
        """
        return cls.parse(environ.get(REMOTE) or _DEFAULT, environ.get(TOKEN))

    @property
    def url(self) -> str:
        """The whole address with the token. Only PySpark may receive it."""
        if self.token is None:
            return self.address
        return f"{self.address}{';' if ';' in self.address else '/;'}token={quote(self.token, safe='')}"

    @property
    def environ(self) -> dict[str, str]:
        """The variables that give this address to another process."""
        return {REMOTE: self.address} | ({} if self.token is None else {TOKEN: self.token})

    def hide(self, text: str) -> str:
        """Return a text from elsewhere, without the token."""
        if self.token is None:
            return text
        return text.replace(quote(self.token, safe=""), "…").replace(self.token, "…")

    def __str__(self) -> str:
        return self.address.partition(";")[0].rstrip("/")

    __repr__ = __str__
