"""A subject on the suppression list comes back in no way: new files, redrives, rebuilds, messages and merges."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from ulid import ULID

from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import run_table
from tidegate.platform.core.errors import DataError
from tidegate.platform.core.forgetting.persons import rescued_texts
from tidegate.platform.core.forgetting.request import ForgetRequest, SubjectKey
from tidegate.platform.core.schema.sql_literal import literal
from tidegate.platform.forgetting.forget import ask, work_off
from tidegate.platform.forgetting.silver_rows import erase_from_silver
from tidegate.platform.lake.suppression import SecretProblem
from tidegate.platform.operations.rebuild import rebuild_table
from tidegate.platform.operations.redrive import Choice, RedriveRequest, quarantined_objects, redrive_objects
from tidegate.platform.operations.reset import reset_table
from tidegate.platform.silver import merge as silver_merge
from tidegate.platform.silver.audit.comparison import compare
from tidegate.platform.silver.audit.key_history import key_history
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]
SECRET = "a secret that only this test has"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text(f"{SECRET}\n")
    return path


def _forget(lake: TestLake, *subjects: str, kind: str = "person") -> None:
    key, now = SubjectKey(SECRET, kind), datetime.now(UTC)
    digests = tuple(map(key.digest, subjects))
    until = now + timedelta(days=30)
    lake.lake.store.forgotten.put(ForgetRequest(str(ULID()), "eva", now, until, kind, key.check, digests))


def _table(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "prefix": f"{name}/", "personal": {"subject": "who", "columns": ["mail"]}, **more}


def test_no_way_into_a_table_brings_a_forgotten_subject(tidegate_lake: MakeLake, kit: Any, secret: Path) -> None:
    silver = {"keys": ["id"], "order": "at", "every": 10}
    forget = {"secret": {"file": str(secret)}}
    csv = _table("lines", format="csv", columns={"id": "int", "at": "int", "who": "bigint"}, silver=silver)
    lake = tidegate_lake(
        [
            csv,
            _table("texts", format="json", schema="rescue"),
            _table("feed", format="json") | {"personal": {"subject": ["after.who", "before.who"]}},
            _table("sheets", format="parquet", mode="load"),
            _table("staff", format="json") | {"personal": {"subject": "who", "kind": "employee"}},
        ],
        forget=forget,
    )
    head = "id,at,who,mail\n"
    lake.put("lines/1.csv", f"{head}1,1,41,a\n2,1,42,b\nx,1,42,c\n")
    lake.put("lines/2.csv", f"{head}x,1,41,d\nx,1,42,e\n")
    kit.run(lake, "lines")
    kit.merge(lake, "lines")
    assert kit.bronze(lake, "lines", "who") == [(41,), (42,)]
    _forget(lake, "42")
    verdict = key_history(lake.lake, lake.spec("lines"), ["id=2"]).verdict
    assert verdict.endswith("a person whose request to forget is not worked off yet (`tidegate forget` lists them)")
    # A new file, of which a row is good, one is bad, and one is of somebody else.
    lake.put("lines/3.csv", f"{head}3,2,42,f\n4,2,41,g\nx,2,42,h\nx,2,41,i\n")
    (result,) = kit.run(lake, "lines")
    (row,) = (row for row in result.batch.rows if row.key == "lines/3.csv")
    assert (row.rows, row.bad_rows) == (1, 1)
    assert "2 of its rows were left out, for their subjects were forgotten" in (row.reason or "")
    assert _quarantined(lake, "lines", "lines/3.csv") == ["x,2,41,i"]
    # A redrive reads the first two files again, and a rebuild all three.
    table_key = lake.key("lines")
    objects = quarantined_objects(lake.lake, table_key, Choice("", "*", None, None))
    redrive_objects(lake.lake, table_key, objects, RedriveRequest("eva", Choice("", "*", None, None), 1000))
    kit.run(lake, "lines", listing=False)
    assert [row for row in kit.bronze(lake, "lines", "id, who") if row[1] == 42] == []
    rebuild_table(lake.lake, table_key, by="eva")
    kit.run(lake, "lines", listing=False)
    assert kit.bronze(lake, "lines", "id, who") == [(1, 41), (4, 41)]
    # Rows that somebody puts back into bronze do not reach silver: the merge applies the list as well.
    location, n = kit.location(lake, "lines"), lake.lake.table(table_key).ledger.clock().n + 1
    lake.lake.delta.session.sql(
        f"INSERT INTO delta.`{location}` (id, at, who, mail, _batch, _source_path) VALUES (9, 9, 42, 'z', {n}, 'x'), "
        f"(10, 9, 43, 'z', {n}, 'x')"
    )
    lake.put("lines/4.csv", f"{head}5,1,41,j\n")
    kit.run(lake, "lines")
    kit.merge(lake, "lines")
    assert kit.silver(lake, "lines", "id, who") == [(1, 41), (10, 43), (4, 41), (5, 41)]
    compared = compare(lake.lake, lake.spec("lines"))
    assert compared is not None
    assert compared.suspects > 0
    assert compared.wrong == ()
    reset_table(lake.lake, table_key, by="eva", accept_loss=True)
    kit.run(lake, "lines")
    assert 42 not in {row[0] for row in kit.bronze(lake, "lines", "who")}

    _forget(lake, "C 1")
    lake.put(
        "texts/1.json",
        kit.lines({"who": "C 1", "n": 1}, {"who": "C 2", "n": 2}) + '{"who": "C 1", "n": "three"}\n{"who": "C 1\n',
    )
    lake.put(
        "feed/1.json",
        kit.lines(
            {"before": {"who": "C 1", "n": "x"}, "after": None, "m": "x"},
            {"before": {"who": "x", "n": 1}, "after": {"who": "y", "n": 2}, "m": 3},
            # Another person has the key now, or had it before.
            {"before": {"who": "C 1"}, "after": {"who": "z"}},
            {"before": {"who": "z"}, "after": {"who": "C 1"}},
            {"before": {"who": None}, "after": {"who": "C 1"}},
        ),
    )
    lake.put("feed/2.json", kit.lines({"before": None, "after": {"who": "C 1"}}))
    lake.put("sheets/1.parquet", kit.parquet([{"who": "C 1"}, {"who": "C 2"}]))
    lake.put("staff/1.json", kit.lines({"who": "C 1"}))
    for name in ("texts", "feed", "sheets", "staff"):
        kit.run(lake, name)
    assert kit.bronze(lake, "texts", "who") == [("C 2",)]
    assert _quarantined(lake, "texts", "texts/1.json") == []
    assert kit.bronze(lake, "feed", "before.who, after.who") == [("x", "y"), ("z", None), (None, "z")]
    kinds = kit.bronze(lake, "feed", "typeof(before.n), typeof(after.n), typeof(m)")
    assert set(kinds) == {("bigint", "bigint", "bigint")}, "types are those of the others"
    assert kit.fate(lake, "feed")["1.json"][1] == (
        "2 of its rows were left out, for their subjects were forgotten; "
        "2 of its rows have only one of `before` and `after`, for their subjects were forgotten"
    )
    assert kit.fate(lake, "feed")["2.json"] == (
        "committed",
        "1 of its rows were left out, for their subjects were forgotten",
    )
    assert kit.bronze(lake, "sheets", "who") == [("C 2",)]
    assert kit.bronze(lake, "staff", "who") == [("C 1",)], "another kind of subject"


def test_nobody_who_is_forgotten_during_a_merge_comes_back(
    tidegate_lake: MakeLake, kit: Any, secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The merge has read the list before the request, and bronze has the rows: of before, or not erased yet."""
    silver = {"keys": ["id"], "order": "at", "every": 10}
    columns = {"id": "int", "at": "int", "who": "bigint"}
    lake = tidegate_lake(
        [_table("lines", format="csv", columns=columns, silver=silver)], forget={"secret": {"file": str(secret)}}
    )
    lake.put("lines/1.csv", "id,at,who,mail\n1,1,41,a\n2,1,42,b\n")
    kit.run(lake, "lines")
    kit.merge(lake, "lines")
    seams, logged = list[str](), list[str]()

    def forget_once(name: str) -> None:
        seams.append(name)
        if name == "silver-gather" and seams.count(name) == 1:
            ask(lake.lake, "person", ["42"], "eva")
            work_off(lake.lake, "run", lambda _: None)

    monkeypatch.setattr(silver_merge, "seam", forget_once)
    silver_merge.rebuild_table(lake.lake, lake.spec("lines"), logged.append, since=1)
    assert kit.silver(lake, "lines", "id, who") == [(1, 41)]
    assert any("property tidegate.forgotten of the table changed" in line for line in logged)

    lake.put("lines/2.csv", "id,at,who,mail\n1,2,43,c\n3,1,44,d\n")
    kit.run(lake, "lines")

    def erase_silver_alone(name: str) -> None:
        """Die in the middle of forgetting: the rows have left silver, and not yet bronze."""
        seams.append(name)
        if name == "silver-gather" and seams.count(name) == 1:
            ask(lake.lake, "person", ["43"], "eva")
            table, spec = lake.lake.table(lake.key("lines")), lake.spec("lines")
            listed = lake.lake.suppression(spec)
            assert listed is not None
            assert erase_from_silver(lake.lake.delta, lake.lake.store, table, listed, "run") == (0, 0)

    seams.clear()
    monkeypatch.setattr(silver_merge, "seam", erase_silver_alone)
    silver_merge.merge_table(lake.lake, lake.spec("lines"))
    assert (kit.silver(lake, "lines", "id, who"), seams.count("silver-gather")) == ([(1, 41), (3, 44)], 2)
    assert (43,) in kit.bronze(lake, "lines", "who")


def test_without_the_right_secret_a_table_waits(tidegate_lake: MakeLake, kit: Any, secret: Path) -> None:
    lake = tidegate_lake([_table("texts", format="json")], forget={"secret": {"file": str(secret)}})
    _forget(lake, "1")
    lake.put("texts/1.json", kit.lines({"who": "1"}))
    secret.write_text("another secret, and as long")
    with pytest.raises(SecretProblem, match="has another secret than the one with which persons were forgotten"):
        kit.run(lake, "texts")
    secret.unlink()
    with pytest.raises(SecretProblem, match=r"is missing: the file .* cannot be read .*the table waits"):
        kit.run(lake, "texts")
    secret.write_text(SECRET)
    kit.run(lake, "texts")
    assert [row["rows"] for row in kit.ledger(lake, "texts")] == [0]


def test_a_subject_that_is_neither_text_nor_a_whole_number_stops_the_table(
    tidegate_lake: MakeLake, kit: Any, secret: Path
) -> None:
    lake = tidegate_lake([_table("texts", format="json")], forget={"secret": {"file": str(secret)}})
    _forget(lake, "1")
    lake.put("texts/1.json", kit.lines({"who": 1.5}))
    with pytest.raises(DataError, match="column who of texts is double, and a subject"):
        run_table(lake.lake.table(lake.key("texts")), RunOptions("test", listing=True))


def _quarantined(lake: TestLake, table: str, key: str) -> list[str]:
    """Return the texts of the rows of an object that the ledger's last row of it has in quarantine."""
    folder = lake.lake.store.key("quarantine", "rows", lake.key(table), "")
    objects, found = lake.lake.store.objects, []
    for item in objects.list_under(lake.lake_bucket, folder):
        for line in (objects.get(lake.lake_bucket, item.key) or b"").decode().splitlines():
            body = json.loads(line)
            if body["_source_path"].endswith(key):
                found.append(body["raw"])
    return found


def test_rescued_values_are_read_by_every_reading_of_a_name(tidegate_lake: MakeLake) -> None:
    texts: list[tuple[str, str]] = []
    for name in ("who", "user.id", "a.b.c", "p.q.r.s", ".".join("abcdefghijkl")):
        first, *others = name.split(".")
        readings = [[first]]
        for part in others[:3] if len(others) < 4 else ():
            joined = [[*path[:-1], f"{path[-1]}.{part}"] for path in readings]
            readings = [*joined, *([*path, part] for path in readings)]
        for path in readings if len(others) < 4 else ([name], name.split(".")):
            for value in ("42", '"42.0"', '" 42"'):
                text, nested = value, value
                for depth, key in enumerate(reversed(path)):
                    text = f'{{"{key.upper()}": {text}}}'
                    nested = f'{{"{key}": {nested}}}'
                    if depth < len(path) - 1:
                        nested = f"[{{}}, {nested}]" if depth % 2 else json.dumps(nested)
                texts += [(name, text), (name, nested)]
    session = tidegate_lake([]).lake.delta.session
    for name in dict.fromkeys(name for name, _ in texts):
        given = [text for other, text in texts if other == name] + [
            '{"whose": 42, "user": {"ids": 42}, "a": {"c": 42}}'
        ]
        relation = f"(SELECT explode(from_json({literal(json.dumps(given))}, 'array<string>')) AS r)"
        found = session.sql(
            f"SELECT r, array({', '.join(rescued_texts('r', name))}) AS found FROM {relation}"
        ).collect()
        assert [(row["r"], "42" in row["found"]) for row in found] == [
            *((text, True) for text in given[:-1]),
            (given[-1], False),
        ]
