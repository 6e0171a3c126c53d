"""What manifests are asked for: the objects of a query, or those of inventories."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from pyspark.errors import PySparkException
from rich.console import Console

from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cli.inventory import manifest as module
from tidegate.platform.cli.inventory.manifest import ManifestQuestion, run_manifest
from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.storage.batch_manifest import INVENTORY, BatchManifest

SQL, TO = "SELECT bucket, key FROM bronze.objects", "s3://jobs/x/"
#: A row that no query returns, because the server is lost before.
LOST = ("lost", "", "")


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (ManifestQuestion(), "give either a table of inventories, or a query with --sql"),
        (ManifestQuestion("objects", sql=SQL, to=TO), "give either a table of inventories, or a query with --sql"),
        (ManifestQuestion(sql=SQL), "say with --to below which s3:// folder"),
        (ManifestQuestion(sql=SQL, to=TO, bucket="acme"), "let the WHERE of --sql choose instead"),
        (ManifestQuestion(sql=SQL, to=TO, configuration="all"), "let the WHERE of --sql choose instead"),
        (ManifestQuestion("objects", to=TO), "S3 has written the manifests of inventories already"),
    ],
)
def test_a_question_that_is_two_or_half_of_one_is_refused(asked: ManifestQuestion, says: str) -> None:
    with pytest.raises(CommandError, match=says):
        asked.check()


def test_a_query_and_a_table_are_questions() -> None:
    ManifestQuestion(sql=SQL, to=TO).check()
    ManifestQuestion("objects", "acme", "all").check()


class Store:
    """Takes lists. Keeps the text of each, by address."""

    def __init__(self) -> None:
        self.lists: dict[str, str] = {}

    @staticmethod
    def region_of(bucket: str) -> str:
        return {"acme": "cn-north-1"}.get(bucket, "eu-central-1")

    def upload(self, bucket: str, key: str, file: Path) -> Any:
        self.lists[f"s3://{bucket}/{key}"] = file.read_text()
        return SimpleNamespace(etag=f"etag {len(self.lists)}")


def frame(rows: Sequence[tuple[str | None, ...]]) -> Any:
    """Return the result of a query, whose server is lost at the row `lost`."""

    def listed() -> Iterator[tuple[str | None, ...]]:
        for row in rows:
            if row == LOST:
                raise PySparkException("the server is gone\n\tat a.b.C")
            yield row

    result = MagicMock(dtypes=[(name, "string") for name in ("bucket", "key", "version_id")])
    result.select().orderBy().toLocalIterator = listed
    return result


def written(
    store: Store, rows: Sequence[tuple[str | None, ...]], monkeypatch: pytest.MonkeyPatch, *of_versions: str
) -> str:
    monkeypatch.setattr(module, "query_frame", lambda lake, sql: frame(rows))
    monkeypatch.setattr(module, "_buckets_of_versions", lambda lake: set(of_versions))
    monkeypatch.setattr(module, "F", MagicMock())
    output = io.StringIO()
    asked = ManifestQuestion(sql=SQL, to=TO)
    run_manifest(Console(file=output, width=400), None, store, asked, "111122223333")  # type: ignore[arg-type]
    return output.getvalue()


def test_a_list_has_no_versions_if_its_inventories_list_only_the_current_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """S3 reads a line without a version, or with an empty one, as the current version."""
    store = Store()
    printed = written(store, [("acme", "a", None), ("acme", "b", None)], monkeypatch, "other")
    assert store.lists == {"s3://jobs/x/acme.csv": "acme,a\nacme,b\n"}
    assert "VersionId" not in printed
    assert "a job works on the current version of each key" in printed
    store = Store()
    with pytest.raises(CommandError, match="gives objects of acme no version ID, and its inventory lists all versions"):
        written(store, [("acme", "a", None)], monkeypatch, "acme")
    with pytest.raises(CommandError, match="the version ID of acme/a is empty"):
        written(store, [("acme", "a", "")], monkeypatch)
    assert store.lists == {}
    assert "VersionId" in written(store, [("acme", "a", "v1")], monkeypatch)
    assert store.lists == {"s3://jobs/x/acme.csv": "acme,a,v1\n"}
    assert "current version" not in written(store, [("acme", "a", "null")], monkeypatch, "acme")


def test_what_a_query_gives_several_times_is_an_object_once_and_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    rows = [("acme", "a", None), ("acme", "a", None), ("acme", "b", None), ("acme", "b", None), ("acme", "b", None)]
    printed = written(store, [*rows, ("beta", "b", None)], monkeypatch)
    assert store.lists == {"s3://jobs/x/acme.csv": "acme,a\nacme,b\n", "s3://jobs/x/beta.csv": "beta,b\n"}
    assert "acme.csv: 2 objects of acme" in printed
    assert printed.count("the query gave objects several times: 3 rows are left out") == 1
    versions = [("acme", "a", "v1"), ("acme", "a", "v2")]
    assert "several times" not in written(store, versions, monkeypatch)
    assert store.lists["s3://jobs/x/acme.csv"] == "acme,a,v1\nacme,a,v2\n"


@pytest.mark.parametrize(
    ("last", "says"),
    [
        ([("beta", None, None)], "the bucket or the key of row 1 is NULL"),
        ([("beta", "k", None), LOST], "the server is gone$"),
    ],
)
def test_an_error_in_the_last_bucket_names_the_manifests_that_were_replaced_before(
    last: Sequence[tuple[str | None, ...]], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store()
    with pytest.raises(CommandError, match=re.compile(says, re.MULTILINE)) as error:
        written(store, [("acme", "a", None), ("acme", "b", None), *last], monkeypatch)
    assert list(store.lists) == ["s3://jobs/x/acme.csv"]
    _, why, list_, _, call = str(error.value).split("\n")
    assert why == "these manifests were written before, and are complete:"
    assert list_ == 's3://jobs/x/acme.csv: 2 objects of acme, ETag "etag 1"'
    assert call.startswith("  aws s3control create-job --region cn-north-1 --account-id 111122223333")
    assert '"ObjectArn": "arn:aws-cn:s3:::jobs/x/acme.csv"' in call


def test_a_query_without_rows_has_no_manifest_and_one_without_a_key_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = Store()
    written(store, [], monkeypatch)
    assert store.lists == {}
    monkeypatch.setattr(module, "query_frame", lambda lake, sql: MagicMock(dtypes=[("bucket", "string")]))
    with pytest.raises(CommandError, match="the query has no column key, only bucket"):
        run_manifest(Console(), None, store, ManifestQuestion(sql=SQL, to=TO), "111122223333")  # type: ignore[arg-type]


def test_a_bucket_without_an_inventory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    objects: Any = MagicMock()
    objects.where().groupBy().agg().orderBy().collect.return_value = []
    monkeypatch.setattr(module, "objects_of", lambda *_: objects)
    monkeypatch.setattr(module, "F", MagicMock())
    with pytest.raises(CommandError, match="the table has no inventory of other"):
        run_manifest(
            Console(),
            None,  # type: ignore[arg-type]
            Store(),  # type: ignore[arg-type]
            ManifestQuestion("objects", bucket="other"),
            "111122223333",
        )


def test_an_error_of_the_first_bucket_names_no_manifest(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CommandError) as error:
        written(Store(), [("acme", None, None)], monkeypatch)
    assert "\n" not in str(error.value)


def test_one_inventory_that_s3_refuses_leaves_the_manifests_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def delivered(store: Any, folder: S3Address, bucket: str, count: int, null: int) -> BatchManifest:
        if bucket == "closed":
            raise InventoryError(f"{folder} may not be read")
        return BatchManifest(
            bucket, S3Address(folder.bucket, f"{folder.key}manifest.json"), "e", count, INVENTORY, False
        )

    paths = {name: f"s3://inventories/{name}/all/day/manifest.checksum" for name in ("acme", "closed")}
    objects: Any = MagicMock()
    objects.groupBy().agg().orderBy().collect.return_value = [(name, path, 3, 0) for name, path in paths.items()]
    monkeypatch.setattr(module, "delivered_manifest", delivered)
    monkeypatch.setattr(module, "objects_of", lambda *_: objects)
    monkeypatch.setattr(module, "F", MagicMock())
    output = io.StringIO()
    asked = ManifestQuestion("objects")
    run_manifest(Console(file=output, width=400), None, Store(), asked, "111122223333")  # type: ignore[arg-type]
    printed = output.getvalue()
    assert 's3://inventories/acme/all/day/manifest.json: 3 objects of acme, ETag "e"' in printed
    assert "WARNING: closed: s3://inventories/closed/all/day/ may not be read" in printed


@pytest.mark.parametrize("sql", ["DELETE FROM bronze.objects", "-- a\n(((drop TABLE x", "SELECT 1; DROP TABLE x"])
def test_a_statement_that_may_change_something_is_refused_before_spark_sees_it(
    sql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark Connect runs a command at once: it would be done before its columns are looked at."""
    lake = MagicMock()
    with pytest.raises(CommandError, match="this is not a query, or may change something: `tidegate sql` runs"):
        run_manifest(Console(), lake, Store(), ManifestQuestion(sql=sql, to=TO), "111122223333")  # type: ignore[arg-type]
    lake.delta.session.sql.assert_not_called()
