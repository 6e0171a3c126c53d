"""A check on each dead-letter queue: whether it is empty, and what lies in it."""

from collections import Counter
from collections.abc import Iterator, Sequence

import dagster as dg

from tidegate.assets.operations.dead_letters import DeadLetter, dead_letter_queues, peek
from tidegate.assets.sources.asset import dead_letters_of, queue_key
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.resources.lake_resource import LakeResource

CHECK = "is_empty"
#: Messages that are looked at when a person runs the check.
_MOST_PEEKED = 20


def result(name: str, depth: int, seen: Sequence[DeadLetter] = ()) -> dg.AssetCheckResult:
    """What the check says of a dead-letter queue.

    Args:
        name: the queue's.
        depth: messages in it.
        seen: some of them.
    """
    reasons = Counter(one.reason for one in seen)
    told = [
        dg.TableRecord(
            {
                "reason": reason,
                "messages": number,
                "key": next(one.keys[0] for one in seen if one.reason == reason),
                "oldest": min(one.at for one in seen if one.reason == reason).isoformat(timespec="seconds"),
            }
        )
        for reason, number in reasons.most_common()
    ]
    return dg.AssetCheckResult(
        asset_key=queue_key(name),
        check_name=CHECK,
        passed=depth == 0,
        metadata={"messages": depth, **({"reasons": dg.MetadataValue.table(told)} if told else {})},
        description=f"mend the cause, then: tidegate redrive --dlq {name}" if depth else None,
    )


def build_dead_letter_checks(config: LakeConfig) -> list[dg.AssetChecksDefinition]:
    """The checks of the dead-letter queues: the sensor ``health`` evaluates them by their depth; a person sees more."""
    names = {queue_key(name): name for name in dead_letters_of(config)}
    if not names:
        return []

    @dg.multi_asset_check(
        name="dead_letter_queues",
        specs=[dg.AssetCheckSpec(CHECK, asset=key, description="No message lies in it.") for key in names],
        can_subset=True,
        description=f"Looks at up to {_MOST_PEEKED} messages, and gives them back.",
    )
    def dead_letter_checks(context: dg.AssetCheckExecutionContext, lake: LakeResource) -> Iterator[dg.AssetCheckResult]:
        handles = lake.open()
        for key in context.selected_asset_check_keys:
            name = names[key.asset_key]
            (letters,) = dead_letter_queues(handles, name)
            depth = letters.queue.depth()[0]
            seen = peek(handles, letters, _MOST_PEEKED) if depth else []
            yield result(name, max(depth, len(seen)), seen)

    return [dead_letter_checks]
