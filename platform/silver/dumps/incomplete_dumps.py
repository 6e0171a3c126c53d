"""Full dumps of which rows are in quarantine: they imply no deletes.

Which dumps these are follows from the ledger and bronze alone, as of a batch. So a merge, a rebuild and a comparison of
silver with bronze agree about them, whenever they run.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from pyspark.errors import ArithmeticException, DateTimeException, NumberFormatException, SparkRuntimeException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.bronze.ledger import Status
from tidegate.platform.core.errors import BadValue
from tidegate.platform.core.keys.object_key import partition_values
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.schema.casts import cast
from tidegate.platform.core.schema.column_types import Field, Simple, quote_name
from tidegate.platform.core.schema.exact_json import exact_json
from tidegate.platform.core.schema.names import SOURCE_COLUMNS
from tidegate.platform.core.schema.partitions import check_partition
from tidegate.platform.core.schema.sql_literal import delta_table, literal
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.silver.audit.dumps import MAX_NAMES, IncompleteDump
from tidegate.platform.core.silver.rules import MergeRules
from tidegate.platform.lake.ledger import Ledger, state_change_condition
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.session import select
from tidegate.platform.lake.spark.temporary_view import temporary_view
from tidegate.platform.silver.changes import Changes, gather_changes
from tidegate.platform.silver.newest_rows import order_struct
from tidegate.platform.silver.pending_merge import Aim, PendingMerge

#: Files that are in quarantine as a whole. The dump of each is looked up by its key.
_MAX_WHOLE_FILES = 10_000
#: Errors of an expression that has no value for a key.
_NO_VALUE = (ArithmeticException, DateTimeException, NumberFormatException, SparkRuntimeException)
#: Conditions of decisions: all rows of the file are in quarantine, or some rows of these bytes.
_IS_WHOLE = f"status = '{Status.QUARANTINED}'"
_IS_PARTLY = f"status = '{Status.COMMITTED}' AND bad_rows > 0"


@contextmanager
def with_incomplete_dumps(delta: Delta, work: PendingMerge, rules: MergeRules, changes: Changes) -> Iterator[Changes]:
    """Yield the changes with the dumps that imply no deletes.

    If a dump that silver has is one of them by now, or is none any more, silver has deletes that it should not have, or
    the other way round. Then all of bronze is merged again.
    """
    if not may_be_incomplete(delta, work.table.ledger, rules):
        yield changes
        return
    session = delta.session
    found = incomplete_dumps(session, work, rules, changes.n)
    if changes.why_full is None and work.mark is not None:
        before = incomplete_dumps(session, work, rules, work.mark)
        changed = {dump.order for dump in found} ^ {dump.order for dump in before}
        if changed and _has_merged(session, work.table.birth, rules, sorted(changed), work.mark):
            again = replace(work, aim=Aim.REREAD)
            with gather_changes(delta, again) as everything:
                found = incomplete_dumps(session, work, rules, everything.n)
                yield replace(everything, dumps=replace(everything.dumps, incomplete=found))
            return
    yield replace(changes, dumps=replace(changes.dumps, incomplete=found))


def may_be_incomplete(delta: Delta, ledger: Ledger, rules: MergeRules) -> bool:
    """Return whether a row of a dump may be in quarantine, by the statistics in the ledger's log, without a query."""
    return rules.are_dumps and delta.may_have_quarantined([ledger.location])[0]


def incomplete_dumps(
    session: SparkSession,
    work: PendingMerge,
    rules: MergeRules,
    upto: int,
    *,
    order: str | None = None,
    version: int | None = None,
) -> tuple[IncompleteDump, ...]:
    """Return the dumps that imply no deletes, as of a batch.

    A key may have another dump each time that it is written, so a row in quarantine is one of a reading: of a key in a
    batch. For each file and dump, the last reading that has rows of both decides. Of a file that is in quarantine as a
    whole, the key may show the dump: by its folders, or by its address. If it does not, every dump with a row of the
    same batch counts of which the file has no rows. If that batch has no row, the batches next to it count.

    Args:
        session: reads the tables.
        work: the tables.
        upto: the batch.
        order: SQL of the order of a row of bronze, as JSON. None: that of the rules.
        version: Delta version of bronze. None: the newest.

    Raises:
        ValueError: more than `_MAX_WHOLE_FILES` files are in quarantine as a whole.
    """
    if not rules.are_dumps:
        return ()
    is_decision = (F.col("kind") == "row") & (F.col("status") != str(Status.DUPLICATE)) & (F.col("n") <= upto)
    decided = work.table.ledger.rows(work.ledger.version).where(is_decision)
    if decided.where(f"{_IS_WHOLE} OR {_IS_PARTLY}").isEmpty():
        return ()
    order = order or exact_json(order_struct(rules.order_values))
    # A request that S3 refused says nothing of a file that entered before. It counts if nothing else is known.
    newest = F.struct(state_change_condition(), "n", "position")
    last = F.max_by(F.struct("status", "etag"), newest).alias("last")
    states = decided.groupBy("key").agg(last).select("key", "last.*")
    found: dict[str, IncompleteDump] = {}

    def add(order: str, n: int, files: int, rows: int, names: Sequence[str]) -> None:
        found[order] = found.get(order, IncompleteDump(order, 0)).with_files(n, files, rows, names)

    unknown: dict[int, list[str]] = {}
    for n, of_key, address in _whole_files(session, work, rules, states, decided, order):
        if of_key is None:
            unknown.setdefault(n, []).append(address)
        else:
            add(of_key, n, 1, 0, [address])
    if not _birth(work.table.birth).registered:
        bronze = _bronze(work.table.birth, rules, upto, version)
        for o, n, names in _dumps_of_files(session, bronze, order, unknown) if unknown else ():
            add(o, n, len(names), 0, names)
        for row in _partly_quarantined_dumps(session, work.table.key, bronze, order, decided):
            add(row["o"], row["n"], row["files"], row["rows"], row["names"])
    return tuple(sorted(found.values(), key=lambda dump: dump.order))


def _birth(birth: Birth | None) -> Birth:
    if birth is None:
        raise AssertionError("a table with batches has been born")
    return birth


def _whole_files(
    session: SparkSession, work: PendingMerge, rules: MergeRules, states: DataFrame, decided: DataFrame, order: str
) -> list[tuple[int, str | None, str]]:
    """Return the batch of each file that is in quarantine as a whole, its dump if the key shows it, and its address.

    Another event, or a redrive in vain, quarantines the same bytes again. The first batch is that of the dump.
    """
    first = decided.where(_IS_WHOLE).groupBy("key", "etag").agg(F.min("n").alias("n"))
    now = states.where(_IS_WHOLE).select(F.col("key").alias("_key"), F.col("etag").alias("_etag"))
    is_same = (F.col("key") == F.col("_key")) & F.col("etag").eqNullSafe(F.col("_etag"))
    files = first.join(now, is_same, "left_semi").limit(_MAX_WHOLE_FILES + 1).collect()
    if len(files) > _MAX_WHOLE_FILES:
        name = work.table.spec.name
        raise BadValue(
            f"silver.{name}: more than {_MAX_WHOLE_FILES} files of bronze.{name} are in quarantine, so it is not known "
            "which dumps are complete: redrive or delete these files"
        )
    if not files:
        return []
    query = orders_of_keys(work.bronze.schema, rules, order, work.table.key, [row["key"] for row in files])
    try:
        found = {row["place"]: row["o"] for row in select(session, query).collect()}
    except _NO_VALUE:
        found = {}  # the expression fails for a key that is none of a dump's
    bucket = work.table.key.bucket
    return [(row["n"], found.get(place), S3Address(bucket, row["key"]).s3) for place, row in enumerate(files)]


def orders_of_keys(schema: TableSchema, rules: MergeRules, order: str, table: TableKey, keys: Sequence[str]) -> str:
    """Return a query of the orders that keys show: the `place` of each key, and the order or NULL.

    Args:
        schema: of bronze.
        order: SQL of the order of a row of bronze, as JSON.
        keys: of objects.
    """
    folders = schema.partition_fields
    files = [[S3Address(table.bucket, key).s3, _folder_values(key, table.prefix, folders)] for key in keys]
    given = literal(json.dumps([{"address": address, "values": values} for address, values in files]))
    values = {SOURCE_COLUMNS[0]: "_tidegate_file.address"}
    values |= {field.name: f"_tidegate_file.values[{literal(field.name)}]" for field in folders}
    columns = [
        f"{cast(Simple('string'), field.type, values.get(field.name, 'NULL'))} AS {quote_name(field.name)}"
        for field in schema.fields
    ]
    exploded = f"SELECT posexplode(from_json({given}, 'array<struct<address: string, values: map<string, string>>>'))"
    rows = f"(SELECT {', '.join(columns)}, _tidegate_place FROM ({exploded} AS (_tidegate_place, _tidegate_file)))"
    lacks = " OR ".join(f"({value}) IS NULL" for value in rules.order_values)
    return f"SELECT _tidegate_place AS place, if({lacks}, NULL, {order}) AS o FROM {rules.add_row_value(rows)}"


def _folder_values(key: str, prefix: str, folders: Sequence[Field]) -> Mapping[str, str | None]:
    try:
        return check_partition(partition_values(key, prefix), folders)
    except ValueError:
        return {}


def _bronze(birth: Birth | None, rules: MergeRules, upto: int, version: int | None = None) -> str:
    """Return a relation of the rows of a loaded table up to a batch."""
    past = "" if version is None else f" VERSION AS OF {version}"
    return rules.add_row_value(f"(SELECT * FROM {delta_table(_birth(birth).location)}{past} WHERE _batch <= {upto})")


def _dumps_of_files(
    session: SparkSession, bronze: str, order: str, files: Mapping[int, Sequence[str]]
) -> Iterator[tuple[str, int, Sequence[str]]]:
    """Yield the dumps that files without rows may be of: the dump, the batch of the files, and their addresses.

    They are those with a row in the batch. If a batch has no row, they are those of the nearest batches on both sides.
    A dump of which a file has rows, from before its key was written again, needs no other rows of the file.

    Args:
        session: reads the table.
        bronze: the relation of the rows of a loaded table.
        order: SQL of the order of a row of bronze, as JSON.
        files: by batch, addresses of files.
    """
    dumps = _nearest_dumps(session, bronze, order, files)
    has = _dumps_of(session, bronze, order, {address for addresses in files.values() for address in addresses})
    for dump, n in sorted(dumps):
        lacking = [address for address in files[n] if (address, dump) not in has]
        if lacking:
            yield dump, n, lacking


def _nearest_dumps(session: SparkSession, bronze: str, order: str, batches: Collection[int]) -> set[tuple[str, int]]:
    """Return the dumps with a row in each batch. If a batch has no row, those of the nearest batches on both sides."""
    found = _orders_in(session, bronze, order, batches)
    empty = set(batches) - {n for _, n in found}
    if not empty:
        return found
    filled = sorted(row["n"] for row in select(session, f"SELECT DISTINCT _batch AS n FROM {bronze}").collect())
    near = {n: filled[max(0, place - 1) : place + 1] for n in empty for place in [bisect_left(filled, n)]}
    rows = _orders_in(session, bronze, order, {n for around in near.values() for n in around})
    return found | {(dump, n) for n, around in near.items() for dump, of in rows if of in around}


def _orders_in(session: SparkSession, bronze: str, order: str, batches: Collection[int]) -> set[tuple[str, int]]:
    if not batches:
        return set()
    numbers = ", ".join(map(str, sorted(batches)))
    query = f"SELECT DISTINCT {order} AS o, _batch AS n FROM {bronze} WHERE _batch IN ({numbers})"
    return {(row["o"], row["n"]) for row in select(session, query).collect()}


def _dumps_of(session: SparkSession, bronze: str, order: str, files: Collection[str]) -> set[tuple[str, str]]:
    """Return the dumps of which each file has rows."""
    listed = f"SELECT explode(from_json({literal(json.dumps(sorted(files)))}, 'array<string>')) AS _tidegate_file"
    rows = f"{bronze} LEFT SEMI JOIN ({listed}) ON _source_path = _tidegate_file"
    query = f"SELECT DISTINCT _source_path AS file, {order} AS o FROM {rows}"
    return {(row["file"], row["o"]) for row in select(session, query).collect()}


def _partly_quarantined_dumps(
    session: SparkSession, key: TableKey, bronze: str, order: str, decided: DataFrame
) -> list[Row]:
    """Return the dumps of files of which some rows are in quarantine, by the last reading of each file and dump."""
    address = F.concat(F.lit(S3Address(key.bucket).s3), "key").alias("_tidegate_file")
    own = [F.col("n").alias("_tidegate_bad_n"), F.col("bad_rows").alias("_tidegate_bad_rows")]
    with temporary_view(session, "quarantined", decided.where(_IS_PARTLY).select(address, *own)) as view:
        last = (
            f"SELECT {order} AS o, _source_path AS file, max(_batch) AS n FROM {bronze} "
            f"LEFT SEMI JOIN {view} ON _source_path = _tidegate_file GROUP BY {order}, _source_path"
        )
        return select(
            session,
            f"SELECT o, max(n) AS n, count(*) AS files, sum(_tidegate_bad_rows) AS rows, "
            f"slice(array_sort(collect_list(file)), 1, {MAX_NAMES}) AS names "
            f"FROM ({last}) JOIN {view} ON file = _tidegate_file AND n = _tidegate_bad_n GROUP BY o",
        ).collect()


def _has_merged(
    session: SparkSession, birth: Birth | None, rules: MergeRules, orders: Sequence[str], mark: int
) -> bool:
    """Return whether silver has rows of one of some dumps. Of a registered table that is not known."""
    if _birth(birth).registered:
        return True
    order = exact_json(order_struct(rules.order_values))
    listed = f"from_json({literal(json.dumps(orders))}, 'array<string>')"
    query = f"SELECT 1 FROM {_bronze(birth, rules, mark)} WHERE array_contains({listed}, {order}) LIMIT 1"
    return bool(select(session, query).collect())
