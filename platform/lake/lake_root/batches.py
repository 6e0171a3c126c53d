"""Batches: each is decided once and never deleted."""

from __future__ import annotations

import itertools
import json
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime

from tidegate.platform.core.bronze.batch import Batch
from tidegate.platform.core.bronze.object_state import S3Gone
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.stored_members import read_members
from tidegate.platform.lake.aws.s3 import StoreError
from tidegate.platform.lake.lake_root.root import LakeRoot

#: Batches that are searched for a table's birth: the batches before the birth only refused files.
_MAX_BIRTH_BATCH = 100


@dataclass(frozen=True)
class Retirement:
    """The end of a generation. It takes the number of the batch that the generation would have decided next.

    Attributes:
        generation: the generation that follows.
        by: the person that asked for it.
        at: ISO 8601.
        command: that ended it, and whose repetition finishes what it began.
    """

    generation: str
    by: str
    at: str
    command: str = "reset"


class GenerationRetired(UnavailableError):
    """A reset ended the generation that this run belongs to."""


class Batches:
    """`batches/<folder>/<n, 20 digits>.json`, and a `.void` object for each batch that landed void.

    Args:
        folder: the folder of the generation: the table key, or the folder that the birth record names.
    """

    def __init__(self, root: LakeRoot, folder: str) -> None:
        self._root = root
        self._folder = folder

    def uri(self, n: int) -> str:
        """Return the `s3a://` URI of batch n."""
        return S3Address(self._root.bucket, self._key(n)).s3a

    def read(self, n: int) -> Batch | None:
        """Return batch n, or None if it was not decided yet.

        Raises:
            GenerationRetired: a reset ended the generation at this number.
            ValueError: the object is not a valid batch.
        """
        body = self._root.objects.get(self._root.bucket, self._key(n))
        if body is None:
            return None
        if retirement := _retirement(body):
            operation = "an adoption" if retirement.command == "adopt" else "a reset"
            raise GenerationRetired(
                f"{operation} by {retirement.by} at {retirement.at} ended this generation at batch {n} of "
                f"{self._folder}. If the table stays like this the {operation.split()[1]} was interrupted: repeat it "
                f"with `tidegate {retirement.command}`"
            )
        return Batch.from_json(body, self._root.address(self._key(n)))

    def first_batch(self) -> Batch | None:
        """Return batch 1. None if it was not decided, also if the generation ended before."""
        try:
            return self.read(1)
        except GenerationRetired:
            return None

    def require_current(self, n: int) -> int:
        """Return the last batch that was decided, from batch `n` on, of a generation that is still in use.

        Raises:
            GenerationRetired: a reset ended it.
        """
        while self.read(n + 1) is not None:
            n += 1
        return n

    def birth(self) -> TableSchema | None:
        """Return the columns that the table began with.

        None while no file has fitted, if others made the table, or if none of the first hundred batches created the
        table or wrote the first Parquet file of an output. A batch that landed void does not count.

        Raises:
            GenerationRetired: a reset ended the generation before it had a table.
        """
        numbers = range(1, _MAX_BIRTH_BATCH + 1)
        # The columns of an adopted table are in its log alone.
        batches = itertools.takewhile(lambda batch: batch is not None and not batch.adopt, map(self.read, numbers))
        firsts = ((batch.n, batch.create.schema if batch.create else batch.columns) for batch in batches if batch)
        return next((schema for n, schema in firsts if schema and not self._is_void(n)), None)

    def _is_void(self, n: int) -> bool:
        return self._root.objects.get(self._root.bucket, self._key(n, "void")) is not None

    def is_decided(self, n: int) -> bool:
        """Return whether batch n was decided. True also if S3 does not answer."""
        return not isinstance(self._root.objects.head(self._root.bucket, self._key(n)), S3Gone)

    def void_numbers(self, after: int) -> set[int]:
        """Return the numbers of the batches after `after` that landed void.

        Contains each void batch that the ledger has recorded.

        `add_files` writes the void object before it reports that a batch landed void. The ledger records it later.
        """
        return {n for n, size in self.sizes(after).items() if size is None}

    def sizes(self, after: int) -> dict[int, int | None]:
        """Return the size in bytes of each batch object after `after`, by number; None for a batch that landed void."""
        folder = self._root.key("batches", self._folder, "")
        found: dict[int, int | None] = {}
        for item in self._root.objects.list_under(self._root.bucket, folder, after=f"{folder}{after:020d}.void"):
            number, _, kind = item.key[len(folder) :].partition(".")
            if number.isdecimal():
                found[int(number)] = None if kind == "void" else item.size
        return found

    def decide(self, batch: Batch) -> Batch:
        """Create batch n unless another run already has. Returns the batch that exists afterwards.

        Raises:
            GenerationRetired: a reset was faster.
        """
        if self._root.objects.put_if_absent(self._root.bucket, self._key(batch.n), batch.to_json()):
            return batch
        winner = self.read(batch.n)
        if winner is None:
            raise StoreError(f"batch {batch.n} of {batch.table} vanished: batches must never be deleted")
        return winner

    def retirement(self) -> Retirement | None:
        """Return what ended the generation. None if nothing did. Reads all of its batches."""
        bodies = (self._root.objects.get(self._root.bucket, self._key(n)) for n in itertools.count(1))
        present = (body for body in itertools.takewhile(lambda body: body is not None, bodies) if body)
        return next(filter(None, map(_retirement, present)), None)

    def retire(self, recorded: int, by: str, command: str = "reset") -> Retirement:
        """End the generation: take the first free number, so that no batch is decided afterwards.

        Returns the retirement that exists afterwards, which may be another caller's.

        Args:
            recorded: the last batch that the ledger has recorded.
            by: the person that asks for it.
            command: of that person.
        """
        mine = Retirement(str(uuid.uuid4()), by, datetime.now(UTC).isoformat(timespec="seconds"), command)
        # Omitted for a reset, as in records that older versions read.
        kept = {name: value for name, value in vars(mine).items() if (name, value) != ("command", "reset")}
        body = json.dumps({"format": 1, "retired": kept}, ensure_ascii=False)
        for n in itertools.count(recorded + 1):
            self._root.objects.put_if_absent(self._root.bucket, self._key(n), body)
            if found := _retirement(self._root.objects.get(self._root.bucket, self._key(n)) or b"{}"):
                return found
        raise AssertionError("numbers do not end")

    def _key(self, n: int, kind: str = "json") -> str:
        return self._root.key("batches", self._folder, f"{n:020d}.{kind}")


def _retirement(body: bytes) -> Retirement | None:
    try:
        found = json.loads(body).get("retired")
    except (AttributeError, ValueError):
        return None
    return read_members(Retirement, found, "the end of a generation") if found else None
