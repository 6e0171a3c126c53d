"""What `tidegate check` finds: one line a check, with the remedy where it failed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, NoRegionError
from rich.console import Console
from rich.text import Text

from tidegate.platform.cli.check.catalog import Check
from tidegate.platform.core.first_line import first_line, one_line
from tidegate.resources.aws.s3 import StoreError

_BAD_CREDENTIALS = frozenset(
    {
        "InvalidAccessKeyId",
        "SignatureDoesNotMatch",
        "ExpiredToken",
        "InvalidClientTokenId",
        "UnrecognizedClientException",
    }
)


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        check: what was checked.
        subject: of what: the name of a queue, a bucket, a table, …
        ok: whether it is right.
        detail: what was found, or what to do.
        warning: it is no failure, and somebody should read it all the same.
        missing: the action that is not allowed, and on what, where that is why.
    """

    check: Check
    subject: str
    ok: bool
    detail: str = ""
    warning: bool = False
    missing: tuple[str, str] | None = None

    @property
    def what(self) -> str:
        """What was checked of what, in words."""
        return self.check.title.format(self.subject)

    @property
    def outcome(self) -> str:
        """``ok``, ``warning`` or ``failed``."""
        if not self.ok:
            return "failed"
        return "warning" if self.warning else "ok"

    def as_json(self) -> dict[str, str]:
        """What programs read of it."""
        return {
            "id": self.check.id,
            "subject": self.subject,
            "title": self.what,
            "outcome": self.outcome,
            "detail": self.detail,
        }


def show(console: Console, finding: Finding, wrong: str = "FAILED ") -> int:
    """Print one finding; how many problems it is.

    Args:
        console: where it is printed.
        finding: what was found.
        wrong: the mark of one that is not ok.
    """
    good = Text("warning ", style="yellow") if finding.warning else Text("ok     ", style="green")
    mark = good if finding.ok else Text(wrong, style="bold red")
    what, detail = one_line(finding.what), one_line(finding.detail)
    named = Text(what) + Text(f" [{finding.check.id}]", style="dim")
    console.print(mark + named + Text(f"  {detail}" if detail else "", style="dim"))
    return 0 if finding.ok else 1


class Failed(Exception):
    """A check failed; the message is the detail."""


class Denied(Failed):
    """A permission is missing.

    Args:
        action: IAM's name.
        resource: an ARN, or what stands for it.
        detail: what else there is to say.
    """

    def __init__(self, action: str, resource: str, detail: str = "") -> None:
        super().__init__(f"permission missing: allow {action} on {resource}{detail}")
        self.missing = action, resource


class Warned(Exception):
    """A check found something that should be read and is no failure; the message is the detail."""


def checked(check: Check, subject: str, run: Callable[[], str]) -> Finding:
    """Run one check.

    Args:
        check: what is checked.
        subject: of what.
        run: returns what it found; raises `Failed` or `Warned` with the remedy, or what AWS answers. A
            ``ValueError`` is an object of the lake that is damaged: its message names it, and the other checks go on.
    """
    try:
        return Finding(check, subject, True, run())
    except Warned as warned:
        return Finding(check, subject, True, str(warned), warning=True)
    except Denied as denied:
        return Finding(check, subject, False, str(denied), missing=denied.missing)
    except (Failed, StoreError, ValueError) as failed:
        return Finding(check, subject, False, str(failed))
    except (ClientError, BotoCoreError) as error:
        return Finding(check, subject, False, explain_aws(error))


def explain_aws(error: ClientError | BotoCoreError) -> str:
    """What AWS, or the way to it, has against a call, and what to do."""
    if isinstance(error, ClientError):
        return _answered(error)
    if isinstance(error, NoCredentialsError):
        return "no AWS credentials were found: set AWS_PROFILE, or the variables of AWS's default chain"
    if isinstance(error, NoRegionError):
        return "no AWS region is set: set AWS_REGION, or `region` in the AWS profile"
    return f"AWS cannot be reached: {first_line(error)}; check the network and AWS_ENDPOINT_URL"


def permitted(action: str, resource: str, call: Callable[..., Any], **arguments: Any) -> Any:
    """Call AWS; the answer.

    Args:
        action: the IAM action that the call needs.
        resource: what it is needed on.
        call: a client's method.
        **arguments: its arguments.

    Raises:
        Denied: access is denied; the message names the permission.
        ClientError: any other refusal.
    """
    try:
        return call(**arguments)
    except ClientError as error:
        if is_denied(error):
            raise Denied(action, resource) from None
        raise


def tried(action: str, resource: str, call: Callable[..., Any], **arguments: Any) -> None:
    """Make a call that changes nothing, for the permission alone: AWS looks at that before anything else.

    Raises:
        Failed: access is denied; the message names the permission.
    """
    with suppress(ClientError):
        permitted(action, resource, call, **arguments)


def begin_listing(s3: Any, bucket: str, prefix: str = "") -> Any:
    """The answer to a listing of a bucket's first key, or of the first one below a prefix.

    A HEAD of the bucket would do less: its refusal has no body, and could not be told from that of wrong credentials.

    Raises:
        Failed: access is denied; the message names the permission.
        ClientError: any other refusal.
    """
    return permitted(
        "s3:ListBucket", f"arn:aws:s3:::{bucket}", s3.list_objects_v2, Bucket=bucket, Prefix=prefix, MaxKeys=1
    )


def is_denied(error: ClientError) -> bool:
    """Whether AWS knows who asks and refuses it."""
    code = code_of(error)
    return "AccessDenied" in code or (status_of(error) == 403 and code not in _BAD_CREDENTIALS)


def code_of(error: ClientError) -> str:
    """AWS's error code."""
    return str(error.response.get("Error", {}).get("Code", ""))


def status_of(error: ClientError) -> int:
    """The HTTP status of an error."""
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def _answered(error: ClientError) -> str:
    if code_of(error) in _BAD_CREDENTIALS:
        return f"AWS does not accept the credentials ({code_of(error)}): renew them, or choose others with AWS_PROFILE"
    if is_denied(error):
        return f"permission missing: {first_line(error)}"
    return first_line(error)
