"""Tags objects, by the parts of their keys and the type of their events."""

from __future__ import annotations

import unicodedata

from tidegate.platform.core.config.routes import RouteSpec
from tidegate.platform.core.events.s3_event import S3Event
from tidegate.platform.lake.aws.s3 import ObjectStore
from tidegate.platform.lake.forwarding.object_action import Action, filled

#: S3's limits (user guide, "Categorizing your objects using tags"). Characters count as in UTF-16.
_MAX_TAGS, _MAX_VALUE = 10, 256
#: What S3 takes in a tag besides letters, digits and blanks of any script.
_TAG_SIGNS = "+-=._:/@"


def tag_objects(route: RouteSpec, objects: ObjectStore) -> Action:
    """Return the action of a route with `tag`. Tags of other names stay.

    Args:
        route: the route.
        objects: handle on S3.
    """

    def tag(event: S3Event, event_type: str | None) -> None:
        parts = (route.pattern.match(event.key) if route.pattern else None) or {}
        values = {**parts, **({"type": event_type} if event_type else {})}
        wanted = {name: filled(template, values) for name, template in (route.tag or {}).items()}
        for name, value in wanted.items():
            if "{" in value:
                raise ValueError(f"the tag {name!r} needs a part that the event does not have: {value}")
            if (length := len(value.encode("utf-16-le", errors="replace")) // 2) > _MAX_VALUE:
                raise ValueError(f"the tag {name!r} would have {length} characters, and S3 takes {_MAX_VALUE}")
            if refused := [sign for sign in value if not _is_taken(sign)]:
                raise ValueError(
                    f"the tag {name!r} would have the character {refused[0]!r}, and S3 takes letters, digits, blanks "
                    f"and {_TAG_SIGNS} only"
                )
        present = objects.tags(event.bucket, event.key)
        if wanted.items() <= present.items():
            return
        if len(present | wanted) > _MAX_TAGS:
            raise ValueError(f"it would have {len(present | wanted)} tags, and S3 takes {_MAX_TAGS}")
        objects.put_tags(event.bucket, event.key, present | wanted)

    return tag


def _is_taken(character: str) -> bool:
    """Return whether S3 takes a character in a tag: of Unicode's classes letter, number and separator, or a sign."""
    return character in _TAG_SIGNS or unicodedata.category(character)[0] in "LNZ"
