"""The verdict on a signal, by the present state of its parts and by what the ledger knows of them."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.platform.core.bronze.ledger import Cause, LastState, Status
from tidegate.platform.core.bronze.object_state import Probe, S3Forbidden, S3Found, S3Gone, S3Unavailable
from tidegate.platform.core.completion import verdict as rules
from tidegate.platform.core.completion.named_parts import NamedPart
from tidegate.platform.core.completion.verdict import Outcome, Part, Signal, Verdict, judge_folder, judge_manifest

SIGNAL_AT = 100


def signal(status: Status | None = None, *, again: bool = False, etag: str = "s1") -> Signal:
    state = LastState(status, "s1", 3) if status else None
    return Signal("t/_SUCCESS", S3Found(etag, 0, SIGNAL_AT * 1000 + 999), state, again)


def there(at: int = SIGNAL_AT, etag: str = "e1", size: int = 10) -> S3Found:
    return S3Found(etag, size, at * 1000)


def part(key: str, probe: Probe | None = None, status: Status | None = None, *, etag: str = "e1", **named: Any) -> Part:
    state = LastState(status, etag, 3, "why") if status else None
    return Part(key, probe or there(), state, NamedPart(key, **named) if named else None)


def folder(*files: Part, of: Signal | None = None, registered: bool = False) -> Verdict:
    return judge_folder(of or signal(), files, registered=registered)


def manifest(*parts: Part, of: Signal | None = None, registered: bool = False) -> Verdict:
    return judge_manifest(of or signal(), parts, registered=registered)


@pytest.mark.parametrize("registered", [True, False], ids=["registered", "loaded"])
def test_a_signal_covers_the_files_that_are_not_newer(registered: bool) -> None:
    found = folder(part("a"), part("b", there(SIGNAL_AT - 5)), part("c", there(SIGNAL_AT + 1)), registered=registered)
    assert (found.outcome, found.keys, found.parts, found.size) == (Outcome.ENTERS, ("a", "b"), 2, 20)


def test_the_milliseconds_of_a_listing_are_not_compared_with_the_whole_seconds_of_a_head() -> None:
    late = S3Found("e1", 1, SIGNAL_AT * 1000 + 500)
    assert judge_folder(Signal("s", S3Found("s1", 0, SIGNAL_AT * 1000)), [Part("a", late)], registered=False).keys == (
        "a",
    )


def test_files_that_are_in_the_table_do_not_enter_again() -> None:
    assert folder(part("a", status=Status.COMMITTED), part("b")).keys == ("b",)
    assert folder(part("a", status=Status.COMMITTED)).outcome is Outcome.SETTLED
    assert folder(part("a", status=Status.WAITING), part("b", status=Status.REMOVED)).keys == ("a",)
    assert folder(part("b", status=Status.REMOVED), registered=True).keys == ("b",)


def test_a_signal_without_files_waits_and_says_so() -> None:
    assert folder().reason == "no file of the table is in its folder. It waits until it is written again"
    assert folder(part("a", S3Gone())).outcome is Outcome.WAITS
    newer = folder(part("a", there(SIGNAL_AT + 1)), part("b", there(SIGNAL_AT + 9)))
    assert newer.outcome is Outcome.WAITS
    assert newer.reason is not None
    assert newer.reason.startswith("a and 1 more files were newer than the signal")


def test_a_signal_that_was_complete_does_not_wait_when_its_files_are_gone_or_others_came() -> None:
    assert folder(of=signal(Status.COMPLETE)).outcome is Outcome.SETTLED
    assert folder(part("late", there(SIGNAL_AT + 1)), of=signal(Status.COMPLETE)).outcome is Outcome.SETTLED
    assert folder(of=signal(Status.COMPLETE, etag="s2")).outcome is Outcome.WAITS


def test_a_part_that_was_written_again_after_the_signal_stops_its_dataset() -> None:
    """The bytes that the signal was for are gone. The others alone are not the dataset."""
    again = part("b", there(SIGNAL_AT + 1, "e2"), Status.WAITING)
    found = folder(part("a"), again)
    assert (found.outcome, found.keys) == (Outcome.REFUSED, ())
    assert found.reason is not None
    assert "b was written again after the signal" in found.reason
    assert folder(part("a"), again, of=signal(Status.QUARANTINED, again=True)).keys == ("a", "b")
    assert folder(part("a"), part("b", there(SIGNAL_AT + 1), Status.WAITING)).keys == ("a",), "it is only late"


def test_a_manifest_waits_for_its_first_part_that_is_not_there() -> None:
    found = manifest(part("a"), part("b", S3Gone()), part("c", S3Gone()))
    assert (found.outcome, found.waits_for) == (Outcome.WAITS, "b")
    assert found.reason == "2 of its 3 parts are not there as it names them; the first: b is missing"
    assert manifest(part("a"), part("b", there(SIGNAL_AT + 50))).keys == ("a", "b"), "parts may come after it"


@pytest.mark.parametrize(
    ("probe", "named", "problem"),
    [
        (there(size=9), {"size": 10}, "has 9 bytes instead of 10"),
        (there(etag="a" * 32), {"md5": "b" * 32}, f"has the MD5 {'a' * 32} instead of {'b' * 32}"),
        (there(etag="A" * 32), {"md5": "a" * 32, "size": 10}, None),
        (S3Found("e-2", 10, 1, digested=False), {"md5": "a" * 32, "size": 10}, None),
        (there(), {"size": None}, None),
    ],
)
def test_a_part_is_compared_with_what_the_manifest_says_of_it(probe: S3Found, named: Any, problem: str | None) -> None:
    found = manifest(part("a", probe, **named))
    assert found.outcome is (Outcome.WAITS if problem else Outcome.ENTERS)
    assert problem is None or (found.reason and problem in found.reason)


def test_parts_that_after_load_removed_are_not_missing() -> None:
    moved = part("a", S3Gone(), Status.MOVED)
    assert manifest(moved, part("b")).keys == ("b",)
    assert manifest(moved).outcome is Outcome.SETTLED
    gone = part("a", S3Gone(), Status.COMMITTED)
    assert manifest(gone).outcome is Outcome.SETTLED
    assert manifest(gone, registered=True).outcome is Outcome.WAITS, "a registered table loses the rows with the file"


def test_the_same_manifest_again_takes_only_what_is_older_than_it() -> None:
    complete = signal(Status.COMPLETE)
    done, later = part("a", status=Status.COMMITTED), part("b", there(SIGNAL_AT + 1, "e2"), Status.COMMITTED)
    assert manifest(done, later, of=complete).outcome is Outcome.SETTLED
    assert manifest(done, part("b", there(etag="e2"), Status.COMMITTED), of=complete).keys == ("b",)
    assert manifest(done, part("b", S3Gone()), of=complete).outcome is Outcome.SETTLED
    assert manifest(done, later).keys == ("b",), "another manifest covers it"


@pytest.mark.parametrize("judge", [folder, manifest])
def test_one_bad_part_keeps_the_whole_dataset_out(judge: Any) -> None:
    bad = part("b", status=Status.QUARANTINED)
    found = judge(part("a"), bad)
    assert (found.outcome, found.keys, found.waits_for) == (Outcome.REFUSED, (), "b")
    assert found.reason == "its part b cannot be ingested, so nothing of the dataset enters: why"
    assert judge(part("a"), bad, of=signal(Status.QUARANTINED, again=True)).keys == ("a", "b")
    assert judge(part("a"), part("b", there(etag="e2"), Status.QUARANTINED)).keys == ("a", "b"), "it was repaired"
    denied = judge(part("a"), part("b", S3Forbidden("403")))
    assert (denied.outcome, denied.waits_for) == (Outcome.REFUSED, "b")


@pytest.mark.parametrize("judge", [folder, manifest])
def test_an_overwritten_key_of_a_registered_table_stays_out(judge: Any) -> None:
    overwritten = Part("b", there(etag="e2"), LastState(Status.QUARANTINED, "e1", 3, "why", cause=Cause.OVERWRITTEN))
    assert judge(part("a"), overwritten, registered=True).outcome is Outcome.REFUSED
    assert judge(part("a"), overwritten).outcome is Outcome.ENTERS
    live = part("b", there(etag="e2"), Status.COMMITTED)
    found = judge(part("a"), live, registered=True, of=signal(again=True))
    assert "write-once" in found.reason
    assert judge(part("a"), live).keys == ("a", "b")


@pytest.mark.parametrize("judge", [folder, manifest])
def test_nothing_is_concluded_while_s3_does_not_answer(judge: Any) -> None:
    assert judge(part("a"), part("b", S3Unavailable("503"))).outcome is Outcome.UNKNOWN


@pytest.mark.parametrize("judge", [folder, manifest])
@pytest.mark.limit("Tables", "A dataset with a completion signal is one commit, and a larger one is refused.")
def test_a_dataset_is_one_commit_of_limited_size(judge: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "MAX_DATASET_FILES", 2)
    monkeypatch.setattr(rules, "MAX_DATASET_BYTES", 15)
    assert judge(part("a"), part("b", status=Status.COMMITTED)).outcome is Outcome.ENTERS
    large = judge(part("a"), part("b"))
    assert (large.outcome, large.reason) == (
        Outcome.REFUSED,
        "its 2 new files have 20 bytes, and a dataset is one commit of at most 2 files and 15 bytes. Write it as "
        "several datasets, each with its own signal",
    )
    assert judge(part("a"), part("b"), registered=True).outcome is Outcome.ENTERS
    assert judge(part("a"), part("b"), part("c"), registered=True).outcome is Outcome.REFUSED
