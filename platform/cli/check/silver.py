"""Checks of silver tables: bronze has the columns that lake.yaml names for the merge."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from tidegate.platform.cli.check.catalog import Check
from tidegate.platform.cli.check.findings import Failed, Finding, Warned, checked
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.first_line import first_line
from tidegate.platform.core.schema.column_types import Type
from tidegate.platform.core.schema.names import fed_columns
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.silver.presets import resolved
from tidegate.platform.core.silver.rules import BRONZE, UnsuitableColumns, merge_rules, rows_of
from tidegate.platform.core.silver.subject_paths import subject_paths
from tidegate.resources.silver_suppression import ignored_subject, may_not_name, no_subject
from tidegate.resources.spark.delta import Delta
from tidegate.resources.spark.remote import SparkRemote
from tidegate.resources.spark.session import session_of_its_own

if TYPE_CHECKING:
    from tidegate.resources.lake_root.store import LakeStore


def check_silver(remote: SparkRemote, store: LakeStore, specs: Sequence[TableSpec]) -> Iterator[Finding]:
    """Check that every existing bronze table has the columns that its `silver` names.

    Args:
        remote: a server that answers.
        store: the store of the lake.
        specs: the tables.
    """
    asked = [spec for spec in specs if spec.silver]
    if not asked:
        return
    with session_of_its_own(remote) as session:
        delta = Delta(remote, lambda: session)
        for spec in asked:
            yield checked(Check.TABLE_SILVER_COLUMNS, spec.name, partial(_named, delta, store, spec))


def _named(delta: Delta, store: LakeStore, spec: TableSpec) -> str:
    silver, birth = spec.silver, store.births.read(spec.table_key.encode())
    try:
        state = delta.table_state(birth.location) if birth else None
    except PySparkException as error:
        raise Failed(f"the table cannot be read: {first_line(error)}") from None
    if silver is None or birth is None or state is None or not state.has_columns:
        return "no bronze table yet"
    bronze = f"delta.`{birth.location}`"

    def types(expressions: Sequence[str], relation: str) -> list[Type]:
        # The query is only analyzed, no row is read.
        selected = ", ".join(f"{sql} AS e{place}" for place, sql in enumerate(expressions))
        schema = delta.session.sql(f"SELECT {selected} FROM {relation.replace(BRONZE, bronze)}").schema
        return [field.type for field in TableSchema.from_spark(json.loads(schema.json()), ()).fields]

    columns = fed_columns(state.schema.fields, is_registered=birth.registered)
    try:
        rules = merge_rules(resolved(silver, columns), columns, types)
    except UnsuitableColumns as error:
        raise Failed(f"every merge fails: bronze {error}") from None
    except PySparkException as error:
        raise Failed(
            f"keys, order, row, derive or cast of `silver` does not fit bronze's rows, so every merge fails: "
            f"{first_line(error)}"
        ) from None
    for name, paths in subject_paths(silver, spec.personal.subject if spec.personal else (), columns).items():
        if not paths:
            raise Failed(no_subject(spec.name, name))
        if ignored := ignored_subject(silver, [".".join(path) for path in paths]):
            raise Failed(may_not_name(spec.name, ignored))
    for options, condition in (
        *((f"the expectation {each.name}", each.violated) for each in rules.expectations),
        ("apply_as_deletes (or delete_when)", rules.deleted),
        ("skip_when", rules.skipped),
        ("apply_as_truncates", rules.truncated),
    ):
        try:
            types([f"coalesce({condition or 'false'}, false)"], rows_of(rules.row))
        except PySparkException as error:
            raise Failed(
                f"{options} of `silver` is not a condition over bronze's rows, so every merge fails: "
                f"{first_line(error)}"
            ) from None
    if rules.awaited:
        raise Warned(
            f"decode of `silver` names {', '.join(rules.awaited)}, which no row of bronze has yet: the columns are "
            "NULL until a row has a value. Check that the names are right"
        )
    return "bronze has these columns"
