"""A rebuild reads every file again.

The rows of a file are replaced in one commit. No version of the table lacks a row or has a row twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.spark.conftest import Shell
from tests.support.lakes.seams import dying_at, seams_watched
from tidegate.platform.cli.commands.rebuild import run_rebuild
from tidegate.platform.core.bronze.manifest import Manifest
from tidegate.platform.operations.rebuild import plan_rebuild
from tidegate.platform.testing import TestLake

SALES = {
    "name": "sales",
    "prefix": "sales/",
    "format": "csv",
    "columns": {"id": "int", "at": "int", "v": "string"},
    "schema": "strict",
    "max_files": 3,
}


def test_a_rebuild_replaces_the_rows_of_every_file_and_each_version_has_all_of_them(
    tidegate_lake: Callable[..., TestLake],
    kit: Any,
    shell: Shell,
) -> None:
    lake = tidegate_lake([SALES])
    table_key, files = lake.key("sales"), [f"f{number}.csv" for number in range(4)]
    for number, name in enumerate([*files, "gone.csv"]):
        lake.put(f"sales/{name}", f"id,at,v\n{2 * number},1,-\n{2 * number + 1},1,-\n")
    lake.intake()
    # This file comes a batch later, because all files of a table's first batch may bring columns.
    lake.put("sales/more.csv", "id,at,v,price\n90,1,-,1.5\n")
    lake.intake()
    kit.run(lake, "sales", listing=False)
    events = kit.bronze(lake, "sales", "id, _source_event_time")
    assert None not in [at for _, at in events]
    lake.delete("sales/gone.csv")
    before = kit.state(lake, "sales").version
    assert kit.fate(lake, "sales")["more.csv"][0] == "quarantined"

    # From now on, a dash means null, and new columns may join.
    columns = {**lake.spec("sales").columns, "price": "decimal(9,2)"}
    kit.configure(lake, csv={"nulls": ["-"]}, schema="evolve", columns=columns)
    shell.use(lake)
    run_rebuild(shell, "sales", None, None, yes=False)
    assert "4 files that are in the table" in shell.said()
    assert "1 files that are not in the table (quarantined, or never announced) are tried" in shell.said()
    assert "KEPT     2 rows stay as they are" in shell.said()
    assert "sales/gone.csv" in shell.said()
    assert lake.lake.store.inbox.waiting_manifests() == [], "nothing was changed"
    run_rebuild(shell, "sales", None, None, yes=True)
    inbox = lake.lake.store.inbox
    hints = [
        hint
        for manifest in inbox.table_inbox(table_key).read(
            [manifest.id for manifest in inbox.waiting_manifests(table_key)]
        )
        for hint in manifest.hints
    ]
    first = plan_rebuild(lake.lake, table_key)
    assert first.waiting == 5

    with seams_watched(), dying_at("commit"):
        kit.run(lake, "sales", listing=False)
    done = kit.run(lake, "sales", listing=False)
    assert all(add.records for result in done for add in result.batch.adds), (
        "nothing stays of a data file that left whole"
    )

    location, seen = kit.location(lake, "sales"), []
    for version in range(before, kit.state(lake, "sales").version + 1):
        query = (
            f"SELECT regexp_extract(_source_path, '[^/]+$', 0), count(*), count(DISTINCT id), count(v) FROM {{t}} "
            f"VERSION AS OF {version} GROUP BY 1"
        )
        rows = {row[0]: tuple(row[1:]) for row in kit.query(lake, query, t=location)}
        assert rows.pop("gone.csv") == (2, 2, 2), "what S3 has no more stays as it was"
        rows.pop("more.csv", None)
        assert rows.keys() == set(files)
        assert {of_file[:2] for of_file in rows.values()} == {(2, 2)}, "no row is missing, and none is there twice"
        assert {of_file[2] for of_file in rows.values()} <= {0, 2}, "a file is as it was, or as it is to be"
        seen.append(sum(of_file[2] == 0 for of_file in rows.values()))
    assert (seen[0], seen[-1]) == (0, 4), "every row has its new meaning"
    assert 3 in seen, "batch by batch"
    assert kit.bronze(lake, "sales", "id, CAST(price AS string)")[-1] == (90, "1.50")
    times = kit.bronze(lake, "sales", "id, _source_event_time")
    assert [row for row in times if row[0] < 90] == events, "that is when the files came"
    assert kit.state(lake, "sales").schema.find_column("price").type.sql() == "decimal(9,2)", "as lake.yaml says"
    kept = f"SELECT DISTINCT _source_path FROM {{t}} WHERE _batch <= {first.n}"
    assert [row[0] for row in kit.query(lake, kept, t=location)] == [f"s3://{lake.bucket}/sales/gone.csv"]

    # The same hints change nothing when they come again.
    inbox.put([Manifest.create(table_key, "rebuild", hints[:3])])
    (done,) = kit.run(lake, "sales", listing=False)
    assert (done.batch.adds, done.batch.removes, done.batch.rows) == ((), (), ())
