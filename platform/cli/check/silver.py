"""Checks of columns that lake.yaml names: for merges and clustering, as personal, and with descriptions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from tidegate.platform.cli.check.findings import Failed, Finding, Warned, make_finding
from tidegate.platform.cli.check.known_checks import Check
from tidegate.platform.core.catalog.descriptions import unknown_descriptions
from tidegate.platform.core.config.personal import PersonalSpec
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.forgetting.subject_columns import absent_columns, absent_subject
from tidegate.platform.core.schema.names import silver_source_columns
from tidegate.platform.core.silver.expression_types import UnsuitableColumns
from tidegate.platform.core.silver.presets import resolve_presets
from tidegate.platform.core.silver.refusals import refusal
from tidegate.platform.core.silver.subject_paths import personal_key, subject_paths
from tidegate.platform.core.wording import first_line
from tidegate.platform.lake.silver_suppression import (
    ignored_subject,
    key_is_personal,
    missing_subject_error,
    unnamed_person_error,
)
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.lake.spark.results import TableState
from tidegate.platform.lake.spark.session import isolated_session
from tidegate.platform.maintenance.cluster_columns import why_not_clustered
from tidegate.platform.silver.row_queries import expression_types
from tidegate.platform.silver.table import fitting_rules

if TYPE_CHECKING:
    from tidegate.platform.lake.lake_root.store import LakeStore


def check_silver(remote: SparkRemote, store: LakeStore, specs: Sequence[TableSpec]) -> Iterator[Finding]:
    """Check that every existing table has the columns that `silver`, `personal` and `descriptions` name.

    Args:
        remote: a server that answers.
    """
    asked = [spec for spec in specs if spec.silver or spec.personal or spec.descriptions or spec.cluster_by]
    if not asked:
        return
    with isolated_session(remote) as session:
        delta = Delta(remote, lambda: session)
        for spec in asked:
            if spec.silver:
                yield make_finding(Check.TABLE_SILVER_COLUMNS, spec.name, partial(_check_name, delta, store, spec))
            if spec.personal:
                yield make_finding(
                    Check.TABLE_PERSONAL, spec.name, partial(_check_personal_columns, delta, store, spec, spec.personal)
                )
            if _cluster_columns(spec):
                yield make_finding(Check.TABLE_CLUSTERING, spec.name, partial(_check_clustering, delta, store, spec))
            if spec.descriptions:
                yield make_finding(
                    Check.TABLE_DESCRIPTIONS, spec.name, partial(_check_described_columns, delta, store, spec)
                )


def _check_name(delta: Delta, store: LakeStore, spec: TableSpec) -> str:
    silver, birth = spec.silver, store.births.read(spec.table_key.encode())
    state = _state(delta, birth.location) if birth else None
    if silver is None or birth is None or state is None or not state.has_columns:
        return "no bronze table yet"
    types = partial(expression_types, delta.session, birth.location)
    columns = silver_source_columns(state.schema.fields, is_registered=birth.registered)
    try:
        options = resolve_presets(silver, columns)
        rules = fitting_rules(options, columns, types, spec.columns)
    except UnsuitableColumns as error:
        raise Failed(f"every merge fails: bronze {error}") from None
    for name, paths in subject_paths(silver, spec.personal.subject if spec.personal else (), columns).items():
        if not paths:
            raise Failed(missing_subject_error(spec.name, name))
        if ignored := ignored_subject(silver, paths):
            raise Failed(unnamed_person_error(spec.name, ".".join(ignored)))
    if spec.subject_kind and spec.personal and (found := personal_key(silver, spec.personal.columns, columns)):
        raise Failed(key_is_personal(spec.name, *found))
    now = _state(delta, store.uri("silver", spec.name))
    why = refusal(spec.name, silver, rules, now.properties, now.schema, widens=spec.widen) if now.exists else None
    if why:
        raise Failed(f"every merge fails: {why}")
    if rules.awaited:
        raise Warned(
            f"`silver` names {', '.join(rules.awaited)}, which no row of bronze has yet: NULL until a row has a value. "
            "Check that the names are right"
        )
    if rules.left_out:
        raise Warned(
            f"silver has columns of its own by the names of {', '.join(rules.left_out)} and leaves these out: give "
            "them other names by `rename`, or confirm it by `except_columns`"
        )
    return "bronze has these columns"


def _check_personal_columns(delta: Delta, store: LakeStore, spec: TableSpec, personal: PersonalSpec) -> str:
    birth = store.births.read(spec.table_key.encode())
    state = _state(delta, birth.location) if birth else None
    if state is None or not state.has_columns:
        return "no bronze table yet"
    if why := absent_subject(personal.subject, state.schema.fields):
        raise Failed(why)
    if unknown := absent_columns((*personal.subject, *personal.columns), state.schema.fields):
        raise Warned(f"{unknown}. If it is called otherwise, statistics of its values are in the log")
    return "bronze has these columns"


def _cluster_columns(spec: TableSpec) -> tuple[str, ...]:
    return (*(spec.cluster_by or ()), *((spec.silver and spec.silver.cluster_by) or ()))


def _check_clustering(delta: Delta, store: LakeStore, spec: TableSpec) -> str:
    birth = store.births.read(spec.table_key.encode())
    asked = [
        (f"bronze.{spec.name}", birth.location if birth else None, spec.cluster_by),
        (f"silver.{spec.name}", store.uri("silver", spec.name), spec.silver.cluster_by if spec.silver else None),
    ]
    for name, location, columns in asked:
        if not location or not columns:
            continue
        state = _state(delta, location)
        if state is not None and state.has_columns and (why := why_not_clustered(state, columns)):
            raise Warned(f"{name} is not clustered by `cluster_by`: {why}")
    return "the tables have these columns, or do not exist yet"


def _check_described_columns(delta: Delta, store: LakeStore, spec: TableSpec) -> str:
    birth = store.births.read(spec.table_key.encode())
    locations = [birth.location] if birth else []
    if spec.silver:
        locations.append(store.uri("silver", spec.name))
    states = [_state(delta, location) for location in locations]
    if not birth or not all(state.has_columns for state in states):
        return "no table yet"
    if unknown := unknown_descriptions(
        spec.descriptions, [field.name for state in states for field in state.schema.fields]
    ):
        raise Warned(unknown)
    return "each of them is a column"


def _state(delta: Delta, location: str) -> TableState:
    try:
        return delta.table_state(location)
    except PySparkException as error:
        raise Failed(f"the table cannot be read: {first_line(error)}") from None
