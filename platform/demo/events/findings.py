"""Reads what the outputs of the demo contain, and compares it with the oracle."""

from __future__ import annotations

import gzip
import zlib
from collections import Counter
from collections.abc import Mapping
from typing import Any

from tidegate.platform.demo.accounts import Accounts
from tidegate.platform.demo.events.billing import BillingProvider, billing_row
from tidegate.platform.demo.events.report import Broken, EventsReport
from tidegate.platform.demo.events.subscribers import (
    BROKEN,
    BROKEN_ROUTE,
    SEARCH,
    TAGGED,
    TAGGED_TYPE,
    UNMATCHED,
    Subscriber,
)
from tidegate.platform.lake.aws.s3 import ObjectStore
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.sql_names import SqlNames

_DATASETS, _DATASETS_KEY = "bronze.settlements", "tidegate-landing.exports.settlements"
_OUT_BUCKET = "tidegate-out"
_VARIANT, _BILLING = "bronze.unagreed", "bronze.billing"
_SEARCH_PREFIX, _BROKEN_PREFIX = "orders.", "invoices."


def compare_tables(report: EventsReport, lake: Lake, expected: Mapping[str, Any], accounts: Accounts) -> None:
    """Compare what every table contains: in one query, because each query of its own costs a second."""
    tables: dict[str, Any] = expected["tables"]
    keys = {f"bronze.{spec.name}": spec.table_key.encode() for spec in lake.config.tables}
    born = set(lake.store.births.tables())
    for name in [name for name in tables if keys[name] not in born]:
        report.problems.append(f"{name} does not exist")
    existing = {name: table for name, table in tables.items() if keys[name] in born}
    found = _query(lake, existing, keys)
    for name, table in existing.items():
        wanted = {check["name"]: check["value"] for check in table["checks"]}
        report.compare(name, wanted, found[name])
        report.compare(f"objects of {name}", table["objects"], accounts.objects.get(keys[name], 0))
    agreed = {name: table for name, table in existing.items() if name not in (_VARIANT, _DATASETS)}
    report.count(
        "b compatible",
        f"{len(agreed)} tables (load)",
        sum(table["rows"] for table in agreed.values()),
        sum(found[name]["rows"] for name in agreed),
        "rows",
    )
    if _DATASETS in existing:
        rows = (tables[_DATASETS]["rows"], found[_DATASETS]["rows"])
        report.count("datasets", f"{_DATASETS} (completion)", *rows, "rows of complete datasets")
    if _VARIANT in existing:
        report.count(
            "c incompatible", f"{_VARIANT} (variant)", tables[_VARIANT]["rows"], found[_VARIANT]["rows"], "rows"
        )


def compare_files(report: EventsReport, lake: Lake, expected: Mapping[str, Any], accounts: Accounts) -> None:
    """Compare what the output that is not a table has: each line as it was written, in the folder of its values."""
    spec = next(spec for spec in lake.config.tables if spec.output)
    assert spec.output is not None
    wanted = expected["files"]
    found, objects = read_folders(lake.store.objects, _OUT_BUCKET)
    report.compare(f"folders of s3://{_OUT_BUCKET}/", wanted["folders"], found)
    read = accounts.objects.get(spec.table_key.encode(), 0)
    report.compare(f"objects that {spec.name} read", wanted["objects"], read)
    report.count(
        "a repartitioned",
        f"{objects:,} objects of s3://{_OUT_BUCKET}/",
        wanted["rows"],
        sum(folder["rows"] for folder in found.values()),
        f"rows of {wanted['objects']:,} objects",
    )


def read_folders(objects: ObjectStore, bucket: str) -> tuple[dict[str, dict[str, int]], int]:
    """Return the rows of each folder of a bucket and the sum of the CRCs of their lines, and the number of objects."""
    folders: dict[str, dict[str, int]] = {}
    items = list(objects.list_under(bucket, ""))
    for item in items:
        folder = folders.setdefault(item.key.rpartition("/")[0], {"rows": 0, "lines": 0})
        for line in gzip.decompress(objects.get(bucket, item.key) or b"").splitlines():
            folder["rows"] += 1
            folder["lines"] += zlib.crc32(line)
    return folders, len(items)


def compare_events(report: EventsReport, expected: Mapping[str, Any], accounts: Accounts) -> None:
    """Compare what became of every event, and what is in quarantine."""
    of_datasets = accounts.events.get(_DATASETS_KEY, set())
    outcomes = Counter(outcome for event, outcome in accounts.outcomes.items() if event not in of_datasets)
    report.count("every event", "ledgers, intake log", expected["events_sent"], len(accounts.outcomes), "events")
    report.compare("outcomes of events", expected["outcomes"], dict(outcomes))
    report.compare("events of datasets", expected["datasets"]["events"], len(of_datasets))
    quarantined = expected["quarantined"]
    report.compare("quarantined objects", set(quarantined["objects"]), set(accounts.quarantined))
    report.compare("objects with quarantined rows", quarantined["rows"], dict(accounts.bad_rows))
    report.count("quarantine", "lake.quarantine", len(quarantined["objects"]), len(accounts.quarantined), "objects")
    report.count(
        "quarantine",
        "lake.quarantine",
        sum(quarantined["rows"].values()),
        accounts.bad_rows.total(),
        "rows of other objects",
    )


def compare_datasets(report: EventsReport, expected: Mapping[str, Any], accounts: Accounts) -> None:
    """Compare which files wait for a completion signal. What entered is compared with the other tables."""
    waiting = set(expected["datasets"]["waiting"])
    report.compare("files that wait for their signal", waiting, accounts.waiting)
    report.count("datasets", f"{_DATASETS} (completion)", len(waiting), len(accounts.waiting), "files that wait")
    report.broken.append(
        Broken(
            f"the signal of {len({key.rpartition('/')[0] for key in waiting})} dataset never came",
            f"its {len(accounts.waiting):,} files wait, and no row of them is in the table",
            "put the object _SUCCESS into their folder",
        )
    )


def describe_poison(report: EventsReport, expected: Mapping[str, Any]) -> None:
    """Say where what the services spoiled is now."""
    quarantined, messages = expected["quarantined"], expected["outcomes"].get("malformed", 0)
    report.broken += [
        Broken(
            f"{len(quarantined['objects']):,} poisonous objects: truncated, empty, or an error page",
            "in quarantine with their reasons; all other objects are in their tables",
            'tidegate sql "SELECT table_name, key, reason FROM lake.quarantine"; when the files are right, '
            "tidegate redrive --yes",
        ),
        Broken(
            f"{sum(quarantined['rows'].values()):,} rows: a field became text, or came twice",
            "each in the folder of bad rows of its table; the other rows of its object are in the table",
            "change the column, or make the table a VARIANT; then tidegate redrive <table> --yes",
        ),
        Broken(
            f"{messages:,} messages that are not notifications",
            "quarantine/messages/, and the check of their queue",
            "tidegate redrive --messages",
        ),
    ]


def compare_forwarded(
    report: EventsReport,
    expected: Mapping[str, Any],
    processed: Mapping[str, set[str]],
    tagged: Subscriber,
    unmatched: Subscriber,
) -> None:
    """Compare what the subscribers got: every event of their types, at least once, and nothing else."""
    forwarded, existing = expected["forwarded"], set(expected["types"])
    search = {name: found for name, found in forwarded.items() if name.startswith(_SEARCH_PREFIX)}
    keys = {name: set(found["existing"]) for name, found in search.items()}
    report.compare("objects that the consumer processed", keys, dict(processed))
    report.count(
        "d your own", f"topic, filter, {SEARCH}", _total_objects(keys), _total_objects(processed), "objects processed"
    )
    _subscriber(report, {TAGGED_TYPE: forwarded[TAGGED_TYPE]}, tagged, "by tag", TAGGED)
    others = {name: found for name, found in forwarded.items() if name != TAGGED_TYPE}
    _subscriber(report, others, unmatched, "all other types", UNMATCHED)
    report.compare("event types that were forwarded", existing, {*tagged.keys, *unmatched.keys})


def compare_broken(report: EventsReport, expected: Mapping[str, Any], backlog: tuple[int, float]) -> None:
    """Compare what waits for the destination that is broken."""
    forwarded = expected["forwarded"]
    waiting = sum(found["messages"] for name, found in forwarded.items() if name.startswith(_BROKEN_PREFIX))
    report.count("broken subscriber", f"outbox/{BROKEN_ROUTE}/", waiting, backlog[0], "messages that wait")
    report.broken.append(
        Broken(
            f"the queue {BROKEN} was deleted",
            f"{backlog[0]:,} messages wait for it, the oldest for {backlog[1]:.0f} s. Nobody else waits",
            "create the queue again: what waits is sent within five minutes",
        )
    )


def compare_webhooks(report: EventsReport, lake: Lake, provider: BillingProvider) -> None:
    """Compare the rows of the webhooks: one for each, however often it was delivered, and none that was forged."""
    spec = next(spec for spec in lake.config.tables if f"bronze.{spec.name}" == _BILLING)
    key = spec.table_key.encode()
    if key not in lake.store.births.tables():
        report.problems.append(f"{_BILLING} does not exist: {provider.trouble or 'no webhook was taken'}")
        return
    SqlNames(lake).name_table(key)
    sql = f"SELECT count(*), coalesce(sum(cents), 0), count(DISTINCT id) FROM {_BILLING}"
    rows, cents, ids = lake.delta.session.sql(sql).collect()[0]
    report.count("webhooks", f"{_BILLING} (row queue)", provider.number, rows, "rows")
    report.compare(f"webhooks of {_BILLING}", provider.number, ids)
    report.compare(f"cents of {_BILLING}", sum(billing_row(n)["cents"] for n in range(provider.number)), cents)
    report.compare("forged webhooks that were refused", provider.forged, provider.refused)
    report.broken.append(
        Broken(
            f"webhooks: {provider.unanswered:,} deliveries without an answer, {provider.forged:,} forged",
            f"repeated by the sender, and one row each; {provider.refused:,} forged ones refused with status 401",
            "nothing to do",
        )
    )


def _subscriber(report: EventsReport, expected: Mapping[str, Any], found: Subscriber, how: str, queue: str) -> None:
    keys = {name: set(wanted["keys"]) for name, wanted in expected.items()}
    report.compare(f"objects of the events in {queue}", keys, found.keys)
    missing = {
        name: wanted["messages"] for name, wanted in expected.items() if found.messages[name] < wanted["messages"]
    }
    report.compare(f"messages that {queue} lacks", {}, missing)
    report.count(
        f"forwarded, {how}",
        queue,
        _total_objects(keys),
        _total_objects(found.keys),
        f"objects of {len(keys)} {'type' if len(keys) == 1 else 'types'}",
    )


def _total_objects(keys: Mapping[str, set[str]]) -> int:
    return sum(map(len, keys.values()))


def _query(lake: Lake, tables: Mapping[str, Any], keys: Mapping[str, str]) -> dict[str, dict[str, int]]:
    selects = []
    for name, table in tables.items():
        SqlNames(lake).name_table(keys[name])
        checks = ", ".join(f"'{check['name']}', CAST({check['sql']} AS BIGINT)" for check in table["checks"])
        selects.append(f"SELECT '{name}' AS name, map({checks}) AS found FROM {name}")
    if not selects:
        return {}
    rows = lake.delta.session.sql(" UNION ALL ".join(selects)).collect()
    return {row["name"]: dict(row["found"]) for row in rows}
