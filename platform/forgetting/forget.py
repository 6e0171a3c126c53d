"""Requests to forget persons: asked for once, worked off by any later call, and never half done without saying so.

What is durable, in this order::

    request    the digests of the subjects. From here on no load and no merge lets them in
    found      what the lake had of them before anything was deleted
    erased     their rows are in no version that a reader gets by default
    done       the files that had them are deleted

A call that dies is repeated: `erased` and `done` are written after a search that found nothing.

Each call also takes out what row queues have brought of the subjects of all requests since the last call, and copies
that runs left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Literal

from ulid import ULID

from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import DataError
from tidegate.platform.core.forgetting.request import ForgetRequest, GoneRows, SubjectKey, gone_rows
from tidegate.platform.core.seams import seam
from tidegate.platform.forgetting.bronze_rows import erase_from_bronze
from tidegate.platform.forgetting.kept_objects import erase_kept_objects
from tidegate.platform.forgetting.remaining_copies import (
    end_old_versions,
    erase_late_copies,
    erase_late_messages,
    erase_staged_copies,
    longest_retention,
)
from tidegate.platform.forgetting.shared_keys import compute_shared_keys, merged_batch
from tidegate.platform.forgetting.silver_rows import erase_from_silver, purge_silver, refuse_personal_keys
from tidegate.platform.forgetting.subject_search import Found, count_total, find, tables_of, unsearched_folders
from tidegate.platform.lake.lake import Lake, Table
from tidegate.platform.lake.lake_root.forget_requests import Forgotten
from tidegate.platform.lake.suppression import Suppression, subject_key

#: The seams of forgetting, in order. Each is right after the step that it is named for.
SEAMS = (
    "forget-request",
    "forget-found",
    "forget-shared-keys",
    "forget-barrier",
    "forget-silver",
    "forget-prepare",
    "forget-decide",
    "forget-bronze",
    "forget-objects",
    "forget-erased",
    "forget-vacuum",
    "forget-done",
)

FOUND, ERASED, DONE = "found", "erased", "done"


@dataclass(frozen=True)
class Progress:
    """The state of a request.

    Attributes:
        erased: when its rows had left every table; None before.
        due: when the files that had them may be deleted; None before the rows have left.
        done: when these files were deleted; None before.
    """

    request: ForgetRequest
    erased: datetime | None = None
    due: datetime | None = None
    done: datetime | None = None

    def is_late(self, now: datetime) -> bool:
        """Return whether the request should be done by now, and is not."""
        return self.done is None and now > self.request.until

    @property
    def state(self) -> Literal["open", "waits for vacuum", "done"]:
        """The state in a word or two."""
        if self.done:
            return "done"
        return "waits for vacuum" if self.erased else "open"


def search_subjects(lake: Lake, kind: str, subjects: Sequence[str]) -> list[Found]:
    """Count what a lake has of subjects. Nothing is changed, and the subjects are written nowhere.

    Raises:
        DataError: no table has this kind of subject, or a subject is not an identity.
        SubjectProblem: a table does not show whose its rows are.
        SecretProblem: the secret is missing, or is another than that of earlier requests.
        StoreError: S3 did not answer.
    """
    _refuse_unlikely(subjects)
    key = _key(lake.config, lake.store.forgotten, lake.environ, kind)
    refuse_personal_keys(lake, tables_of(lake.config, kind))
    digests = frozenset(map(key.digest, subjects))
    return find(lake, kind, lambda spec: Suppression.from_digests(spec, key, digests))


def ask(lake: Lake, kind: str, subjects: Sequence[str], by: str) -> ForgetRequest:
    """Write a request to forget subjects. From here on no load and no merge lets them in. Returns the request.

    Args:
        kind: kind of the subjects.
        subjects: their identities, as text. Only digests of them are written.
        by: the user that asks.

    Raises:
        DataError: no table has this kind of subject, there are no subjects, or one is not an identity.
        SubjectProblem: a table may have rows that have something of a person and do not name the person.
        SecretProblem: as for `search_subjects`.
        StoreError: S3 did not answer. The request may have been written.
    """
    if not subjects:
        raise DataError("no subject is given")
    _refuse_unlikely(subjects)
    if lake.config.forget is None:
        raise DataError("lake.yaml has no `forget`: add it, with the place of a secret")
    key, now = _key(lake.config, lake.store.forgotten, lake.environ, kind), datetime.now(UTC).replace(microsecond=0)
    refuse_personal_keys(lake, tables_of(lake.config, kind))
    digests = tuple(dict.fromkeys(map(key.digest, subjects)))
    until = now + timedelta(days=lake.config.forget.days)
    request = ForgetRequest(str(ULID()), by, now, until, kind, key.check, digests)
    lake.store.forgotten.put(request)
    seam("forget-request")
    return request


def progress(lake: Lake) -> list[Progress]:
    """Return the state of every request, oldest first.

    Raises:
        StoreError: S3 did not answer.
    """
    return [_progress(lake, request) for request in lake.store.forgotten.requests()]


def work_off(lake: Lake, run_id: str, log: Callable[[str], None] = lambda _: None) -> list[Progress]:
    """Do what can be done now for every request that is not done. Returns their states afterwards, oldest first.

    Messages of subjects that came after their request was worked off are taken out of the lake, too.

    Args:
        run_id: unique to this call.
        log: called with each line. No line has an identity.

    Raises:
        DataError: something of the subjects is left although it was deleted, or lake.yaml no longer says whose the
            rows of a table are that had some of the subjects.
        SubjectProblem: a table does not show whose its rows are.
        SecretProblem: the secret is missing, or is another than that of the requests.
        StoreError: S3 did not answer.
    """
    for kind in sorted({table.request.kind for table in progress(lake) if not table.done}):
        waiting = [table for table in progress(lake) if table.request.kind == kind and not table.done]
        for table in waiting:
            _require_tables(lake.config, lake.store.forgotten, table.request)
        now = datetime.now(UTC)
        if all(table.due and table.due > now for table in waiting):
            for table in waiting:
                log(f"request {table.request.id} waits for VACUUM until {table.due:%Y-%m-%d %H:%M} UTC")
            continue
        for table in waiting:
            _note_found(lake, table.request, log)
        taken = _erase(lake, kind, run_id, log)
        for table in waiting:
            _note_erased(lake.store.forgotten, table.request, taken, run_id, is_alone=len(waiting) == 1)
        seam("forget-erased")
        _finish(lake, kind, [table.request for table in waiting], run_id, log)
    states = progress(lake)
    for kind in sorted({state.request.kind for state in states}):
        erase_late_messages(lake, kind, log)
        erase_late_copies(lake.store, tables_of(lake.config, kind), log)
    return states


def _require_tables(config: LakeConfig, forgotten: Forgotten, request: ForgetRequest) -> None:
    """Check that every table that had something of a request's subjects can be searched, and its files deleted."""
    notes = (forgotten.note(request.id, step) for step in (FOUND, ERASED))
    tables = [table for note in notes if note for table in note.get("tables", ())]  # the first version wrote none
    had = {table["table"] for table in tables if table["bronze"] or table["silver"] or table["kept"]}
    if missing := sorted(had - {spec.name for spec in tables_of(config, request.kind)}):
        raise DataError(
            f"request {request.id} found rows of its persons in {', '.join(missing)}, and lake.yaml no longer has it "
            f"with `personal.subject` of the kind {request.kind!r}: put that back until the request is done"
        )


def _erase(lake: Lake, kind: str, run_id: str, log: Callable[[str], None]) -> list[GoneRows]:
    """Delete what the lake has of the subjects of a kind. Returns what left each table."""
    taken: list[GoneRows] = []
    for spec in tables_of(lake.config, kind):
        table = lake.table(spec.table_key.encode())
        suppression = _require_suppression(lake, spec)
        silver, emptied = _erase_from_silver(lake, table, suppression, run_id, log)
        bronze = erase_from_bronze(table, suppression, run_id, log).rows
        seam("forget-bronze")
        purge_silver(lake.delta, lake.store, table.spec, log)
        lines = erase_kept_objects(lake.config, lake.store, table, suppression)
        log(f"{lines} lines and messages of {spec.name} left the quarantine and the row objects")
        if copies := erase_staged_copies(lake.store, table.table_key):
            log(f"{copies} copies of whole objects of {spec.name} left staging/")
        taken.append(GoneRows(spec.name, bronze, silver, lines, emptied))
        seam("forget-objects")
    left = find(lake, kind, partial(_require_suppression, lake))
    if count_total(left):
        places = ", ".join(f"{found.table}: {found.total}" for found in left if found.total)
        raise DataError(f"after everything was deleted, a search still finds {places}. Run it again")
    return taken


def _erase_from_silver(
    lake: Lake, table: Table, suppression: Suppression, run_id: str, log: Callable[[str], None]
) -> tuple[int, int]:
    """Delete rows of subjects from silver, and compute keys that they share with others.

    Returns the number of rows that left, and that of rows of others that lost a value.

    Bronze still has the rows of the subjects: they show which keys these are.
    """
    merged = merged_batch(lake, table.spec)
    compute_shared_keys(lake, table.spec, table.birth, suppression, run_id, log)
    seam("forget-shared-keys")
    taken = erase_from_silver(lake.delta, lake.store, table, suppression, run_id, log)
    if merged_batch(lake, table.spec) != merged:
        # A merge in between may have let a row of another person keep a value of a row that has left only now.
        compute_shared_keys(lake, table.spec, table.birth, suppression, f"{run_id}, again", log)
    return taken


def _finish(lake: Lake, kind: str, requests: Sequence[ForgetRequest], run_id: str, log: Callable[[str], None]) -> None:
    """Delete the files of what was erased long enough ago."""
    due = [table for table in map(partial(_progress, lake), requests) if table.due and table.due <= datetime.now(UTC)]
    if not due:
        return
    for spec in tables_of(lake.config, kind):
        end_old_versions(lake, spec)
    seam("forget-vacuum")
    for table in due:
        _note(lake.store.forgotten, table.request.id, DONE, {"run": run_id})
        log(f"request {table.request.id} is done")
    seam("forget-done")


def _progress(lake: Lake, request: ForgetRequest) -> Progress:
    erased, done = (lake.store.forgotten.note(request.id, step) for step in (ERASED, DONE))
    if erased is None:
        return Progress(request)
    at = datetime.fromisoformat(erased["at"])
    if done:
        return Progress(request, at, at, datetime.fromisoformat(done["at"]))
    kept = max((longest_retention(lake, spec) for spec in tables_of(lake.config, request.kind)), default=timedelta())
    return Progress(request, at, at + kept)


def _note_found(lake: Lake, request: ForgetRequest, log: Callable[[str], None]) -> None:
    """Record what the lake had of a request's subjects, before anything is deleted. A repeated call keeps the first."""
    if lake.store.forgotten.note(request.id, FOUND) is not None:
        return
    key = _key(lake.config, lake.store.forgotten, lake.environ, request.kind)
    found = find(lake, request.kind, lambda spec: Suppression.from_digests(spec, key, frozenset(request.digests)))
    others = unsearched_folders(lake)
    subjects = {spec.name: spec.personal.subject for spec in tables_of(lake.config, request.kind) if spec.personal}
    tables = [asdict(table) for table in found]
    facts = {"by": request.by, "tables": tables, "not_searched": others, "subjects": subjects}
    _note(lake.store.forgotten, request.id, FOUND, facts)
    for folder in others:
        log(f"{folder} is not searched: lake.yaml has no such table, or its bronze table has no batch yet")
    log(f"request {request.id} of {request.by}: {count_total(found)} rows, lines and messages found")
    seam("forget-found")


def _note_erased(
    forgotten: Forgotten, request: ForgetRequest, taken: Sequence[GoneRows], run_id: str, *, is_alone: bool
) -> None:
    """Record that nothing of a request's subjects is left, and what has left each table since it was found."""
    found, earlier = (forgotten.note(request.id, step) for step in (FOUND, ERASED))
    # What was taken out for several requests at once is of no one of them: each has what was found for it. Each has the
    # number of the rows of others that lost a value.
    now = taken if is_alone else [GoneRows(rows.table, 0, 0, 0, rows.emptied) for rows in taken]
    before = earlier.get("tables") if earlier else None
    left = gone_rows(found["tables"] if found else (), before, now)
    # Rows that were found later were in files that VACUUM does not delete before their own retention.
    again = sum(rows.bronze + rows.silver + rows.emptied for rows in taken) > 0
    _note(forgotten, request.id, ERASED, {"run": run_id, "tables": [asdict(rows) for rows in left]}, again=again)


def _note(forgotten: Forgotten, request: str, step: str, facts: dict[str, Any], *, again: bool = False) -> None:
    at = datetime.now(UTC).isoformat(timespec="seconds")
    forgotten.put_note(request, step, {"format": 1, "at": at, **facts}, again=again)


def _refuse_unlikely(subjects: Sequence[str]) -> None:
    """Refuse an empty text, as that of an unset variable of a shell: every row without an identity would leave."""
    if any(not subject or subject != subject.strip() for subject in subjects):
        raise DataError("an identity is empty, or begins or ends with a space, as no identity does: correct it")


def _key(config: LakeConfig, forgotten: Forgotten, environ: Mapping[str, str], kind: str) -> SubjectKey:
    if not tables_of(config, kind):
        known = ", ".join(config.subject_kinds) or "none"
        raise DataError(f"no table of lake.yaml has `personal.subject` of the kind {kind!r} (kinds: {known})")
    earlier = [request for request in forgotten.requests() if request.kind == kind]
    return subject_key(config, environ, kind, earlier)


def _require_suppression(lake: Lake, spec: TableSpec) -> Suppression:
    suppression = lake.suppression(spec)
    if suppression is None:
        raise AssertionError(f"a request exists, so {spec.name} has a suppression list")
    return suppression
