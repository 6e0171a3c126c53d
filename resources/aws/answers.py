"""What an error of AWS says: its status, its code, and whether it refuses an object or the caller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError

#: Error codes that refuse an object, not the caller.
_FORBIDDEN = frozenset({"AccessDenied", "InvalidObjectState", "AllAccessDisabled", "Forbidden", "403"})


def status_of(error: ClientError) -> int:
    """Return the HTTP status of an error, or 0 if it has none."""
    return int(_metadata(error).get("HTTPStatusCode", 0))


def code_of(error: ClientError) -> str:
    """Return AWS's name of an error, such as `NoSuchKey`, or an empty text if it has none."""
    details: Mapping[str, Any] = error.response
    return str(details.get("Error", {}).get("Code", ""))


def region_in(error: ClientError) -> str:
    """Return the region of the bucket that an error of S3 names. Empty if it names none."""
    return str(_metadata(error).get("HTTPHeaders", {}).get("x-amz-bucket-region", ""))


def is_forbidden(error: ClientError) -> bool:
    """Return whether an error refuses an object, and not the caller."""
    # Wrong or expired credentials give 403 too, and are no object's fault.
    # A KMS key that is disabled or deleted (`KMS.DisabledException`, …) is the object's fault, whatever the status.
    return (status_of(error) == 403 and code_of(error) in _FORBIDDEN) or code_of(error).startswith("KMS.")


def _metadata(error: ClientError) -> Mapping[str, Any]:
    details: Mapping[str, Any] = error.response
    found: Mapping[str, Any] = details.get("ResponseMetadata", {})
    return found
