"""Samples of what lakes have on disk, by kind and class: `tests/samples/<kind>/<class>.json`.

Versions of Tidegate wrote these files, and every later version must read them. They are never changed. A new shape of a
format gets a new class with a file of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "samples"

_Body = Any
_Class = Callable[[_Body], bool]


def _hint(origin: str, *fields: str, without: str = "", name: str = "", **values: object) -> _Class:
    """Return the class of manifests of an origin that have a hint with these fields."""

    def belongs(body: _Body) -> bool:
        return body["origin"] == origin and any(
            set(fields) | set(values) <= hint.keys()
            and without not in hint
            and hint["event_name"].startswith(name)
            and all(hint[field] == value for field, value in values.items())
            for hint in body["hints"]
        )

    return belongs


def _rows(status: str, *fields: str, reason: str = "", **more: bool) -> _Class:
    """Return the class of batches that have a ledger row of a status with these fields, and these effects or none of
    them.
    """

    def belongs(body: _Body) -> bool:
        return all(bool(body.get(effect)) is has for effect, has in more.items()) and any(
            row["status"] == status and set(fields) <= row.keys() and reason in row.get("reason", "")
            for row in body["rows"]
        )

    return belongs


#: Part of the location of tables that load their files.
_LOADED = "/bronze/"
_FOLDER_OF_ROWS = "; see s3a://"

#: Event names of hints that come from no event of S3.
_CAUSES = {
    "Listed", "Missing", "Redriven", "Rebuild", "ServerLost", "ServerLostAlone", "AfterLoad", "RowsSent",
}  # fmt: skip

MANIFESTS: dict[str, _Class] = {
    "event": _hint("intake", "event_id", "event_time", "sequencer", "size"),
    "typed": _hint("intake", "event_id", "event_type"),
    "event_of_a_version": _hint("intake", "event_id", "version_id"),
    "removal": _hint("intake", "event_id", name="ObjectRemoved"),
    "rows_of_a_queue": _hint("intake", "size", name="RowsSent", without="event_id"),
    "listed": _hint("listing", "size", name="Listed"),
    "missing": _hint("listing", name="Missing"),
    "deferred": _hint("deferred", "event_id"),
    "redriven": _hint("redrive", redriven=True, without="replaces"),
    "redriven_for_its_quarantined_rows": _hint("redrive", "replaces", "decided", redriven=True),
    "rebuild": _hint("rebuild", "replaces", "decided", "told"),
    "rebuild_of_a_quarantined_file": _hint("rebuild", redriven=True, without="replaces"),
    "lost": _hint("lost", "read", name="ServerLost"),
    "lost_alone": _hint("lost", "read", name="ServerLostAlone"),
    "read_too_long": _hint("lost", "read", name="ReadTooLong"),
    "read_too_long_alone": _hint("lost", "read", name="ReadTooLongAlone"),
    "rests": lambda body: body["id"].startswith("rests-") and body["hints"] == [],
    "after_load": _hint("after", "taken", name="AfterLoad"),
    "every_cause": lambda body: {hint["event_name"] for hint in body["hints"]} >= _CAUSES,
    "first_version": lambda body: body["id"].count("-") == 1,
    "first_version_deferred": lambda body: body["id"].startswith("deferred-") and body["id"].count("-") == 2,
}

BATCHES: dict[str, _Class] = {
    "created_by_registering": lambda body: body["create"] and body["adds"][0]["source_key"],
    "created_by_loading": lambda body: body["create"] and _LOADED in body["location"],
    "adopted": lambda body: body.get("adopt") and body["after_version"] >= 0,
    "evolved_by_registering": lambda body: body.get("evolve") and body["adds"][0]["source_key"],
    "evolved_by_loading": lambda body: body.get("evolve") and _LOADED in body["location"],
    "copied": lambda body: body["adds"][0]["path"].startswith("_tidegate/copies/") and not body["create"],
    "registered": _rows("committed", create=False, evolve=False, adds=True),
    "loaded": _rows("committed", "checksum", "event_id", create=False, evolve=False, adds=True, removes=False),
    "typed": _rows("committed", "event_type", adds=True),
    "partly_loaded": _rows("committed", "bad_rows", reason=_FOLDER_OF_ROWS, adds=True),
    "rows_in_a_folder": _rows("committed", "bad_rows", "bad_rows_folder", adds=True),
    "removed": _rows("removed", adds=False, removes=True),
    "removed_while_rows_stay": _rows("removed", "etag", adds=False, removes=False),
    "replaced_rows": _rows("committed", adds=True, removes=True),
    "replaced_by_other_bytes": _rows("committed", "removed_rows", adds=True, removes=True),
    "removed_with_its_rows": _rows("removed", "removed_rows", removes=True),
    "overwritten": _rows("quarantined", "etag", reason="overwritten: ", removes=True),
    "overwritten_by_its_cause": _rows("quarantined", "etag", "cause", removes=True),
    "quarantined": _rows("quarantined", "etag", create=False, adds=False),
    "none_of_its_rows": _rows("quarantined", "etag", reason=_FOLDER_OF_ROWS),
    "read_again_and_refused": _rows("quarantined", reason="read again, and refused: "),
    "refused_by_s3": _rows("quarantined", reason="access denied: "),
    "repeated_messages": _rows("committed", reason="their messages came again"),
    "moved": _rows("moved", "etag"),
    "unapplied": _rows("unapplied"),
    "waiting": lambda body: any(signal["waits_for"] for signal in body.get("signals", ())),
    "complete": _rows("complete", "etag", signals=True, adds=True),
    "duplicate": _rows("duplicate", "event_id"),
    "duplicate_in_a_versioned_bucket": _rows("duplicate", "event_id", "version_id"),
    "to_an_output": lambda body: body.get("objects") and "columns" not in body,
    "converted": lambda body: body.get("objects") and body["columns"]["partition_columns"],
    "rebuild": lambda body: body["manifests"][0].startswith("rebuild-") and body["adds"],
    "timed": lambda body: body["adds"] and not body["create"] and body["rows"][0]["event_name"] == "Listed",
    "deferred": lambda body: body["deferred"],
    "every_cause_deferred": lambda body: {hint["event_name"] for hint in body["deferred"]} >= _CAUSES,
    "nothing": lambda body: not body["rows"] and not body["adds"] and not body["deferred"],
    "first_version": lambda body: body["create"] and body["deferred"] and len(body["deferred"][0]) == 7,
}

#: What was appended to the ledgers when these batches were recorded.
#: The rows of an adoption are appended by Spark.
LEDGERS = [name for name in BATCHES if name not in ("first_version", "every_cause_deferred", "adopted")]

#: Other kinds of objects under the root.
OTHERS: dict[str, dict[str, _Class]] = {
    "births": {
        "registered": lambda body: body["registered"],
        "loaded": lambda body: not body["registered"] and not body["folder"] and "output" not in body,
        "output": lambda body: body.get("output") is True,
        "converting": lambda body: body.get("output") == "convert",
        "after_a_reset": lambda body: body["folder"],
        "first_version": lambda body: "folder" not in body,
    },
    "intake": {
        "counted_only": lambda body: not body["rows"],
        "no_table": lambda body: any(row["outcome"] == "no_table" and "key" in row for row in body["rows"]),
        "malformed": lambda body: any(row["outcome"] == "malformed" and "detail" in row for row in body["rows"]),
        "typed": lambda body: any("event_type" in row for row in body["rows"]),
        "own_file": lambda body: any(row["outcome"] == "own_file" for row in body["rows"]),
    },
    "messages": {
        "event": lambda body: "row" not in body,
        "attributes": lambda body: body["attributes"],
        "row": lambda body: body["row"]["queue"],
    },
    "after": {
        "not_tried": lambda body: not any(body["keys"].values()),
        "failed": lambda body: any(body["keys"].values()),
    },
    "forgotten": {
        "request": lambda body: body["digests"] and body["check"],
    },
    "history": {
        "whole": lambda body: body["known_from"] is None and body["days"],
        "lost_days": lambda body: body["known_from"],
    },
}


def read(kind: str, name: str) -> str:
    """Return the text of a sample."""
    return (FOLDER / kind / f"{name}.json").read_text().removesuffix("\n")


def body(kind: str, name: str) -> Any:
    """Return the parsed JSON of a sample."""
    return json.loads(read(kind, name))


def names(kind: str) -> list[str]:
    """Return the classes that have a file."""
    return sorted(path.stem for path in (FOLDER / kind).glob("*.json"))
