"""A destination that does something with the objects of events, instead of sending the events on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tidegate.platform.core.bronze.hint import REMOVALS
from tidegate.platform.core.events.s3_event import S3Event, parse_body
from tidegate.platform.core.forwarding.outgoing import Outgoing
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.resources.aws.s3 import ObjectForbidden, ObjectGone
from tidegate.resources.forwarding.destination import Refusal

#: Does the action for an object, given the event and its type. Raises a ValueError if it is never possible.
Action = Callable[[S3Event, str | None], None]


class ObjectAction:
    """Does an action for each object that an event created. It is repeatable, because an event may come twice.

    An object that is gone needs no action. An object that S3 refuses to give waits, as does everything while S3 does
    not answer.

    Args:
        name: for people.
        action: the action.
    """

    ordered = False
    max_bytes = 1 << 20

    def __init__(self, name: str, action: Action) -> None:
        self.name, self._action = name, action

    def send(self, messages: Sequence[Outgoing]) -> list[Refusal]:
        """Do the action for the objects of up to ten messages. Returns those for which it was not possible.

        Raises:
            StoreError: S3 did not answer.
        """
        refusals = (self._refusal(place, message) for place, message in enumerate(messages))
        return [refusal for refusal in refusals if refusal]

    def _refusal(self, place: int, message: Outgoing) -> Refusal | None:
        for event in parse_body(message.body, message.id).events:
            if event.event_name.startswith(REMOVALS):
                continue
            address = S3Address(event.bucket, event.key)
            try:
                self._action(event, message.event_type)
            except ObjectGone:
                continue
            except ObjectForbidden as error:
                return Refusal(place, str(error), of_the_message=False)
            except ValueError as error:
                return Refusal(place, f"{address}: {error}", of_the_message=True)
        return None


def filled(template: str, values: Mapping[str, str]) -> str:
    """Return a text with each `{name}` replaced by its value."""
    for name, value in values.items():
        template = template.replace(f"{{{name}}}", value)
    return template
