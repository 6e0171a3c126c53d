"""The Glue Data Catalog over HTTP: entries follow the tables, in as few calls as possible, and others' stay."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.config import Config

from tests.unit.conftest import PAPER
from tidegate.platform.catalog import sync_catalog, sync_table
from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.sql_types import parse_sql_type
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.lake.aws.glue import Glue
from tidegate.platform.lake.spark.results import TableState
from tidegate.platform.local.aws import LocalAws

ORDERS, PLAIN = "landing.orders", "second.plain"


def state(*columns: str) -> TableState:
    fields = tuple(Field(*_typed(column)) for column in columns)
    return TableState(0 if columns else -1, None, "id", {}, TableSchema(fields), 0)


def _typed(column: str) -> tuple[str, Any]:
    name, _, sql = column.partition(" ")
    return name, parse_sql_type(sql)


class Shore:
    """A lake whose tables are a dictionary, and a real client of Glue whose calls are counted."""

    def __init__(self, aws: LocalAws) -> None:
        name = uuid.uuid4().hex[:8]
        self.raw, self.clean = f"raw_{name}", f"clean_{name}"
        self.client: Any = boto3.client(
            "glue",
            endpoint_url=aws.endpoint,
            region_name="eu-central-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",
            config=Config(retries={"max_attempts": 0}),
        )
        self.calls: list[str] = []
        self.client.meta.events.register("before-call.glue", lambda model, **_: self.calls.append(model.name))
        self.states: dict[str, TableState] = {}
        self.births: dict[str, str] = {}
        self.said: list[str] = []
        self.id = "this-lake"

    @property
    def lake(self) -> Any:
        catalog = {"bronze": self.raw, "silver": self.clean}
        config = LakeConfig.model_validate({**PAPER, "catalog": catalog})

        def table(table_key: str) -> Any:
            name = self.births[table_key]
            birth = Birth("g", f"s3a://lake/bronze/{name}", name, False)
            return SimpleNamespace(key=TableKey.decode(table_key), table_key=table_key, birth=birth)

        return SimpleNamespace(
            id=self.id,
            config=config,
            catalog=Glue(lambda: self.client),
            table=table,
            store=SimpleNamespace(
                births=SimpleNamespace(tables=lambda: list(self.births)),
                uri=lambda *path: f"s3a://lake/{'/'.join(path)}",
            ),
            delta=SimpleNamespace(table_state=lambda location: self.states.get(location, state())),
            lost_name=lambda table: None,
        )

    def born(self, table_key: str, name: str, *columns: str) -> None:
        self.births[table_key] = name
        self.states[f"s3a://lake/bronze/{name}"] = state(*columns)

    def synced(self, table_key: str) -> list[str]:
        """Bring a table in step. Returns the calls."""
        self.calls.clear()
        sync_table(self.lake, table_key, self.said.append)
        return self.calls

    def entry(self, database: str, name: str) -> dict[str, Any]:
        return dict(self.client.get_table(DatabaseName=database, Name=name)["Table"])

    def columns(self, database: str, name: str) -> list[str]:
        return [column["Name"] for column in self.entry(database, name)["StorageDescriptor"]["Columns"]]


@pytest.fixture
def shore(local_aws: LocalAws) -> Shore:
    return Shore(local_aws)


@pytest.fixture
def silver(shore: Shore) -> Callable[..., None]:
    def given(*columns: str) -> None:
        own = ("_deleted boolean", "_changed_batch bigint", "_changed_at timestamp")
        shore.states["s3a://lake/silver/orders"] = state(*columns, *own)

    return given


def test_a_table_of_which_nothing_changed_costs_one_read_for_each_entry(
    shore: Shore, silver: Callable[..., None]
) -> None:
    shore.born(ORDERS, "orders", "id bigint")
    created = ["GetTable", "CreateTable", "CreateDatabase", "CreateTable"]
    assert shore.synced(ORDERS) == created, "the database is made with the first table"
    assert shore.synced(ORDERS) == ["GetTable"]
    silver("id bigint")
    assert shore.synced(ORDERS) == ["GetTable", *created, "GetTable", "CreateTable"]
    assert shore.synced(ORDERS) == ["GetTable"] * 3
    shore.born(ORDERS, "orders", "id bigint", "paid boolean")
    assert shore.synced(ORDERS) == ["GetTable", "UpdateTable", "GetTable", "GetTable"]
    assert shore.columns(shore.raw, "orders") == ["id", "paid"]
    assert shore.columns(shore.clean, "orders") == ["id"]
    assert shore.entry(shore.clean, "orders")["TableType"] == "VIRTUAL_VIEW"
    assert shore.entry(shore.clean, "orders_with_tombstones")["TableType"] == "EXTERNAL_TABLE"
    assert shore.said[-1] == f"catalog: {shore.raw}.orders: updated: columns"


def test_everything_in_step_costs_one_read_for_each_database(shore: Shore) -> None:
    shore.born(ORDERS, "orders", "id bigint")
    shore.born(PLAIN, "plain", "id bigint", "data variant")
    planned = sync_catalog(shore.lake, dry_run=True)
    assert [str(change) for change in planned.changes] == [
        f"{shore.raw}.orders: created",
        f"{shore.raw}.plain: created, without 'data': Hive has no type for it, or Glue no room",
    ]
    assert set(shore.calls) == {"GetTables"}, "a dry run writes nothing"
    sync_catalog(shore.lake, dry_run=False)
    shore.calls.clear()
    done = sync_catalog(shore.lake, dry_run=False)
    assert (done.entries, done.changes, shore.calls) == (2, [], ["GetTables", "GetTables"])


def test_a_change_of_one_table_costs_as_much_in_a_lake_of_a_thousand(shore: Shore, silver: Callable[..., None]) -> None:
    for number in range(999):
        shore.born(f"landing.t{number}", f"t{number}", "id bigint")
    shore.born(ORDERS, "orders", "id bigint")
    silver("id bigint")
    sync_catalog(shore.lake, dry_run=False)
    shore.born(ORDERS, "orders", "id bigint", "paid boolean")
    assert shore.synced(ORDERS) == ["GetTable", "UpdateTable", "GetTable", "GetTable"]
    shore.born(ORDERS, "orders", "id bigint", "paid boolean", "at date")
    shore.calls.clear()
    assert sync_catalog(shore.lake, dry_run=False).entries == 1002
    # The answers of AWS have a hundred entries each, so these reads are 11 and 1.
    assert shore.calls == ["GetTables", "UpdateTable", "GetTables"]


def test_the_entry_of_a_table_that_is_gone_goes_and_those_of_others_stay(shore: Shore) -> None:
    shore.born(ORDERS, "orders", "id bigint")
    shore.born(PLAIN, "plain", "id bigint")
    sync_catalog(shore.lake, dry_run=False)
    shore.client.create_table(DatabaseName=shore.raw, TableInput={"Name": "theirs"})
    theirs = {"Name": "of_another_lake", "Parameters": {"tidegate.lake": "another"}}
    shore.client.create_table(DatabaseName=shore.raw, TableInput=theirs)
    shore.born(ORDERS, "orders")
    done = sync_catalog(shore.lake, dry_run=False)
    assert [str(change) for change in done.changes] == [f"{shore.raw}.orders: deleted, because its table is gone"]
    left = shore.client.get_tables(DatabaseName=shore.raw)["TableList"]
    assert sorted(table["Name"] for table in left) == ["of_another_lake", "plain", "theirs"]


def test_somebody_else_s_entry_of_our_name_is_never_touched(shore: Shore) -> None:
    shore.client.create_database(DatabaseInput={"Name": shore.raw})
    theirs = {"Name": "orders", "Parameters": {"classification": "csv"}}
    shore.client.create_table(DatabaseName=shore.raw, TableInput=theirs)
    shore.born(ORDERS, "orders", "id bigint")
    assert shore.synced(ORDERS) == ["GetTable"]
    assert shore.said[-1].startswith(f"WARNING: catalog: {shore.raw}.orders: somebody else made it")
    (failed,) = sync_catalog(shore.lake, dry_run=False).failed
    assert "drop it in Glue, or give the table another `name`" in failed.what
    assert shore.entry(shore.raw, "orders")["Parameters"] == {"classification": "csv"}


def test_two_tables_of_one_name_do_not_take_each_other_s_entry(shore: Shore) -> None:
    shore.born(ORDERS, "orders", "id bigint")
    sync_catalog(shore.lake, dry_run=False)
    shore.born(PLAIN, "orders", "id bigint")
    (failed,) = sync_catalog(shore.lake, dry_run=False).failed
    assert failed.what == f"is the entry of the table {ORDERS}: give one of the two tables another `name` in lake.yaml"


def test_the_entries_of_a_table_with_another_prefix_are_ours(shore: Shore, silver: Callable[..., None]) -> None:
    """In lake.yaml the table `orders` has one prefix, and it had another before."""
    shore.born(ORDERS, "orders", "id bigint")
    silver("id bigint")
    sync_catalog(shore.lake, dry_run=False)
    before = shore.entry(shore.clean, "orders")
    given = {name: before[name] for name in ("Name", "TableType", "PartitionKeys", "StorageDescriptor")}
    given["Parameters"] = {**before["Parameters"], "tidegate.table": "landing.before", "team": "sales"}
    texts = {name: before[name] for name in ("ViewOriginalText", "ViewExpandedText")}
    shore.client.update_table(DatabaseName=shore.clean, TableInput={**given, **texts})
    done = sync_catalog(shore.lake, dry_run=False)
    assert [str(change) for change in done.changes] == [f"{shore.clean}.orders: updated: parameters"]
    assert shore.entry(shore.clean, "orders")["Parameters"] == {**before["Parameters"], "team": "sales"}


def test_a_change_that_another_process_made_meanwhile_is_not_overwritten(shore: Shore) -> None:
    shore.born(ORDERS, "orders", "id bigint")
    shore.synced(ORDERS)
    glue = Glue(lambda: shore.client)
    before = glue.table(shore.raw, "orders")
    assert before is not None
    given = {"Name": "orders", "Parameters": {**before["Parameters"], "team": "sales"}}
    shore.client.update_table(DatabaseName=shore.raw, TableInput=given)
    with pytest.raises(shore.client.exceptions.ConcurrentModificationException):
        glue.update(shore.raw, given, before["VersionId"])


def test_a_catalog_that_does_not_answer_fails_no_run(shore: Shore) -> None:
    shore.born(ORDERS, "orders", "id bigint")
    shore.client = boto3.client(
        "glue",
        endpoint_url="http://127.0.0.1:9",
        region_name="eu-central-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(retries={"max_attempts": 0}),
    )
    sync_table(shore.lake, ORDERS, shore.said.append)
    (line,) = shore.said
    assert line.startswith("WARNING: the catalog does not follow yet: Could not connect")
    assert line.endswith("`tidegate catalog sync` repeats it")
