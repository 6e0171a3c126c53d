"""The values of a key's newest row: where it leaves one, that of the newest row before it which has one.

This is the definition that merges compute in SQL. Here it is computed row by row, so that a comparison of both shows a
fault of either.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace

from tidegate.platform.core.row_json import shallow
from tidegate.platform.core.silver.fates.key_row import KeyRow

_DECODER = json.JSONDecoder()


def with_given_values(row: KeyRow, older: Iterable[KeyRow]) -> KeyRow:
    """Returns a row with the values that older rows of its key give it. It leaves none any more.

    Args:
        row: the row.
        older: the changes of the key before it, the newest first. A delete takes what the rows before it gave.
    """
    if not row.left:
        return row
    values = {name: text for name, text in _members(row.values).items() if name not in row.left}
    left = set(row.left)
    for other in older:
        if other.deletes or not left:
            break
        given = _members(other.values)
        values |= {name: given[name] for name in sorted(left - other.left) if name in given}
        left &= other.left
    return replace(row, values=_json(values), left=frozenset(), is_filled=True)


def _members(text: str) -> dict[str, str]:
    """Returns the JSON of each value of an object. Numbers keep their digits."""
    text = shallow(text)
    members, place = dict[str, str](), 1
    while text[place] != "}":
        name, end = _DECODER.raw_decode(text, place)
        _, place = _DECODER.raw_decode(text, end + 1)
        members[name] = text[end + 1 : place]
        place += text[place] == ","
    return members


def _json(members: Mapping[str, str]) -> str:
    return "{" + ",".join(f"{json.dumps(name)}:{value}" for name, value in members.items()) + "}"
