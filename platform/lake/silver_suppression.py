"""The suppression list of a silver table, whose columns are those of bronze by the options of the merge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.schema.column_reference import path_of, paths_of, spell_path
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.names import RESCUED_COLUMN, silver_source_columns
from tidegate.platform.core.silver.expression_types import UnsuitableColumns
from tidegate.platform.core.silver.subject_paths import Path, former_paths, subject_paths
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.results import TableState
from tidegate.platform.lake.suppression import SubjectProblem, Suppression

#: A property of a silver table. A commit of it ends every merge that has begun before: Delta refuses a commit on older
#: metadata.
FORGOTTEN = "tidegate.forgotten"


def silver_suppression(
    store: LakeStore, spec: TableSpec, suppression: Suppression, silver: TableState, columns: Sequence[Field]
) -> Suppression:
    """Return the list for the silver table of a table.

    Args:
        spec: its configuration.
        suppression: the list for the bronze table.
        columns: from `columns_of_silver`.

    Raises:
        SubjectProblem: silver does not show whose its rows are. The message says what to do.
    """
    return replace(
        suppression,
        name=f"silver.{spec.name}",
        places=silver_subject(store, spec, suppression.subject, silver, columns),
        rescued=suppression.subject,
        rescued_in=_rescued_columns(spec, columns),
        sides=(),
    )


def _rescued_columns(spec: TableSpec, columns: Sequence[Field]) -> tuple[str, ...]:
    """Return the columns of silver that have rescued values: a row has NULL in place of an identity that is rescued.

    Raises:
        SubjectProblem: bronze has rescued values, and silver leaves them out.
    """
    if spec.silver is None or all(field.name != RESCUED_COLUMN for field in columns):
        return (RESCUED_COLUMN,)
    paths = subject_paths(spec.silver, (RESCUED_COLUMN,), columns)[RESCUED_COLUMN]
    if not paths:
        raise SubjectProblem(missing_subject_error(spec.name, RESCUED_COLUMN))
    return tuple(dict.fromkeys((*(".".join(path) for path in paths), RESCUED_COLUMN)))


def silver_subject(
    store: LakeStore, spec: TableSpec, subject: Sequence[str], silver: TableState, columns: Sequence[Field]
) -> tuple[Path, ...]:
    """Return the paths of a silver table that identify a subject.

    Before bronze has its first batch, they follow from silver's own columns, as far as these show it.

    Args:
        spec: its configuration.
        subject: the columns and nested fields of bronze that identify a subject.
        columns: from `columns_of_silver`.

    Raises:
        SubjectProblem: silver does not show whose its rows are. The message says what to do.
    """
    if spec.silver is None:
        raise SubjectProblem(
            f"silver.{spec.name} has rows, and {spec.name} has no `silver` in lake.yaml any more, so nobody can say "
            f"whose they are: put it back, or delete the folder of the table ({store.uri('silver', spec.name)})"
        )
    try:
        places = subject_paths(spec.silver, subject, columns)
    except UnsuitableColumns as error:
        raise SubjectProblem(f"silver.{spec.name}: bronze {error}") from None
    fields = silver.schema.fields
    held = {
        # How silver spells what bronze does not have yet, nobody knows.
        name: [found for path in paths if (found := spell_path(path, fields))]
        if path_of(name, columns)
        else [found for path in paths for found in paths_of(".".join(path), fields)]
        for name, paths in places.items()
    }
    for name, own in held.items():
        if not own and (path_of(name, columns) or not any(held.values())):
            raise SubjectProblem(missing_subject_error(spec.name, name))
        if ignored := ignored_subject(spec.silver, own):
            raise SubjectProblem(unnamed_person_error(spec.name, ".".join(ignored)))
    former = former_paths(spec.silver, subject, columns, silver.properties)
    return tuple(dict.fromkeys((*chain.from_iterable(held.values()), *former)))


def columns_of_silver(delta: Delta, birth: Birth | None, silver: TableState) -> tuple[Field, ...]:
    """Return the columns of bronze from which silver is merged, or silver's own before bronze has its first batch."""
    known = delta.table_state(birth.location).schema.fields if birth else silver.schema.fields
    return silver_source_columns(known, is_registered=birth is None or birth.registered)


def ignored_subject(silver: SilverSpec, paths: Iterable[Path]) -> Path | None:
    """Return the first of the paths of a subject whose value a row may leave as it is. None if there is none."""
    return next((path for path in paths if silver.ignores_nulls_of(path[0])), None)


def unnamed_person_error(name: str, subject: str) -> str:
    """Return the text of the error that a row of bronze may be about a person whom it does not name.

    Args:
        name: SQL name of the table.
        subject: the column of silver whose value a row may leave as it is.
    """
    return (
        f"a row of bronze.{name} may be about a person whom it does not name, because `ignore_null_updates` leaves "
        f"{subject} of silver.{name} as it is, so nobody can say whose its rows are: list {subject} in "
        "ignore_null_updates_except_columns, and let every row have it"
    )


def key_is_personal(name: str, key: str, column: str) -> str:
    """Return the text of the error that a delete may have something personal and name nobody.

    Args:
        name: SQL name of the table.
        key: the key of silver.
        column: the personal column of bronze that it is made of.
    """
    return (
        f"a delete of bronze.{name} may have nothing but the key {key}, which is personal by {column} and names nobody "
        f"as subject, so it would stay when its person is forgotten: list {column} under `personal.subject`, too, and "
        "forget each person by all identities, or take a key that is not personal"
    )


def missing_subject_error(name: str, subject: str) -> str:
    """Return the text of the error that silver lacks a subject of bronze.

    Args:
        name: SQL name of the table.
        subject: the column or nested field of bronze.
    """
    return (
        f"silver.{name} has no column with the text of {subject}, by which persons are forgotten (`personal` in "
        f"lake.yaml), so nobody can say whose its rows are: let `silver` take the column as it is, or keep it next to "
        f"the others with `derive: {{person: {subject}}}`, and rebuild silver (tidegate rebuild silver.{name})"
    )
