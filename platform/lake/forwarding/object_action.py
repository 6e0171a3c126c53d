"""A destination that does something with the objects of events, as tagging them, instead of sending the events on."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence

from tidegate.platform.core.bronze.hint import REMOVALS
from tidegate.platform.core.config.routes import RouteSpec
from tidegate.platform.core.errors import BadValue
from tidegate.platform.core.events.s3_event import S3Event, parse_body
from tidegate.platform.core.forwarding.outbox_message import Outgoing
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.lake.aws.s3 import ObjectForbidden, ObjectGone, ObjectRefused, ObjectStore, StoreError
from tidegate.platform.lake.forwarding.destination import Refusal

#: A part of a template.
_PART = re.compile(r"\{([^{}]*)\}")
#: Does the action for an object, given the event and its type. Raises a ValueError if it is never possible.
Action = Callable[[S3Event, str | None], None]

#: S3's limits (user guide, "Categorizing your objects using tags"). Characters count as in UTF-16.
_MAX_TAGS, _MAX_VALUE = 10, 256
#: What S3 takes in a tag besides letters, digits and blanks of any script.
_TAG_SIGNS = "+-=._:/@"


class ObjectAction:
    """Does an action for each object that an event created. It is repeatable, because an event may come twice.

    An object that is gone needs no action. An object that S3 denies access to waits, and so does one for which S3 does
    not answer. An object that S3 refuses for its name or its tags never gets the action. None of them delays another.

    Args:
        name: for people.
    """

    ordered = False
    max_bytes = 1 << 20
    one_by_one = True

    def __init__(self, name: str, action: Action) -> None:
        self.name, self._action = name, action

    def send(self, messages: Sequence[Outgoing]) -> list[Refusal]:
        """Do the action for the objects of up to ten messages. Returns those for which it was not possible.

        Raises:
            StoreError: S3 answered for none of several messages.
        """
        silent: dict[int, StoreError] = {}
        refusals = [self._refusal(place, message, silent) for place, message in enumerate(messages)]
        if len(silent) == len(messages) > 1:
            raise silent[0]
        return [refusal for refusal in refusals if refusal]

    def _refusal(self, place: int, message: Outgoing, silent: dict[int, StoreError]) -> Refusal | None:
        refusals = []
        for event in parse_body(message.body, message.id).events:
            if event.event_name.startswith(REMOVALS):
                continue
            address = S3Address(event.bucket, event.key)
            try:
                self._action(event, message.event_type)
            except ObjectGone:
                continue
            except ObjectForbidden as error:
                refusals.append(Refusal(place, str(error), of_the_message=False))
            except ObjectRefused as error:
                refusals.append(Refusal(place, str(error), of_the_message=True))
            except StoreError as error:
                silent[place] = error
                refusals.append(Refusal(place, str(error), of_the_message=False))
            except ValueError as error:
                refusals.append(Refusal(place, f"{address}: {error}", of_the_message=True))
        # While one object of a message may get the action later, the message waits.
        return min(refusals, key=lambda refusal: refusal.of_the_message, default=None)


def fill_template(template: str, values: Mapping[str, str]) -> str:
    """Return a text with each `{name}` replaced by its value. Braces within a value are text."""
    return _PART.sub(lambda found: values.get(found[1], found[0]), template)


def tag_objects(route: RouteSpec, objects: ObjectStore) -> Action:
    """Return the action of a route with `tag`. Tags of other names stay."""

    def tag(event: S3Event, event_type: str | None) -> None:
        parts = (route.pattern.match(event.key) if route.pattern else None) or {}
        values = {**parts, **({"type": event_type} if event_type else {})}
        wanted = {name: fill_template(template, values) for name, template in (route.tag or {}).items()}
        for name, value in wanted.items():
            if "{" in value:
                raise BadValue(f"the tag {name!r} needs a part that the event does not have: {value}")
            if (length := len(value.encode("utf-16-le", errors="replace")) // 2) > _MAX_VALUE:
                raise BadValue(f"the tag {name!r} would have {length} characters, and S3 takes {_MAX_VALUE}")
            if refused := [sign for sign in value if not _is_taken(sign)]:
                raise BadValue(
                    f"the tag {name!r} would have the character {refused[0]!r}, and S3 takes letters, digits, blanks "
                    f"and {_TAG_SIGNS} only"
                )
        present = objects.tags(event.bucket, event.key)
        if wanted.items() <= present.items():
            return
        if len(present | wanted) > _MAX_TAGS:
            raise BadValue(f"it would have {len(present | wanted)} tags, and S3 takes {_MAX_TAGS}")
        objects.put_tags(event.bucket, event.key, present | wanted)

    return tag


def _is_taken(character: str) -> bool:
    """Return whether S3 takes a character in a tag: of Unicode's classes letter, number and separator, or a sign."""
    return character in _TAG_SIGNS or unicodedata.category(character)[0] in "LNZ"
