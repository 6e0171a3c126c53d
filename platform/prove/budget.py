"""What a run will spend at most: the requests that it plans, with a margin, at the published prices."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import astuple

from tidegate.platform.core.config.commits import Commits
from tidegate.platform.core.costs.figures import FIGURES
from tidegate.platform.core.costs.usage import Usage
from tidegate.platform.prove.races import FULL, RaceSize

#: Tables of a run, and those of them with silver.
_TABLES, _SILVER = 4, 3
#: What is planned is multiplied by this: requests that are repeated, longer waits, more and smaller batches.
_MARGIN = 3
#: Requests that forgetting a person takes, and the comparison, per table: measured, and rounded up.
_FORGET_WRITES, _FORGET_READS, _COMPARE_READS = 60, 150, 60
#: Seconds that a run waits for messages, and receives in a second.
_WAITING_SECONDS, _RECEIVES = 300, 2
#: Requests of DynamoDB with which a server reads logs, for each batch. Its log does not say that they are reads.
_LOG_REQUESTS = 15


def dollars_of(usage: Usage, figures: Mapping[str, float] = FIGURES) -> float:
    """Return the price of requests in dollars. What runs on the own machine is not billed."""
    return sum(usage.dollars(figures).values())


def planned_batches(files: int, kills: int) -> int:
    """Return how many batches and merges a run makes at most: of three waves, and those that the kills cause."""
    return (_TABLES + _SILVER) * (3 + files // 200 + kills)


def batch_requests(batches: float, commits: Commits) -> Usage:
    """Return the requests of batches and merges, without their files, as they were measured for `tidegate cost`.

    Args:
        commits: how the lake coordinates them.
    """
    figures = FIGURES if commits == "dynamodb" else FIGURES.without_dynamodb()
    return Usage.batch_usage(figures).multiply(batches)


def race_requests(size: RaceSize, commits: Commits) -> Usage:
    """Return the requests of all races. Deletes are free.

    Args:
        commits: how the lake coordinates them. Entries of a table of DynamoDB are raced only where that does.
    """
    tries, rounds, keys = size.rounds * size.racers, size.rounds, size.keys
    # Creations, and of each upload its beginning, its part and its end.
    races = tries + 3 * tries
    lists = 2 * math.ceil(keys / 1000)
    return Usage(
        # Two puts and two copies of the conditional requests, and two puts and then one of each key.
        s3_writes=races + 4 + 2 * keys + keys + lists,
        # Who has won, what a copy or a delete left, and three reads of each key.
        s3_reads=2 * rounds + 3 + 3 * keys,
        dynamodb_writes=tries if commits == "dynamodb" else 0,
        dynamodb_reads=rounds if commits == "dynamodb" else 0,
    )


def plan_requests(files: int, kills: int, size: RaceSize = FULL, commits: Commits = "dynamodb") -> Usage:
    """Return the requests that a run plans, with the margin.

    Args:
        files: number of files.
        kills: how often a worker is killed, and another one begins.
        commits: how the lake coordinates them.
    """
    batches = planned_batches(files, kills)
    events = files + batches * 3  # the log of a registered table is in the bucket that notifies
    lists = math.ceil((files + batches * 12) / 1000) * 4
    lake = batch_requests(batches, commits) + Usage(
        # A PUT by the producer, a manifest, an intake log; and lists.
        s3_writes=files * 1.3 + events * 0.3 + lists + _FORGET_WRITES * (_TABLES + _SILVER),
        # A HEAD or GET when a run looks, a read when it loads.
        s3_reads=files * 3 + (_FORGET_READS + _COMPARE_READS) * (_TABLES + _SILVER),
        dynamodb_writes=batches * _LOG_REQUESTS if commits == "dynamodb" else 0,
        sqs_requests=events * FIGURES["message_sqs_requests"] + _WAITING_SECONDS * _RECEIVES,
    )
    planned = (lake + race_requests(size, commits)).multiply(_MARGIN)
    return Usage(*map(math.ceil, astuple(planned)))
