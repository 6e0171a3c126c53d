"""The names of a table's completion signals, as `completion` in `lake.yaml` gives them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from tidegate.platform.core.errors import BadSetting
from tidegate.platform.core.keys.file_format import format_of
from tidegate.platform.core.keys.object_key import is_hidden

_CHECKSUM, _MANIFEST = ".checksum", ".json"


class SignalKind(Enum):
    """What a signal says about the parts of its dataset. The ending of its name gives the kind."""

    #: The parts are the files of its folder that are not newer than the signal, as with `_SUCCESS`.
    FOLDER = "folder"
    #: It is a manifest, which names the parts: its name ends in `.json` or `manifest`.
    MANIFEST = "manifest"
    #: It has the MD5 of the manifest `<name>.json` next to it: its name is `<name>.checksum`.
    CHECKSUM = "checksum"


@dataclass(frozen=True)
class SignalName:
    """The pattern of the names of signals: a file name, in which one `*` matches any characters.

    Attributes:
        pattern: as in `lake.yaml`.
    """

    pattern: str

    @classmethod
    @lru_cache(1000)
    def parse(cls, pattern: str) -> SignalName:
        """Read a pattern.

        Raises:
            BadSetting: it is a path, has more than one `*`, or would match the files of the table.
        """
        if not pattern or "/" in pattern:
            raise BadSetting(f"{pattern!r} is not a name of a file: a signal is found by its name, in any folder")
        if pattern.count("*") > 1 or not pattern.strip("*."):
            raise BadSetting(f"{pattern!r} matches too much: give a name such as `_SUCCESS`, with at most one `*`")
        star, _, ending = pattern.partition("*")
        if "*" in pattern and not star and ending.startswith(".") and format_of(f"x{ending}"):
            raise BadSetting(f"{pattern!r} would match the files of the table: add a part of the name to it")
        name = cls(pattern)
        if name.kind is SignalKind.FOLDER and format_of(pattern.replace("*", "x")):
            raise BadSetting(
                f"{pattern!r} is the name of a file with rows. A signal has another ending, or is `_SUCCESS`"
            )
        return name

    @property
    def kind(self) -> SignalKind:
        """The kind of these signals."""
        if self.pattern.endswith(_CHECKSUM):
            return SignalKind.CHECKSUM
        return SignalKind.MANIFEST if self.pattern.endswith((_MANIFEST, "manifest")) else SignalKind.FOLDER

    @property
    def regex(self) -> str:
        """The regular expression of the keys of signals, apart from hidden folders."""
        return rf"(^|/){'[^/]*'.join(map(re.escape, self.pattern.split('*')))}$"

    def matches(self, key: str) -> bool:
        """Return whether an object is a signal. Nothing in a hidden folder is one."""
        folder, _, name = key.rpartition("/")
        return _matcher(self.pattern).fullmatch(name) is not None and not (folder and is_hidden(folder))

    def manifest_of(self, signal: str) -> str:
        """Return the key of the manifest that a signal completes. It is the signal itself unless that is a checksum."""
        if self.kind is SignalKind.CHECKSUM:
            return f"{signal.removesuffix(_CHECKSUM)}{_MANIFEST}"
        return signal

    def accompanies(self, key: str) -> bool:
        """Return whether an object belongs to a signal and has no rows: a checksum, or the manifest that a checksum
        completes.

        Where manifests are the signals, the checksums next to them are not read.
        """
        folder, _, name = key.rpartition("/")
        stem, dot, ending = name.rpartition(".")
        partner = {"checksum": _MANIFEST, "json": _CHECKSUM}.get(ending) if dot else None
        reads = SignalKind.CHECKSUM if ending == "json" else SignalKind.MANIFEST
        return partner is not None and self.kind is reads and self.matches(f"{folder}/{stem}{partner}")


@lru_cache(1000)
def _matcher(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL)
