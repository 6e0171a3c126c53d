"""A denial of all objects is the environment's: the run fails. A denial of one among others is the object's."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tidegate.platform.bronze import look as look_module
from tidegate.platform.bronze.prepare.permission_guard import require_access
from tidegate.platform.bronze.prepared_batch import PreparedBatch
from tidegate.platform.core.bronze.hint import Event, Hint
from tidegate.platform.core.bronze.object_state import Probe, S3Forbidden, S3Found, S3Gone, S3Unavailable
from tidegate.platform.core.bronze.plan import Candidate, Plan, PlannedHint
from tidegate.platform.lake.aws.s3 import ObjectArchived, ObjectForbidden, ObjectRefused, StoreError

DENIED = S3Forbidden("(403) Access Denied")


def table(listed: dict[str, tuple[Probe, bytes]] | None) -> Any:
    """Return a table over objects, each with S3's answer to a read of its end. None: they cannot be listed."""

    def under(_: str) -> Iterator[Any]:
        if listed is None:
            raise ClientError({"Error": {"Code": "AccessDenied"}}, "ListObjectsV2")
        return iter([SimpleNamespace(key=key) for key in listed])

    objects = SimpleNamespace(head_with_tail=lambda _, key, __: (listed or {})[key])
    return SimpleNamespace(
        table_key="landing.orders",
        key=SimpleNamespace(bucket="landing", prefix="orders/"),
        source=SimpleNamespace(list_under=under, objects=objects, exists=lambda: True),
    )


FOUND = S3Found("e", 3, 0)


@pytest.mark.parametrize(
    ("listed", "fails"),
    [
        (None, True),
        ({}, True),
        ({"orders/1": (FOUND, b"x")}, True),
        ({"orders/2": (DENIED, b"")}, True),
        ({"orders/2": (FOUND, b"")}, True),  # HEAD is allowed and its key of KMS is not
        ({"orders/2": (S3Unavailable("slow"), b"")}, True),
        ({"orders/2": (FOUND, b"x")}, False),
        ({"orders/2": (S3Found("e", 0, 0), b"")}, False),
        ({"orders/2": (S3Gone(), b"")}, False),
    ],
    ids=["no listing", "nothing", "itself", "denied", "no key", "silent", "another", "an empty one", "one that went"],
)
def test_a_denial_of_all_is_the_environment_s(listed: Any, fails: bool) -> None:
    if not fails:
        require_access(table(listed), {"orders/1": "denied"})
        return
    with pytest.raises(StoreError, match=r"to all 1 objects of landing.orders .* hints wait in the inbox"):
        require_access(table(listed), {"orders/1": "denied"})


@pytest.mark.parametrize(
    ("others", "fails"),
    [
        ([DENIED], True),
        ([S3Unavailable("slow")], True),
        ([FOUND], False),
        ([S3Gone()], False),
        ([S3Forbidden("(400) KeyTooLongError", of_the_object=True)], False),
    ],
)
def test_the_look_fails_if_s3_denies_all_that_it_asks_for(others: list[Probe], fails: bool) -> None:
    found = {"orders/1": DENIED, **{f"orders/{place}": other for place, other in enumerate(others, 2)}}
    if fails:
        with pytest.raises(StoreError, match="denies access to all"):
            look_module._require_bucket(table({}), found)
    else:
        look_module._require_bucket(table({}), found)


def candidate(key: str) -> Candidate:
    return Candidate(key, FOUND, PlannedHint(Hint(key, Event("message#0")), "manifest"))


def test_a_batch_in_which_all_reads_are_denied_is_not_decided() -> None:
    first, second, third = map(candidate, ("a", "b", "c"))
    prepared = PreparedBatch(Plan([first, second]))
    assert not prepared.all_denied
    prepared.record_failure(first, ObjectForbidden("no"))
    assert prepared.all_denied
    prepared.commit(second, rows=1)
    assert not prepared.all_denied
    for error in (ObjectArchived("archived"), ObjectRefused("SSE-C")):
        alone = PreparedBatch(Plan([third]))
        alone.record_failure(third, error)
        assert not alone.all_denied, "such an answer is always the object's own"
