"""Members of the JSON objects that a lake stores: one that this version does not know, a newer version wrote."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar

from tidegate.platform.core.errors import BadSetting, BadValue

_Stored = TypeVar("_Stored")
#: The end of the message of each such error.
NEWER = "a newer Tidegate wrote this lake. Upgrade Tidegate"


class NewerVersionError(BadSetting):
    """A newer Tidegate wrote an object of the lake. This version does not know what it means."""


@contextmanager
def reading(where: str, what: str, remedy: str = "restore its first version") -> Iterator[None]:
    """Name the object in the error of a body that cannot be read.

    Args:
        where: its address.
        what: what it must be: `a batch`.
        remedy: what to do if it is something else.

    Raises:
        NewerVersionError: a newer version wrote it.
        BadValue: it is something else.
    """
    try:
        yield
    except NewerVersionError as error:
        raise NewerVersionError(f"{where}: {error}") from None
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BadValue(f"{where} is not {what} ({error}): {remedy}") from error


def require_format(found: Any, known: int) -> None:
    """Refuse a format that this version does not know.

    Raises:
        NewerVersionError: it is another format.
    """
    if found != known:
        raise NewerVersionError(f"its format is {found}, not {known}: {NEWER}")


def require_known(members: Mapping[str, Any], known: Iterable[str], what: str) -> None:
    """Refuse a member that this version does not know. It means something, so it must not be passed over.

    Args:
        members: a JSON object.
        known: names of members.
        what: the object, for the error message: `a row`.

    Raises:
        NewerVersionError: there is another member.
    """
    if unknown := members.keys() - known:
        raise NewerVersionError(f"{what} has no member {min(unknown)!r}: {NEWER}")


def read_note(text: str | bytes, known: Iterable[str], what: str, format: int = 1) -> dict[str, Any]:
    """Read a JSON object that has a format, and no member that this version does not know.

    Args:
        text: the body.
        known: names of members besides `format`, which older bodies may lack.
        what: the object, for the error message: `a note`.
        format: the format that this version knows.

    Raises:
        NewerVersionError: it has another format or member.
        ValueError: it is not JSON.
        TypeError: it is not a JSON object.
    """
    body = json.loads(text)
    if not isinstance(body, dict):
        raise TypeError(f"{what} is not a JSON object")
    require_format(body.get("format", format), format)
    require_known(body, ("format", *known), what)
    return body


def read_members(cls: type[_Stored], members: Mapping[str, Any], what: str, **values: Any) -> _Stored:
    """Make a dataclass of the members of a JSON object, which have the names of its fields.

    Args:
        cls: the dataclass.
        members: a JSON object.
        what: the object, for the error message: `a row`.
        values: of further fields, or in place of members.

    Raises:
        NewerVersionError: the dataclass has no such field.
        TypeError: a field without a default is missing, or it is not a JSON object.
    """
    if not isinstance(members, Mapping):
        raise TypeError(f"{what} is not a JSON object")
    require_known(members, _names(cls), what)  # type: ignore[arg-type]  # a class is hashable
    return cls(**{**members, **values})


@cache
def _names(cls: type[Any]) -> frozenset[str]:
    return frozenset(field.name for field in fields(cls))
