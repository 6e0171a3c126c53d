"""The check of each dead-letter queue: whether it is empty, and which messages it holds for which reason."""

from collections import Counter
from collections.abc import Iterator, Sequence

import dagster as dg

from tidegate.assets.keys import LakeNames
from tidegate.assets.presentation.check_events import check_result
from tidegate.assets.presentation.run_log import RunLog
from tidegate.assets.presentation.shared_checks import check_of_each
from tidegate.assets.sources.asset import dead_letters_of
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.markdown import code, sentence
from tidegate.platform.lake.aws.batch_calls import each_queue
from tidegate.platform.operations.dead_letters import DeadLetter, dead_letter_queues, peek
from tidegate.resources.lake_resource import LakeResource, with_lake

CHECK = "is_empty"
#: Messages that are read when a user runs the check.
_MAX_PEEKED = 20


def dead_letter_check_result(asset: dg.AssetKey, depth: int, seen: Sequence[DeadLetter] = ()) -> dg.AssetCheckResult:
    """Return the result of a dead-letter queue's check.

    Args:
        asset: the asset of the queue.
        depth: number of messages in it.
        seen: some of the messages.
    """
    name, reasons = asset.path[-1], Counter(letter.reason for letter in seen)
    rows = [
        dg.TableRecord(
            {
                "reason": reason,
                "messages": number,
                "key": next(letter.keys[0] for letter in seen if letter.reason == reason),
                "oldest": min(letter.at for letter in seen if letter.reason == reason).isoformat(timespec="seconds"),
            }
        )
        for reason, number in reasons.most_common()
    ]
    return check_result(
        asset_key=asset,
        check_name=CHECK,
        passed=depth == 0,
        metadata={"messages": depth, **({"reasons": dg.MetadataValue.table(rows)} if rows else {})},
        description=sentence("fix the cause, then: {}", code(f"tidegate redrive --dlq {name}")) if depth else None,
    )


def build_dead_letter_checks(config: LakeConfig) -> list[dg.AssetChecksDefinition]:
    """Build the checks of the dead-letter queues.

    The sensor `health` evaluates them by the number of messages. A user who runs them sees messages, too.
    """
    names = LakeNames.from_config(config)
    queues = {names.queue(name): name for name in dead_letters_of(config)}
    if not queues:
        return []

    @check_of_each(
        queues,
        CHECK,
        "The queue has no message.",
        name=names.name("dead_letter_queues"),
        description=f"Receives up to {_MAX_PEEKED} messages and makes them visible again.",
    )
    @with_lake(names.resource)
    def dead_letter_checks(context: dg.AssetCheckExecutionContext, lake: LakeResource) -> Iterator[dg.AssetCheckResult]:
        handles = lake.open()

        def check(name: str) -> dg.AssetCheckResult:
            (letters,) = dead_letter_queues(handles.config, handles.queues, name)
            depth = letters.queue.depth()[0]
            seen = peek(handles.config, handles.store, letters, _MAX_PEEKED) if depth else []
            return dead_letter_check_result(names.queue(name), max(depth, len(seen)), seen)

        chosen = [queues[key.asset_key] for key in context.selected_asset_check_keys]
        results, trouble = each_queue(check, chosen, str, RunLog(context.log).error)
        yield from results
        if trouble:
            raise trouble

    return [dead_letter_checks]
