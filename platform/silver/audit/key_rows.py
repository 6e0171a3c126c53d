"""SQL of the rows of one key: in bronze as a merge sees them, and in silver."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from tidegate.platform.core.config.silver_columns import DELETED, KEY, ORDER, VALID_TO
from tidegate.platform.core.errors import BadValue
from tidegate.platform.core.schema.casts import cast
from tidegate.platform.core.schema.column_reference import path_of, type_at
from tidegate.platform.core.schema.column_types import Field, Struct, Type, grows, quote_name
from tidegate.platform.core.schema.comparable_values import comparable_value
from tidegate.platform.core.schema.exact_json import exact_json
from tidegate.platform.core.schema.field_alignment import align_value
from tidegate.platform.core.schema.sql_literal import literal
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.silver.audit.dumps import IncompleteDump
from tidegate.platform.core.silver.expectations import dropping_expectation_sql
from tidegate.platform.core.silver.key_values import is_missing_value, text_of, value_of
from tidegate.platform.core.silver.rules import MergeRules
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.spark.session import select
from tidegate.platform.lake.suppression import SecretProblem, Suppression
from tidegate.platform.silver.changes import PART
from tidegate.platform.silver.dumps.incomplete_dumps import incomplete_dumps, may_be_incomplete
from tidegate.platform.silver.newest_rows import older_than_truncate, order_struct, order_type
from tidegate.platform.silver.pending_merge import PendingMerge
from tidegate.platform.silver.row_queries import expression_types
from tidegate.platform.silver.table import silver_rules
from tidegate.platform.silver.truncate import TRUNCATED

#: The columns of the query that are not columns of silver.
N, FILE, DATA_FILE, BLOCK, SKIPPED, TRUNCATES, VIOLATED, LEFT = (
    f"_tidegate_{name}" for name in ("n", "path", "part", "block", "skipped", "truncates", "violated", "left")
)
#: The column of a view of keys, with the hash of each.
HASH = "_tidegate_hash"


@dataclass(frozen=True)
class KeyRows:
    """Queries of the rows of a silver table's keys.

    Attributes:
        work: the tables.
        suppression: the persons who were forgotten, whose rows a merge leaves out. None if there are none, or if the
            list cannot be applied here.
    """

    work: PendingMerge
    rules: MergeRules
    suppression: Suppression | None = None

    @classmethod
    def from_lake(cls, lake: Lake, work: PendingMerge) -> KeyRows:
        """Return the queries for the tables as they are.

        Raises:
            ValueError: bronze or silver does not fit the rules of `lake.yaml`.
        """
        try:
            suppression = lake.suppression(work.table.spec)
        except SecretProblem:
            suppression = None  # only a merge has the secret
        return cls(
            work, silver_rules(work, partial(expression_types, lake.delta.session, work.bronze_location)), suppression
        )

    @property
    def is_registered(self) -> bool:
        """Whether bronze's rows do not have their batch."""
        return self.work.table.birth is not None and self.work.table.birth.registered

    @property
    def keys_are_of_bronze(self) -> bool:
        """Whether a condition on the key is one over bronze's own columns, with the same values."""
        roots = [part.column[0] if part.column else "" for part in self.rules.keys]
        return self.rules.row is None and all(self.rules.values.get(name) == quote_name(name) for name in roots)

    @property
    def merged_version(self) -> int | None:
        """Delta version of bronze with the batch that silver holds. None if it is not known."""
        header = self.work.table.ledger.header(self.work.ledger.version, self.work.mark or 0)
        return None if header is None or header.bronze_version < 0 else header.bronze_version

    def bronze(self, view: str) -> str:
        """Return a query of bronze's rows as rows of silver, with the columns of where they came from.

        Everything in it is deterministic, so Spark moves a condition on the key down to the scan, which leaves out the
        files whose statistics exclude the key.

        Args:
            view: bronze, with `FILE`, `DATA_FILE` and `BLOCK`, and the batch as `N`.
        """
        rules = self.rules
        values = [f"{value} AS {quote_name(column)}" for column, value in rules.values.items() if column != KEY]
        skipped, truncates = (f"coalesce({rule or 'false'}, false)" for rule in (rules.skipped, rules.truncated))
        own = [f"{rules.deleted} AS {DELETED}", f"{skipped} AS {SKIPPED}", f"{truncates} AS {TRUNCATES}"]
        own.append(f"{dropping_expectation_sql(rules.expectations)} AS {VIOLATED}")
        left = (f"if({condition}, {literal(name)}, NULL)" for name, condition in rules.kept.items())
        own.append(f"array_compact(CAST(array({', '.join(left)}) AS array<string>)) AS {LEFT}")
        rows = f"SELECT {', '.join([*values, *own, N, FILE, DATA_FILE, BLOCK])} FROM {rules.add_row_value(view)}"
        return f"SELECT *, {rules.values[KEY]} AS {KEY} FROM ({rows})" if KEY in rules.values else rows

    def view(self, relation: str) -> str:
        """Return a query of bronze with the columns that `bronze` needs."""
        n, file, part = (
            ("CAST(NULL AS BIGINT)", "_metadata.file_path", "''")
            if self.is_registered
            else ("_batch", "_source_path", PART)
        )
        own = f"{n} AS {N}, {file} AS {FILE}, {part} AS {DATA_FILE}, _metadata.file_block_start AS {BLOCK}"
        return f"SELECT *, {own} FROM {relation}"

    def sample_bronze(self, view: str) -> str:
        """Return `bronze` of some files, which the view of a batch has. Their files and blocks are not known."""
        n = "CAST(NULL AS BIGINT)" if self.is_registered else "_batch"
        rows = f"SELECT * EXCEPT (_tidegate_n, _tidegate_path, _tidegate_row) FROM {view}"
        return self.bronze(f"(SELECT *, {n} AS {N}, '' AS {FILE}, '' AS {DATA_FILE}, 0L AS {BLOCK} FROM ({rows}))")

    def key_hash(self, seed: int) -> str:
        """Return SQL of a hash of the key of a row of `bronze`, or of silver."""
        parts = []
        for place, part in enumerate(self.rules.keys):
            own = self.key_type(place)
            kind = self._wider_type(part.column, own) if part.column else own
            parts.append(cast(own, kind, part.path))
        return f"xxhash64({', '.join([*parts, f'{seed}L'])})"

    def select_keys(self, relation: str, view: str, seed: int) -> str:
        """Return a query of those rows of a relation whose key is in a view of hashes."""
        return f"SELECT r.* FROM {relation} r LEFT SEMI JOIN {view} k ON {self.key_hash(seed)} = k.{HASH}"

    def condition(self, values: Sequence[str | None]) -> str:
        """Return the condition that a row has a key. It is over the columns of silver."""
        return " AND ".join(
            f"{part.path} IS NULL" if value is None else f"{part.path} = {value_of(self.key_type(place), value)}"
            for place, (part, value) in enumerate(zip(self.rules.keys, values, strict=True))
        )

    def check(self, lake: Lake, values: Sequence[str | None]) -> None:
        """Check that the values can be values of the key.

        Raises:
            BadValue: one of them is not a value of its type.
        """
        given = [(place, value) for place, value in enumerate(values) if value is not None]
        tries = [is_missing_value(self.key_type(place), value) for place, value in given]
        if not tries:
            return
        wrong = select(lake.delta.session, f"SELECT {', '.join(tries)}").collect()[0]
        for (place, value), is_wrong in zip(given, wrong, strict=True):
            if is_wrong:
                key = self.work.spec.keys[place]
                raise BadValue(f"{key} is {self.key_type(place).sql()}, and {value!r} is not such a value")

    def key_type(self, place: int) -> Type:
        """Return the type of a part of the key."""
        part = self.rules.keys[place]
        if part.column:
            return type_at(part.column, self.rules.columns)
        own = type_at((KEY,), self.rules.columns)
        return own.fields[place].type if isinstance(own, Struct) else own

    def common_values(self, *, silver: bool, is_hashed: bool = False, with_kept: bool = True) -> str:
        """Return SQL of the values that bronze and silver have in common, as JSON.

        If silver has the newest row of each key, it lacks structs with a field that bronze lacks: silver may have them
        of older rows.

        Args:
            silver: over a row of silver; otherwise over a row of `bronze`, whose values get silver's types.
            is_hashed: the JSON has a hash of each value.
            with_kept: the JSON has the values of columns that a row may leave as they are.
        """
        found = self._values(silver=silver, is_hashed=is_hashed).items()
        values = (f"{value} AS {quote_name(name)}" for name, value in found if with_kept or name not in self.rules.kept)
        return exact_json(f"struct({', '.join(values)})")

    def kept_hashes(self, *, silver: bool) -> str:
        """Return SQL of a list: the hash `v` of each value that a row may leave as it is, and whether it is `left`.

        Args:
            silver: as for `common_values`. Silver's rows leave nothing.
        """
        found = self._values(silver=silver, is_hashed=True)
        values = (
            f"struct({'false' if silver else f'array_contains({LEFT}, {literal(name)})'} AS left, {found[name]} AS v)"
            for name in self.rules.kept
            if name in found
        )
        return f"CAST(array({', '.join(values)}) AS array<struct<left: boolean, v: bigint>>)"

    def _values(self, *, silver: bool, is_hashed: bool) -> dict[str, str]:
        values = {}
        for field in self.rules.columns:
            have = self.work.silver.schema.find_column(field.name)
            if field.name in (KEY, ORDER) or have is None:
                continue
            if self.rules.history is None and _lacks(field, have):
                continue
            value = quote_name(field.name)
            if not silver:
                value = f"CAST({align_value(field.type, have.type, value)} AS {have.type.sql()})"
            if is_hashed:
                text = exact_json(f"struct({comparable_value(have.type, value)} AS v)")
                value = f"if({value} IS NULL, NULL, xxhash64({text}))"
            values[field.name] = value
        return values

    def is_truncated(self) -> str:
        """Return the condition that a row is older than the table's newest truncate."""
        found = self.work.silver.properties.get(TRUNCATED)
        return "false" if found is None else f"coalesce({older_than_truncate(self.rules, ORDER, found)}, false)"

    @property
    def key(self) -> str:
        """SQL of the key of a row: the text of each part, as JSON of a list."""
        return self.key_json(part.path for part in self.rules.keys)

    def key_json(self, parts: Iterable[str]) -> str:
        """Return SQL of a key as `key` has it.

        Args:
            parts: SQL of the parts of the key.
        """
        return f"to_json(array({', '.join(text_of(self.key_type(place), part) for place, part in enumerate(parts))}))"

    @property
    def order(self) -> str:
        """SQL of the order of a row of `bronze`, or of silver, as JSON."""
        return self._order_json(part.path for part in self.rules.order)

    @property
    def order_type(self) -> str:
        """The SQL type of the struct that an order is."""
        return order_type(self._order_types)

    def incomplete_dumps(self, lake: Lake, mark: int, version: int | None = None) -> tuple[IncompleteDump, ...]:
        """Return the full dumps that imply no deletes, with their orders as `order` has them.

        Args:
            mark: last batch that silver holds.
            version: Delta version of bronze. None: the newest.
        """
        if not may_be_incomplete(lake.delta, self.work.table.ledger, self.rules):
            return ()
        n, order = min(mark, self.work.n), self._order_json(self.rules.order_values)
        return incomplete_dumps(lake.delta.session, self.work, self.rules, n, order=order, version=version)

    def order_of_time(self, column: str) -> str:
        """Return SQL of a time of a history as the order that it is, as JSON. NULL if there is none.

        Args:
            column: `valid_from` or `valid_to`.
        """
        names = self.rules.history.names if self.rules.history else ()
        text = self._order_json([f"{column}.{quote_name(name)}" for name in names] or [column])
        return f"if({column} IS NULL, NULL, {text})" if column == VALID_TO else text

    def _order_json(self, parts: Iterable[str]) -> str:
        casts = (f"CAST({part} AS {kind.sql()})" for part, kind in zip(parts, self._order_types, strict=True))
        return exact_json(order_struct(casts))

    @property
    def _order_types(self) -> list[Type]:
        """The types of the parts of the order: those of silver, or wider ones that bronze has by now."""
        pairs = zip(self.rules.order_types, self.rules.order_paths, strict=True)
        return [self._wider_type(path, own) for own, path in pairs]

    def _wider_type(self, path: Sequence[str], own: Type) -> Type:
        """Return the type of a column of silver, or that of bronze if it is wider by now."""
        have = self.work.silver.schema.fields
        stored = path_of(".".join(path), have)
        theirs = own if stored is None else type_at(stored, have)
        return own if grows(theirs, own) else theirs


def _lacks(field: Field, have: Field) -> bool:
    """Return whether a struct of silver has a field that bronze lacks. It keeps its value."""
    return any(True for _ in TableSchema((field,)).missing_fields((Field(field.name, have.type),)))
