"""Object keys: decoding, the meaning of their folders, and prefixes of which one may be inside another."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import unquote, unquote_plus

from tidegate.platform.core.errors import BadValue
from tidegate.platform.core.schema.column_types import fold_name

HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
"""The value that Hive and Spark write for a null partition column."""


HIDDEN_FOLDER, HIDDEN_FILE = "(^|/)[_.][^/=]*/", "(^|/)[_.][^/=]*$"
"""Patterns of the keys in hidden folders, and of hidden files, for Spark's RLIKE. `is_hidden` is the exact rule."""


#: Folders of a registered table that commits write: Delta's log, and our copies of its files.
_COMMIT_FOLDERS = frozenset({"_delta_log", "_tidegate"})
_MAX_BYTES = 1024  # S3's limit for a key
_TOO_LONG = f"the object key has more than {_MAX_BYTES:,} bytes, which is S3's limit"
#: What Hive and Spark escape in a folder.
_ESCAPED = re.compile(r"""[\x01-\x1f\x7f"#%'*/:=?\\{\[\]^]""")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")

_YEAR, _MONTH, _DAY = "(?:19|20)[0-9]{2}", "(?:0?[1-9]|1[0-2])", "(?:0?[1-9]|[12][0-9]|3[01])"
_HOUR = "(?:[01]?[0-9]|2[0-3])"
_BELOW_DAY = f"(?:/{_HOUR}(?:/[0-5][0-9])?)?"
# Dates at the end of a prefix: YYYY/MM/DD/HH/mm as Firehose writes them, or less of that; YYYY-MM, YYYY-MM-DD and
# YYYYMMDD, with the hour in the same folder or in one of its own.
_DATES = re.compile(
    rf"(?:^|(?<=/)){_YEAR}"
    rf"(?:(?:/{_MONTH}(?:/{_DAY}{_BELOW_DAY})?)?"
    rf"|-{_MONTH}(?:-{_DAY}(?:[-T]{_HOUR})?{_BELOW_DAY})?"
    rf"|(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])(?:[-T]?(?:[01][0-9]|2[0-3]))?{_BELOW_DAY})/\Z"
)


def key_length_problem(key: str, what: str) -> str | None:
    """Say why S3 would refuse a key that is made of a producer's key. None if S3 takes it.

    Args:
        what: what would have the key, for the text.
    """
    length = len(key.encode(errors="surrogatepass"))
    if length <= _MAX_BYTES:
        return None
    return f"{what} would have a key of {length:,} bytes, and S3 takes {_MAX_BYTES:,}: write it under a shorter key"


def decode_event_key(raw: str) -> str:
    """Decode the key of an S3 notification ("+" is a space, then percent escapes, as UTF-8).

    Raises:
        BadValue: the key is empty, longer than S3 allows, has a broken escape, or is not UTF-8 when decoded.
    """
    if not raw:
        raise BadValue("the object key is empty")
    if len(raw) > 3 * _MAX_BYTES:
        raise BadValue(_TOO_LONG)
    broken = _BAD_ESCAPE.search(raw)
    if broken:
        raise BadValue(f"the object key {raw!r} has a broken percent escape at position {broken.start()}")
    try:
        return decode_possible_key(unquote_plus(raw, errors="strict"))
    except UnicodeDecodeError as error:
        raise BadValue(f"the object key {raw!r} is not UTF-8 when decoded: {error.reason}") from None


def folder_of(key: str) -> str:
    """Return the folder of an object, with its `/`. Empty for an object at the top of the bucket."""
    return key[: key.rfind("/") + 1]


def decode_possible_key(key: str) -> str:
    """Return the decoded key if S3 could have an object of that name.

    Raises:
        BadValue: it is empty, longer than S3 allows, or has a lone surrogate, which no UTF-8 key can have.
    """
    if not key:
        raise BadValue("the object key is empty")
    try:
        encoded = key.encode()
    except UnicodeEncodeError as error:
        raise BadValue(f"the object key {key!r} is not valid Unicode: {error.reason}") from None
    if len(encoded) > _MAX_BYTES:
        raise BadValue(_TOO_LONG)
    return key


def is_of_a_commit(key: str) -> bool:
    """Return whether an object belongs to a table's log or to our copies, which commits write next to the table's
    files.
    """
    return not _COMMIT_FOLDERS.isdisjoint(key.split("/")[:-1])


def is_hidden(key: str) -> bool:
    """Return whether some segment begins with "_" or "." and is not `k=v`: work files of Spark, Delta and Tidegate.

    The object's own name follows the rule of Spark's readers, which silently skip a name that begins with "." or
    ends in "._COPYING_", even if it is requested by name.
    """
    *folders, name = key.split("/")
    if name.startswith(".") or name.endswith("._COPYING_"):
        return True
    return any(part.startswith(("_", ".")) and not is_partition(part) for part in (*folders, name))


def is_partition(segment: str) -> bool:
    """Return whether a key's segment is `k=v`."""
    return segment.find("=") >= 1


def conventional_prefix(key: str) -> str:
    """Return the table prefix by convention, with its trailing "/" ("" for none).

    The folders up to the first `k=v`, without those at their end that are dates: `logs/` for `logs/2024/05/01/13/x`.
    """
    prefix = ""
    for folder in key.split("/")[:-1]:
        if is_partition(folder):
            break
        prefix += f"{folder}/"
    while dates := _DATES.search(prefix):
        prefix = prefix[: dates.start()]
    return prefix


def partition_values(key: str, prefix: str) -> dict[str, str | None]:
    """Return the Hive partition values in the folders between a table prefix and the object's name.

    Args:
        key: decoded object key.
        prefix: the table prefix that the key begins with.

    Returns:
        Column to value in the order of the folders; None for Hive's null.

    Raises:
        BadValue: the key is not below the prefix, or names a column twice.
    """
    if not key.startswith(prefix):
        raise BadValue(f"the key {key!r} is not below the table prefix {prefix!r}")
    values: dict[str, str | None] = {}
    for folder in key[len(prefix) :].split("/")[:-1]:
        if not is_partition(folder):
            continue
        column, value = (_unescape(part) for part in folder.split("=", 1))
        # Spark resolves columns case-insensitively, so Day=1/day=2 is the same contradiction as day=1/day=2.
        if fold_name(column) in (fold_name(known) for known in values):
            raise BadValue(f"the key {key!r} gives the partition column {column!r} twice")
        values[column] = None if value == HIVE_NULL else value
    return values


def partition_folders(values: Mapping[str, str | None]) -> str:
    """Return the folders of partition values as Hive and Spark write them, with a "/" after each.

    Args:
        values: by column, in the order of the folders; None for a null.
    """
    return "".join(f"{_escape(name)}={_escape(value) if value else HIVE_NULL}/" for name, value in values.items())


def _escape(text: str) -> str:
    return _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", text)


def _unescape(text: str) -> str:
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        return text


def outermost_prefixes(prefixes: Iterable[str]) -> list[str]:
    """Return the prefixes that are inside no other one, in order."""
    found: list[str] = []
    for prefix in sorted(prefixes):
        if not found or not prefix.startswith(found[-1]):
            found.append(prefix)
    return found


def place_of(text: str, prefixes: Sequence[str]) -> int | None:
    """Return the place of the prefix that a text begins with, or None.

    It takes as many comparisons as the number of prefixes has binary digits, whatever that number is.

    Args:
        text: a key or an address.
        prefixes: in order, and none inside another.
    """
    # Only the last one that sorts before the text can be its beginning.
    place = bisect_right(prefixes, text) - 1
    return place if place >= 0 and text.startswith(prefixes[place]) else None
