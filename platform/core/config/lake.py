"""The configuration of one lake: `lake.yaml` as typed, checked models, with its sections that are about no table."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from tidegate.platform.core.config.commits import Commits
from tidegate.platform.core.config.cross_checks import lake_problems, route_problems
from tidegate.platform.core.config.event_types import EventTypeRule
from tidegate.platform.core.config.fields import Bucket, Cron, Model, Name, Root, Text, convert_value
from tidegate.platform.core.config.personal import ForgetSpec
from tidegate.platform.core.config.queues import QueueSpec as QueueSpec
from tidegate.platform.core.config.routes import RouteSpec
from tidegate.platform.core.config.spark import SparkSpec
from tidegate.platform.core.config.table import TableSpec as TableSpec
from tidegate.platform.core.config.table_defaults import TableDefaults, describe_as_defaults
from tidegate.platform.core.config.webhook import WebhookSpec
from tidegate.platform.core.costs.figures import FIGURES
from tidegate.platform.core.errors import BadSetting
from tidegate.platform.core.events.row_queue import rows_prefix
from tidegate.platform.core.keys.object_key import outermost_prefixes
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.schema.column_types import fold_name

_RESERVED_NAMES = frozenset({"bronze", "lake", "maintenance", "routes", "s3", "silver", "sqs", "storage"})

#: A database of Glue. Athena does not accept upper case in it.
DatabaseName = Annotated[str, Field(pattern=r"^[a-z0-9_]{1,128}$")]


def _checked_lake_name(name: str) -> str:
    if fold_name(name) in _RESERVED_NAMES:
        raise BadSetting(f"{name!r} is a part of Tidegate's own asset keys; choose another name")
    return name


class LakeSpec(Model):
    """The location of the lake, and its name in Dagster."""

    name: Annotated[Name, AfterValidator(_checked_lake_name)] | None = None
    """The lake's name in Dagster, for an instance with several lakes. It is the first part of every asset key, and of
    the names of jobs, sensors, schedules, pools, partitions and the resource: `sales/bronze/orders`, `sales_intake`.
    With another name, Dagster has no history of the lake. The tables stay as they are."""
    root: Root
    """`s3://bucket/path`: Tidegate keeps all of its own objects below it. Its bucket must not be a source bucket."""
    commits: Commits = "dynamodb"
    """How writers of the same table are coordinated. `dynamodb`: by a DynamoDB table, which Delta's own store and
    delta-rs up to 1.6.0 can share. `s3`: by S3's conditional writes alone. `tidegate commits migrate` changes it."""

    @property
    def bucket(self) -> str:
        """The bucket of the root."""
        return S3Address.parse(self.root).bucket

    @property
    def prefix(self) -> str:
        """The root's key prefix with its trailing "/"; "" if the root is a whole bucket."""
        path = S3Address.parse(self.root).key
        return f"{path}/" if path else ""


class IntakeSpec(Model):
    """Who drains the queues, and the budget of one tick."""

    by: Literal["sensor", "processes"] = "sensor"
    """`sensor`: each tick of the sensor `intake` drains the queues. `processes`: `tidegate intake`, in any number of
    processes, or a function of AWS Lambda does. The sensor then only reads what they wrote."""
    seconds: Annotated[float, Field(gt=0, le=50)] = 20
    """Four thirds of the seconds for which a tick receives messages. Dagster ends a tick after 60 seconds."""
    events: Annotated[int, Field(ge=1)] = 20_000
    """Maximum number of messages of a tick, of all queues together."""
    threads: Annotated[int, Field(ge=1, le=64)] = 4
    """Threads that receive from a queue."""
    every: Annotated[int, Field(ge=1)] = 30
    """Minimum number of seconds between two ticks."""


class DiscoverySpec(Model):
    """How folders that no table names become tables automatically."""

    per_day: Annotated[int, Field(ge=1)] = 100
    """New tables that a day (UTC) may bring below each first folder of a bucket, and new first folders that it may
    bring. Beyond it events are counted as `no_table`, and wait for a day that has room."""
    parquet: Literal["load", "register"] = "load"
    """How Parquet of a folder that no table names enters bronze. `load`: its rows are copied. `register`: its files
    stay where they are, and the table's Delta log is below its folder, to which its producer may write."""


def _discovery(given: Any) -> Any:
    if isinstance(given, Mapping | DiscoverySpec):
        return given
    try:
        return DiscoverySpec() if TypeAdapter(bool).validate_python(given) else None
    except ValidationError:
        raise BadSetting("must be true, false, or a mapping with per_day or parquet") from None


class MaintainSpec(Model):
    """The retention of a lake's objects, in days."""

    versions: Annotated[int, Field(ge=1, le=3650)] = 7
    """Days for which earlier versions of loaded and silver tables can be read. A longer retention in the properties of
    a table counts. A run or a query that takes longer than a day may miss files with the least value, 1."""
    intake: Annotated[int, Field(ge=2, le=3650)] = 90
    """Days for which the intake log (`lake.intake`) is kept."""
    quarantine: Annotated[int, Field(ge=7, le=3650)] | None = None
    """Days for which quarantined messages and the texts of quarantined rows are kept. For ever, unless it is given: a
    message may be the only copy of its row."""
    inventory: Name | None = None
    """Name of the table with `mode: inventory` that has inventories of the lake's own bucket. Files that no version of
    a large table needs are then found in the newest of them, instead of in a listing."""


class CatalogSpec(Model):
    """The databases of the AWS Glue Data Catalog that have the tables. `bronze`, `silver` or both."""

    bronze: DatabaseName | None = None
    """Database of the bronze tables. Without it they are not registered."""
    silver: DatabaseName | None = None
    """Database of the silver tables: `<name>` is a view, `<name>_with_tombstones` the Delta table."""
    tables: Annotated[tuple[Name, ...], Field(min_length=1)] | None = None
    """Names of the tables that are registered. By default all are, discovered tables too."""

    @model_validator(mode="after")
    def _has_databases(self) -> Self:
        if self.bronze is None and self.silver is None:
            raise BadSetting("give bronze, silver, or both: a database of Glue each")
        if self.bronze == self.silver:
            raise BadSetting(
                f"bronze and silver are both {self.bronze}, and their tables have the same names: give them two "
                "databases"
            )
        return self

    def has(self, name: str) -> bool:
        """Return whether the table of that SQL name is registered."""
        return self.tables is None or name in self.tables


class CostsSpec(Model):
    """The asset `lake_costs`, and what the cost of tables is computed with."""

    prices: tuple[Text, ...] = ()
    """CSV files of AWS's price lists of S3 of the region: paths, relative to the folder of lake.yaml. Without them the
    prices are those of us-east-1."""
    figures: dict[Text, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = Field(default_factory=dict)
    """Units of cost that differ from the published ones, by name, such as `vcpu_hour`."""
    fresh: Annotated[int, Field(ge=0)] = 300
    """Seconds by which `window` and silver's `every` may delay a row. No remedy delays it for longer."""
    months: Annotated[int, Field(ge=1, le=36)] = 3
    """Months of the report."""
    schedule: Cron = "30 6 * * *"
    """When the report is made again, as a cron schedule in UTC."""

    @field_validator("figures")
    @classmethod
    def _are_known(cls, figures: dict[str, float]) -> dict[str, float]:
        if unknown := sorted(set(figures) - set(FIGURES)):
            raise BadSetting(f"{unknown[0]!r} is not a unit of cost; give some of {', '.join(FIGURES)}")
        if not 0 < (share := figures.get("utilization", 1.0)) <= 1:
            raise BadSetting(f"utilization: {share:g} is not a share of the cores; give more than 0, and 1 at most")
        return figures


class LakeConfig(TableDefaults):
    """A lake: its root, its queues, its source buckets, its tables, and the settings that its tables share."""

    model_config = ConfigDict(json_schema_extra=describe_as_defaults)

    policy: Annotated[Literal["evolve", "strict"], Field(alias="schema")] = "evolve"
    """What a file with new columns does. `evolve`: they are added to the table. `strict`: the file is quarantined."""
    lake: LakeSpec
    """The location of the lake."""
    queues: tuple[QueueSpec, ...]
    """The queues of S3's events that intake drains. With `[]` only listings find files, so each table needs a
    `reconcile_interval`."""
    buckets: Annotated[tuple[Bucket, ...], Field(min_length=1)]
    """Source buckets. Events of other buckets are counted and ignored."""
    intake: IntakeSpec = IntakeSpec()
    """Who drains the queues, and the budget of one tick."""
    spark: SparkSpec = SparkSpec()
    """Who starts the Spark Connect server, and when."""
    discovery: Annotated[
        DiscoverySpec | None, BeforeValidator(_discovery, json_schema_input_type=bool | DiscoverySpec)
    ] = DiscoverySpec()
    """Whether the folder of a file that belongs to no configured table becomes a table by itself, how many a day may,
    and whether Parquet of such a folder is registered. `true` is the default, `false` turns it off."""
    metrics: Literal["cloudwatch"] | None = None
    """Where the lake's metrics are published, in addition to Dagster."""
    event_types: tuple[EventTypeRule, ...] = ()
    """Rules that give each event its type. The first rule that matches an event counts."""
    routes: tuple[RouteSpec, ...] = ()
    """Where events are forwarded to, in addition to the tables that take their files."""
    tables: tuple[TableSpec, ...] = ()
    """The configured tables."""
    webhooks: tuple[WebhookSpec, ...] = ()
    """The senders whose webhooks `tidegate webhook` takes into row queues."""
    forget: ForgetSpec | None = None
    """How persons are forgotten. Needed if a table has `personal.subject`."""
    maintain: MaintainSpec | None = None
    """For how long the lake keeps what it does not need itself. If it is given, tables are maintained by a schedule."""
    costs: CostsSpec | None = None
    """How the cost of the tables is computed. If it is given, the asset `lake_costs` reports it each day."""
    catalog: CatalogSpec | None = None
    """The databases of the AWS Glue Data Catalog that have the tables, for Athena, Trino and others."""

    @model_validator(mode="before")
    @classmethod
    def _fill_prefixes_of_rows(cls, data: Any) -> Any:
        if not isinstance(data, Mapping) or not isinstance(data.get("tables"), list | tuple):
            return data
        tables = [
            {**_prefix_of_rows(data, table), **table} if isinstance(table, Mapping) else table
            for table in data["tables"]
        ]
        return {**data, "tables": tables}

    @field_validator("tables")
    @classmethod
    def _fill_defaults(cls, tables: tuple[TableSpec, ...], info: ValidationInfo) -> tuple[TableSpec, ...]:
        # An invalid default is missing here; it has an error of its own.
        given = {name: info.data[name] for name in TableDefaults.model_fields if name in info.data}
        return tuple(
            table.model_copy(
                update={name: value for name, value in given.items() if name not in table.model_fields_set}
            )
            for table in tables
        )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        tables, webhooks = dict(enumerate(self.tables)), dict(enumerate(self.webhooks))
        own = {name for queue in self.every_queue for name in queue.names}
        problems = [
            *lake_problems(self.lake.root, self.buckets, self.queues, tables, webhooks, typed=bool(self.event_types)),
            *route_problems(self.event_types, self.routes, self.buckets, own, self.lake.root, tables),
        ]
        if problems:
            raise BadSetting("; ".join(str(problem) for problem in problems))
        if not self.queues:
            self._require_listings()
        names = {table.name for table in self.tables}
        if missing := [name for name in (self.catalog and self.catalog.tables) or () if name not in names]:
            raise BadSetting(f"catalog.tables: there is no table {missing[0]}; correct the name, or leave `tables` out")
        inventories = {table.name for table in self.tables if table.has_inventories}
        if self.maintenance.inventory not in {None, *inventories}:
            raise BadSetting(
                f"maintain.inventory: there is no table {self.maintenance.inventory} with `mode: inventory`; correct "
                "the name, or remove the line"
            )
        for table in self.tables:
            merges_what_waits = table.silver is not None and table.silver.every is not None
            if table.arrives_every and table.reconcile_interval and not merges_what_waits:
                raise BadSetting(
                    f"table {table.name} has `arrives_every`, but a listing each {table.reconcile_interval} s "
                    "(`reconcile_interval`) materializes it even if nothing arrives, so nothing would show that: "
                    "remove one of the two, or give the table `silver` with `every`"
                )
        with_subject = [table.name for table in self.tables if table.subject_kind]
        if with_subject and self.forget is None:
            raise BadSetting(
                f"table {with_subject[0]} has `personal.subject`: add `forget` with the place of a secret, such as "
                "forget: {secret: {env: TIDEGATE_FORGET_SECRET}}"
            )
        return self

    def _require_listings(self) -> None:
        """Require that everything comes without events."""
        if self.routes:
            raise BadSetting(
                "routes: they forward events, and `queues` is empty, so none come: add the queue, or remove `routes`"
            )
        if not self.tables:
            raise BadSetting("queues: it is empty, so only listings of tables find files: add `tables`, or a queue")
        for table in self.tables:
            if not (table.reconcile_interval or table.row_queue):
                raise BadSetting(
                    f"queues: it is empty, so only listings find files, and nothing lists table {table.name}: give it "
                    "a `reconcile_interval`, or give the lake one, in seconds, or add a queue"
                )

    @property
    def every_queue(self) -> tuple[QueueSpec, ...]:
        """The queues that intake drains: queues of events, then queues of rows."""
        return (*self.queues, *(spec.row_queue for spec in self.tables if spec.row_queue))

    @property
    def subject_kinds(self) -> list[str]:
        """Subject kinds used by the tables, sorted."""
        return sorted({kind for table in self.tables if (kind := table.subject_kind)})

    @property
    def secret_variables(self) -> frozenset[str]:
        """Names of the environment variables with a secret of the suppression list or of a webhook."""
        places = [secret for webhook in self.webhooks for secret in webhook.secrets]
        places += [self.forget.secret] if self.forget else []
        return frozenset(place.env for place in places if place.env)

    @property
    def maintenance(self) -> MaintainSpec:
        """The retention of the lake's objects, by `maintain` or by default."""
        return self.maintain or MaintainSpec()

    def row_queue(self, name: str) -> QueueSpec:
        """Return the row queue of that name, which a webhook names.

        Raises:
            KeyError: no table has it.
        """
        return {spec.row_queue.name: spec.row_queue for spec in self.tables if spec.row_queue}[name]

    def table_of_rows(self, queue: str) -> TableSpec | None:
        """Return the table whose rows come in the queue of that name, or are its dead letters; None for a queue of
        events.
        """
        return next((spec for spec in self.tables if (rows := spec.row_queue) and queue in (rows.name, rows.dlq)), None)

    def route(self, name: str) -> RouteSpec | None:
        """Return the route of that name, if there is one."""
        return next((route for route in self.routes if route.name == name), None)

    def keys(self) -> dict[TableKey, TableSpec]:
        """Return the configured tables by table key."""
        return dict(self._tables_by_key)

    def table_for(self, key: TableKey) -> TableSpec | None:
        """Return the configured table of that key, None for a discovered one."""
        return self._tables_by_key.get(key)

    def taker_of_name(self, name: str, key: TableKey) -> TableSpec | None:
        """Return the configured table that has the SQL name of a table which is not configured.

        None if there is none.
        """
        return None if key in self._tables_by_key else self._tables_by_name.get(name)

    def settings(self, key: TableKey) -> TableDefaults:
        """Return the settings of a table: those configured for it, or the lake's defaults."""
        return self.table_for(key) or self

    @property
    def discovery_registers(self) -> bool:
        """Whether Parquet of a folder that no table names is registered. Otherwise its rows are loaded."""
        return self.discovery is not None and self.discovery.parquet == "register"

    @cached_property
    def defaults(self) -> TableDefaults:
        """The settings of a table that is not configured."""
        return TableDefaults.model_construct(**{name: getattr(self, name) for name in TableDefaults.model_fields})

    @cached_property
    def _tables_by_key(self) -> dict[TableKey, TableSpec]:
        return {spec.table_key: spec for spec in self.tables}

    @cached_property
    def _tables_by_name(self) -> dict[str, TableSpec]:
        return {spec.name: spec for spec in self.tables}

    @cached_property
    def after_load_folders(self) -> list[str]:
        """The `s3://` folders to which `after_load` moves files, in order."""
        return sorted({folder for spec in self.tables if (folder := spec.moved_to)})

    @cached_property
    def output_roots(self) -> list[str]:
        """The `s3://` folders that the objects of outputs and exports are below, in order."""
        return sorted({folder for spec in self.tables if (folder := spec.output_root)})

    @cached_property
    def inventory_folders(self) -> list[str]:
        """The `s3://` folders to which S3 delivers inventories, in order, without those that are inside another."""
        return outermost_prefixes({spec.inventory for spec in self.tables if spec.inventory})

    @cached_property
    def tables_by_prefix(self) -> dict[str, tuple[list[str], list[TableSpec]]]:
        """By bucket, the prefixes of its tables in order, and the tables in the same order."""
        found: dict[str, tuple[list[str], list[TableSpec]]] = {}
        for key in sorted(self._tables_by_key):
            prefixes, specs = found.setdefault(key.bucket, ([], []))
            prefixes.append(key.prefix)
            specs.append(self._tables_by_key[key])
        return found

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """Return the JSON Schema of `lake.yaml`, for editors; published as `docs/lake.schema.json`."""
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            **cls.model_json_schema(),
            "title": "Tidegate lake.yaml",
        }


def _prefix_of_rows(data: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, str]:
    """Return the prefix of a table whose rows come in a queue. An invalid root or name has an error of its own."""
    if table.get("row_queue") is None:
        return {}
    lake = convert_value(LakeSpec, data.get("lake"))
    return {"prefix": rows_prefix(lake.root if lake else "s3://lake", convert_value(Name, table.get("name")) or "rows")}
