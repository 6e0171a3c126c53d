"""Batch n: the immutable, complete intent of one bronze commit."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from tidegate.platform.core.bronze.hint import Hint, hint_from_dict, hint_to_dict
from tidegate.platform.core.bronze.ledger import LedgerRow, Status
from tidegate.platform.core.errors import BadValue
from tidegate.platform.core.schema.column_types import Struct
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.stored_members import read_members, reading, require_format

FORMAT = 1

_Part = TypeVar("_Part")


@dataclass(frozen=True)
class Add:
    """A data file that the batch adds.

    Attributes:
        path: relative to the table's root, percent-encoded, as the Delta log has it.
        size: bytes.
        modification_time: epoch milliseconds.
        stats: Delta statistics as JSON text.
        etag: the source object's etag; None for a staged file.
        source_key: the registered object's key; None for a staged file.
    """

    path: str
    partition_values: dict[str, str | None]
    size: int
    modification_time: int
    stats: str
    etag: str | None = None
    source_key: str | None = None

    @property
    def records(self) -> int:
        """Number of rows in the file, from its statistics."""
        return int(json.loads(self.stats)["numRecords"])


@dataclass(frozen=True)
class Remove:
    """A live file entry that the batch removes.

    Attributes:
        dv_id: id of the entry's deletion vector. None if the entry has none.
    """

    path: str
    dv_id: str | None = None


@dataclass(frozen=True)
class OutputObject:
    """An object that the batch adds to an output.

    Attributes:
        staged: key under the lake root's bucket where the object was written.
        bucket: bucket of the output.
        key: key of the object in the output. No other batch has the key.
        size: bytes.
        rows: number of its rows.
    """

    staged: str
    bucket: str
    key: str
    size: int
    rows: int


@dataclass(frozen=True)
class Create:
    """The creation of the Delta table, in the first batch that adds files.

    Attributes:
        schema: the table's columns, in the form of `TableSchema.to_delta`.
        properties: Delta table properties.
        name: SQL name in the schema `bronze`.
    """

    schema: TableSchema
    properties: dict[str, str]
    name: str

    def to_dict(self) -> dict[str, Any]:
        """Return the creation in the batch object."""
        return {**_columns(self.schema), "properties": self.properties, "name": self.name}

    @classmethod
    def from_dict(cls, body: dict[str, Any]) -> Create:
        """Read the creation from a batch object.

        Raises:
            KeyError: a field is missing. Also `TypeError` and `AttributeError` for a body that is not a creation.
        """
        rest = dict(body)
        schema = TableSchema.from_spark(rest.pop("schema"), rest.pop("partition_columns"))
        return read_members(cls, rest, "a creation", schema=schema)


@dataclass(frozen=True)
class Adopt:
    """The taking over of a table of others, at the batch's `after_version`, by the first batch of a generation.

    Attributes:
        properties: Delta table properties that it gets.
        seed: `s3a://` URI of a folder with the ledger rows of the objects that were there before, as Parquet.
        rows: number of these rows.
        enter: whether objects that the log does not name go to the inbox. Their rows there have no status.
    """

    properties: dict[str, str]
    seed: str
    rows: int
    enter: bool = False


@dataclass(frozen=True)
class Evolve:
    """New columns, added in the batch whose files have them.

    The columns are structs and no `TableSchema`: a batch does not repeat which columns come from the path.

    Attributes:
        base: columns of the table when the batch was decided. If the table has other columns at the commit, the batch
            is void.
        schema: the table's columns from this batch on, in the form of `TableSchema.to_delta`.
        properties: table properties that the new columns need.
    """

    base: Struct
    schema: Struct
    properties: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return the new columns in the batch object."""
        return {
            "base": self.base.json(),
            "schema": self.schema.json(),
            "properties": self.properties,
        }

    @classmethod
    def from_dict(cls, body: dict[str, Any]) -> Evolve:
        """Read new columns from a batch object. Raises what `Create.from_dict` raises."""
        rest = dict(body)
        base, schema = (Struct(TableSchema.from_spark(rest.pop(name), ()).fields) for name in ("base", "schema"))
        return read_members(cls, rest, "new columns", base=base, schema=schema)


@dataclass(frozen=True)
class SignalDecision:
    """What a batch decided of a signal.

    Attributes:
        key: of the signal.
        waits_for: key of a part. A hint of it looks at the signal again. None if no part can complete the dataset.
    """

    key: str
    waits_for: str | None = None


@dataclass(frozen=True)
class Batch:
    """The intent of commit `n`. Exactly its content is committed and recorded.

    Attributes:
        table: table key.
        location: `s3a://` URI of the bronze table.
        after_version: Delta version of the bronze table in the ledger's last header. -1 while there is no table.
        rows: ledger rows of every hint that this batch decides.
        deferred: hints that this batch does not decide. They return to the inbox.
        manifests: ids of the manifests whose hints the batch takes. A batch takes whole manifests.
        objects: only for outputs: the objects that the commit copies to their place. Their table has no adds.
        columns: only for outputs of `mode: convert`: the columns of its files from this batch on. None while no file
            was written.
        sent_until: only for row-queue tables: when the newest row that this or an earlier batch may contain was sent,
            in epoch milliseconds.
        signals: completion signals that the batch decided.
    """

    lake: str
    table: str
    generation: str
    n: int
    location: str
    after_version: int
    manifests: tuple[str, ...]
    rows: tuple[LedgerRow, ...] = ()
    adds: tuple[Add, ...] = ()
    removes: tuple[Remove, ...] = ()
    deferred: tuple[Hint, ...] = ()
    create: Create | None = None
    adopt: Adopt | None = None
    evolve: Evolve | None = None
    objects: tuple[OutputObject, ...] = ()
    columns: TableSchema | None = None
    sent_until: int | None = None
    signals: tuple[SignalDecision, ...] = ()
    run_id: str = ""
    decided_at: str = ""
    digest: str = field(default="")

    @property
    def app_id(self) -> str:
        """Application id of the Delta transaction."""
        return f"tidegate:{self.lake}:{self.table}:{self.generation}"

    @property
    def commits(self) -> bool:
        """Whether the batch has a table to commit to.

        Before the table exists, a batch without files is recorded in the ledger only.
        """
        return self.create is not None or self.after_version >= 0

    @property
    def only_moves(self) -> bool:
        """Whether the batch only records files that after-load removed."""
        statuses = {row.status for row in self.rows}
        return Status.MOVED in statuses and statuses <= {Status.MOVED, Status.DUPLICATE}

    def counts(self) -> Counter[str]:
        """Count the ledger rows by status."""
        return Counter(str(row.status) for row in self.rows)

    def seal(self) -> Batch:
        """Return the batch with its digest set.

        The digest is the SHA-256 of the canonical JSON of everything else.
        """
        return replace(self, digest=_digest(self._body()))

    def to_json(self) -> str:
        """Return the body of the batch object.

        Raises:
            AssertionError: the batch is not sealed.
        """
        if not self.digest:
            raise AssertionError(f"batch {self.n} of {self.table} has no digest: seal it first")
        return _canonical({**self._body(), "digest": self.digest})

    @classmethod
    def from_json(cls, text: str | bytes, where: str) -> Batch:
        """Read a batch object.

        Args:
            where: the object's address, for error messages.

        Raises:
            BadValue: unknown format, missing field, or a digest that does not match. The message names `where`.
        """
        with reading(where, "a batch"):
            body: dict[str, Any] = json.loads(text)
            # The digest is of the text as it was written: an older version may have written more, or less, than this
            # version would.
            intact = body.get("digest") == _digest({name: value for name, value in body.items() if name != "digest"})
            require_format(body.pop("format"), FORMAT)
            body.pop("app_id")
            create, evolve, columns = body["create"], body.get("evolve"), body.get("columns")
            adopt = body.get("adopt")
            batch = read_members(
                cls,
                body,
                "a batch",
                create=create and Create.from_dict(create),
                adopt=adopt and read_members(Adopt, adopt, "an adoption"),
                evolve=evolve and Evolve.from_dict(evolve),
                manifests=tuple(body["manifests"]),
                rows=tuple(LedgerRow.from_dict(row) for row in body["rows"]),
                adds=_read_all(Add, body["adds"], "an added file"),
                removes=_read_all(Remove, body["removes"], "a removed file"),
                deferred=tuple(map(hint_from_dict, body["deferred"])),
                signals=_read_all(SignalDecision, body.get("signals", ()), "a signal"),
                objects=_read_all(OutputObject, body.get("objects", ()), "an object"),
                columns=columns and TableSchema.from_spark(columns["schema"], columns["partition_columns"]),
            )
        if not intact:
            raise BadValue(
                f"{where} was altered: its digest does not match its content. Batches are immutable; "
                "restore the object's first version"
            )
        return batch

    def _body(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "lake": self.lake,
            "table": self.table,
            "generation": self.generation,
            "n": self.n,
            "app_id": self.app_id,
            "location": self.location,
            "after_version": self.after_version,
            "create": self.create and self.create.to_dict(),
            # Omitted when unset, so that batches written by older versions keep their digest.
            **({"adopt": _adoption(self.adopt)} if self.adopt else {}),
            **({"evolve": self.evolve.to_dict()} if self.evolve else {}),
            **({"objects": [vars(item) for item in self.objects]} if self.objects else {}),
            **({"columns": _columns(self.columns)} if self.columns else {}),
            **({} if self.sent_until is None else {"sent_until": self.sent_until}),
            **({"signals": [vars(signal) for signal in self.signals]} if self.signals else {}),
            "adds": [vars(add) for add in self.adds],
            "removes": [vars(remove) for remove in self.removes],
            "rows": [row.to_dict() for row in self.rows],
            "deferred": [hint_to_dict(hint, with_empty=True) for hint in self.deferred],
            "manifests": list(self.manifests),
            "run_id": self.run_id,
            "decided_at": self.decided_at,
        }


def _adoption(adopt: Adopt) -> dict[str, Any]:
    return {name: value for name, value in vars(adopt).items() if value is not False}


def _columns(schema: TableSchema) -> dict[str, Any]:
    return {"schema": schema.to_spark(), "partition_columns": list(schema.partitions)}


def _read_all(cls: type[_Part], parts: Iterable[Mapping[str, Any]], what: str) -> tuple[_Part, ...]:
    return tuple(read_members(cls, part, what) for part in parts)


def _canonical(body: dict[str, Any]) -> str:
    return json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _digest(body: dict[str, Any]) -> str:
    return hashlib.sha256(_canonical(body).encode()).hexdigest()
