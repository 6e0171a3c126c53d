"""What AWS and the Spark cluster bill of work: requests by class, and core seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

_HOUR = 3_600.0


@dataclass(frozen=True)
class Usage:
    """What is billed of some work.

    Attributes:
        s3_writes: PUTs, COPYs, POSTs and LISTs. DELETEs are free.
        s3_reads: GETs and HEADs.
        sqs_requests: requests to standard queues.
        dynamodb_writes: write request units.
        dynamodb_reads: read request units.
        core_seconds: CPU seconds of Dagster and Spark.
    """

    s3_writes: float = 0.0
    s3_reads: float = 0.0
    sqs_requests: float = 0.0
    dynamodb_writes: float = 0.0
    dynamodb_reads: float = 0.0
    core_seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(Usage)))

    def multiply(self, factor: float) -> Usage:
        """Return the usage of work that is done so many times."""
        return Usage(*(getattr(self, field.name) * factor for field in fields(Usage)))

    @classmethod
    def batch_usage(cls, figures: Mapping[str, float], *, registers: bool = False) -> Usage:
        """Return the requests of a batch, or of a merge of silver, without its files and without compute.

        Args:
            figures: what work takes.
            registers: whether the batch registers files instead of loading their rows.
        """
        kind = "register" if registers else "batch"
        return cls(
            s3_writes=figures[f"{kind}_s3_writes"],
            s3_reads=figures[f"{kind}_s3_reads"],
            dynamodb_writes=figures["batch_dynamodb_writes"],
            dynamodb_reads=figures["batch_dynamodb_reads"],
        )

    @classmethod
    def arrival_usage(cls, figures: Mapping[str, float], *, messages: float, manifests: float, files: float) -> Usage:
        """Return the requests that messages and files make, whatever batches they come in.

        Args:
            figures: what work takes.
            messages: messages of queues.
            manifests: manifests that the intake wrote. A run reads each of them.
            files: files that runs read.
        """
        return cls(
            s3_writes=manifests,
            s3_reads=manifests + files,
            sqs_requests=messages * figures["message_sqs_requests"],
        )

    def dollars(self, figures: Mapping[str, float]) -> dict[str, float]:
        """Return dollars by service."""
        return {
            "compute": self.core_seconds / figures["utilization"] * core_hour(figures) / _HOUR,
            "S3 requests": self.s3_writes * figures["s3_write"] + self.s3_reads * figures["s3_read"],
            "SQS": self.sqs_requests * figures["sqs_request"],
            "DynamoDB": self.dynamodb_writes * figures["dynamodb_write"]
            + self.dynamodb_reads * figures["dynamodb_read"],
        }


def core_hour(figures: Mapping[str, float]) -> float:
    """Return the dollars for an hour of a core with its memory."""
    return figures["vcpu_hour"] + figures["core_gigabytes"] * figures["gigabyte_hour"]
