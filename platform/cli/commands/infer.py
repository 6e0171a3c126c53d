"""`tidegate infer` prints a first `lake.yaml`, inferred from existing files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console

from tidegate.platform.cli.answers.answer import Answer, print_answer
from tidegate.platform.cli.commands.sniffers import sniff_file
from tidegate.platform.cli.environment import client
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.config.fields import Bucket, convert_value
from tidegate.platform.core.config.yaml_document import flow
from tidegate.platform.core.infer.guess import Entry, Guess, guess_tables, render_lake_yaml
from tidegate.platform.core.infer.text_format import FileSample, SniffedFile, check_names, format_of_bytes
from tidegate.platform.core.keys.file_format import FORMATS
from tidegate.platform.core.keys.s3_address import S3Address, S3Object
from tidegate.platform.core.schema.column_types import fold_name
from tidegate.platform.core.wording import first_line
from tidegate.platform.lake.aws.clients import Aws
from tidegate.platform.lake.aws.s3 import ObjectStore, StoreError

#: Objects of the listing that are read.
MAX_FILES = 100_000
#: The bucket of the tables of a folder. The pages and the demos call their source bucket so, too.
_BUCKET_OF_A_FOLDER = "landing"


class Files(Protocol):
    """A place whose files can be listed and read."""

    def list_files(self) -> Iterator[Entry]:
        """Return every file."""

    def first_bytes(self, key: str, length: int) -> bytes:
        """Return the first bytes of a file."""

    def last_bytes(self, key: str, length: int) -> bytes:
        """Return the end of a file."""


def run_infer(
    console: Console, address: str, home: Path | None, *, bucket: str | None = None, as_json: bool = False
) -> bool:
    """Print the `lake.yaml` that the files under an address suggest. Problems are comments in it.

    Args:
        address: `s3://bucket/prefix`, or a folder of this machine that stands for a bucket.
        home: home of a running local platform; None takes a running default one, else the environment's AWS.
        bucket: the bucket that a folder of this machine stands for; None is `landing`.
        as_json: print only one JSON object.

    Returns:
        Whether no problem was found.

    Raises:
        CommandError: there is no such folder, no file below the address, or a bucket's name is wrong.
        StoreError: S3 did not answer.
    """
    bucket, files = _files(address, home, bucket)
    listing = files.list_files()
    guesses = guess_tables(bucket, islice(listing, MAX_FILES))
    if not guesses:
        raise CommandError(f"no file below {address} could belong to a table")
    for guess in guesses:
        _look(guess, files)
    problems = sum(len(guess.problems) for guess in guesses)
    more = next(listing, None) is not None
    if as_json:
        print_answer(console, _answer(bucket, guesses, more=more))
        return not problems
    looked_at = "" if not more else f", of which the first {MAX_FILES:,} were read"
    console.print(
        f"# files below {address}{looked_at}: {sum(guess.files for guess in guesses)}; tables: {len(guesses)}; "
        f"problems: {problems}",
        highlight=False,
        soft_wrap=True,
        markup=False,
    )
    console.print(render_lake_yaml(bucket, guesses), highlight=False, soft_wrap=True, markup=False, end="")
    return not problems


def _files(address: str, home: Path | None, bucket: str | None) -> tuple[str, Files]:
    """Return the bucket that the tables belong to, and the files that show them."""
    if S3Address.names(address):
        if bucket is not None:
            raise CommandError(f"--bucket is for a folder of this machine, and {address} names its bucket")
        named, prefix = S3Address.parse(address)
        return named, _Bucket(client(home).settings.aws, named, prefix)
    folder = Path(address)
    if not folder.is_dir():
        raise CommandError(f"{address} is neither s3://bucket/prefix nor a folder of this machine")
    named = _BUCKET_OF_A_FOLDER if bucket is None else bucket
    if convert_value(Bucket, named) is None:
        raise CommandError(f"--bucket {named} is not the name of a bucket, such as {_BUCKET_OF_A_FOLDER}")
    return named, _Folder(folder)


def _answer(bucket: str, guesses: Sequence[Guess], *, more: bool) -> InferAnswer:
    tables = (
        InferredTable(
            name=guess.name,
            prefix=guess.key.uri,
            format=guess.format,
            files=guess.files,
            columns=guess.columns,
            partition_columns=tuple(guess.partitions),
            options=guess.options,
            problems=tuple(guess.problems),
            possible=not guess.impossible,
        )
        for guess in guesses
    )
    return InferAnswer(tables=tuple(tables), more=more, lake_yaml=render_lake_yaml(bucket, guesses))


def _look(guess: Guess, files: Files) -> None:
    """Read some files of a table."""
    differing: set[str] = set()
    rows: list[Mapping[str, Any]] = []
    read: dict[str, SniffedFile] = {}
    for entry in guess.samples:
        sample = FileSample(entry.size, partial(files.first_bytes, entry.key), partial(files.last_bytes, entry.key))
        try:
            if guess.format is None:
                guess.format = format_of_bytes(sample.text()[0])
            sniffed = sniff_file(guess.format, sample)
        except StoreError:
            raise
        except Exception as error:  # A file may hold anything, and the others are looked at.
            guess.problems.append(f"{entry.key}: {first_line(error)}")
            continue
        read[entry.key] = sniffed
        said = sniffed.problems
        guess.problems += [f"{entry.key}: {problem}" for problem in said]
        guess.options.update(sniffed.options)
        guess.declared.update(sniffed.declared)
        guess.stated.update(sniffed.stated)
        rows += sniffed.rows
        if FORMATS[guess.format].exact_names:
            spelled = list(dict.fromkeys([*guess.columns, *sniffed.columns]))
            guess.problems += [
                f"{entry.key}: {problem}" for problem in check_names(spelled, loaded=False) if problem not in said
            ]
        differing.update(guess.take(sniffed.columns))
    guess.problems += [
        f"{key}: the options of the other files ({_format_options(guess.options)}) would read it wrongly: it needs "
        f"{_format_options(sniffed.options)}; write all files of a folder alike"
        for key, sniffed in read.items()
        if not sniffed.reads_alike(guess.options)
    ]
    guess.propose(rows)
    both = {fold_name(name) for name in guess.columns} & {fold_name(name) for name in guess.partitions}
    if both:
        guess.problems.append(f"{', '.join(sorted(both))} is in the files and in their folders; rename one")
    guess.problems += [
        f"column {name} has different types in different files; configure its type" for name in sorted(differing)
    ]


def _format_options(options: Mapping[str, Any]) -> str:
    return flow(options) if options else "the defaults"


class _Bucket:
    def __init__(self, aws: Aws, bucket: str, prefix: str) -> None:
        self._store = ObjectStore(aws.client("s3"))
        self._bucket, self._prefix = bucket, prefix
        self._versions: dict[str, S3Object] = {}

    def list_files(self) -> Iterator[Entry]:
        for item in self._store.list_under(self._bucket, self._prefix):
            self._versions[item.key] = S3Object(S3Address(self._bucket, item.key), item.etag)
            yield Entry(item.key, item.size)

    def first_bytes(self, key: str, length: int) -> bytes:
        return self._store.piece(self._versions[key], 0, length)

    def last_bytes(self, key: str, length: int) -> bytes:
        return self._store.tail(self._versions[key], length)


class _Folder:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def list_files(self) -> Iterator[Entry]:
        for path in sorted(self._folder.rglob("*")):
            if path.is_file():
                yield Entry(path.relative_to(self._folder).as_posix(), path.stat().st_size)

    def first_bytes(self, key: str, length: int) -> bytes:
        with (self._folder / key).open("rb") as file:
            return file.read(length)

    def last_bytes(self, key: str, length: int) -> bytes:
        path = self._folder / key
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - length))
            return file.read()


class InferredTable(Answer):
    """A table that the files of a folder would become."""

    name: str
    """Its SQL name."""
    prefix: str
    """Its prefix, as `s3://bucket/folder/`."""
    format: str | None
    """Format of the files. null if no file shows it."""
    files: int
    """Number of files."""
    columns: Mapping[str, str]
    """SQL types by the names of columns, as far as files were read."""
    partition_columns: tuple[str, ...]
    """Columns of the folders `k=v`."""
    options: Mapping[str, Any]
    """Options of the format that the files need."""
    problems: tuple[str, ...]
    """A sentence for each problem, with what to do."""
    possible: bool
    """Whether some setting makes these files a table."""


class InferAnswer(Answer):
    """The tables that files suggest."""

    tables: tuple[InferredTable, ...]
    """The tables, by their prefixes."""
    more: bool
    """Whether there are more files than the first ones, which were listed."""
    lake_yaml: str
    """Text of a `lake.yaml` to start from."""
