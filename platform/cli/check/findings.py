"""Findings of `tidegate check` and `tidegate doctor`: one line for each check, with the remedy if it failed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from botocore.exceptions import BotoCoreError, ClientError
from pydantic import RootModel
from rich.console import Console
from rich.text import Text

from tidegate.platform.cli.answers.answer import Answer
from tidegate.platform.cli.aws_errors import OTHER_ACCOUNT, explain_aws, is_denied
from tidegate.platform.cli.check.known_checks import Check
from tidegate.platform.cloud.arns import Address
from tidegate.platform.core.wording import first_line, one_line
from tidegate.platform.lake.aws.answers import status_of
from tidegate.platform.lake.aws.s3 import StoreError


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        subject: what was checked: the name of a queue, a bucket, a table, …
        ok: whether the check passed.
        detail: what was found, or what to do.
        warning: the check passed, but somebody should read the detail.
        missing: the action that is not allowed, and its resource, if that is the reason.
    """

    check: Check
    subject: str
    ok: bool
    detail: str = ""
    warning: bool = False
    missing: tuple[str, str] | None = None

    @property
    def what(self) -> str:
        """The check and its subject, in words."""
        return self.check.title.format(self.subject)

    @property
    def outcome(self) -> Literal["ok", "warning", "failed"]:
        """Result of the check, in a word."""
        if not self.ok:
            return "failed"
        return "warning" if self.warning else "ok"


def findings_answer(findings: Iterable[Finding]) -> FindingsAnswer:
    """Return findings for programs."""
    return FindingsAnswer(
        tuple(
            FindingAnswer(
                id=found.check.id, subject=found.subject, title=found.what, outcome=found.outcome, detail=found.detail
            )
            for found in findings
        )
    )


def show(console: Console, finding: Finding, wrong: str = "FAILED ") -> int:
    """Print one finding. Returns how many problems it is: 0 or 1.

    Args:
        wrong: the mark in front of a failure.
    """
    good = Text("warning ", style="yellow") if finding.warning else Text("ok     ", style="green")
    mark = good if finding.ok else Text(wrong, style="bold red")
    what, detail = one_line(finding.what), one_line(finding.detail)
    named = Text(what) + Text(f" [{finding.check.id}]", style="dim")
    console.print(mark + named + Text(f"  {detail}" if detail else "", style="dim"))
    return 0 if finding.ok else 1


class Failed(Exception):
    """A check failed. The message is the detail."""


class Denied(Failed):
    """A permission is missing.

    Args:
        action: the name of the action in IAM.
        resource: an ARN, or words if there is no ARN.
        detail: text that follows in the message.
    """

    def __init__(self, action: str, resource: str, detail: str = "") -> None:
        super().__init__(f"permission missing: allow {action} on {resource}{detail}")
        self.missing = action, resource


class Warned(Exception):
    """A check passed, but found something that should be read. The message is the detail."""


def make_finding(check: Check, subject: str, run: Callable[[], str]) -> Finding:
    """Run one check.

    Args:
        subject: what is checked.
        run: returns the detail; raises `Failed` or `Warned` with the remedy, or the error of AWS. A `ValueError` means
            a damaged object of the lake: its message names the object. Whatever it raises, the other checks continue.
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
    except Exception as error:  # What others wrote is checked, and it may hold anything.
        return Finding(check, subject, False, f"could not be checked: {type(error).__name__}: {first_line(error)}")


def call_permitted(action: str, resource: str, call: Callable[..., Any], **arguments: Any) -> Any:
    """Call AWS and return its answer.

    Args:
        action: the IAM action that the call needs.
        resource: the resource of that action.
        call: a method of a client.
        **arguments: arguments of the method.

    Raises:
        Denied: access is denied. The message names the permission.
        ClientError: any other refusal.
    """
    try:
        return call(**arguments)
    except ClientError as error:
        if is_denied(error):
            raise Denied(action, resource) from None
        raise


def try_call(action: str, resource: str, call: Callable[..., Any], **arguments: Any) -> None:
    """Make a call that changes nothing, to check the permission. AWS checks the permission before anything else.

    Raises:
        Failed: access is denied. The message names the permission.
    """
    with suppress(ClientError):
        call_permitted(action, resource, call, **arguments)


def arns_of(s3: Any) -> Address:
    """Return what makes the ARNs of the region in which a client sends its requests."""
    return Address(region=s3.meta.region_name)


def begin_listing(s3: Any, bucket: str, prefix: str = "") -> Any:
    """List the first key of a bucket, or the first key below a prefix, and return the answer.

    A HEAD of the bucket does not suffice: its refusal has no body, so it looks like that of wrong credentials.

    Raises:
        Failed: access is denied. The message names the permission.
        ClientError: any other refusal.
    """
    return call_permitted(
        "s3:ListBucket", arns_of(s3).bucket(bucket), s3.list_objects_v2, Bucket=bucket, Prefix=prefix, MaxKeys=1
    )


def reach_bucket(s3: Any, bucket: str, setting: str) -> None:
    """List a bucket that a setting names.

    Raises:
        Failed: there is no such bucket, or access is denied.
        ClientError: any other refusal.
    """
    try:
        begin_listing(s3, bucket)
    except Denied as denied:
        raise Denied(*denied.missing, f" ({OTHER_ACCOUNT})") from None
    except ClientError as error:
        if status_of(error) == 404:
            raise Failed(f"there is no bucket {bucket}: create it, or correct {setting}") from None
        raise


class FindingAnswer(Answer):
    """The result of one check."""

    id: str
    """The check. It stays the same between versions."""
    subject: str
    """What was checked: the name of a queue, a bucket or a table, the lake root, the Spark server, …"""
    title: str
    """The check and its subject, in words."""
    outcome: Literal["ok", "warning", "failed"]
    """Result of the check."""
    detail: str
    """What was found, or what to do. May be empty."""


class FindingsAnswer(RootModel[tuple[FindingAnswer, ...]]):
    """The results of all checks."""
