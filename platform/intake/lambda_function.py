"""Takes messages in as a function of AWS Lambda, which receives them from the queues by event source mappings.

The handler is `tidegate.lambda_handler`. TIDEGATE_LAKE names the lake.yaml in the image. The mapping needs
`ReportBatchItemFailures`. Lambda deletes the messages after the handler has returned (invariant 1).
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from itertools import groupby
from typing import Any

from tidegate.platform.core.errors import ConfigurationError
from tidegate.platform.intake.current_lake import CurrentLake
from tidegate.platform.intake.message_taking import MessageTaking
from tidegate.platform.intake.store_and_delete import store
from tidegate.platform.lake.aws.message import IDENTITY, Message, received_message
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.settings import Settings


def lambda_handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """Store what messages brought. Returns those that must stay in their queue, as Lambda takes them.

    Args:
        event: records of SQS, as Lambda gives them.
        context: of Lambda. Not used.

    Raises:
        ConfigurationError: the lake.yaml is wrong, lets the sensor drain the queues, or has no such queue.
        Exception: S3 did not store an object. Lambda deletes no message then.
    """
    return {"batchItemFailures": [{"itemIdentifier": id} for id in take_records(_lake().open(), event["Records"])]}


@cache
def _lake() -> CurrentLake:
    return CurrentLake(Settings.from_environment())


def take_records(lake: Lake, records: Iterable[Mapping[str, Any]]) -> list[str]:
    """Store what the messages of some records brought. Returns the ids of those that must stay in their queue.

    Args:
        lake: its queues are those that the records come from.
        records: of SQS, as Lambda gives them.

    Raises:
        Exception: see `lambda_handler`.
    """
    left: list[str] = []
    taking = MessageTaking(lake)
    for queue, found in groupby(sorted(records, key=_queue_of), _queue_of):
        _require_known(lake, queue)
        messages = [_message_of(record, (*IDENTITY, *taking.attributes)) for record in found]
        taken, intake = taking.route_messages(queue, messages)
        store(lake, queue, intake)
        for line in intake.left:
            print(line)  # Lambda keeps it in the log of the function.
        kept = {message.id for message in taken}
        left += [message.id for message in messages if message.id not in kept]
    return left


def _queue_of(record: Mapping[str, Any]) -> str:
    return str(record["eventSourceARN"]).rpartition(":")[2]


def _require_known(lake: Lake, queue: str) -> None:
    known = [spec.name for spec in lake.config.every_queue]
    if queue not in known:
        raise ConfigurationError(
            f"Lambda gave messages of the queue {queue}, and lake.yaml has {', '.join(known)}: add it there, or remove "
            "the event source mapping"
        )


def _message_of(record: Mapping[str, Any], attributes: Collection[str]) -> Message:
    given = record.get("messageAttributes", {})
    return received_message(
        {
            "MessageId": record["messageId"],
            "Body": record["body"],
            "ReceiptHandle": record["receiptHandle"],
            "Attributes": record.get("attributes", {}),
            "MessageAttributes": {name: _attribute_of(given[name]) for name in attributes if name in given},
        }
    )


def _attribute_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return an attribute as SQS gives it to boto3."""
    found: dict[str, Any] = {"DataType": given["dataType"]}
    if (text := given.get("stringValue")) is not None:
        found["StringValue"] = text
    if (binary := given.get("binaryValue")) is not None:
        found["BinaryValue"] = b64decode(binary)
    return found
