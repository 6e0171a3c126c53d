"""What the messages of a queue bring: hints, rows, messages to forward, and what has no table."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.platform.core.routing.event_type import tags_refused
from tidegate.platform.intake.event_typing import EventTyping
from tidegate.platform.intake.forwarded_messages import Forwards
from tidegate.platform.intake.intake_result import IntakeResult
from tidegate.platform.intake.known_tables import KnownTables
from tidegate.platform.intake.message_routing import parse_messages, reject_message
from tidegate.platform.intake.row_objects import write_row_objects
from tidegate.platform.lake.aws.message import Message
from tidegate.platform.lake.lake import Lake


class MessageTaking:
    """The tables, types and routes of a lake during one tick. It is thread-safe."""

    def __init__(self, lake: Lake) -> None:
        self._lake, self._known = lake, KnownTables(lake)
        self._typing, self._forwards = EventTyping(lake), Forwards(lake)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the message attributes that have to be received."""
        return (*self._forwards.attributes, *self._typing.attributes)

    def route_messages(self, queue: str, messages: Sequence[Message]) -> tuple[Sequence[Message], IntakeResult]:
        """Return the messages that can be taken, and what they brought. The rows of a row queue are written to S3.

        Args:
            queue: the name of the queue that the messages came from.
            messages: as received, with `attributes`.

        Raises:
            Exception: S3 did not answer. No message may be deleted then.
        """
        if table := self._lake.config.table_of_rows(queue):
            return messages, write_row_objects(messages, table, self._lake.store.objects)
        parsed = parse_messages(messages)
        opened = self._typing.open_messages(parsed)
        types = self._typing.find_types(opened)
        if types.refused:
            parsed = [parsed_message for parsed_message in parsed if parsed_message.message.id not in types.refused]
            opened = [message for message in opened if message.id not in types.refused]
        made = self._forwards.build_messages(opened, types.by_event)
        if made.stumbled:
            parsed = [
                reject_message(parsed_message.message, made.stumbled[parsed_message.message.id])
                if parsed_message.message.id in made.stumbled
                else parsed_message
                for parsed_message in parsed
            ]
        intake = self._known.route_messages(parsed)
        intake.add_types(types.by_event)
        intake.outgoing = made.outgoing
        if types.refused:
            intake.left = [_describe_left_messages(queue, list(types.refused.values()))]
        return [parsed_message.message for parsed_message in parsed], intake


def _describe_left_messages(queue: str, reasons: Sequence[str]) -> str:
    many = f"{len(reasons)} messages stay" if len(reasons) > 1 else "a message stays"
    return f"{many} in the queue {queue}: {tags_refused(reasons[0])}"
