"""Whether a code server of Dagster has loaded its definitions. Without the UI, only its private protocol says so."""

from __future__ import annotations

from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.local.process.ports import LOOPBACK


def is_code_loaded(port: int, module: str) -> bool:
    """Return whether the code server has loaded the module. False also means that it does not answer yet.

    Args:
        port: port of the code server on loopback.
        module: Python module with the definitions.

    Raises:
        UnavailableError: the definitions do not load.
    """
    from dagster._core.errors import DagsterUserCodeUnreachableError
    from dagster._grpc.client import DagsterGrpcClient
    from dagster_shared.error import SerializableErrorInfo
    from dagster_shared.serdes import deserialize_value

    try:
        reply = DagsterGrpcClient(host=LOOPBACK, port=port).list_repositories()
    except DagsterUserCodeUnreachableError:
        return False
    found = deserialize_value(reply)
    if isinstance(found, SerializableErrorInfo):
        raise UnavailableError(f"the definitions in {module} do not load: {_cause(found)}")
    return True


def _cause(error: object) -> str:
    """Return the innermost message of an error that came over gRPC."""
    inner = getattr(error, "cause", None)
    return _cause(inner) if inner is not None else str(getattr(error, "message", error)).strip()
