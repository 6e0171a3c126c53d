"""What an error of AWS says: its status, its code, and whether it is about the request or about the service.

A request in a loop names one object, message or entry. The list here has the answers that are *not* about it: those
of the service, the caller, the endpoint or the moment, which every other request would get as well. Every other answer
settles the one object or message that the request names, and the loop continues with the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError

#: Codes of the service, the moment, the caller's credentials, the account, the region and the bucket, in any status.
_SERVICE_CODES = frozenset(
    {
        "Busy",
        "ConditionalRequestConflict",
        "ConcurrentModificationException",
        "InternalError",
        "InternalFailure",
        "InternalServerError",
        "OperationAborted",
        "PriorRequestNotComplete",
        "RequestTimeout",
        "RequestTimeoutException",
        "ServiceFailure",
        "ServiceUnavailable",
        "ServiceUnavailableException",
        "SlowDown",
        "Unavailable",
        "AccountProblem",
        "AuthFailure",
        "AuthorizationHeaderMalformed",
        "ExpiredToken",
        "ExpiredTokenException",
        "IncompleteSignature",
        "IncompleteSignatureException",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidPayer",
        "InvalidSecurity",
        "InvalidSignatureException",
        "InvalidToken",
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
        "MissingSecurityHeader",
        "NotSignedUp",
        "OptInRequired",
        "RequestExpired",
        "RequestTimeTooSkewed",
        "SignatureDoesNotMatch",
        "TokenRefreshRequired",
        "UnauthorizedAccess",
        "UnrecognizedClient",
        "UnrecognizedClientException",
        "IllegalLocationConstraintException",
        "InvalidBucketName",
        "InvalidRegion",
        "NoSuchBucket",
        "PermanentRedirect",
        "Redirect",
        "TemporaryRedirect",
    }
)
#: Parts of the codes with which the services limit a rate.
_LIMITED = ("Throttl", "TooManyRequests", "LimitExceeded", "OverLimit", "ThroughputExceeded")
#: Parts of the codes that refuse a queue or topic: a permission, its key of KMS, or its existence.
_DESTINATION_CODES = (
    "AccessDenied",
    "AuthorizationError",
    "KMS",
    "Kms",
    "NonExistentQueue",
    "DoesNotExist",
    "DeletedRecently",
    "NotFound",
    "InvalidAddress",
    "UnsupportedOperation",
    "Disabled",
)


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


def is_transient(error: ClientError) -> bool:
    """Return whether an answer is not about what the request names, so that the next try may give another answer."""
    status = status_of(error)
    elsewhere = status in (301, 302, 307, 308)
    return elsewhere or status in (408, 429) or status >= 500 or _is_service_error(error)


def is_forbidden(error: ClientError) -> bool:
    """Return whether an error denies access to an object or to its key of KMS, and does not refuse the caller."""
    # Wrong or expired credentials give 403 too, and are not an object's fault.
    # A KMS key that is disabled or deleted (`KMS.DisabledException`, …) is the object's fault, whatever the status.
    return (status_of(error) == 403 or code_of(error).startswith("KMS.")) and not _is_service_error(error)


def is_of_one_message(error: ClientError) -> bool:
    """Return whether a queue or topic refuses a message, and not the caller, and is neither down nor missing."""
    return not is_transient(error) and refuses_one_message(code_of(error))


def refuses_one_message(code: str) -> bool:
    """Return whether an error code of a queue or topic is about one message."""
    # The codes of SQS have a prefix in one of its protocols.
    name = code.rpartition(".")[2]
    return bool(code) and not (_is_of_service(name) or any(part in code for part in _DESTINATION_CODES))


def _is_service_error(error: ClientError) -> bool:
    return _is_of_service(code_of(error))


def _is_of_service(code: str) -> bool:
    return code in _SERVICE_CODES or any(part in code for part in _LIMITED)


def _metadata(error: ClientError) -> Mapping[str, Any]:
    details: Mapping[str, Any] = error.response
    found: Mapping[str, Any] = details.get("ResponseMetadata", {})
    return found
