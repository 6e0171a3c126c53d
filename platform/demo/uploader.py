"""Runs the producers' operations against S3 and SQS, as the company's systems would."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tidegate.platform.demo.operations import BUCKET, Operation

_THREADS = 8


class Uploader:
    """Runs waves of operations, and records on disk which waves were completed.

    Args:
        folder: the producers' folder.
        s3: the boto3 client of S3.
        sqs: the boto3 client of SQS.
        queue_url: the queue that the bucket notifies.
    """

    def __init__(self, folder: Path, s3: Any, sqs: Any, queue_url: str) -> None:
        self._folder, self._s3, self._sqs, self._queue_url = folder, s3, sqs, queue_url
        self._state = folder / "completed.json"
        lines = (folder / "operations.jsonl").read_text(encoding="utf-8").splitlines()
        self._operations: list[Operation] = [json.loads(line) for line in lines]

    @property
    def waves(self) -> list[int]:
        """Returns the numbers of the waves."""
        return sorted({int(done["wave"]) for done in self._operations})

    def plan_wave(self, wave: int) -> tuple[list[Operation], list[Operation]]:
        """Return the fixes of a wave (`mend`), which do not concern S3, and its other operations.

        If the wave was completed before, only the operations that may be repeated.
        """
        repeated = wave in self.completed_waves()
        mine = [done for done in self._operations if done["wave"] == wave and (done["replay"] or not repeated)]
        return [done for done in mine if done["op"] == "mend"], [done for done in mine if done["op"] != "mend"]

    def upload(self, operations: list[Operation], step: Callable[[], None]) -> int:
        """Run operations in parallel. Returns how many events they cause."""
        with ThreadPoolExecutor(_THREADS) as pool:
            return sum(self._count_results(pool.map(self._do, operations), step))

    def completed_waves(self) -> list[int]:
        """Return the waves that this or an earlier run ingested completely."""
        return list(json.loads(self._state.read_text())) if self._state.exists() else []

    def mark_completed(self, wave: int) -> None:
        """Record that a wave was ingested completely."""
        self._state.write_text(json.dumps(sorted({*self.completed_waves(), wave})))

    def _do(self, operation: Operation) -> int:
        match operation["op"]:
            case "put":
                body = (self._folder / operation["file"]).read_bytes()
                self._s3.put_object(Bucket=BUCKET, Key=operation["key"], Body=body)
            case "delete":
                # S3 notifies a delete only if the object existed. An interrupted run may have deleted it already.
                there = self._s3.list_objects_v2(Bucket=BUCKET, Prefix=operation["key"], MaxKeys=1).get("KeyCount", 0)
                self._s3.delete_object(Bucket=BUCKET, Key=operation["key"])
                return int(operation["events"]) if there else 0
            case _:
                self._sqs.send_message(QueueUrl=self._queue_url, MessageBody=operation["body"])
        return int(operation["events"])

    @staticmethod
    def _count_results(results: Iterator[int], step: Callable[[], None]) -> Iterator[int]:
        for events in results:
            step()
            yield events
