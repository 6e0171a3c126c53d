"""TCP ports on loopback."""

from __future__ import annotations

import errno
import os
import socket

from tidegate.platform.core.errors import UnavailableError

LOOPBACK = "127.0.0.1"
_LOOPBACK_6 = "::1"
#: gRPC reads one spelling. Python reads both, and the first one counts.
_NO_PROXY = ("no_proxy", "NO_PROXY")
#: Does for a shell what `bypass_proxy` does for a process.
BYPASS_PROXY = """\
no_proxy="${no_proxy:-${NO_PROXY:-}}"
[ "$no_proxy" = "*" ] || no_proxy="${no_proxy:+$no_proxy,}127.0.0.1,localhost"
export no_proxy NO_PROXY="$no_proxy"
"""


def bypass_proxy() -> None:
    """Let this process, and those that it starts, reach loopback directly, where a proxy leads to everything else."""
    given = [host.strip() for name in _NO_PROXY for host in os.environ.get(name, "").split(",") if host.strip()]
    hosts = ["*"] if "*" in given else dict.fromkeys([*given, LOOPBACK, "localhost"])
    os.environ |= dict.fromkeys(_NO_PROXY, ",".join(hosts))


def free_port() -> int:
    """Return a port that no process listens on now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def require_free(port: int, what: str, option: str) -> None:
    """Refuse a port that is in use.

    Args:
        port: the wanted port on loopback.
        what: the server that wants it, in words ("local AWS").
        option: the option that chooses another port ("--aws-port").

    Raises:
        UnavailableError: a process listens on the port, or the port cannot be bound.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # Connections in TIME_WAIT, which a stopped server leaves behind, do not matter.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            raise UnavailableError(
                f"port {port} ({what}) is in use ({error.strerror}): choose another with {option}, "
                "or stop the process that listens on it"
            ) from None


def hold_for_localhost(port: int, what: str, option: str) -> socket.socket | None:
    """Keep a port on the loopback of IPv6 from everybody, until the socket is closed. Nothing listens there.

    The name `localhost` is both loopbacks, and gRPC tries that of IPv6 first: a server there, of any user of this
    machine, would get what clients send to ours.

    Args:
        port: the port on which our server listens with IPv4.
        what: the server, in words ("Spark Connect server").
        option: the option that chooses another port ("--spark-port").

    Returns:
        The socket, or None if this machine has no IPv6.

    Raises:
        UnavailableError: another process has the port.
    """
    try:
        held = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    except OSError:
        return None
    try:
        held.bind((_LOOPBACK_6, port))
    except OSError as error:
        held.close()
        if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
            return None
        raise UnavailableError(
            f"port {port} ({what}) is in use on {_LOOPBACK_6} ({error.strerror}), and would get "
            f"the token of clients of localhost: choose another with {option}, or stop the process that has it"
        ) from None
    return held


def accepts_connections(port: int, timeout: float) -> bool:
    """Return whether a process accepts connections on `port`. Tries once, with a timeout in seconds."""
    try:
        with socket.create_connection((LOOPBACK, port), timeout):
            return True
    except OSError:
        return False
