"""A person is forgotten: afterwards no byte of the lake, of the commit table and of Dagster's database has a trace."""

from __future__ import annotations

import base64
import gzip
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow.parquet as pq
import pytest

from tests.support.lakes.seams import Died
from tests.support.servers.client import wait_until
from tidegate.assets.keys import LakeNames
from tidegate.platform.bronze import run as bronze_run
from tidegate.platform.core.schema.sql_literal import literal
from tidegate.platform.forgetting import forget as forgetting
from tidegate.platform.forgetting.bronze_rows import erase_from_bronze, held_files
from tidegate.platform.forgetting.forget import SEAMS, ask, progress, search_subjects, work_off
from tidegate.platform.forgetting.silver_rows import rows_in_silver
from tidegate.platform.forgetting.subject_search import unsearched_folders
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.suppression import SubjectProblem
from tidegate.platform.operations.rebuild import rebuild_table
from tidegate.platform.operations.reset import reset_table
from tidegate.platform.operations.silver_rebuild import rebuild_silver
from tidegate.platform.silver.audit.comparison import compare
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]
CANARY = "CANARY-7f3a"
SILVER = {"keys": ["id"], "order": "at", "delete_when": "op = 'D'", "every": 10}
ORDERS = {
    "name": "orders",
    "prefix": "orders/",
    "format": "csv",
    "columns": {"id": "int", "at": "int", "who": "string", "mail": "string", "n": "int", "op": "string"},
    "silver": SILVER,
    "personal": {"subject": "who", "columns": ["mail"]},
}
CLICKS = {
    "name": "clicks",
    "row_queue": {"name": "clicks"},
    "personal": {"subject": "who"},
    "silver": {"keys": ["who"], "order": "n", "stored_as": "scd2", "every": 10},
}
HEAD = "id,at,who,mail,n,op\n"


@pytest.fixture
def forget(tmp_path: Path) -> dict[str, Any]:
    secret = tmp_path / "secret"
    secret.write_text("a secret that only this test has")
    return {"secret": {"file": str(secret)}}


def test_no_byte_of_a_forgotten_person_is_left(
    tidegate_lake: MakeLake, kit: Any, forget: dict[str, Any], tmp_path: Path
) -> None:
    lake = tidegate_lake([ORDERS, CLICKS], forget=forget)
    (tmp_path / "dagster").mkdir()
    with dg.DagsterInstance.local_temp(str(tmp_path / "dagster")) as instance:
        _plant(lake, kit, instance)
        others, everything = _others(lake, kit), list(_texts(lake, instance))
        planted = {place for place, text in everything if CANARY in text}
        for place in (
            "bronze/",
            "silver/orders/",
            "silver/clicks/",
            "quarantine/rows/",
            "quarantine/messages/",
            "quarantine/redriven/",
            "rows/clicks/",
            "staging/",
            "_change_data/",
        ):
            assert any(place in key for key in planted), f"nothing is planted in {place}"
        assert sum(".checkpoint" in place for place, _ in everything) >= 2, "they have the statistics of every file"
        never = ("/_delta_log/", "batches/", "ledger/", "inbox/", "dagster", "dynamodb", "forgotten/", "operations/")
        assert not [key for key in planted if any(place in key for place in never)], "it must never come there"

        found = {
            search_subject.table: search_subject for search_subject in search_subjects(lake.lake, "person", [CANARY])
        }
        assert (found["orders"].bronze, found["orders"].silver, found["orders"].kept) == (3, 2, {"quarantine/rows": 1})
        assert (found["clicks"].silver, found["clicks"].kept) == (
            2,
            {"rows": 2, "quarantine/messages": 1, "quarantine/redriven": 1},
        )
        request = ask(lake.lake, "person", [CANARY], "eva")
        result = _materialize(lake, instance, "forgotten")
        assert result.success
        (state,) = progress(lake.lake)
        assert (state.state, state.request.by, len(state.request.digests)) == ("done", "eva", 1)
        (check,) = result.get_asset_check_evaluations()
        assert check.passed
        noted = lake.lake.store.forgotten.note(request.id, "found")
        assert noted is not None
        assert (noted["tables"][0]["bronze"], noted["tables"][0]["sources"]) == (3, 3)
        sources = noted["tables"][1]["sources"]

        noted = lake.lake.store.forgotten.note(request.id, "erased")
        assert noted is not None
        assert [(item["table"], item["bronze"], item["kept"]) for item in noted["tables"]] == [
            ("orders", 3, 1),
            ("clicks", found["clicks"].bronze, 4),
        ]
        assert all(item["silver"] > 0 for item in noted["tables"])
        audit = lake.sql(
            "SELECT asked_by, subjects, table_name, found_bronze, found_kept, left_with_producer, deleted_bronze, "
            "deleted_kept, done_at IS NOT NULL FROM lake.forgotten ORDER BY found_kept"
        )
        bronze = found["clicks"].bronze
        assert [tuple(row) for row in audit] == [
            ("eva", 1, "orders", 3, 1, 3, 3, 1, True),
            ("eva", 1, "clicks", bronze, 4, sources, bronze, 4, True),
        ]

        left = [place for place, text in _texts(lake, instance) if CANARY in text]
        assert left == []
        assert _others(lake, kit) == others

        # A message that comes now is kept as text, is not loaded, and is found and taken out by the next run.
        lake.lake.queues[1].send(json.dumps({"who": CANARY, "n": 9}))
        wait_until(lambda: lake.intake() or search_subjects(lake.lake, "person", [CANARY])[1].kept, "the late message")
        _materialize(lake, instance, "bronze", lake.key("clicks"))
        assert search_subjects(lake.lake, "person", [CANARY])[1].kept == {"rows": 1}
        assert _materialize(lake, instance, "forgotten").success
        assert [place for place, text in _texts(lake, instance) if CANARY in text] == []
        rebuild_table(lake.lake, lake.key("orders"), by="eva")
        kit.run(lake, "orders", listing=False)
        kit.merge(lake, "orders")
        assert [place for place, text in _texts(lake, instance) if CANARY in text] == []


def _sort_by_id(lake: TestLake, location: str) -> None:
    """Sort a table as somebody does by hand. REORG leaves the files that OPTIMIZE has sorted as they are."""
    lake.lake.delta.session.sql(f"ALTER TABLE delta.`{location}` CLUSTER BY (id)")
    lake.lake.delta.compact(location)


def _plant(lake: TestLake, kit: Any, instance: dg.DagsterInstance) -> None:
    """Bring the person to every place of the lake where a row, or a part of one, can be."""
    session, store = lake.lake.delta.session, lake.lake.store
    lake.put("orders/1.csv", f"{HEAD}1,1,{CANARY},{CANARY}@x.org,1,U\n2,1,zoe,z@x.org,1,U\n3,1,{CANARY},c,1,U\n")
    lake.put("orders/2.csv", f"{HEAD}4,1,{CANARY},b,{CANARY},U\n5,1,abe,a@x.org,many,U\n")
    _materialize(lake, instance, "bronze", lake.key("orders"))
    location, silver = kit.location(lake, "orders"), store.uri("silver", "orders")
    session.sql(
        f"ALTER TABLE delta.`{location}` SET TBLPROPERTIES ('delta.deletedFileRetentionDuration' = 'interval 0 hours')"
    )
    _materialize(lake, instance, "silver/orders")
    now = "'delta.deletedFileRetentionDuration' = 'interval 0 hours'"
    session.sql(f"ALTER TABLE delta.`{silver}` SET TBLPROPERTIES ({now})")
    _sort_by_id(lake, silver)
    # A newer row hides one behind a deletion vector, a delete makes a tombstone, and a user rewrites and deletes.
    lake.put("orders/3.csv", f"{HEAD}1,2,{CANARY},new,1,U\n6,1,joe,j,1,U\n")
    lake.put("orders/4.csv", f"{HEAD}3,2,{CANARY},gone,1,D\n7,1,kim,k,1,U\n")
    _materialize(lake, instance, "bronze", lake.key("orders"))
    _materialize(lake, instance, "silver/orders")
    session.sql(f"ALTER TABLE delta.`{silver}` SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')")
    session.sql(f"UPDATE delta.`{silver}` SET n = 2 WHERE id = 1")
    session.sql(f"ALTER TABLE delta.`{silver}` SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'false')")
    session.sql(f"ALTER TABLE delta.`{location}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    _sort_by_id(lake, location)
    session.sql(f"DELETE FROM delta.`{location}` WHERE mail = 'k' OR (id = 3 AND at = 1)")
    queue = lake.lake.queues[1]
    for body in ({"who": CANARY, "n": 1}, {"who": "zoe", "n": 2}, {"who": CANARY, "n": "x"}):
        queue.send(json.dumps(body))
    queue.send(f'{{"who": "{CANARY}"')
    queue.send(f'{{"who": "{CANARY}", "again"')
    queue.send('{"who": "broken too"')

    def came() -> bool:
        lake.intake()
        names = [item.key for item in store.objects.list_under(lake.lake_bucket, store.key("rows", "clicks", ""))]
        rows = sum(int(name.rsplit("/", 1)[-1].split("-")[1]) for name in names)
        kept = list(store.quarantine.messages())
        return rows >= 3 and len(kept) >= 3

    wait_until(came, "the messages")
    _materialize(lake, instance, "bronze", lake.key("clicks"))
    _materialize(lake, instance, "silver/clicks")
    (again,) = (message for message in store.quarantine.messages() if "again" in message.body)
    store.quarantine.release(again)
    for table in (location, silver):
        lake.lake.delta.upkeep.checkpoint(table, write=True)
    for table in (kit.location(lake, "clicks"), store.uri("silver", "clicks")):
        session.sql(f"ALTER TABLE delta.`{table}` SET TBLPROPERTIES ({now})")
    # A run leaves the copy of an object that it rewrote for Spark.
    store.objects.put(lake.lake_bucket, store.key("staging", lake.key("orders"), "1.txt"), f'{{"who": "{CANARY}"}}')


def _materialize(
    lake: TestLake, instance: dg.DagsterInstance, asset: str, partition: str | None = None
) -> dg.ExecuteInProcessResult:
    found = lake.definitions.resolve_asset_graph().assets_def_for_key(dg.AssetKey.from_user_string(asset))
    if partition:
        instance.add_dynamic_partitions(LakeNames().name("tables"), [partition])
    return dg.materialize([found], partition_key=partition, instance=instance)


def _others(lake: TestLake, kit: Any) -> list[Any]:
    """Return the rows of others, with their types and what Tidegate keeps of them."""
    session = lake.lake.delta.session
    found: list[Any] = []
    for location in (
        kit.location(lake, "orders"),
        kit.location(lake, "clicks"),
        lake.lake.store.uri("silver", "orders"),
        lake.lake.store.uri("silver", "clicks"),
    ):
        rows = session.read.format("delta").load(location).where(f"who <> '{CANARY}'")
        found.append((rows.schema.json(), sorted((tuple(row) for row in rows.collect()), key=repr)))
    assert all(len(rows) > 0 for _, rows in found)
    return found


def _texts(lake: TestLake, instance: dg.DagsterInstance) -> Iterator[tuple[str, str]]:
    """Yield every object of the lake's bucket, the commit table and Dagster's files, with what is packed in them."""
    s3 = lake.clients.s3
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=lake.lake_bucket):
        for item in page.get("Contents", []):
            body = s3.get_object(Bucket=lake.lake_bucket, Key=item["Key"])["Body"].read()
            yield item["Key"], item["Key"] + _unpacked(body)
    for page in lake.clients.dynamodb.get_paginator("scan").paginate(TableName="delta_log"):
        for row in page["Items"]:
            yield "dynamodb", repr(row)
    for path in Path(instance.root_directory).rglob("*"):
        if path.is_file():
            yield f"dagster: {path.name}", _unpacked(path.read_bytes())


def _unpacked(body: bytes) -> str:
    parts = [body]
    if body[:2] == b"\x1f\x8b":
        parts.append(gzip.decompress(body))
    if body[:4] == b"PAR1":
        # All rows, also those that deletion vectors hide, and the footer with its bounds.
        parts += [
            repr(pq.read_table(io.BytesIO(body)).to_pylist()).encode(),
            repr(pq.read_metadata(io.BytesIO(body))).encode(),
        ]
        parts += [repr(pq.ParquetFile(io.BytesIO(body)).metadata.to_dict()).encode()]
    text = "\n".join(part.decode("latin-1") for part in parts)
    encoded = base64.b64encode(CANARY.encode()).decode().rstrip("=")[:-1]
    return text + (CANARY if encoded in text else "")


def test_a_run_that_prepared_before_the_request_does_not_bring_the_person_back(
    tidegate_lake: MakeLake, kit: Any, forget: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tidegate_lake([{**ORDERS, "silver": {**SILVER}}], forget=forget)
    lake.put("orders/1.csv", f"{HEAD}1,1,abe,a,1,U\n")
    kit.run(lake, "orders")
    lake.put("orders/2.csv", f"{HEAD}2,1,{CANARY},c,1,U\n3,1,zoe,z,1,U\n")
    asked = []

    def seam(name: str) -> None:
        if name == "prepare" and not asked:
            asked.append(ask(lake.lake, "person", [CANARY], "eva"))
            work_off(lake.lake, "forget 1")

    monkeypatch.setattr(bronze_run, "seam", seam)
    kit.run(lake, "orders")
    assert asked
    assert kit.bronze(lake, "orders", "who") == [("abe",), ("zoe",)]


def test_a_call_that_dies_is_repeated_and_says_nothing_half(
    tidegate_lake: MakeLake, kit: Any, forget: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call dies one seam later than the call before it, and begins with what that one left."""
    lake = tidegate_lake([ORDERS], forget=forget)
    lake.put("orders/1.csv", f"{HEAD}1,1,{CANARY},c,1,U\n2,1,zoe,z,1,U\n")
    kit.run(lake, "orders")
    kit.merge(lake, "orders")
    for location in (kit.location(lake, "orders"), lake.lake.store.uri("silver", "orders")):
        now = "'delta.deletedFileRetentionDuration' = 'interval 0 hours'"
        lake.lake.delta.session.sql(f"ALTER TABLE delta.`{location}` SET TBLPROPERTIES ({now})")

    for at in SEAMS:

        def die(seam: str, at: str = at) -> None:
            if seam == at:
                raise Died(seam)

        with monkeypatch.context() as patched:
            for module in ("forget", "bronze_rows", "silver_rows"):
                patched.setattr(f"tidegate.platform.forgetting.{module}.seam", die)
            with pytest.raises(Died):
                _forget(lake.lake, f"dies at {at}")
        who = [row[0] for row in kit.bronze(lake, "orders", "who") + kit.silver(lake, "orders", "who")]
        (state,) = progress(lake.lake)
        assert not (CANARY in who and state.erased), f"{at}: a request is erased only after its rows have left"
        assert who.count("zoe") == 2
    assert state.done
    noted = lake.lake.store.forgotten.note(state.request.id, "erased")
    assert noted is not None
    assert noted["tables"] == [{"table": "orders", "bronze": 1, "silver": 1, "kept": 0, "emptied": 0}], (
        "also of calls that died"
    )
    assert work_off(lake.lake, "again") == [state]
    assert search_subjects(lake.lake, "person", [CANARY])[0].total == 0
    assert CANARY not in who


def _forget(lake: Lake, run_id: str) -> None:
    if not progress(lake):
        ask(lake, "person", [CANARY], "eva")
    work_off(lake, run_id)


#: Of a file of bronze: so many that its size is that of its rows.
_ROWS = 3_000


def test_only_the_files_that_hold_a_person_are_written_again(
    tidegate_lake: MakeLake, kit: Any, forget: dict[str, Any]
) -> None:
    lake = tidegate_lake([{name: value for name, value in ORDERS.items() if name != "silver"}], forget=forget)
    for part in range(4):
        rows = "".join(f"{part * _ROWS + row},1,w{row % 977},m{row}@x.org,{row},U\n" for row in range(_ROWS))
        lake.put(f"orders/{part}.csv", HEAD + (rows if part != 2 else f"{rows}-1,1,{CANARY},c,1,U\n"))
        kit.run(lake, "orders")
    ask(lake.lake, "person", [CANARY], "eva")
    table = lake.lake.table(lake.key("orders"))
    suppression = lake.lake.suppression(table.spec)
    assert suppression is not None
    before = kit.state(lake, "orders").files
    erased = erase_from_bronze(table, suppression, "forget 1")
    assert (erased.rows, erased.files) == (1, 1)
    assert before >= 4
    assert kit.state(lake, "orders").files == before
    assert erased.written_bytes <= 1.1 * erased.held_bytes
    assert len(kit.bronze(lake, "orders", "id")) == 4 * _ROWS


def test_files_wait_for_the_retention_and_a_late_request_fails_the_check(
    tidegate_lake: MakeLake, kit: Any, forget: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tidegate_lake([ORDERS], forget=forget)
    lake.put("orders/1.csv", f"{HEAD}2,1,{CANARY},c,1,U\n3,1,zoe,z,1,U\n")
    kit.run(lake, "orders")
    ask(lake.lake, "person", [CANARY], "eva")
    (state,) = work_off(lake.lake, "forget 1")
    assert state.erased is not None
    assert state.due == state.erased + timedelta(days=7)
    assert state.state == "waits for vacuum"
    version = kit.state(lake, "orders").version
    work_off(lake.lake, "forget 2")
    assert kit.state(lake, "orders").version == version, "nothing is searched again before the time"
    assert not state.is_late(datetime.now(UTC))
    assert state.is_late(state.request.until + timedelta(seconds=1))
    assert forgetting.DONE == "done"
    # The list is for ever: without the subject, or with another one, no later row enters, also after a reset.
    kit.configure(lake, personal={"subject": "mail"})
    why = r"forgotten in orders by who \(kind 'person'\).* put it back"
    with pytest.raises(SubjectProblem, match=why):
        kit.merge(lake, "orders")
    reset_table(lake.lake, lake.key("orders"), by="eva", accept_loss=True)
    with pytest.raises(SubjectProblem, match=why):
        kit.run(lake, "orders")


def test_silver_forgets_the_rows_that_bronze_says_are_a_persons(
    tidegate_lake: MakeLake, kit: Any, forget: dict[str, Any]
) -> None:
    """A column of the same name can be somebody else's: the options of the merge say which column is the subject."""

    def table(name: str, columns: dict[str, str], subject: str, **silver: Any) -> dict[str, Any]:
        silver = {"keys": ["id"], "order": "at", "every": 10, **silver}
        types = {"id": "int", "at": "int", **columns}
        personal = {"subject": subject}
        made = {"name": name, "prefix": f"{name}/", "format": "json", "columns": types}
        return {**made, "silver": silver, "personal": personal}

    swapped = {"user_id": "buyer", "seller": "user_id"}
    lake = tidegate_lake(
        [
            table("nested", {"customer": "struct<id int>"}, "customer.id"),
            table("sold", {"user_id": "int", "seller": "int"}, "user_id", rename=swapped),
            table("rescued", {"who": "int", "n": "int"}, "who") | {"schema": "rescue"},
            # The file spells the name and the number otherwise, and silver has what was rescued under another name.
            table("cased", {"who.id": "int"}, "who.id", rename={"_rescued_data": "rest"}) | {"schema": "rescue"},
            table("sent", {"mail": "string"}, "mail", derive={"mail": "lower(mail)", "person": "mail"}),
            # Their bronze tables have no batch yet, as after a new prefix.
            table("moved", {"who": "int"}, "who", rename={"who": "buyer"}),
            table("feed", {"after": "struct<who int>"}, "after.who", **{"from": "debezium"}),
        ],
        forget=forget,
    )
    rows: dict[str, tuple[dict[str, Any], ...]] = {
        "nested": ({"id": 42, "customer": {"id": 7}}, {"id": 1, "customer": {"id": 42}}),
        "sold": ({"id": 2, "user_id": 7, "seller": 42}, {"id": 1, "user_id": 42, "seller": 7}),
        "rescued": ({"id": 2, "who": 7, "n": "42"}, {"id": 1, "who": "Ann", "n": 1}),
        "cased": ({"id": 2, "Who.ID": 7, "who": {"n": 42}}, {"id": 1, "Who.ID": 42.0}),
        "sent": ({"id": 2, "mail": "Zoe"}, {"id": 1, "mail": "Ann"}),
    }
    for name, given in rows.items():
        lake.put(f"{name}/1.json", kit.lines(*({"at": 1, **row} for row in given)))
        kit.run(lake, name)
        kit.merge(lake, name)
    for parts in (
        ("silver", "earlier", "_delta_log"),
        ("rows", "earlier"),
        ("rows", "sent"),
        ("quarantine", "rows", "old"),
        ("staging", "old"),
    ):
        lake.lake.store.objects.put(lake.lake_bucket, lake.lake.store.key(*parts, "0.json"), "{}")
    for name in ("moved", "feed"):
        silver = "SELECT id, 1 AS at, id + 41 AS buyer, false AS _deleted FROM range(1, 3)"
        kit.query(lake, f"CREATE TABLE {{t}} USING delta AS {silver}", t=lake.lake.store.uri("silver", name))
    earlier = ["quarantine/rows/old", "rows/earlier", "silver/earlier"]
    assert unsearched_folders(lake.lake) == [*earlier, "silver/feed", "staging/old"]
    found = search_subjects(lake.lake, "person", ["42", "Ann"])
    expected = [*((name, 1, 1) for name in rows), ("moved", 0, 1), ("feed", 0, 0)]
    assert [(item.table, item.bronze, item.silver) for item in found] == expected
    ask(lake.lake, "person", ["42", "Ann"], "eva")
    work_off(lake.lake, "forget 1")
    kept = [kit.silver(lake, name, "id") for name in rows]
    assert kept == [[(given[0]["id"],)] for given in rows.values()]
    assert kit.silver(lake, "moved", "id") == [(2,)]

    hidden = lake.spec("sent")
    assert hidden.silver is not None
    without = hidden.silver.model_copy(update={"derive": {"mail": "lower(mail)"}})
    suppression = lake.lake.suppression(hidden)
    assert suppression is not None
    bronze = lake.lake.table(lake.key("sent"))
    bronze = replace(bronze, spec=hidden.model_copy(update={"silver": without}))
    with pytest.raises(SubjectProblem, match=r"silver.sent has no column with the text of mail"):
        rows_in_silver(lake.lake.delta, lake.lake.store, bronze.spec, bronze.birth, suppression)
    with pytest.raises(SubjectProblem, match=r"bronze.sent: .* finds nobody: no column is called 'whoo'"):
        held_files(bronze.spec, bronze.birth, bronze.delta, replace(suppression, subject=("whoo",)))


def test_keys_that_others_share_with_a_forgotten_person_become_what_bronze_gives_without_them(
    tidegate_lake: MakeLake, kit: Any, forget: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row of another person keeps a value of the person, is older than the person's row, or ended with it.

    A change from one person to another keeps the other's side, by each way into a table.
    """

    def table(name: str, **silver: Any) -> dict[str, Any]:
        columns = {"id": "int", "at": "int", "who": "string", "mail": "string"}
        silver = {"keys": ["id"], "order": "at", "every": 10, **silver}
        made = {"name": name, "prefix": f"{name}/", "format": "json", "columns": columns}
        return {**made, "silver": silver, "personal": {"subject": "who", "columns": ["mail"]}}

    keeps = {"ignore_null_updates_except_columns": ["who"]}
    dumps = {"from": "snapshots", "keys": ["mail"]}
    lake = tidegate_lake(
        [
            table("newest", **keeps),
            table("history", stored_as="scd2", **keeps),
            table("dumps", **dumps),
            {
                "name": "feed",
                "prefix": "feed/",
                "format": "json",
                "columns": {
                    "payload": f"struct<before {_STATE}, after {_STATE}, op string, source struct<lsn bigint>>"
                },
                "silver": {"from": "debezium", "keys": ["id"], "every": 10},
                "personal": {
                    "subject": ["payload.before.who", "payload.after.who"],
                    "columns": ["payload.before.mail", "payload.after.mail"],
                },
            },
        ],
        forget=forget,
    )
    # A late row of the person gives 6 a value, and the row of silver keeps the batch of its own row of bronze.
    changes: list[list[tuple[int, int, str, str | None]]] = [
        [(1, 1, "zoe", None), (3, 1, "abe", "a"), (4, 1, "ian", "i"), (5, 2, CANARY, CANARY), (6, 5, "max", None)],
        [(1, 2, CANARY, CANARY), (2, 2, CANARY, None), (4, 2, CANARY, "c"), (6, 3, CANARY, CANARY)],
        [(1, 3, "kim", None), (3, 3, "joe", None)],
    ]
    full: list[list[tuple[int, int, str, str | None]]] = [
        [(1, 1, CANARY, CANARY), (3, 1, "abe", "a")],
        [(3, 2, "abe", "a")],
    ]
    for name, batches in (("newest", changes), ("history", changes), ("dumps", full)):
        for number, rows in enumerate(batches):
            body = [{"id": id, "at": at, "who": who, "mail": mail} for id, at, who, mail in rows]
            lake.put(f"{name}/{number}.json", kit.lines(*body))
            if number == len(batches) - 1 or (number == 0 and name != "dumps"):
                kit.run(lake, name)
                kit.merge(lake, name)
    # The person gives 1 away, gets 2, and has 3 until its end. Nobody else but abe has 4, at first.
    moves = [(1, None, CANARY), (1, CANARY, "kim"), (2, None, "zoe"), (2, "zoe", CANARY), (3, None, CANARY)]
    _put_moves(lake, kit, 10, *moves, (3, CANARY, None), (4, None, "abe"))
    columns = "id, at, who, mail"
    kept = {(1, 3, "kim", CANARY), (6, 5, "max", CANARY)}
    assert kept <= set(kit.silver(lake, "newest", columns)), "so a merge keeps it"
    mails = "SELECT mail FROM {t} WHERE _deleted"
    dump = lake.lake.store.uri("silver", "dumps")
    assert CANARY in [row[0] for row in kit.query(lake, mails, t=dump)], "a tombstone without a subject"
    ask(lake.lake, "person", [CANARY], "eva")
    late = iter([{"id": 5, "at": 3, "who": "lou", "mail": None}])

    def seam(name: str) -> None:
        """Merge a row that keeps a value of the person, after the keys were computed again."""
        if name == "forget-shared-keys" and (row := next(late, None)):
            assert (6, 5, "max", None) in kit.silver(lake, "newest", columns)
            lake.put("newest/late.json", kit.lines(row))
            kit.run(lake, "newest")
            kit.merge(lake, "newest")
            assert (5, 3, "lou", CANARY) in kit.silver(lake, "newest", columns)

    monkeypatch.setattr(forgetting, "seam", seam)
    work_off(lake.lake, "forget 1")
    newest = [(1, 3, "kim", None), (3, 3, "joe", "a"), (4, 1, "ian", "i"), (5, 3, "lou", None), (6, 5, "max", None)]
    assert kit.silver(lake, "newest", columns) == newest
    history = [(1, 1, "zoe", None), newest[0], (3, 1, "abe", "a"), newest[1], newest[2], newest[4]]
    assert kit.silver(lake, "history", columns) == history
    assert [row[0] for row in lake.sql("SELECT id FROM silver.history WHERE is_current ORDER BY id")] == [1, 3, 4, 6]
    assert CANARY not in [row[0] for row in kit.query(lake, "SELECT mail FROM {t}", t=dump)]
    _put_moves(lake, kit, 20, (4, "abe", CANARY), (5, CANARY, "ian"))
    states = (kit.bronze(lake, "feed", "payload"), kit.silver(lake, "feed", "id, who, mail"))
    assert [row[:2] for row in states[1]] == [(1, "kim"), (5, "ian")], "2 and 4 are not zoe's and abe's any more"
    everything = "SELECT to_json(struct(*)) FROM {t}"
    places = (kit.location(lake, "feed"), lake.lake.store.uri("silver", "feed"))
    assert not [row for place in places for row in kit.query(lake, everything, t=place) if CANARY in row[0]]
    rebuild_table(lake.lake, lake.key("feed"), by="eva")
    kit.run(lake, "feed", listing=False)
    rebuild_silver(lake.lake, "silver.feed", by="eva")
    assert (kit.bronze(lake, "feed", "payload"), kit.silver(lake, "feed", "id, who, mail")) == states
    for name in ("newest", "history", "dumps", "feed"):
        compared = compare(lake.lake, lake.spec(name))
        assert compared is not None
        assert compared.wrong == ()


def test_values_of_a_forgotten_person_that_bronze_no_longer_gives_leave_the_rows_of_others(
    tidegate_lake: MakeLake, kit: Any, forget: dict[str, Any]
) -> None:
    """Rows of silver from before a reset, of which bronze has nothing. Values of others stay in them.

    After the reset, no row has `phone` or `home.street`.
    """

    def table(name: str, **silver: Any) -> dict[str, Any]:
        columns = {"id": "int", "at": "int", "who": "string", "mail": "string"}
        silver = {"keys": ["id"], "order": "at", "every": 10, "ignore_null_updates_except_columns": ["who"], **silver}
        made = {"name": name, "prefix": f"{name}/", "format": "json", "columns": columns}
        return {**made, "silver": silver, "personal": {"subject": "who", "columns": ["mail"]}}

    lake = tidegate_lake([table("newest"), table("history", stored_as="scd2")], forget=forget)
    # A late row gives the newest one its value, or the newest row leaves it. Its own person gave 2 its value. The rows
    # that gave 6 and 7 a value have the order of the newest one.
    batches: list[list[tuple[int, int, str, str | None]]] = [
        [(1, 5, "max", None), (2, 5, "kim", None), (3, 3, CANARY, CANARY), (4, 5, "zoe", None), (5, 2, CANARY, CANARY)],
        [(1, 3, CANARY, CANARY), (2, 3, "kim", "k"), (4, 3, "abe", "a"), (5, 3, "ian", None), (1, 1, "max", "m")],
        [(3, 7, "lou", None), (9, 1, "joe", "j"), (1, 4, "max", None), (2, 7, "kim", "k")],
    ]
    tied = [[(6, 4, CANARY, CANARY), (6, 4, "sam", None), (7, 4, CANARY, CANARY)], [(7, 4, "tom", None)], []]
    for name in ("newest", "history"):
        for number, rows in enumerate(batches):
            if number == 2:
                for earlier in range(number):
                    lake.clients.s3.delete_object(Bucket=lake.bucket, Key=f"{name}/{earlier}.json")
                reset_table(lake.lake, lake.key(name), by="eva", accept_loss=True)
            rows = [*rows, *tied[number]] if name == "newest" else rows
            body: list[dict[str, Any]] = []
            for id, at, who, mail in rows:
                more = {"home": {"city": "x"}}
                if number < 2:
                    more = {"home": {"city": "x", "street": mail} if mail else None, "phone": mail}
                body.append({"id": id, "at": at, "who": who, "mail": mail, **more})
            lake.put(f"{name}/{number}.json", kit.lines(*body))
            kit.run(lake, name)
            kit.merge(lake, name)
    columns, silver = "id, at, who, mail", lake.lake.store.uri("silver", "newest")
    theirs = {(1, 5, "max", CANARY), (3, 7, "lou", CANARY), (5, 3, "ian", CANARY)}
    vanished = kit.silver(lake, "newest", "id, phone, home.street")
    assert {(1, CANARY, None), (2, "k", "k"), (3, None, None), (5, CANARY, CANARY)} < set(vanished)
    assert theirs | {(6, 4, "sam", CANARY), (7, 4, "tom", CANARY)} < set(kit.silver(lake, "newest", columns))
    assert theirs < set(kit.silver(lake, "history", columns))
    found = {
        search_subject.table: (search_subject.bronze, search_subject.silver)
        for search_subject in search_subjects(lake.lake, "person", [CANARY])
    }
    assert found == {"newest": (0, 5), "history": (0, 3)}, "rows of others, and those of the person in a history"
    # A value that an older version merged is of nobody knows whom.
    older = "transform_values(_left, (name, entry) -> regexp_replace(entry, ',\"by\".*', '}}'))"
    kit.query(lake, f"UPDATE {{t}} SET _left = {older} WHERE id = 4", t=silver)
    request = ask(lake.lake, "person", [CANARY], "eva")
    work_off(lake.lake, "forget 1")
    assert kit.silver(lake, "newest", columns) == [
        (1, 5, "max", None),
        (2, 7, "kim", "k"),
        (3, 7, "lou", None),
        (4, 5, "zoe", None),
        (5, 3, "ian", None),
        (6, 4, "sam", None),
        (7, 4, "tom", None),
        (9, 1, "joe", "j"),
    ]
    # A history has the rows before a change, so it has the value of 1 that is older than the person's.
    history = [(1, 1, "max", "m"), (1, 4, "max", "m"), (1, 5, "max", "m"), (2, 3, "kim", "k"), (2, 5, "kim", "k")]
    history += [
        (2, 7, "kim", "k"),
        (3, 7, "lou", None),
        (4, 3, "abe", "a"),
        (4, 5, "zoe", "a"),
        (5, 3, "ian", None),
        (9, 1, "joe", "j"),
    ]
    assert kit.silver(lake, "history", columns) == history
    noted = lake.lake.store.forgotten.note(request.id, "erased")
    assert noted is not None
    assert [(item["table"], item["emptied"]) for item in noted["tables"]] == [("newest", 5), ("history", 0)]
    counted = "SELECT table_name, emptied_silver FROM lake.forgotten ORDER BY table_name"
    assert [tuple(row) for row in lake.sql(counted)] == [("history", 0), ("newest", 5)]
    everything = "SELECT to_json(struct(*)) FROM {t}"
    for name in ("newest", "history"):
        assert not [
            row for row in kit.query(lake, everything, t=lake.lake.store.uri("silver", name)) if CANARY in row[0]
        ]
        compared = compare(lake.lake, lake.spec(name))
        assert compared is not None
        assert compared.wrong == ()
    # A late row of another person gives the value that the person's row had hidden.
    lake.put("newest/late.json", kit.lines({"id": 1, "at": 2, "who": "max", "mail": "m2"}))
    kit.run(lake, "newest")
    kit.merge(lake, "newest")
    assert (1, 5, "max", "m2") in kit.silver(lake, "newest", columns)


_STATE = "struct<id int, who string, mail string>"


def _put_moves(lake: TestLake, kit: Any, lsn: int, *moves: tuple[int, str | None, str | None]) -> None:
    """Bring changes of Debezium into the table `feed`: a key, whose it was before, and whose it is afterwards."""
    rows = []
    for place, (key, *persons) in enumerate(moves):
        before, after = ({"id": key, "who": who, "mail": f"{who}@x.org"} if who else None for who in persons)
        op = "c" if before is None else "d" if after is None else "u"
        change = {"before": before, "after": after, "op": op, "source": {"lsn": lsn + place}}
        rows.append({"payload": change})
    lake.put(f"feed/{lsn}.json", kit.lines(*rows))
    kit.run(lake, "feed")
    kit.merge(lake, "feed")


def test_silver_forgets_rows_of_every_column_that_a_subject_ever_had(
    tidegate_lake: MakeLake, kit: Any, forget: dict[str, Any]
) -> None:
    """Without a record of the columns, as in a table of an earlier version, it refuses and names the way out."""
    silver = {"keys": ["id"], "order": "at", "every": 10, "rename": {"customer": "buyer"}}
    lake = tidegate_lake(
        [
            {
                "name": "orders",
                "prefix": "orders/",
                "format": "json",
                "columns": {"id": "int", "at": "int", "customer": "int", "note": "string"},
                "silver": silver,
                "personal": {"subject": "customer", "columns": ["note"]},
            }
        ],
        forget=forget,
    )

    def land(number: int, *customers: int) -> None:
        rows = ({"id": 10 * number + place, "at": 1, "customer": who} for place, who in enumerate(customers))
        lake.put(f"orders/{number}.json", kit.lines(*rows))
        kit.run(lake, "orders")
        kit.merge(lake, "orders")

    def silver_ids() -> list[int]:
        return sorted(row["id"] for row in lake.sql("SELECT id FROM silver.orders_with_tombstones"))

    land(1, 42, 43, 7)
    kit.configure(lake, silver={**silver, "rename": {"customer": "client"}})
    land(2, 42, 8)
    table = lake.lake.store.uri("silver", "orders")
    ask(lake.lake, "person", ["42"], "eva")
    work_off(lake.lake, "forget 1")
    assert silver_ids() == [11, 12, 21]

    recorded = [
        name for name in lake.lake.delta.table_state(table).properties if name.startswith("tidegate.silver_sub")
    ]
    names = ", ".join(map(literal, recorded))
    kit.query(lake, f"ALTER TABLE {{t}} UNSET TBLPROPERTIES ({names})", t=table)
    with pytest.raises(SubjectProblem, match=r"silver\.orders has rows in which buyer may be customer by earlier"):
        search_subjects(lake.lake, "person", ["43"])
    rebuild_silver(lake.lake, "silver.orders", by="eva")
    assert [search_subject.silver for search_subject in search_subjects(lake.lake, "person", ["43"])] == [1]
    assert silver_ids() == [11, 12, 21]
