"""Which tables a listing would become, and a `lake.yaml` to start from."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidegate.platform.core.config.fields import is_reserved
from tidegate.platform.core.config.yaml_document import flow
from tidegate.platform.core.errors import Misfit
from tidegate.platform.core.infer.feeds import ProposedSilver, propose_silver
from tidegate.platform.core.infer.file_metadata import StatedColumn
from tidegate.platform.core.keys.file_format import FORMATS, FormatName, format_of
from tidegate.platform.core.keys.object_key import conventional_prefix, is_hidden, partition_values
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.schema.column_types import Field, fold_name
from tidegate.platform.core.schema.partitions import check_partition
from tidegate.platform.core.schema.sql_types import parse_sql_type
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.wording import one_line

_SAMPLES = 3
#: S3's limit of a bucket's name, in characters.
_MAX_BUCKET_NAME = 63
#: Names of folders whose numbers are parts of a time.
_PARTS_OF_TIMES = frozenset({"year", "month", "day", "hour", "minute"})


@dataclass(frozen=True)
class Entry:
    """An object of a listing; size in bytes."""

    key: str
    size: int


@dataclass
class Guess:
    """One table that would come of a listing.

    Attributes:
        format: None where no name says it: the first bytes have to.
        partitions: the columns of its `k=v` folders, with the SQL type that all values have.
        samples: files to look at.
        columns: SQL types by name, as far as files were looked at.
        options: options of the format that its files need.
        declared: SQL types that lake.yaml should give columns, by name.
        problems: a sentence with the remedy for each expected problem.
        stated: what the files state of the columns of their rows, by name.
        silver: the `silver` to start from. None if they are not a change feed.
    """

    key: TableKey
    name: str
    format: FormatName | None
    files: int
    partitions: Mapping[str, str]
    samples: Sequence[Entry]
    columns: dict[str, str] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    declared: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    stated: dict[str, StatedColumn] = field(default_factory=dict)
    silver: ProposedSilver | None = None
    #: Whether lake.yaml has to name the format, because some file names do not show it.
    say_format: bool = False
    #: Whether no setting makes it a table.
    impossible: bool = False

    def take(self, columns: Mapping[str, str]) -> list[str]:
        """Add the columns of another file. Returns the columns whose type differs from that in earlier files.

        Names that differ only in case are one column, and structs get each other's fields, as in the future table.
        """
        spelling = {fold_name(name): name for name in self.columns}
        differing = []
        for name, kind in columns.items():
            known = spelling.setdefault(fold_name(name), name)
            both = _common_type(self.columns.setdefault(known, kind), kind)
            if both is None:
                differing.append(known)
            else:
                self.columns[known] = both
        return differing

    def propose(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Propose the `silver` of a change feed, by the columns so far.

        Args:
            rows: the rows that were read of its files.
        """
        self.silver = propose_silver(self.columns, [sample.key for sample in self.samples], self.stated, rows)


def guess_tables(bucket: str, listing: Iterable[Entry]) -> list[Guess]:
    """Return the tables of a listing, by prefix. A prefix that cannot be a table has a problem that says so."""
    groups: dict[str, list[Entry]] = {}
    foreign: set[str] = set()
    for entry in listing:
        start, found, _ = entry.key.partition("_delta_log/")
        if found and (not start or start.endswith("/")):
            foreign.add(start)
        if entry.key.endswith(("/", "_$folder$")) or is_hidden(entry.key):
            continue
        groups.setdefault(conventional_prefix(entry.key), []).append(entry)
    for prefix in sorted(groups, key=len, reverse=True):
        # The prefixes of two tables never overlap. The bucket itself is a table only if nothing else is.
        outer = [other for other in groups if other != prefix and prefix.startswith(other) and other]
        if outer:
            groups[max(outer, key=len)] += groups.pop(prefix)
    names: Counter[str] = Counter()
    guesses = [_guess(TableKey(bucket, prefix), groups[prefix], names) for prefix in sorted(groups)]
    for guess in guesses:
        if any(guess.key.prefix.startswith(prefix) or prefix.startswith(guess.key.prefix) for prefix in foreign):
            guess.impossible = True
            guess.problems.append(
                "a Delta log is there already, somebody else's or Tidegate's own; leave it out, or see `tidegate adopt`"
            )
        if not guess.key.prefix and len(guesses) > 1:
            guess.impossible = True
            guess.problems.append(
                "they are in no folder, and the whole bucket would be their table; move them into a folder of their own"
            )
    return guesses


def render_lake_yaml(bucket: str, guesses: Sequence[Guess]) -> str:
    """Return the text of a `lake.yaml` to start from, with every problem as a comment above its table.

    `tidegate dev` runs it as it is: it creates the bucket of the root and the queue, whose names come from the source
    bucket. Impossible tables (no folder of their own, or a foreign Delta table) are commented out.
    """
    lines = [
        "# `tidegate dev` creates these buckets and the queue on this machine. On AWS, write the names of your own.",
        "lake:",
        f"  root: s3://{bucket[: _MAX_BUCKET_NAME - len('-lake')]}-lake/tidegate   # a bucket that is not a source",
        "queues:",
        f"  - name: {bucket.replace('.', '-')}-events   # the queue that the source bucket notifies",
        f"buckets: [{bucket}]",
        "discovery: false" if any(guess.impossible for guess in guesses) else "discovery: true",
        "tables:" + ("" if any(not guess.impossible for guess in guesses) else " []"),
    ]
    for guess in guesses:
        table = [f"- name: {guess.name}", f"  prefix: {flow(guess.key.uri)}"]
        if guess.format and (guess.say_format or guess.options):
            table.append(f"  format: {guess.format}")
        if guess.format and guess.options:
            table.append(f"  {FORMATS[guess.format].options}: {flow(guess.options)}")
        if guess.declared:
            table.append(f"  columns: {flow(guess.declared)}")
        if guess.partitions:
            table.append(f"  partition_columns: {flow(guess.partitions)}")
        if texts := {name: stated_column.text for name, stated_column in guess.stated.items() if stated_column.text}:
            table.append(f"  descriptions: {flow(texts)}")
        mark = "# " if guess.impossible else ""
        lines += [f"  # problem: {one_line(problem)}" for problem in guess.problems]
        lines += [f"  {mark}{line}" for line in table]
        if guess.silver:
            lines += [f"  #   {one_line(text)}" for text in (guess.silver.line, *guess.silver.notes)]
        lines.append(f"  #   files: {guess.files}" + ("; columns:" if guess.columns else ""))
        lines += [f"  #   {one_line(f'{name}: {kind}')}" for name, kind in guess.columns.items()]
    return "\n".join(lines) + "\n"


def _common_type(left: str, right: str) -> str | None:
    """Return the type of a column that has both types; None if it depends on their order whether a file fits."""
    if left == right:
        return left
    try:
        there, here = Field("column", parse_sql_type(left)), Field("column", parse_sql_type(right))
        TableSchema((here,)).accept_fields([there], "evolve")
        return TableSchema((there,)).accept_fields([here], "evolve").fields[0].type.sql()
    except ValueError:
        return None


def proposed_name(prefix: str) -> str:
    """Return the name that the table of a prefix could have."""
    name = re.sub(r"[^a-z0-9]+", "_", prefix.lower()).strip("_") or "files"
    name = name if name[0].isalpha() else f"t_{name}"
    return f"{name}_files" if is_reserved(name) else name


def _guess(key: TableKey, entries: Sequence[Entry], names: Counter[str]) -> Guess:
    name = proposed_name(key.prefix)
    names[name] += 1
    problems: list[str] = []
    formats = Counter(format_of(entry.key) for entry in entries)
    known: list[FormatName] = [name for name, _ in formats.most_common() if name is not None]
    if len(known) > 1:
        found = ", ".join(f"{formats[name]} {name}" for name in known)
        problems.append(f"files of several formats are in one folder ({found}); give each format a folder of its own")
    empty = sum(entry.size == 0 for entry in entries)
    if empty:
        problems.append(f"empty files go to the quarantine, and here are {empty}; delete them")
    partitions, differing = _partitions(key, entries)
    if differing:
        problems.append(f"the folders of {differing} do not name the same k=v columns as the others; move it")
    full = [entry for entry in entries if entry.size]
    places = sorted({0, len(full) // 2, len(full) - 1}) if full else []
    return Guess(
        key,
        name if names[name] == 1 else f"{name}_{names[name]}",
        known[0] if known else None,
        len(entries),
        partitions,
        [full[place] for place in places][:_SAMPLES],
        problems=problems,
        say_format=None in formats,
    )


def _partitions(key: TableKey, entries: Sequence[Entry]) -> tuple[dict[str, str], str | None]:
    """Return the columns of the folders with their types, and a key that has other columns than the first one."""
    values: dict[str, set[str]] = {name: set() for name in partition_values(entries[0].key, key.prefix)}
    differing = None
    for entry in entries:
        found = partition_values(entry.key, key.prefix)
        if found.keys() != values.keys():
            differing = entry.key
            break
        for name, value in found.items():
            values[name] |= set() if value is None else {value}
    return {name: _type_of_folder(name, known) for name, known in values.items()}, differing


def _type_of_folder(name: str, values: Collection[str]) -> str:
    """Return the type of a folder's values. A number may be an identity, whose zeros at the front count."""
    kinds = ["date", "int"] if fold_name(name) in _PARTS_OF_TIMES else ["date"]
    for kind in kinds:
        if values and all(_is_of(kind, value) for value in values):
            return kind
    return "string"


def _is_of(kind: str, value: str) -> bool:
    try:
        check_partition({"value": value}, [Field("value", parse_sql_type(kind))])
    except Misfit:
        return False
    return True
