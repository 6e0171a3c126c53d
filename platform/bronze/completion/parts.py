"""The parts of a dataset: what its signal names, or the files of the signal's folder."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from tidegate.platform.bronze.reconcile.listing import is_source
from tidegate.platform.core.bronze.ledger import SETTLED, LastState
from tidegate.platform.core.bronze.object_state import Probe, S3Found
from tidegate.platform.core.completion.named_parts import MAX_MANIFEST_BYTES, NamedPart, named_parts
from tidegate.platform.core.completion.signal_name import SignalKind, SignalName
from tidegate.platform.core.completion.verdict import (
    MAX_DATASET_FILES,
    Outcome,
    Part,
    Signal,
    Verdict,
    judge_folder,
    judge_manifest,
)
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.errors import BadValue
from tidegate.platform.core.keys.object_key import folder_of
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.lake.aws.bucket import Bucket
from tidegate.platform.lake.aws.s3 import Listed, ObjectRefused, StoreError
from tidegate.platform.lake.capacity import TooLarge, run_bounded

#: Objects of a signal's folder that are listed.
MAX_LISTED = 100_000
#: Bytes of a manifest that is parsed next to others.
_SMALL_BYTES = 1 << 18


@dataclass
class Parts:
    """The parts of one signal.

    Attributes:
        files: files of its folder, as listed. Empty for a manifest.
        named: parts that its manifest names.
        verdict: the verdict if the parts cannot be known.
    """

    signal: Signal
    files: Sequence[Listed] = ()
    named: Sequence[NamedPart] = ()
    verdict: Verdict | None = None
    _listed: dict[str, Probe] = field(default_factory=dict)

    @property
    def keys(self) -> list[str]:
        """The keys of the parts."""
        return [file.key for file in self.files] or [part.key for part in self.named]

    @property
    def sizes(self) -> dict[str, int | None]:
        """Bytes of the parts, as far as they are known."""
        return {file.key: file.size for file in self.files} | {part.key: part.size for part in self.named}

    def probes_of_listed(self, states: Mapping[str, LastState]) -> dict[str, Probe]:
        """Return the states of files whose listed etag is the one that the ledger has."""
        return {
            file.key: S3Found(file.etag, file.size, int(file.modified) * 1000)
            for file in self.files
            if (state := states.get(file.key)) and state.etag == file.etag and state.status in SETTLED
        }

    def judge(self, states: Mapping[str, LastState], probes: Mapping[str, Probe], *, registered: bool) -> Verdict:
        """Return the verdict on the signal.

        Args:
            states: the ledger's last states.
            probes: S3's present states of all parts.
            registered: whether the table registers its files.
        """
        if self.verdict:
            return self.verdict
        if self.named:
            parts = [Part(part.key, probes[part.key], states.get(part.key), part) for part in self.named]
            return judge_manifest(self.signal, parts, registered=registered)
        files = [Part(file.key, probes[file.key], states.get(file.key)) for file in self.files]
        return judge_folder(self.signal, files, registered=registered)


def parts_of(table: TableKey, source: Bucket, config: LakeConfig, name: SignalName, signal: Signal) -> Parts:
    """Return the parts of a signal.

    Raises:
        StoreError: S3 did not answer to the listing of the folder.
    """
    if name.kind is SignalKind.FOLDER:
        return _folder(table, source, config, name, signal)
    try:
        return Parts(signal, named=_read_named_parts(table, source, config, name, signal))
    except ValueError as error:
        return Parts(signal, verdict=Verdict(Outcome.REFUSED, reason=str(error)))
    except _ManifestPending as wait:
        return Parts(signal, verdict=Verdict(Outcome.WAITS, reason=str(wait)))
    except ObjectRefused as error:
        return Parts(signal, verdict=Verdict(Outcome.REFUSED, reason=f"S3 refuses it: {error}"))
    except StoreError as error:
        return Parts(signal, verdict=Verdict(Outcome.UNKNOWN, reason=str(error)))


class _ManifestPending(Exception):
    """The manifest is not the one that the checksum is of. The checksum is written after it."""


def _folder(table: TableKey, source: Bucket, config: LakeConfig, name: SignalName, signal: Signal) -> Parts:
    """Return the files below the signal's folder, without those of an inner folder that has a signal of its own."""
    folder = folder_of(signal.key)
    listed = list(islice(source.list_under(folder), MAX_LISTED + 1))
    if len(listed) > MAX_LISTED:
        return Parts(
            signal,
            verdict=Verdict(
                Outcome.REFUSED,
                reason=f"its folder has more than {MAX_LISTED:,} objects. Write each dataset into a folder of its own",
            ),
        )
    inner = {folder_of(item.key) for item in listed if name.matches(item.key)} - {folder}
    files = [
        item
        for item in listed
        if not name.matches(item.key) and inner.isdisjoint(_folders(item.key)) and is_source(table, config, item.key)
    ]
    return Parts(signal, files)


def _folders(key: str) -> list[str]:
    """Return the folders that an object is in, each as a key that ends in `/`."""
    places = [place + 1 for place, character in enumerate(key) if character == "/"]
    return [key[:place] for place in places]


def _body(source: Bucket, key: str, subject: str) -> bytes | None:
    """Return the bytes that an object has now; None if it is gone.

    Its writer may replace it at any time, so its size before is not its size now.

    Raises:
        BadValue: it has more than a manifest may have. The message begins with the subject.
        StoreError: S3 did not give them.
    """
    try:
        return source.objects.get(source.name, key, MAX_MANIFEST_BYTES)
    except TooLarge:
        raise BadValue(
            f"{subject} has more than {MAX_MANIFEST_BYTES:,} bytes, the most that a manifest may have"
        ) from None


def _read_named_parts(
    table: TableKey, source: Bucket, config: LakeConfig, name: SignalName, signal: Signal
) -> tuple[NamedPart, ...]:
    """Read the manifest of a signal.

    Raises:
        BadValue: it cannot be used. The message says why.
        _ManifestPending: the manifest is missing, or has other bytes than the checksum says.
        StoreError: S3 did not answer.
    """
    key = name.manifest_of(signal.key)
    body = _body(source, signal.key, "it")
    if name.kind is SignalKind.CHECKSUM:
        checksum = (body or b"").decode(errors="replace").split()
        body = _body(source, key, f"its manifest {key}")
        if body is None:
            raise _ManifestPending(f"its manifest {key} is missing")
        if [hashlib.md5(body, usedforsecurity=False).hexdigest()] != [word.lower() for word in checksum[:1]]:
            raise _ManifestPending(
                f"the MD5 in it is not that of its manifest {key}, which was written again or is damaged"
            )
    elif body is None:
        raise _ManifestPending("it was removed while it was read")
    manifest = body or b""
    # What a large one says takes several times its bytes.
    parts = run_bounded(
        lambda _: named_parts(manifest, table.bucket, table.prefix),
        MAX_MANIFEST_BYTES,
        shared_max_bytes=_SMALL_BYTES,
        min_bytes=len(manifest),
    )
    if len(parts) > MAX_DATASET_FILES:
        raise BadValue(
            f"it names {len(parts):,} parts, and a dataset is one commit of at most {MAX_DATASET_FILES:,} files. "
            "Write it as several datasets, each with its own signal"
        )
    if stranger := next(
        (part.key for part in parts if name.matches(part.key) or not is_source(table, config, part.key)), None
    ):
        raise BadValue(f"it names {stranger}, which is not a file of the table: a signal, hidden, or of another table")
    return parts
