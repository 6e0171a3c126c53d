"""The configuration of one table."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, ValidationInfo, field_validator, model_validator

from tidegate.platform.core.bronze.plan import RowsOfObjects
from tidegate.platform.core.config.after_load import AfterLoad, move_target, removes_source
from tidegate.platform.core.config.cluster_rules import clustering_problem
from tidegate.platform.core.config.csv_options import CsvOptions
from tidegate.platform.core.config.fields import (
    ClusterColumns,
    Folder,
    Name,
    Owner,
    Prefix,
    SignalPattern,
    SimpleType,
    Text,
    Type,
)
from tidegate.platform.core.config.inventories import InventoriesSpec, StorageReportsSpec, inventory_problem
from tidegate.platform.core.config.output import OutputSpec, output_problem
from tidegate.platform.core.config.overwrite_options import OnOverwrite, OnRemoved, rows_problem
from tidegate.platform.core.config.personal import PersonalSpec
from tidegate.platform.core.config.queues import RowQueueSpec
from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.config.silver_columns import reserved_in_bronze
from tidegate.platform.core.config.table_defaults import TableDefaults
from tidegate.platform.core.config.text_options import JsonOptions, TextOptions
from tidegate.platform.core.errors import BadSetting, Misfit
from tidegate.platform.core.events.row_queue import ROW_COLUMNS
from tidegate.platform.core.keys.file_format import (
    FORMATS,
    FormatName,
    Mode,
    OutputMode,
    mode_of,
    output_mode,
    with_mode,
)
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.schema.column_reference import is_expression, root_of
from tidegate.platform.core.schema.column_statistics import is_personal
from tidegate.platform.core.schema.column_types import fold_name
from tidegate.platform.core.schema.names import RESCUED_COLUMN, SOURCE_COLUMNS, VARIANT_COLUMN, check_columns

_MODE_EFFECTS: Mapping[Mode, str] = {
    "register": "registered",
    "load": "loaded",
    "inventory": "read as inventories",
    "repartition": "repartitioned",
    "convert": "converted",
    "concatenate": "concatenated",
}


def _require_one_source(schema: dict[str, Any]) -> None:
    schema["required"] = ["name"]
    schema["oneOf"] = [{"required": ["prefix"]}, {"required": ["row_queue"]}]


class TableSpec(TableDefaults):
    """One table: where its files or rows come from, and how they are ingested. Either `prefix` or `row_queue`."""

    # Every table has a prefix. For row-queue tables it is derived before validation.
    model_config = ConfigDict(json_schema_extra=_require_one_source)

    name: Name
    """SQL name: `bronze.<name>`, `silver.<name>`, `ledger.<name>`."""
    row_queue: RowQueueSpec | None = None
    """A queue of the table's own whose messages are its rows: each body is one JSON object."""
    prefix: Prefix
    """`s3://bucket/folder/` that holds the table's files, with its trailing "/"."""
    format: FormatName | None = None
    """Format of the files; by default each file's ending gives it."""
    mode: Mode | None = None
    """`register`: Parquet files join the table where they are (write-once keys). `load`: rows are copied.
    `repartition`: the rows of JSON files become fewer, larger objects of `output`, and there is no table.
    `convert`: the rows become Parquet files of `output`. `concatenate`: small Parquet files become fewer, larger ones.
    `inventory`: the files are deliveries of S3 Inventory, and each replaces the rows of its bucket and configuration.
    By default Parquet is registered, and each other format is loaded."""
    output: OutputSpec | None = None
    """Where the rows go with `mode: repartition`, `convert` or `concatenate`."""
    columns: dict[Text, Type] = Field(default_factory=dict)
    """Spark SQL types of columns, instead of the inferred ones, at the table's birth."""
    partition_columns: dict[Text, SimpleType] = Field(default_factory=dict)
    """Spark SQL types of the `k=v` folders, all of them or none; string each where none is given."""
    widen: bool = False
    """Whether a file with a wider type makes the column wider, such as `int` to `bigint`. Few other readers read such a
    table."""
    csv: CsvOptions = CsvOptions()
    """How the table's CSV files differ from RFC 4180."""
    text: TextOptions | None = None
    """How the lines of text files become rows. Needed with `format: text`."""
    json_options: Annotated[JsonOptions, Field(alias="json")] = JsonOptions()
    """Where the table's JSON files have their rows."""
    inventory: Folder | None = None
    """`s3://` folder in which S3 delivers an inventory of the bucket, which is read instead of listing the prefix."""
    inventories: InventoriesSpec | None = None
    """The buckets whose inventories a table with `mode: inventory` should have. `tidegate inventory enable` configures
    them. By default they are configured by hand."""
    storage_reports: StorageReportsSpec | None = None
    """Reports on what the objects in a table with `mode: inventory` cost; none when absent."""
    completion: SignalPattern | None = None
    """Name of the completion signals: `_SUCCESS`, `manifest.json`, `*manifest`, `manifest.checksum` or another. The
    files of a dataset enter together, when all of them and the signal are there. By default each file enters alone."""
    arrives_every: Annotated[int, Field(ge=60)] | None = None
    """Seconds within which new data is expected. If none arrives, Dagster shows the table as stale."""
    owners: tuple[Owner, ...] = ()
    """Owners shown by Dagster: `team:<name>` or an email address."""
    description: Text | None = None
    """Description shown by Dagster."""
    descriptions: dict[Text, Text] = Field(default_factory=dict)
    """Descriptions of columns of bronze and silver, by name, shown by Dagster and Glue."""
    cluster_by: ClusterColumns | None = None
    """Up to four columns of a loaded table by which maintenance sorts its rows into files, so that a query for some of
    their values reads few files. With none in the list, the table is clustered by none; without the list it stays as
    it is."""
    after_load: AfterLoad = "keep"
    """What happens to a file after its rows are in the table: `keep`, `delete`, `move` to a folder, or `tag`."""
    silver: SilverSpec | None = None
    """The silver table; none when absent."""
    personal: PersonalSpec | None = None
    """The columns that say something of a person."""
    on_overwrite: OnOverwrite = "append"
    """What a loaded table does if a file is written again under its key with other content. `append`: its rows are
    added, and the earlier ones stay. `replace`: the earlier rows of the key leave in the same commit."""
    on_removed: OnRemoved = "keep"
    """What a loaded table does if a file is gone: `keep` its rows, or `delete` them."""

    @field_validator("format")
    @classmethod
    def _check_format_policy(cls, format: FormatName | None, info: ValidationInfo) -> FormatName | None:
        if info.data.get("policy") == "variant" and format != "json":
            raise BadSetting("`schema: variant` is for JSON: use `format: json`, or remove `schema`")
        if info.data.get("policy") == "rescue" and format not in ("json", "csv"):
            raise BadSetting(
                "`schema: rescue` is for JSON and CSV: use `format: json` or `format: csv`, or remove `schema`. Files "
                "of other formats declare their columns, and a file that does not fit is refused as a whole"
            )
        return format

    @field_validator("columns", "partition_columns")
    @classmethod
    def _check_columns_policy(cls, columns: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        policy = info.data.get("policy")
        for name in columns:
            if policy == "variant" and fold_name(name) == VARIANT_COLUMN:
                raise BadSetting(
                    f"{name} is the column that has the whole objects (`schema: variant`); remove it here. A field of "
                    f"that name is in the objects: {VARIANT_COLUMN}:{VARIANT_COLUMN}"
                )
            if policy == "rescue" and fold_name(name) == RESCUED_COLUMN:
                raise BadSetting(f"{name} is the column that `schema: rescue` adds; remove it here")
        return columns

    @field_validator("widen")
    @classmethod
    def _check_widen(cls, widen: bool, info: ValidationInfo) -> bool:
        if widen and (info.data.get("row_queue") or info.data.get("format") in ("csv", "json", "text")):
            raise BadSetting(
                "only files that declare the types of their columns (Parquet, ORC, Avro) make columns wider; name the "
                "wide types of text files under `columns`"
            )
        return widen

    @field_validator("format", "mode", "csv", "text", "json_options", "partition_columns")
    @classmethod
    def _refuse_row_options(cls, value: Any, info: ValidationInfo) -> Any:
        # Called only for fields of lake.yaml: defaults are not validated.
        if info.data.get("row_queue"):
            raise BadSetting("the rows of a row queue are JSON lines without folders, and loaded; remove it")
        return value

    @field_validator("inventory")
    @classmethod
    def _refuse_own_inventory(cls, inventory: str | None, info: ValidationInfo) -> str | None:
        if info.data.get("row_queue"):
            raise BadSetting("the files of a row queue are below the lake root, and are few; remove it")
        return inventory

    @field_validator("completion")
    @classmethod
    def _check_completion(cls, completion: str | None, info: ValidationInfo) -> str | None:
        if info.data.get("row_queue"):
            raise BadSetting("the rows of a row queue come one by one, without signals; remove it")
        if completion and "format" in info.data and info.data["format"] is None:
            raise BadSetting("it needs `format`: the ending of a signal does not give the format of the files")
        return completion

    @field_validator("columns")
    @classmethod
    def _require_foreign_names(cls, columns: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        ours = [name for name in columns if fold_name(name) in ROW_COLUMNS] if info.data.get("row_queue") else []
        if ours:
            raise BadSetting(f"{ours[0]} is a column that Tidegate adds to the rows of a row queue; remove it")
        return columns

    @field_validator("mode")
    @classmethod
    def _check_mode(cls, mode: Mode | None, info: ValidationInfo) -> Mode | None:
        format = info.data.get("format")
        if mode and mode != "inventory" and format and mode not in FORMATS[format].modes:
            able, done = " and ".join(with_mode(mode)), _MODE_EFFECTS[mode]
            raise BadSetting(f"only {able} files can be {done}, {format} files must be loaded: use `mode: load`")
        return mode

    @field_validator("silver")
    @classmethod
    def _prefer_own_order(cls, silver: SilverSpec | None, info: ValidationInfo) -> SilverSpec | None:
        """Take a column that Tidegate adds to loaded rows for an expression in `order`: silver does not have it."""
        mode, format = info.data.get("mode"), info.data.get("format")
        loads = info.data.get("row_queue") or (mode or (mode_of(format) if format else None)) == "load"
        if silver is None or not loads:
            return silver
        order = tuple(f"({part})" if fold_name(part) in SOURCE_COLUMNS else part for part in silver.order)
        return silver if order == silver.order else silver.model_copy(update={"order": order})

    @field_validator("silver")
    @classmethod
    def _merges_columns(cls, silver: SilverSpec | None, info: ValidationInfo) -> SilverSpec | None:
        given = info.data
        if silver is None or silver.row is not None or given.get("policy") != "variant":
            return silver
        if silver.preset is not None:
            raise BadSetting(
                f"`from: {silver.preset}` reads columns, which `schema: variant` does not have: remove `schema`, or "
                "give `row`, `order` and `apply_as_deletes` by hand"
            )
        named = (*given.get("columns", {}), *given.get("partition_columns", {}), *SOURCE_COLUMNS)
        known = {fold_name(name) for name in (*named, *(ROW_COLUMNS if given.get("row_queue") else ()))}
        # Keys are columns of silver, which these options make. `order` is over a row of bronze.
        made = {fold_name(name) for name in (*silver.rename.values(), *silver.derive)}
        missing = [
            name
            for names, columns in ((silver.keys, known | made), (silver.order, known))
            for name in names
            if not is_expression(name) and fold_name(root_of(name, tuple(columns))) not in columns
        ]
        if missing:
            raise BadSetting(
                f"{missing[0]} is only in the objects (`schema: variant`), and silver needs it as a column: give it a "
                "type under `columns`"
            )
        return silver

    @field_validator("on_overwrite", "on_removed")
    @classmethod
    def _check_rows_can_leave(cls, value: str, info: ValidationInfo) -> str:
        if value in ("append", "keep"):
            return value
        given = info.data
        mode, format = given.get("mode"), given.get("format")
        known = mode or (mode_of(format) if format else None)
        problem = rows_problem(
            f"{info.field_name}: {value}",
            registers=None if known is None else known == "register",
            has_rows=bool(given.get("row_queue")),
            completion=given.get("completion"),
            cluster_by=given.get("cluster_by") or (),
            silver=given.get("silver"),
        )
        if value == "delete" and removes_source(given.get("after_load", "keep")):
            problem = problem or (
                "after_load removes files whose rows should stay, and `on_removed: delete` removes the rows of files "
                "that are gone; use one of them"
            )
        if problem:
            raise BadSetting(problem)
        return value

    @field_validator("personal")
    @classmethod
    def _refuse_personal_paths(cls, personal: PersonalSpec | None, info: ValidationInfo) -> PersonalSpec | None:
        folders = {fold_name(name) for name in info.data.get("partition_columns") or {}}
        if personal and (found := sorted(folders & personal.paths)):
            raise BadSetting(
                f"{found[0]} is in `partition_columns`: its values are in the keys of the files, and so in the log, "
                "the ledger and the events, where nothing removes them. Partition by another column"
            )
        return personal

    @model_validator(mode="after")
    def _has_format(self) -> Self:
        if self.format is not None or self.row_queue:
            return self
        if self.policy == "variant":
            raise BadSetting("`schema: variant` needs `format: json`: files of other formats cannot enter such a table")
        if self.policy == "rescue":
            raise BadSetting(
                "`schema: rescue` needs `format: json` or `format: csv`: only rows of text can be rescued in part"
            )
        return self

    @model_validator(mode="after")
    def _has_lines(self) -> Self:
        if self.format == "text" and self.text is None:
            raise BadSetting(
                "`format: text` needs `text`: `{preset: …}` for a log of AWS, or `{pattern: …}` with a regular "
                "expression of a line"
            )
        if self.text is not None and self.format != "text":
            raise BadSetting("`text` is for text files: add `format: text`, or remove `text`")
        if self.json_options.records and (
            self.format not in ("json", None) or self.mode in ("register", "concatenate")
        ):
            raise BadSetting("`json: {records: …}` is for JSON files that are loaded: add `format: json`, or remove it")
        return self

    @model_validator(mode="after")
    def _check_inventory_options(self) -> Self:
        if problem := inventory_problem(self.mode, {name: getattr(self, name) for name in self.model_fields_set}):
            raise BadSetting(problem)
        return self

    @model_validator(mode="after")
    def _check_output_options(self) -> Self:
        given = {name: getattr(self, name) for name in self.model_fields_set}
        if problem := output_problem(self.mode, self.format, self.output, given):
            raise BadSetting(problem)
        return self

    @model_validator(mode="after")
    def _check_removal(self) -> Self:
        if self.personal is None or not self.personal.subject:
            return self
        if self.registers is not False:
            raise BadSetting(
                "a person's rows can leave a loaded table only, because a registered table reads the files of its "
                "producer: use `mode: load`, or name columns without `subject`"
            )
        named = {fold_name(name) for name in (*self.columns, *SOURCE_COLUMNS, *ROW_COLUMNS)}
        unknown = [name for name in self.personal.subject if fold_name(root_of(name, tuple(named))) not in named]
        if self.policy == "variant" and unknown:
            raise BadSetting(
                f"{unknown[0]} is only in the objects (`schema: variant`), and a subject must be a column: give it a "
                "type under `columns`"
            )
        return self

    @model_validator(mode="after")
    def _check_after_load(self) -> Self:
        if self.after_load == "keep":
            return self
        if self.registers:
            raise BadSetting("after_load is for loaded tables: a registered table reads its files where they are")
        if self.registers is None:
            raise BadSetting("after_load needs `mode: load`: without it, Parquet files would be registered")
        if removes_source(self.after_load) and self.silver and self.silver.on_removed == "full":
            raise BadSetting(
                "after_load removes files, and silver's `on_removed: full` would remove the rows of files that are "
                "gone; use one of them"
            )
        return self

    @model_validator(mode="after")
    def _check_clustering(self) -> Self:
        if problem := clustering_problem(self.registers, self.cluster_by or (), self.partition_columns):
            raise BadSetting(f"cluster_by {problem}")
        silver = self.silver.cluster_by if self.silver else ()
        for option, names in (("cluster_by", self.cluster_by), ("`cluster_by` of silver", silver)):
            if personal := [name for name in names or () if is_personal(root_of(name), self.unmeasured_columns)]:
                raise BadSetting(
                    f"{option} names {personal[0]}, which is personal: files are found by the bounds of their values, "
                    "and Delta keeps none of personal columns; use another column"
                )
        return self

    @model_validator(mode="after")
    def _refuse_own_silver_columns(self) -> Self:
        ours = () if self.registers else SOURCE_COLUMNS
        for option, columns in (("columns", self.columns), ("partition_columns", self.partition_columns)):
            try:
                check_columns(columns.keys(), ours=ours, reserved=reserved_in_bronze(self.silver))
            except Misfit as misfit:
                raise BadSetting(f"`{option}`: {misfit}") from None
        return self

    @cached_property
    def table_key(self) -> TableKey:
        """The table key of the prefix."""
        return TableKey.from_uri(self.prefix)

    @property
    def registers(self) -> bool | None:
        """Whether the files are registered; None if the ending of the first file decides."""
        if self.row_queue:
            return False
        mode = self.mode or (mode_of(self.format) if self.format else None)
        return None if mode is None else mode == "register"

    @property
    def output_mode(self) -> OutputMode | None:
        """The mode in which its rows become objects of an output. None if it is a table."""
        return output_mode(self.mode)

    @property
    def has_inventories(self) -> bool:
        """Whether its files are deliveries of S3 Inventory."""
        return self.mode == "inventory"

    @property
    def rows_of_objects(self) -> RowsOfObjects:
        """What the rows of an object do after the object has changed."""
        return RowsOfObjects(replaced=self.on_overwrite == "replace", removed=self.on_removed == "delete")

    @property
    def subject_kind(self) -> str | None:
        """The kind of the persons that its rows are of. None if it does not say whose a row is."""
        return self.personal.kind if self.personal and self.personal.subject else None

    @property
    def unmeasured_columns(self) -> frozenset[str]:
        """The lower-case names, or paths of nested fields, of personal columns: Delta keeps no statistics of them."""
        return self.personal.paths if self.personal else frozenset()

    @property
    def output_root(self) -> str | None:
        """The `s3://` folder that the objects of its output, or of the export of its silver table, are below."""
        if self.silver and self.silver.export:
            return self.silver.export.folder
        return self.output.template.root if self.output else None

    @property
    def exports(self) -> bool:
        """Whether the changes of its silver table are exported."""
        return self.silver is not None and self.silver.export is not None

    @property
    def output_typed(self) -> bool:
        """Whether the folder of its output has the event type."""
        return self.output is not None and self.output.template.typed

    @property
    def has_rows(self) -> bool:
        """Whether the table's rows come in a queue of its own."""
        return self.row_queue is not None

    @property
    def moved_to(self) -> str | None:
        """The `s3://` folder that files are moved to after they were loaded."""
        return move_target(self.after_load)

    def resolve_format(self, format: FormatName) -> TableSpec:
        """Return this table with its format and mode filled in.

        Args:
            format: the format that the ending of a file gives."""
        known = self.format or format
        return self.model_copy(update={"format": known, "mode": self.mode or mode_of(known)})
