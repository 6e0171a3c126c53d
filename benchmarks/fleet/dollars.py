"""What a day of a fleet costs: by service here, and by the published prices of its peers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.fleet.arrivals import Load
from benchmarks.fleet.outcome import Outcome
from tidegate.platform.core.costs.usage import Usage

_DAY = 86_400.0


def dollars_a_day(
    outcome: Outcome, figures: Mapping[str, float], *, forwarded: float = 0.0, merges: float = 0.0
) -> dict[str, float]:
    """Return dollars by service for a day as long as the simulated hours.

    Args:
        outcome: the outcome of a simulation.
        figures: costs and prices.
        forwarded: share of the events that a route forwards to another queue.
        merges: merges of silver a day.
    """
    day = _DAY / outcome.seconds
    objects, batches = outcome.arrived * day, outcome.batches * day
    cores = outcome.cores + (objects * forwarded * figures["forward_cpu"] + merges * figures["merge_cpu"]) / _DAY
    usage = (
        Usage.arrival_usage(figures, messages=objects, manifests=outcome.manifests * day, files=objects)
        + Usage.batch_usage(figures).multiply(batches + merges)
        + Usage(s3_writes=outcome.ticks * day * 3, sqs_requests=objects * forwarded * 0.1, core_seconds=cores * _DAY)
    )
    return usage.dollars(figures)


@dataclass(frozen=True)
class Peer:
    """The same fleet elsewhere.

    Attributes:
        name: what it runs on.
        dollars: dollars a day, by service.
        limit: what breaks first.
    """

    name: str
    dollars: Mapping[str, float]
    limit: str


def peers(load: Load, figures: Mapping[str, float], *, window: float, object_bytes: float) -> list[Peer]:
    """Return the fleet on Lambda and delta-rs, on Snowpipe, and on Auto Loader.

    Args:
        load: the load.
        figures: costs and prices.
        window: seconds that a stream of Auto Loader waits between two batches.
        object_bytes: bytes of an object.
    """
    return [_oxbow(load, figures), _snowpipe(load, figures, object_bytes), _auto_loader(load, figures, window)]


def _oxbow(load: Load, figures: Mapping[str, float]) -> Peer:
    """Return a FIFO queue with a group for each table, and invocations of up to ten messages."""
    batch = figures["lambda_fifo_batch"]
    rates = load.a_day / _DAY * load.shares()
    # An invocation has what has come during the one before, at least one message and at most ten.
    took = figures["oxbow_commit_seconds"] + figures["oxbow_file_seconds"] * batch
    messages = (rates * took).clip(1, batch)
    invocations = float((rates / messages).sum()) * _DAY
    seconds = invocations * figures["oxbow_commit_seconds"] + load.a_day * figures["oxbow_file_seconds"]
    behind = int((rates * took > batch).sum())
    return Peer(
        "Lambda + oxbow",
        {
            "compute": invocations * figures["lambda_request"]
            + seconds * figures["lambda_gigabyte_second"]
            # The function that adds the group to each message, ten at a time, for 50 ms.
            + load.a_day / 10 * (figures["lambda_request"] + 0.05 * figures["lambda_gigabyte_second"] / 4),
            "S3 requests": invocations * figures["oxbow_commit_s3_writes"] * figures["s3_write"]
            + load.a_day * figures["s3_read"],
            "SQS": load.a_day * (1.2 * figures["sqs_request"] + 0.3 * figures["sqs_fifo_request"]),
            "DynamoDB": invocations * (2 * figures["dynamodb_write"] + figures["dynamodb_read"]),
        },
        f"{behind} tables get more than ten files in the time of a commit, and fall behind for ever",
    )


def _snowpipe(load: Load, figures: Mapping[str, float], object_bytes: float) -> Peer:
    gigabytes = load.a_day * object_bytes / 2**30
    return Peer(
        "Snowpipe",
        {
            "compute": gigabytes * figures["snowpipe_credits_gigabyte"] * figures["snowflake_credit"],
            "SQS": 0.0,
            "S3 requests": load.a_day * figures["s3_read"],
        },
        "the rows are in Snowflake and not in Delta, and queries are extra",
    )


def _auto_loader(load: Load, figures: Mapping[str, float], window: float) -> Peer:
    rates = load.a_day / _DAY * load.shares()
    batches = float((_DAY / window * (1 - 2.718281828 ** (-rates * window))).sum())
    cores = (
        (load.a_day * figures["streaming_file_cpu"] + batches * figures["batch_cpu"]) / _DAY / figures["utilization"]
    )
    hour = figures["m5_vcpu_hour"] + figures["dbu_vcpu_hour"] * figures["dbu"]
    return Peer(
        "Auto Loader",
        {
            "compute": cores * hour * 24,
            "S3 requests": batches * figures["batch_s3_writes"] * figures["s3_write"] + load.a_day * figures["s3_read"],
            "SQS": load.a_day * 1.2 * figures["sqs_request"],
        },
        f"{load.tables:,} streams that run all the time, each with a checkpoint of its own",
    )
