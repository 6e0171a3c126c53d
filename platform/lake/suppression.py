"""The suppression list of a table: the subjects whose rows never enter it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import ConfigurationError, DataError
from tidegate.platform.core.forgetting.persons import rescued_texts, sides
from tidegate.platform.core.forgetting.request import ForgetRequest, SubjectKey
from tidegate.platform.core.forgetting.subject_columns import lost_subject
from tidegate.platform.core.schema.column_reference import path_of, paths_of, quote_path, spell_path, type_at
from tidegate.platform.core.schema.column_types import Field, Simple, quote_name
from tidegate.platform.core.schema.names import RESCUED_COLUMN
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.secret_text import secret_text
from tidegate.platform.lake.spark.conditions import any_condition
from tidegate.platform.lake.spark.results import TableState

#: Types whose values have one text. A number with a fraction, for example, has several.
_TYPES = ("string", "byte", "short", "integer", "long")
#: The class of the Spark server that makes digests, and a column of rows with its key.
_DIGEST, _KEY = "io.tidegate.load.rows.SubjectDigest", "_tidegate_key"
_IS_KNOWN = "_tidegate_is_known"


class SecretProblem(ConfigurationError):
    """The secret of the suppression list is missing, cannot be used, or is another than that of the list."""


class SubjectProblem(DataError):
    """A table does not show whose its rows are."""


@dataclass(frozen=True)
class Suppression:
    """The subjects of one kind that were forgotten, and how a table names its subjects.

    Attributes:
        name: SQL name of the table.
        key: the key of the digests.
        digests: of the subjects.
        subject: the columns and nested fields that identify a subject, as lake.yaml has them.
        rescued: the fields that identify a subject in the text of rescued values, if they are not those of `subject`.
        rescued_in: the columns that may have the text of rescued values.
        sides: the two structs of a change that may each be of another person (`platform.core.forgetting.sides`). Empty
            if a row is of its persons as a whole.
        places: the paths that identify a subject, in place of those that `subject` names: of a silver table.
    """

    name: str
    key: SubjectKey = field(repr=False)
    digests: frozenset[str] = field(repr=False)
    subject: tuple[str, ...]
    rescued: tuple[str, ...] = ()
    rescued_in: tuple[str, ...] = (RESCUED_COLUMN,)
    sides: tuple[str, ...] = ()
    places: tuple[tuple[str, ...], ...] | None = None

    @classmethod
    def from_digests(cls, spec: TableSpec, key: SubjectKey, digests: frozenset[str]) -> Suppression:
        """Return the list of a bronze table that has a subject."""
        assert spec.personal is not None
        subject = spec.personal.subject
        return cls(spec.name, key, digests, subject, sides=sides(subject, spec.personal.columns))

    def texts(self, fields: Sequence[Field]) -> list[str]:
        """Return SQL of each text that identifies a subject in a table that has these columns.

        A value that did not fit its column is in `_rescued_data`, under the name that the file gave it, in any case.

        Raises:
            SubjectProblem: a column has a type whose values do not have one text.
        """
        texts = [f"CAST({quote_path(path)} AS STRING)" for path in self.paths(fields)]
        for column in (item.name for item in fields if item.name in self.rescued_in):
            for name in self.rescued or self.subject:
                texts += rescued_texts(quote_name(column), name)
        return texts

    def paths(self, fields: Sequence[Field]) -> list[tuple[str, ...]]:
        """Return the paths of the subject in a table that has these columns. A column that it lacks is left out.

        Each reading of a name counts: a table may have the column `user.id`, and the field `id` of `user`.

        Raises:
            SubjectProblem: a column has a type whose values do not have one text.
        """
        if self.places is None:
            found = [path for name in self.subject for path in paths_of(name, fields)]
        else:
            found = [path for place in self.places if (path := spell_path(place, fields))]
        for path in found:
            kind = type_at(path, fields)
            if not isinstance(kind, Simple) or kind.name not in _TYPES:
                raise SubjectProblem(
                    f"column {'.'.join(path)} of {self.name} is {kind.sql()}, and a subject (`personal` in lake.yaml) "
                    "must be text or a whole number: name another column, or give it another type with `columns` and "
                    "start the table over (tidegate reset)"
                )
        return found

    def side_paths(self, fields: Sequence[Field]) -> list[tuple[str, ...]]:
        """Return the paths of the sides in a table that has these columns. None if it has not both, or not as structs.

        Raises:
            SubjectProblem: as for `paths`.
        """
        found = [path for side in self.sides if (path := path_of(side, fields))]
        are_within = (any(_is_within(path, side) for side in found) for path in self.paths(fields))
        return found if len(found) == len(self.sides) and all(are_within) else []

    def holds(self, text: str) -> bool:
        """Return whether a text is a subject of the list."""
        return self.key.digest(text) in self.digests

    def rows(self, session: SparkSession) -> DataFrame:
        """Return the key and the digests, which no SQL text may contain."""
        digests = [bytes.fromhex(digest) for digest in sorted(self.digests)]
        return session.createDataFrame(pa.table({"key": [self.key.key] * len(digests), "digest": digests}))

    def exclude_suppressed(self, rows: DataFrame, fields: Sequence[Field]) -> DataFrame:
        """Return the rows of no suppressed subject, and of a change that another person has a side of, that side.

        The other side of such a row is NULL.

        Args:
            rows: with these columns, and perhaps others.
            fields: the columns of the table.
        """
        return self._divide_rows(rows, fields, holds=False)

    def select_suppressed(self, rows: DataFrame, fields: Sequence[Field]) -> DataFrame:
        """Return the rows that suppressed subjects have, or have a side of.

        The arguments are as for `exclude_suppressed`.
        """
        return self._divide_rows(rows, fields, holds=True)

    def select_subjects(self, texts: DataFrame, column: str) -> DataFrame:
        """Return the rows of which a column of identities has one on the list."""
        of_texts = replace(self, subject=(), rescued=(), rescued_in=(), sides=(), places=((column,),))
        return of_texts.select_suppressed(texts, [Field(column, Simple("string"))])

    def _divide_rows(self, rows: DataFrame, fields: Sequence[Field], *, holds: bool) -> DataFrame:
        texts = self.texts(fields)
        if not texts:
            return rows.where("false") if holds else rows
        session = rows.sparkSession
        key = session.createDataFrame(pa.table({_KEY: [self.key.key.hex()]}))
        names = [f"_tidegate_subject{place}" for place in range(len(texts))]
        keyed = rows.crossJoin(F.broadcast(key)).withColumns(dict(zip(names, map(_digest, texts), strict=True)))
        for name in names:
            # With one join for all texts, Spark would compare every row with every digest.
            known = pa.table({f"{name}_known": sorted(self.digests)})
            keyed = keyed.join(
                F.broadcast(session.createDataFrame(known)), F.col(name) == F.col(f"{name}_known"), "left"
            )
        flags = [f"{name}_known" for name in names]
        is_known = any_condition([F.col(flag).isNotNull() for flag in flags])
        if holds or not self.sides:
            found = keyed.where(is_known if holds else ~is_known)
        else:
            found = self._keep_sides_of_others(keyed.withColumn(_IS_KNOWN, is_known), fields, flags)
        return found.drop(_KEY, _IS_KNOWN, *names, *flags)

    def _keep_sides_of_others(self, rows: DataFrame, fields: Sequence[Field], flags: Sequence[str]) -> DataFrame:
        """Return the rows of no suppressed subject, and the sides of others.

        A side that names nobody may be the suppressed subject's, too. What is rescued may be of either side.

        Args:
            rows: with `_IS_KNOWN`.
            fields: as for `exclude_suppressed`.
            flags: columns that say by a value that a path of `paths` names a suppressed subject, in its order.
        """
        known, is_known = dict(zip(self.paths(fields), flags, strict=False)), F.col(_IS_KNOWN)
        others = {side: _names_another(side, known) for side in self.side_paths(fields)}
        rescued = [F.col(quote_name(item.name)).isNotNull() for item in fields if item.name in self.rescued_in]
        stays = any_condition([*others.values(), F.lit(False)]) & ~any_condition([*rescued, F.lit(False)])
        columns: dict[str, Column] = {}
        for side, is_another in others.items():
            nothing = F.when(is_known & ~is_another, None).otherwise(F.col(quote_path(side)))
            root, *below = side
            whole = columns.get(root, F.col(quote_name(root)))
            columns[root] = whole.withField(quote_path(below), nothing) if below else nothing
        kept = rows.where(~is_known | stays)
        return kept.withColumns(columns) if columns else kept


def require_subject(spec: TableSpec, bronze: TableState) -> None:
    """Check that lake.yaml still has the subject by which persons were forgotten in a table.

    Raises:
        SubjectProblem: it has not, so later rows of these persons would enter.
    """
    personal = spec.personal
    why = lost_subject(bronze.properties, spec.name, spec.subject_kind, personal.subject if personal else ())
    if why is not None:
        raise SubjectProblem(why)


def suppression(
    config: LakeConfig, store: LakeStore, environ: Mapping[str, str], spec: TableSpec
) -> Suppression | None:
    """Return the suppression list of a table. None if its kind of subject has none, or it names no subject.

    Raises:
        SecretProblem: the list cannot be applied.
        StoreError: S3 did not answer.
        ValueError: an object of the list is damaged.
    """
    if spec.personal is None or not spec.personal.subject:
        return None
    kind = spec.personal.kind
    requests = [request for request in store.forgotten.requests() if request.kind == kind]
    if not requests:
        return None
    digests = frozenset(digest for request in requests for digest in request.digests)
    return Suppression.from_digests(spec, subject_key(config, environ, kind, requests), digests)


def subject_key(
    config: LakeConfig, environ: Mapping[str, str], kind: str, requests: Sequence[ForgetRequest]
) -> SubjectKey:
    """Return the key for a kind of subject.

    Args:
        environ: may have the secret.
        kind: kind of the subjects.
        requests: the earlier requests of this kind, whose secret it must be.

    Raises:
        SecretProblem: the secret is missing, too short, or another than that of the requests.
    """
    if config.forget is None:
        raise SecretProblem("lake.yaml has no `forget`: add it, with the place of the secret of the suppression list")
    place = config.forget.secret.place
    why = "Without it nobody can say whose rows must stay out, so the table waits. No file is at fault"
    try:
        secret = secret_text(config.forget.secret, environ)
        if not secret:
            raise SecretProblem(f"the secret of the suppression list is missing: {place} is not set or empty. {why}")
        key = SubjectKey(secret, kind)
    except OSError as error:
        raise SecretProblem(
            f"the secret of the suppression list is missing: {place} cannot be read ({error.strerror}). {why}"
        ) from None
    except ValueError:
        raise SecretProblem(f"the secret of the suppression list in {place} is too short, or not UTF-8") from None
    if any(request.check != key.check for request in requests):
        raise SecretProblem(
            f"{place} has another secret than the one with which persons were forgotten: its digests match nobody. Put "
            "the former secret back"
        )
    return key


def _is_within(path: Sequence[str], side: Sequence[str]) -> bool:
    return len(path) > len(side) and [*path[: len(side)]] == [*side]


def _names_another(side: Sequence[str], known: Mapping[tuple[str, ...], str]) -> Column:
    """Return the condition that a side names a person, and no suppressed one."""
    own = {path: flag for path, flag in known.items() if _is_within(path, side)}
    if not own:
        return F.lit(False)
    is_named = any_condition([F.col(quote_path(path)).isNotNull() for path in own])
    return is_named & ~any_condition([F.col(flag).isNotNull() for flag in own.values()])


def _digest(sql: str) -> Column:
    """Return HMAC-SHA-256 of a text, in hexadecimal digits. Spark has no function for it."""
    return F.expr(f"java_method('{_DIGEST}', 'of', {_KEY}, {sql})")
