"""File formats: what is known of each before its files are read. A format is added here first.

Endings of packed text are known here, too: which are unpacked, and which are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

#: Names in lake.yaml, and in events of discovery: the keys of `FORMATS`.
FormatName = Literal["parquet", "csv", "json", "text", "orc", "avro"]
#: Modes of tables whose rows become objects of an output.
OutputMode = Literal["repartition", "convert", "concatenate"]
Mode = Literal["register", "load", "inventory"] | OutputMode

#: The ending of objects that are unpacked. Case matters: Spark reads x.csv.GZ as plain text.
GZIP = ".gz"
#: Endings by which Spark's readers of text choose another unpacker. None is promised: some unpackers need libraries
#: that a server may not have, and some read plain text as no rows.
REFUSED = (".bz2", ".deflate", ".lz4", ".snappy", ".zst")
#: Endings of archives, which Spark's readers would take for text.
ARCHIVES = (".zip",)


@dataclass(frozen=True)
class FileFormat:
    """What is known of the files of a format.

    Attributes:
        name: of the format in lake.yaml.
        endings: of the objects' names, in lower case and without the dot.
        modes: how the files can enter bronze; the first is the default.
        magic: first bytes of each file; empty where there are none.
        text: whether the files are text. Gzip may pack text, and its beginning shows its structure.
        footer: whether the end of each file describes it, so that the look reads the end with the object's state.
        exact_names: whether two columns can have names that differ by case only.
        options: the key of a table in lake.yaml whose value says how its files are written; None where there is none.
    """

    name: FormatName
    endings: tuple[str, ...]
    modes: tuple[Mode, ...] = ("load", "convert")
    magic: bytes = b""
    text: bool = False
    footer: bool = False
    exact_names: bool = False
    options: str | None = None


FORMATS: Mapping[FormatName, FileFormat] = {
    format.name: format
    for format in (
        FileFormat(
            "parquet", ("parquet",), modes=("register", "load", "convert", "concatenate"), magic=b"PAR1", footer=True
        ),
        FileFormat("csv", ("csv",), text=True, options="csv"),
        FileFormat(
            "json",
            ("json", "jsonl", "ndjson"),
            modes=("load", "repartition", "convert"),
            text=True,
            exact_names=True,
            options="json",
        ),
        FileFormat("text", (), text=True, options="text"),
        FileFormat("orc", ("orc",), magic=b"ORC"),
        FileFormat("avro", ("avro",), magic=b"Obj\x01"),
    )
}

_BY_ENDING = {ending: format for format in FORMATS.values() for ending in format.endings}


def format_of(key: str) -> FormatName | None:
    """Return the format that the ending of an object's name says; None when no format is known for it."""
    name = key.rsplit("/", 1)[-1]
    plain = name.removesuffix(GZIP)
    _, dot, ending = plain.rpartition(".")
    found = _BY_ENDING.get(ending.lower()) if dot else None
    return found.name if found and (found.text or plain == name) else None


def mode_of(format: FormatName) -> Mode:
    """Return how files of a format enter bronze by default."""
    return FORMATS[format].modes[0]


def output_mode(mode: Mode | None) -> OutputMode | None:
    """Return the mode if it is one of outputs."""
    return None if mode is None or mode == "register" or mode == "load" or mode == "inventory" else mode


def with_mode(mode: Mode) -> list[FormatName]:
    """Return the formats whose files can enter bronze in a mode."""
    return [format.name for format in FORMATS.values() if mode in format.modes]


def refusal(key: str) -> str | None:
    """Return why a text file of this name is not read, and what to do. None if its name is not an obstacle."""
    found = next((ending for ending in (*REFUSED, *ARCHIVES) if key.endswith(ending)), None)
    if found is None:
        return None
    return (
        f"its name ends in {found}, and of packed text only gzip is read; write it with gzip and the ending {GZIP}, or "
        "as plain text without such an ending"
    )
