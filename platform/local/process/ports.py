"""TCP ports on loopback."""

from __future__ import annotations

import socket

from tidegate.platform.local.errors import LocalStackError

LOOPBACK = "127.0.0.1"


def free_port() -> int:
    """A port that nothing listens on right now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def require_free(port: int, what: str, option: str) -> None:
    """Refuse a port that is in use.

    Args:
        port: The port wanted on loopback.
        what: What wants it, in words ("local AWS").
        option: The option that chooses another ("--aws-port").

    Raises:
        LocalStackError: Something listens on it, or it cannot be bound.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # A server that has just stopped leaves connections in TIME_WAIT: those are no obstacle.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            raise LocalStackError(
                f"port {port} ({what}) is taken ({error.strerror}): choose another with {option}, "
                "or stop the process that listens on it"
            ) from None


def listening(port: int, timeout: float) -> bool:
    """Whether something accepts connections on `port`, asked once with a timeout in seconds."""
    try:
        with socket.create_connection((LOOPBACK, port), timeout):
            return True
    except OSError:
        return False
