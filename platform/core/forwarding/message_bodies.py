"""Bodies to forward: the body of a message as it came, or a part of it for each group of its events."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidegate.platform.core.events.envelopes import EVENT_MEMBERS, MAX_TOPICS, unwrap_publication
from tidegate.platform.core.foreign_json import foreign_json


@dataclass(frozen=True, slots=True)
class Body:
    """The text inside all SNS envelopes.

    Attributes:
        text: what the first sender sent.
        id: SNS's id of the first publication, or the id of the queue's message.
        attributes: the message attributes, as SQS or the envelopes have them. The first sender's come first.
    """

    text: str
    id: str
    attributes: Mapping[str, Any] = field(default_factory=dict, hash=False)


def inner_body(body: str, message_id: str, attributes: Mapping[str, Any]) -> Body:
    """Take a body out of its SNS envelopes, without changing it.

    Args:
        body: the body of a queue's message.
        message_id: its id.
        attributes: its attributes, as SQS gives them.

    Raises:
        ValueError: an envelope has no message.
    """
    for _ in range(MAX_TOPICS):
        body, publication = unwrap_publication(body, EVENT_MEMBERS)
        if publication is None:
            break
        message_id = publication.message_id or message_id
        attributes = {**attributes, **publication.attributes}
    return Body(body, message_id, attributes)


def parts_of(
    body: Body, places: Sequence[int], whole: int, group: Callable[[int], Hashable]
) -> Iterator[tuple[int, Body]]:
    """Divide a body by the groups of its records. Yields the first place of each group and the group's body.

    A body whose records are all in one group is not changed.

    Args:
        body: a body without envelopes.
        places: the records to forward, by their places in the body.
        whole: how many records the body has.
        group: the group of the record at a place.
    """
    groups: dict[Hashable, list[int]] = {}
    for place in places:
        groups.setdefault(group(place), []).append(place)
    if len(groups) == 1 and len(places) == whole:
        yield places[0], body
        return
    content = foreign_json(body.text)
    for members in groups.values():
        yield members[0], Body(_with_records(content, members), f"{body.id}#{members[0]}")


def split_in_halves(text: str) -> list[str]:
    """Return the two halves of an S3 notification with several records; nothing for any other body.

    Raises:
        ValueError: it is not JSON, or is nested too deeply.
    """
    content = foreign_json(text)
    records = content.get("Records") if isinstance(content, dict) else None
    if not isinstance(records, list) or len(records) < 2:
        return []
    middle = len(records) // 2
    return [_with_records(content, range(middle)), _with_records(content, range(middle, len(records)))]


def _with_records(content: Mapping[str, Any], places: Sequence[int]) -> str:
    # Escapes of half a surrogate pair stay escapes, because no UTF-8 text has them.
    return json.dumps({**content, "Records": [content["Records"][place] for place in places]}, separators=(",", ":"))
