"""The reports on storage over one lake: what assets and commands say is what DuckDB says of the objects."""

from __future__ import annotations

import io
import random
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import pyarrow as pa
import pytest
import typer
from rich.console import Console

from tests.support.lakes.inventory import Line, deliver
from tidegate.assets.keys import LakeNames
from tidegate.assets.presentation import markdown
from tidegate.platform.cli.answers.inventory import AdviceAnswer, AuditAnswer, CostAnswer
from tidegate.platform.cli.commands.cost import CostOfTable, CostsAnswer, CostsQuestion
from tidegate.platform.cli.commands.cost import run_cost as tidegate_cost
from tidegate.platform.cli.groups.inventory import inventories
from tidegate.platform.cli.inventory.advice import AdviceQuestion, run_advice
from tidegate.platform.cli.inventory.audit import run_audit
from tidegate.platform.cli.inventory.cost import CostQuestion, run_cost
from tidegate.platform.cli.inventory.forecast import run_forecast
from tidegate.platform.core.errors import ConfigurationError
from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.core.storage.growth import Growth
from tidegate.platform.inventory.growth import growth_of
from tidegate.platform.inventory.stored_objects import sums_of_all
from tidegate.platform.lake.inventory import sums
from tidegate.platform.lake.inventory.objects import inventory_objects
from tidegate.platform.lake.inventory.sums import stored_sums, with_ends
from tidegate.platform.query.frame import query_frame
from tidegate.platform.testing import TestLake

CREATED = datetime(2026, 11, 1, 1, tzinfo=UTC)
FIELDS = ("StorageClass", "IntelligentTieringAccessTier")
AUDITED_FIELDS = ("EncryptionStatus", "ReplicationStatus", "LastModifiedDate")
#: Made prices, of a gigabyte and month.
RATES = {
    "TimedStorage-ByteHrs": 2.0,
    "TimedStorage-SIA-ByteHrs": 0.5,
    "TimedStorage-ZIA-ByteHrs": 0.4,
    "TimedStorage-GIR-ByteHrs": 0.3,
    "TimedStorage-GlacierByteHrs": 0.2,
    "TimedStorage-GDA-ByteHrs": 0.125,
    "TimedStorage-INT-FA-ByteHrs": 1.75,
    "TimedStorage-INT-IA-ByteHrs": 1.25,
    "TimedStorage-INT-AIA-ByteHrs": 1.125,
    "TimedStorage-INT-AA-ByteHrs": 0.09375,
    "TimedStorage-INT-DAA-ByteHrs": 0.0625,
}
MONITORING = 0.001
#: Ages of objects. Most are old, so that it shows that objects stay.
DAYS = [0, 29, *[30, 89] * 3, *[90, 364] * 12, *[365, 900] * 3]
#: As inventories name them. The last two have no price.
CLASSES = [
    *("STANDARD", "STANDARD_IA", "ONEZONE_IA", "GLACIER_IR", "GLACIER", "DEEP_ARCHIVE"),
    *("INTELLIGENT_TIERING", "INTELLIGENT_TIERING", "OTHER", None),
]
ACCESS_TIERS = ["FREQUENT", "INFREQUENT", "ARCHIVE_INSTANT_ACCESS", "ARCHIVE_ACCESS", "DEEP_ARCHIVE_ACCESS"]
#: What S3 bills for one object, by AWS's rules, written again in SQL.
BILLED = f"""
    SELECT *, coalesce(class, 'unknown') AS kind, CASE
        WHEN class = 'STANDARD' THEN size * 2.0
        WHEN class = 'STANDARD_IA' THEN greatest(size, 131072) * 0.5
        WHEN class = 'ONEZONE_IA' THEN greatest(size, 131072) * 0.4
        WHEN class = 'GLACIER_IR' THEN greatest(size, 131072) * 0.3
        WHEN class = 'GLACIER' THEN (size + 32768) * 0.2 + 8192 * 2.0
        WHEN class = 'DEEP_ARCHIVE' THEN (size + 32768) * 0.125 + 8192 * 2.0
        WHEN tier = 'FREQUENT' THEN size * 1.75
        WHEN tier = 'INFREQUENT' THEN size * 1.25
        WHEN tier = 'ARCHIVE_INSTANT_ACCESS' THEN size * 1.125
        WHEN tier = 'ARCHIVE_ACCESS' THEN (size + 32768) * 0.09375 + 8192 * 2.0
        WHEN tier = 'DEEP_ARCHIVE_ACCESS' THEN (size + 32768) * 0.0625 + 8192 * 2.0
        ELSE 0 END / (1 << 30)
        + CASE WHEN tier IS NOT NULL AND size >= 131072 THEN {MONITORING} ELSE 0 END AS cost,
        CASE WHEN class IS NULL OR class = 'OTHER' THEN size ELSE 0 END AS unpriced,
        CASE WHEN contains(key, '/') THEN split_part(key, '/', 1) || '/' ELSE '' END AS prefix
    FROM objects WHERE NOT marker
"""


@dataclass
class Reported:
    """A lake with the inventories of two buckets, and their objects in DuckDB."""

    lake: TestLake
    objects: duckdb.DuckDBPyConnection
    prices: Path
    lines: dict[str, list[Line]]
    commands: list[list[str]] = field(default_factory=list)

    def asked(self, by: str = "bucket,storage_class", limit: int = 50, **more: Any) -> CostQuestion:
        return CostQuestion("objects", (self.prices,), by, limit=limit, **more)

    def page(self, kit: Any, key: dg.AssetKey) -> dict[str, Any]:
        """Materialize a report, and note the commands that its page names for further lines."""
        found: dict[str, Any] = kit.metadata(self.lake.materialize(key.to_user_string()))
        more = [value for name, value in found.items() if name.startswith("more_")]
        self.commands += [shlex.split(value.partition(" more lines: ")[2]) for value in more]
        return found


def price_list() -> str:
    row = "A,OnDemand,2026-11-01,0,{},{},EUR,EUC1-{}\n"
    rows = [row.format("GB-Mo", price, usage) for usage, price in RATES.items()]
    return (
        "SKU,TermType,EffectiveDate,StartingRange,Unit,PricePerUnit,Currency,usageType\n"
        + "".join(rows)
        + row.format("Objects", MONITORING, "Monitoring-Automation-INT")
        + row.format("Requests", 0.00001, "Requests-Tier4")
    )


def made_lines(chance: random.Random) -> list[Line]:
    lines = [Line("a/b/marker", None, None, marker=True)]
    for number in range(150):
        folder = chance.choice(["a/b/", "a/c/", "d/", ""])
        # Where the class of some objects is not known, there is no advice.
        kind = chance.choice(CLASSES if folder == "d/" else CLASSES[:-1])
        tier = chance.choice(ACCESS_TIERS) if kind == "INTELLIGENT_TIERING" else None
        more = {
            "StorageClass": kind,
            "IntelligentTieringAccessTier": tier,
            "LastModifiedDate": CREATED - timedelta(days=chance.choice(DAYS)),
        }
        size = chance.choice([0, 1, 100_000, 131_071, 131_072, 5_000_000, 134_217_728])
        lines.append(Line(f"{folder}{number}", size, "e", latest=chance.random() < 0.7, more=more))
    return lines


@pytest.fixture
def reported(tidegate_lake: Callable[..., TestLake], kit: Any, tmp_path: Path) -> Reported:
    prices = tmp_path / "index.csv"
    prices.write_text(price_list())
    table = {"name": "objects", "prefix": "inventory/", "mode": "inventory"}
    others = [{"name": "other", "prefix": "o/"}, {"name": "unborn", "prefix": "n/"}]
    lake = tidegate_lake([{**table, "storage_reports": {"prices": [str(prices)]}}, *others])
    chance, rows = random.Random(7), []
    every: dict[str, list[Line]] = {}
    for bucket in ("acme", "second"):
        lines = every[bucket] = made_lines(chance)
        prefix = f"inventory/{bucket}/all/"
        found = deliver(lines, prefix=prefix, source=bucket, created=CREATED.timestamp(), fields=FIELDS)
        for key, body in found.objects.items():
            lake.put(key, body)
        rows += [
            {
                "bucket": bucket,
                "key": line.key,
                "size": line.size,
                "marker": line.marker,
                "latest": line.latest,
                "class": line.more.get("StorageClass"),
                "tier": line.more.get("IntelligentTieringAccessTier"),
                "modified": line.more.get("LastModifiedDate"),
            }
            for line in lines
        ]
    lake.intake()
    kit.run(lake, "objects", listing=False)
    known = duckdb.connect()
    known.register("objects", pa.Table.from_pylist(rows))
    return Reported(lake, known, prices, every)


def test_the_reports_are_what_duckdb_computes_from_the_objects(
    reported: Reported, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(markdown, "MAX_LINES", 4)

    def expected(*by: str) -> dict[tuple[str, ...], tuple[int, int, float, int]]:
        names = ", ".join(by)
        sums = "count(*), sum(size)::bigint, sum(cost), sum(unpriced)::bigint"
        found = reported.objects.sql(f"SELECT {names}, {sums} FROM ({BILLED}) GROUP BY ALL").fetchall()
        return {row[: len(by)]: row[len(by) :] for row in found}

    def answered(asked: CostQuestion) -> CostAnswer:
        console = Console(file=io.StringIO(), width=200)
        run_cost(console, reported.lake.lake, asked, as_json=True)
        return CostAnswer.model_validate_json(console.file.getvalue(), strict=True)  # type: ignore[attr-defined]

    answer = answered(reported.asked("bucket,prefix,storage_class", limit=500))
    want = expected("bucket", "prefix", "kind")
    found = {tuple(line.group.values()): line for line in answer.lines}
    assert {group: (line.objects, line.bytes, line.bytes_without_price) for group, line in found.items()} == {
        group: (objects, size, unpriced) for group, (objects, size, _, unpriced) in want.items()
    }
    assert {group: line.cost_a_month for group, line in found.items()} == pytest.approx(
        {group: pair[2] for group, pair in want.items()}
    )
    assert answer.cost_a_month == pytest.approx(sum(pair[2] for pair in want.values()))

    _cost_asset(reported, kit, expected("bucket"), answer)
    _advice(reported, kit)
    _errors(reported)
    _growth(reported, kit)
    _audit(reported, kit)
    _reads(reported, kit, answered)
    _size_of_a_table(reported, kit)
    # With the settings of the asset, each command is one that the command line takes.
    assert {words[2] for words in reported.commands} == {"cost", "advice", "forecast", "audit"}
    group: Any = typer.main.get_command(inventories)
    for words in reported.commands:
        group.commands[words[2]].make_context(words[2], words[3:])


def _reads(reported: Reported, kit: Any, answered: Callable[[CostQuestion], CostAnswer]) -> None:
    """Run have read files of the bucket of the inventories. The ledger says how many, and no other group has any."""
    read: dict[str, int] = {}
    for name in ("objects", "other"):
        for row in kit.ledger(reported.lake, name):
            if row["status"] in ("committed", "quarantined") and row["etag"]:
                folder = f"{row['key'].split('/')[0]}/"
                read[folder] = read.get(folder, 0) + 1
    lines = answered(reported.asked("bucket,prefix", limit=500)).lines
    found = {tuple(line.group.values()): line.reads for line in lines if line.reads}
    assert found
    assert found == {(reported.lake.bucket, folder): reads for folder, reads in read.items()}


def _size_of_a_table(reported: Reported, kit: Any) -> None:
    """Check that an inventory of the lake's bucket gives the table's storage.

    Without an inventory it is its live files.
    """
    lake, created = reported.lake, datetime.now(UTC).replace(microsecond=0)
    config, other = lake.lake.config.lake, lake.key("other")

    def cost() -> CostOfTable:
        console = Console(file=io.StringIO(), width=200)
        tidegate_cost(console, lake.lake, lake.path, CostsQuestion("other"), as_json=True)
        (found,) = CostsAnswer.model_validate_json(console.file.getvalue(), strict=True).tables  # type: ignore[attr-defined]
        return found

    live = cost().months[0]
    table = lake.lake.table(other)
    assert table.birth is not None
    places = [table.birth.location, table.ledger.location]
    sizes = [kit.query(lake, f"DESCRIBE DETAIL delta.`{place}`")[0]["sizeInBytes"] for place in places]
    lines = [
        Line(f"{config.prefix}bronze/{other}/a.parquet", 5 << 30, "e"),
        Line(f"{config.prefix}bronze/{other}/a.parquet", 2 << 30, "old", latest=False),
        Line(f"{config.prefix}bronze/{other}-more/a.parquet", 9 << 30, "e"),
        Line(f"{config.prefix}bronze/{other}/_delta_log/0.json", 0, "e"),
        Line(f"{config.prefix}ledger/{other}/_delta_log/0.json", 1 << 29, "e"),
        Line(f"{config.prefix}ledger/{other}/b.parquet", 1 << 29, "e"),
    ]
    prefix = f"inventory/{config.bucket}/all/"
    for key, body in deliver(lines, prefix=prefix, source=config.bucket, created=created.timestamp()).objects.items():
        lake.put(key, body)
    lake.intake()
    kit.run(lake, "objects", listing=False)
    listed = cost().months[0]
    assert (live.listed, listed.listed) == (0.0, 1.0)
    assert listed.dollars["storage"] / (8 << 30) == pytest.approx(live.dollars["storage"] / sum(sizes), rel=0.01)


def _advice(reported: Reported, kit: Any) -> None:
    """Check that the objects of an advice are those that DuckDB finds, and the asset shows what the command prints."""
    console = Console(file=io.StringIO(), width=200)
    run_advice(console, reported.lake.lake, AdviceQuestion("objects", (reported.prices,)), as_json=True)
    answer = AdviceAnswer.model_validate_json(console.file.getvalue(), strict=True)  # type: ignore[attr-defined]
    assert {transition.version for transition in answer.transitions} == {"current", "noncurrent"}
    for transition in answer.transitions:
        classes = ", ".join(f"'{name}'" for name in transition.storage_class.split(", "))
        days = transition.days if transition.version == "current" else -1
        found = reported.objects.sql(
            f"SELECT count(*), sum(size)::bigint FROM ({BILLED}) WHERE bucket = '{transition.bucket}' AND "
            f"starts_with(key, '{transition.prefix}') AND class IN ({classes}) AND "
            f"(size < 131072) = {transition.size == 'under 128 KiB'} AND latest = {transition.version == 'current'} "
            f"AND datediff('day', modified, TIMESTAMPTZ '{CREATED.isoformat()}') >= {days}"
        ).fetchone()
        assert (transition.objects, transition.bytes) == found
    metadata = reported.page(kit, LakeNames().report(reported.lake.spec("objects").name, "advice"))
    assert answer.without_price == ("GLACIER_IR",), "the list has no price of its transitions"
    assert metadata["without_price"].startswith("the price lists lack a price of GLACIER_IR")
    assert metadata["net_saving"] == pytest.approx(answer.net_saving, abs=1e-4)


def _growth(reported: Reported, kit: Any) -> None:
    """Check that each inventory that was in the table counts once, on its day, although the next one has
    replaced it.
    """
    lake, before = reported.lake, reported.objects.sql("SELECT sum(size)::bigint FROM objects").fetchall()[0][0]
    acme = reported.objects.sql("SELECT sum(size)::bigint FROM objects WHERE bucket = 'acme'").fetchall()[0][0]
    second, key = before - acme, lake.key("objects")
    marker, some = Line("gone", None, None, marker=True), Line("more", 7, "e")
    _next_day(reported, kit, 2, {"acme": [some], "third": [some, some]})
    _next_day(reported, kit, 1, {"fourth": [some]})  # late: acme's inventory of day 2 is there
    asset = LakeNames().report(lake.spec("objects").name, "growth")
    metadata = reported.page(kit, asset)
    assert (metadata["buckets"], metadata["bytes"]) == (4, second + 28)
    _next_day(reported, kit, 3, {"third": [marker], "fourth": []})
    found = growth_of(lake.lake, key, 1)
    total, *buckets = found.lines
    assert (total.first, found.known_from) == (CREATED.date(), None)
    assert list(total.history) == [before, before + 7, second + 28, second + 7]
    assert {growth.bucket: list(growth.history) for growth in buckets} == {
        "acme": [acme, acme, 7, 7],
        "second": [second] * 4,
        "third": [14, 0],
        "fourth": [7, 7, 0],
    }
    assert _as_of(reported, 0) == {"acme": acme, "second": second}
    assert _as_of(reported, 1) == {"acme": acme, "second": second, "fourth": 7}
    assert _as_of(reported, 2) == {"acme": 7, "second": second, "third": 14, "fourth": 7}
    assert _as_of(reported, 9) == {"acme": 7, "second": second, "third": None}
    with pytest.raises(
        ConfigurationError, match="no inventory of 2026-10-31 or before is known: ask for 2026-11-01 or"
    ):
        _as_of(reported, -1)
    console = Console(file=io.StringIO(), width=200)
    run_forecast(console, lake.lake, "objects", 1, "", 50)
    assert "4 days of history are too few: 14 are needed" in console.file.getvalue()  # type: ignore[attr-defined]
    _lost_versions(reported, kit, asset, total)


def _as_of(reported: Reported, day: int) -> dict[str, int]:
    asked = CREATED.date() + timedelta(days=day)
    query = f"SELECT bucket, sum(size) AS bytes FROM inventory_as_of('objects', '{asked}') GROUP BY bucket"
    return {row["bucket"]: row["bytes"] for row in query_frame(reported.lake.lake, query).collect()}


def _next_day(reported: Reported, kit: Any, day: int, lines: dict[str, list[Line]]) -> None:
    created = (CREATED + timedelta(days=day)).timestamp()
    for bucket, some in lines.items():
        found = deliver(some, prefix=f"inventory/{bucket}/all/", source=bucket, created=created)
        for key, body in found.objects.items():
            reported.lake.put(key, body)
    reported.lake.intake()
    kit.run(reported.lake, "objects", listing=False)


def _lost_versions(reported: Reported, kit: Any, asset: dg.AssetKey, whole: Growth) -> None:
    """Check that with a short retention, days are known that the asset kept. Without these, the first days are lost."""
    lake, key = reported.lake, reported.lake.key("objects")
    location = lake.lake.table(key).birth.location
    lake.lake.delta.session.sql(
        f"ALTER TABLE delta.`{location}` SET TBLPROPERTIES ('delta.deletedFileRetentionDuration' = 'interval 1 hours')"
    ).collect()
    with pytest.raises(
        ConfigurationError, match=r"acme by configuration all of 2026-11-01 may be .*: ask for 2026-11-04 or"
    ):
        _as_of(reported, 1)
    # What was replaced since the asset kept its history is in no version that is sure to be there.
    found = growth_of(lake.lake, key, 1)
    assert (found.lines[0].history, found.known_from) == (whole.history, None)
    metadata = reported.page(kit, asset)
    assert (metadata["bytes"], "known_from" in metadata) == (whole.history[-1], False)
    store = lake.lake.store
    folder = store.key("history", key, "")
    kept = [item.key for item in store.objects.list_under(store.bucket, folder)]
    assert len(kept) == 2
    store.objects.delete(store.bucket, kept)
    found = growth_of(lake.lake, key, 1)
    assert (found.known_from, list(found.lines[0].history)) == (CREATED.date() + timedelta(days=3), [whole.history[-1]])
    assert list(store.objects.list_under(store.bucket, folder)) == []


def audited_lines(created: datetime) -> list[Line]:
    """Return lines of the bucket that the lake's tables are in."""
    chance, lines = random.Random(9), [Line("z/gone", None, None, marker=True), Line("o/known.json", 5, "e")]
    keys = ["inventory/acme/all/data/1", "o/", "o/_tmp/1", "o/.hidden", "o/a=_/1.json", "top"]
    keys += [f"{chance.choice(['o/', 'n/', 'n/x/', 'tmp/', 'old/a/'])}{number}.json" for number in range(60)]
    for key in keys:
        more = {
            "EncryptionStatus": chance.choice(["NOT-SSE", "SSE-S3", "SSE-KMS"]),
            "ReplicationStatus": chance.choice(["FAILED", "PENDING", "COMPLETED", None]),
            "LastModifiedDate": created - timedelta(hours=chance.choice([1, 23, 24, 25, 500])),
        }
        latest = chance.random() < 0.8
        lines.append(Line(key, chance.choice([0, 10, 1000]), "e", latest=latest, more=more))
        if not latest:
            lines.append(Line(key, None, None, marker=True))
    return lines


def _audit(reported: Reported, kit: Any) -> None:
    """Check that the findings are what DuckDB finds in the rows; a bucket whose inventory lacks a field is named."""
    lake, created = reported.lake, CREATED + timedelta(days=3)
    lines = {
        "acme": [Line("more", 7, "e")],
        "second": reported.lines["second"],
        "third": [Line("gone", None, None, marker=True)],
        lake.bucket: audited_lines(created),
    }
    found = deliver(
        lines[lake.bucket],
        prefix=f"inventory/{lake.bucket}/all/",
        source=lake.bucket,
        created=created.timestamp(),
        fields=("EncryptionStatus", "ReplicationStatus"),
    )
    for key, body in {"o/known.json": b'{"a": 1}\n', **found.objects}.items():
        lake.put(key, body)
    lake.intake()
    for table in ("objects", "other"):
        kit.run(lake, table, listing=False)
    names = "encryption", "replication", "modified"
    rows = [
        {
            "bucket": bucket,
            "key": line.key,
            "size": line.size,
            "latest": line.latest,
            "marker": line.marker,
            **{name: line.more.get(field) for name, field in zip(names, AUDITED_FIELDS, strict=True)},
        }
        for bucket, some in lines.items()
        for line in some
    ]
    known = duckdb.connect()
    known.register("seen", pa.Table.from_pylist(rows))

    def expected(condition: str, place: str = "bucket") -> dict[str, tuple[int, int]]:
        query = f"SELECT {place}, count(*), coalesce(sum(size), 0)::bigint FROM seen s WHERE {condition} GROUP BY ALL"
        return {item: (objects, size) for item, objects, size in known.sql(query).fetchall()}

    old = f"coalesce(modified, TIMESTAMPTZ '2026-01-02') < TIMESTAMPTZ '{(created - timedelta(days=1)).isoformat()}'"
    here = f"bucket = '{lake.bucket}' AND latest AND NOT marker AND key NOT LIKE '%/'"
    visible = f"{here} AND {old} AND NOT contains(key, '/_tmp') AND NOT contains(key, '/.')"
    folder = "bucket || '/' || CASE WHEN contains(key, '/') THEN split_part(key, '/', 1) || '/' ELSE '' END"
    outside = "latest AND NOT marker AND bucket = '{}'"
    want = {
        ("unencrypted", ""): expected("NOT marker AND encryption = 'NOT-SSE'"),
        ("replication_failed", ""): expected("replication = 'FAILED'"),
        ("replication_pending", ""): expected(f"replication = 'PENDING' AND {old}"),
        ("noncurrent", ""): expected("NOT marker AND NOT latest"),
        ("lone_delete_markers", ""): expected(
            "marker AND (SELECT bool_and(marker) FROM seen o WHERE o.bucket = s.bucket AND o.key = s.key)"
        ),
        ("orphaned", "other"): expected(f"{visible} AND key LIKE 'o/%' AND key <> 'o/known.json'", "bucket || '/o/'"),
        ("orphaned", "unborn"): expected(f"{visible} AND key LIKE 'n/%'", "bucket || '/n/'"),
        ("outside", "acme"): expected(outside.format("acme"), folder),
        ("outside", "second"): expected(outside.format("second"), folder),
        ("outside", lake.bucket): expected(f"{here} AND NOT regexp_matches(key, '^(inventory|o|n)/')", folder),
    }
    assert all(want.values())
    console = Console(file=io.StringIO(), width=200)
    run_audit(console, lake.lake, "objects", "", 50, as_json=True)
    answer = AuditAnswer.model_validate_json(console.file.getvalue(), strict=True)  # type: ignore[attr-defined]
    places = {
        (finding.audit, finding.of): {at.place: (at.objects, at.bytes) for at in finding.places}
        for finding in answer.findings
    }
    assert places == want
    for finding in answer.findings:
        assert (finding.objects, finding.bytes) == tuple(
            map(sum, zip(*want[finding.audit, finding.of].values(), strict=True))
        )
    queries = (
        f"SELECT {number}, bucket, key FROM ({found_objects.sql})"
        for number, found_objects in enumerate(answer.findings)
    )
    shown: dict[int, list[str]] = {}
    for number, bucket, key in query_frame(lake.lake, " UNION ALL ".join(queries)).collect():
        shown.setdefault(number, []).append(f"s3://{bucket}/{key}")
    for number, found_objects in enumerate(answer.findings):
        assert len(shown[number]) == found_objects.objects
        assert set(found_objects.examples) <= set(shown[number])
    assert {unlisted_field.field: unlisted_field.buckets for unlisted_field in answer.not_listed} == {
        "EncryptionStatus": ("acme", "second"),
        "ReplicationStatus": ("acme", "second"),
    }
    metadata = reported.page(kit, LakeNames().report(lake.spec("objects").name, "audit"))
    assert (metadata["findings"], metadata["noncurrent"]) == (
        len(want),
        sum(objects for objects, _ in want["noncurrent", ""].values()),
    )
    # Of five buckets with inventories, one is there. Its uploads are as young as this test.
    lake.clients.s3.create_multipart_upload(Bucket=lake.bucket, Key="begun")
    metadata = reported.page(kit, LakeNames().report(lake.spec("objects").name, "uploads"))
    assert (metadata["uploads"], metadata["buckets_without_rule"]) == (0, 1)
    assert [line.split(":")[0] for line in metadata["not_listed"].splitlines()] == [
        "- acme",
        "- fourth",
        "- second",
        "- third",
    ]


def _cost_asset(reported: Reported, kit: Any, by_bucket: dict[Any, Any], answer: CostAnswer) -> None:
    """Check that the asset shows the same as the command."""
    metadata = reported.page(kit, LakeNames().report(reported.lake.spec("objects").name, "cost"))
    assert metadata["cost_a_month"] == pytest.approx(answer.cost_a_month, abs=1e-4)
    assert (metadata["currency"], metadata["prices_from"]) == ("EUR", "2026-11-01")
    assert metadata["bytes_without_price"] == answer.bytes_without_price
    assert {record.data["bucket"]: record.data["objects"] for record in metadata["by_bucket"].records} == {
        bucket: item[0] for (bucket,), item in by_bucket.items()
    }
    ages = "CASE WHEN d < 30 THEN 'under 30 days' WHEN d < 90 THEN 'under 90 days' WHEN d < 365 THEN 'under a year' "
    days = (
        f"SELECT *, datediff('day', modified, TIMESTAMPTZ '{CREATED.isoformat()}') AS d FROM objects WHERE NOT marker"
    )
    aged = reported.objects.sql(f"SELECT {ages} ELSE 'a year and more' END, count(*) FROM ({days}) GROUP BY ALL")
    assert {record.data["age"]: record.data["objects"] for record in metadata["by_age"].records} == dict(
        aged.fetchall()
    )
    sizes = "CASE WHEN size < 131072 THEN 'under 128 KiB' WHEN size < 1048576 THEN 'under 1 MiB' "
    sizes += "WHEN size < 134217728 THEN 'under 128 MiB' ELSE '128 MiB and more' END"
    sized = reported.objects.sql(f"SELECT {sizes}, count(*) FROM objects WHERE NOT marker GROUP BY ALL")
    assert {record.data["size"]: record.data["objects"] for record in metadata["by_size"].records} == dict(
        sized.fetchall()
    )
    assert metadata["plot"].startswith("| EUR a month by bucket")


def _errors(reported: Reported) -> None:
    lake = reported.lake.lake
    console = Console(file=io.StringIO(), width=400)
    run_cost(console, lake, reported.asked("storage_class", limit=2))
    said = console.file.getvalue()  # type: ignore[attr-defined]
    assert "and 7 more lines: --limit shows more" in said
    assert "GiB are of storage classes without a price" in said
    with pytest.raises(
        ConfigurationError, match="other has no inventories yet, or is not a table with `mode: inventory`"
    ):
        run_cost(console, lake, CostQuestion("other", (reported.prices,)))
    with pytest.raises(ConfigurationError, match="there is no table 'absent'"):
        run_cost(console, lake, CostQuestion("absent", (reported.prices,)))
    empty = lake.delta.session.createDataFrame(
        [],
        "bucket string, key string, size bigint, is_delete_marker boolean, storage_class string, "
        "intelligent_tiering_access_tier string, configuration string, inventory_created timestamp, "
        "last_modified_date timestamp",
    )
    twice = empty.sparkSession.createDataFrame(
        [("b", "k", 1, False, None, None, name, CREATED, CREATED) for name in ("one", "two")]
        + [("c", "k", 1, False, None, None, "two", CREATED, CREATED)],
        empty.schema,
    )
    assert stored_sums(empty, ["bucket"], 1) == []
    location = f"s3a://{reported.lake.lake_bucket}/twice"
    twice.write.format("delta").save(location)
    with pytest.raises(InventoryError, match="the bucket b has inventories of one and two"):
        inventory_objects(lake.delta.session, location)
    chosen = inventory_objects(lake.delta.session, location, "one").select("bucket", "configuration").collect()
    assert sorted(map(tuple, chosen)) == [("b", "one"), ("c", "two")]


def test_an_account_has_more_groups_than_prefixes_and_advice_knows_what_ends_anyway(
    tidegate_lake: Callable[..., TestLake], monkeypatch: pytest.MonkeyPatch
) -> None:
    session = tidegate_lake([{"name": "objects", "prefix": "inventory/", "mode": "inventory"}]).lake.delta.session
    objects = session.sql(
        "SELECT concat('bucket', id) AS bucket, concat(id, '/', id) AS key, id AS size, CAST(NULL AS BOOLEAN) AS "
        "is_delete_marker, 'STANDARD' AS storage_class, CAST(NULL AS STRING) AS intelligent_tiering_access_tier, "
        "created AS inventory_created, created + make_interval(0, 0, 0, days) AS lifecycle_expiration_date "
        "FROM (SELECT id, "
        "TIMESTAMP '2026-11-01 00:00:00' AS created, elt(id + 1, 29, 30, 31, 90, NULL, NULL) AS days FROM range(6))"
    )

    def ending(months: int) -> list[int]:
        return [row["size"] for row in with_ends(objects, months).where("ends = 'ends'").sort("size").collect()]

    assert (ending(1), ending(3)) == ([0, 1], [0, 1, 2, 3])
    assert with_ends(objects.drop("lifecycle_expiration_date"), 3).where("ends = 'stays'").count() == 6

    monkeypatch.setattr(sums, "MAX_GROUPS", 5)
    found, whole = sums_of_all(objects, ("bucket", "prefix"), 1)
    assert ({stored_sum.group[1] for stored_sum in found}, len(found), whole) == ({"prefixes put together"}, 6, False)
    monkeypatch.setattr(sums, "MAX_WITHOUT_PREFIXES", 5)
    with pytest.raises(sums.TooManyGroups, match="more than 5 groups"):
        sums_of_all(objects, ("bucket", "prefix"), 1)
