"""The address of a Spark Connect server, as PySpark writes it, and which of several servers has a table."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from tidegate.platform.core.errors import BadSetting

#: The port of an address without one.
_PORT = 15002
_EXAMPLE = "write sc://host:port, or sc://host:443/;use_ssl=true"


@dataclass(frozen=True)
class SparkAddress:
    """The parts of an address.

    Attributes:
        text: `sc://host:port` with PySpark's parameters if any, but without a token.
        token: the token in it; None if it has none.
        endpoint: host and port, by which two addresses of one server are equal.
    """

    text: str
    token: str | None = field(repr=False)
    endpoint: tuple[str, int]

    @classmethod
    def parse(cls, text: str, subject: str) -> SparkAddress:
        """Parse an address.

        Args:
            subject: what the error calls the text.

        Raises:
            BadSetting: the text is not such an address. The message does not repeat the text, which may have a token.
        """
        base, *parameters = text.split(";")
        try:
            parts = urlsplit(base)
            endpoint = (parts.hostname or "", _PORT if parts.port is None else parts.port)
            # urlsplit forgives blanks around the text and letters of another case, which PySpark does not.
            right = base.startswith("sc://") and not re.search(r"[\s\x00-\x1f]", text)
            right = right and all(endpoint) and parts.path in ("", "/")
        except ValueError:
            right = False
        if not right or parts.username is not None or parts.query or parts.fragment:
            raise BadSetting(f"{subject} is not an address of a Spark Connect server: {_EXAMPLE}")
        kept, token = [], None
        for parameter in parameters:
            name, equals, value = parameter.partition("=")
            if not equals or "=" in value:
                raise BadSetting(
                    f"a parameter of {subject} is not name=value, with %3D for a = in the value: {_EXAMPLE}"
                )
            if name == "token":
                token = unquote(value)
            else:
                kept.append(parameter)
        return cls(";".join([f"{base.rstrip('/')}/", *kept]) if kept else base.rstrip("/"), token, endpoint)


def order_servers(table: str, servers: Iterable[str]) -> list[str]:
    """Return servers in the order in which the work of a table asks them.

    Each table has an order of its own, by the digest of table and server (rendezvous hashing). So tables are spread
    evenly, and if a server leaves or comes, only its own tables move.

    Args:
        table: its key. Empty for work that has no table, which asks the servers as they are listed.
        servers: their names, of which each is there once.
    """
    if not table:
        return list(servers)
    return sorted(servers, key=lambda server: hashlib.sha256(f"{server}\n{table}".encode()).digest())
