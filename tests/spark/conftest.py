"""What the tests on Spark share: lakes for a module, files to land, and queries of the results."""

from __future__ import annotations

import io
import json
import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from pyspark.sql import Row
from rich.console import Console

from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import BatchResult, run_table
from tidegate.platform.core.config.load import load_lake
from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.lake.spark.session import select
from tidegate.platform.local.stack import LocalStack
from tidegate.platform.silver.merge import MergeResult, merge_table
from tidegate.platform.testing import TestLake

#: Spark's defaults. The server of the tests interprets queries instead.
_COMPILED = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}


class Kit:
    """Short forms of what most of these tests do."""

    @staticmethod
    def parquet(rows: Sequence[dict[str, Any]] | pa.Table, **options: Any) -> bytes:
        table = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(list(rows))
        buffer = io.BytesIO()
        pq.write_table(table, buffer, **options)
        return buffer.getvalue()

    @staticmethod
    def lines(*rows: dict[str, Any]) -> str:
        return "".join(f"{json.dumps(row)}\n" for row in rows)

    @staticmethod
    def event(lake: TestLake, key: str, *, bucket: str | None = None, name: str = "ObjectCreated:Put") -> str:
        """Return the body of one notification. `key` is encoded as S3 encodes it."""
        s3 = {"bucket": {"name": bucket or lake.bucket}, "object": {"key": key}}
        record = {"eventSource": "aws:s3", "eventName": name, "eventTime": "2026-01-02T03:04:05.000Z", "s3": s3}
        return json.dumps({"Records": [record]})

    @staticmethod
    def send(lake: TestLake, body: str) -> None:
        lake.lake.queues[0].send(body)

    @staticmethod
    def run(lake: TestLake, table: str, **options: Any) -> list[BatchResult]:
        """Run bronze as a Materialize does, but without Dagster."""
        return run_table(lake.lake.table(lake.key(table)), RunOptions("test", **{"listing": True, **options}))

    @staticmethod
    def configure(lake: TestLake, **options: Any) -> None:
        """Change options of the first table of `lake.yaml`, and open the lake with them. None removes an option."""
        body = yaml.safe_load(lake.path.read_text())
        table = {**body["tables"][0], **options}
        body["tables"][0] = {name: value for name, value in table.items() if value is not None}
        lake.path.write_text(yaml.safe_dump(body, sort_keys=False))
        lake.config = lake.lake.config = load_lake(lake.path)

    @staticmethod
    def merge(lake: TestLake, table: str) -> MergeResult | None:
        return merge_table(lake.lake, lake.spec(table))

    @staticmethod
    def second(lake: TestLake, table: str, name: str, silver: dict[str, Any] | None = None) -> TableSpec:
        """Return a further silver table of a bronze table, for `merge_table`. One of `lake.yaml` has only one.

        Args:
            lake: the lake.
            table: the bronze table.
            name: of the silver table.
            silver: its options; None: those of the table.
        """
        spec = lake.spec(table)
        options = spec.silver if silver is None else SilverSpec.model_validate(silver)
        return spec.model_copy(update={"name": name, "silver": options})

    @staticmethod
    def location(lake: TestLake, table: str) -> str:
        birth = lake.lake.table(lake.key(table)).birth
        assert birth is not None
        return birth.location

    @classmethod
    def query(cls, lake: TestLake, query: str, **tables: str) -> list[Row]:
        """Run SQL. Each `{name}` in the query stands for the table at that location."""
        named = {name: f"delta.`{location}`" for name, location in tables.items()}
        session, text = lake.lake.delta.session, query.format(**named)
        return (select(session, text) if text.startswith("SELECT") else session.sql(text)).collect()

    @classmethod
    def bronze(cls, lake: TestLake, table: str, columns: str = "*") -> list[tuple[Any, ...]]:
        """Return the rows of a bronze table, sorted."""
        found = cls.query(lake, f"SELECT {columns} FROM {{t}}", t=cls.location(lake, table))
        return sorted((tuple(row) for row in found), key=repr)

    @classmethod
    def silver(cls, lake: TestLake, table: str, columns: str) -> list[tuple[Any, ...]]:
        """Return the rows that the silver view shows, sorted."""
        location = lake.lake.store.uri("silver", table)
        found = cls.query(lake, f"SELECT {columns} FROM {{t}} WHERE NOT _deleted", t=location)
        return sorted((tuple(row) for row in found), key=repr)

    @classmethod
    def ledger(cls, lake: TestLake, table: str) -> list[Row]:
        """Return the rows of the ledger in order, without headers."""
        return cls.query(
            lake,
            "SELECT * FROM {t} WHERE kind = 'row' ORDER BY n, position",
            t=lake.lake.table(lake.key(table)).ledger.location,
        )

    @classmethod
    def fate(cls, lake: TestLake, table: str) -> dict[str, tuple[str, str]]:
        """Return the last status and reason of each object, by its key below the table's prefix."""
        start = len(lake.spec(table).table_key.prefix)
        return {row["key"][start:]: (row["status"], row["reason"] or "") for row in cls.ledger(lake, table)}

    @classmethod
    def state(cls, lake: TestLake, table: str) -> Any:
        return lake.lake.delta.table_state(cls.location(lake, table))

    @staticmethod
    def metadata(result: dg.ExecuteInProcessResult) -> dict[str, Any]:
        """Return the metadata of the run's only materialization, or that of the page of its bronze table."""
        events = result.get_asset_materialization_events()
        pages = [event for event in events if event.asset_key and event.asset_key.path[:-1] == ["bronze"]]
        (event,) = pages or events
        return {name: value.value for name, value in event.materialization.metadata.items()}

    @staticmethod
    def checks(result: dg.ExecuteInProcessResult) -> dict[str, bool]:
        return {found.check_name: found.passed for found in result.get_asset_check_evaluations()}

    @staticmethod
    def log(lake: TestLake, prefix: str) -> Iterator[dict[str, Any]]:
        """Yield every action in the commits of the registered table at a prefix of the landing bucket."""
        s3 = lake.clients.s3
        for item in s3.list_objects_v2(Bucket=lake.bucket, Prefix=f"{prefix}_delta_log/").get("Contents", []):
            if item["Key"].endswith(".json"):
                body = s3.get_object(Bucket=lake.bucket, Key=item["Key"])["Body"].read().decode()
                yield from (json.loads(line) for line in body.splitlines())


@pytest.fixture(scope="session")
def kit() -> Kit:
    return Kit()


@pytest.fixture(scope="module")
def module_lake(tidegate_stack: LocalStack, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., TestLake]:
    """Yield a lake as `tidegate_lake` does, for a lake that the tests of a module share."""

    def make(tables: list[dict[str, Any]], **more: Any) -> TestLake:
        name = uuid.uuid4().hex[:8]
        return TestLake(tidegate_stack, tmp_path_factory.mktemp(name), name, tables, more)

    return make


@pytest.fixture
def configured(request: pytest.FixtureRequest) -> Callable[[TestLake, dict[str, str]], None]:
    """Give the server's session of a lake other settings. The old settings return after the test."""

    def use(lake: TestLake, settings: dict[str, str]) -> None:
        conf = lake.lake.delta.session.conf
        for name, value in settings.items():
            request.addfinalizer(partial(conf.set, name, conf.get(name)))
            conf.set(name, value)

    return use


@pytest.fixture
def compiled(configured: Callable[[TestLake, dict[str, str]], None]) -> Callable[[TestLake], None]:
    """Make the server compile the queries of a lake, as a cluster does."""

    def use(lake: TestLake) -> None:
        configured(lake, _COMPILED)

    return use


class Shell(Console):
    """A user's shell, whose output is kept."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        super().__init__(file=io.StringIO(), width=100, force_terminal=False, no_color=True)
        self._monkeypatch, self._folder = monkeypatch, folder

    def use(self, lake: TestLake) -> None:
        """Let the environment name a lake. The working directory has no platform."""
        self._monkeypatch.setenv("TIDEGATE_LAKE", str(lake.path))
        self._monkeypatch.chdir(self._folder)

    def said(self) -> str:
        assert isinstance(self.file, io.StringIO)
        return self.file.getvalue()


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Shell:
    return Shell(monkeypatch, tmp_path)
