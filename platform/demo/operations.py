"""What the company's systems do to their bucket, written down so that it can be done once, again, or checked.

A folder holds every file exactly as it is uploaded, under `files/wave-<n>/`, and `operations.jsonl`, one
operation a line, in order:

    {"n": 4, "wave": 1, "op": "put", "key": "weather/2013-01-01.json", "kind": "export", "events": 1,
     "replay": true, "file": "files/wave-1/weather/2013-01-01.json", "size": 19812, "etag": "…"}
    {…, "op": "delete", "key": …}
    {…, "op": "redeliver", "key": …, "event": "ObjectCreated:Put", "of": 4, "body": "{\"Records\": […]}"}
    {…, "op": "message", "key": null, "body": "…"}
    {…, "op": "mend", "key": …, "events": 0, "nulls": ["NA"]}

Every operation but a mend makes exactly one event: a put or a delete is notified by the bucket, the body of a
redeliver (a notification that was sent before, or belongs before others: `of` is the `n` of the operation it
tells of) or of a message (no notification at all) goes to the queue as it stands. A mend touches no bucket:
people say which texts mean a missing value in the folder of a key that could not be read, and have it looked at
again. It comes before the other operations of its wave.

A wave ends when everything of it is ingested. Within a wave a key holds at most one content, put once or
more, or is deleted; so the order within a wave, and the moment somebody looks, decide nothing. The rule for a
run over state that was kept follows: a wave that had not been completed is done again from its start; of a
completed one, only operations with `replay` true are repeated. Those leave the bucket as it is: puts of what
is there already, notifications of keys whatever their state. Not repeated are deletes (the key is gone),
contents that were overwritten or deleted later, bad input, and mends.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

BUCKET = "tidegate-landing"
WRITE_ONCE = (".parquet",)
"""Endings of keys whose content never changes, as producers have to promise of files that tables register."""

Operation = dict[str, Any]


@dataclass
class Operations:
    """Writes the files of a folder as they come and, at the end, its list of operations.

    Attributes:
        folder: where everything is written. What an earlier production left there is replaced.
        wave: the wave that operations belong to from now on, counted from 1.
    """

    folder: Path
    wave: int = 1
    _done: list[Operation] = field(default_factory=list)
    _last: dict[str, Operation] = field(default_factory=dict)

    def __post_init__(self) -> None:
        (self.folder / "operations.jsonl").unlink(missing_ok=True)
        shutil.rmtree(self.folder / "files", ignore_errors=True)

    def put(self, key: str, content: bytes, kind: str, *, bad: bool = False) -> None:
        """Uploads `content`. `bad` says that no table can take it, so that it is done only once.

        Raises:
            ValueError: when the wave did something else to the key, or the key is write-once and was written.
        """
        before = self._last.get(key)
        etag = hashlib.md5(content, usedforsecurity=False).hexdigest()
        if before and before.get("etag") != etag and (before["wave"] == self.wave or key.endswith(WRITE_ONCE)):
            raise ValueError(f"{key} gets a second content; see the module's docstring")
        file = Path("files", f"wave-{self.wave}", *(quote(part) or "%" for part in key.split("/")))
        path = self.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        self._add("put", key, kind, replay=not bad, file=file.as_posix(), size=len(content), etag=etag)

    def put_again(self, key: str, kind: str) -> None:
        """Uploads the content of an earlier wave once more, byte for byte."""
        self.put(key, (self.folder / self._last[key]["file"]).read_bytes(), kind)

    def delete(self, key: str, kind: str) -> None:
        """Deletes a key of an earlier wave.

        Raises:
            ValueError: when there is nothing to delete, or it was put in this wave.
        """
        self._of_earlier_wave(key)
        self._add("delete", key, kind, replay=False)

    def redeliver(self, key: str, event: str, kind: str, *, bucket: str = BUCKET) -> None:
        """Sends the notification of the key's first operation: late, twice, or of a key that never was."""
        of = next((done for done in self._done if done["key"] == key and done["op"] == "put"), None)
        body = json.dumps({"Records": [notification(bucket, key, event, of or {})]})
        self._add("redeliver", key, kind, replay=True, event=event, of=of and of["n"], body=body)

    def message(self, body: str, kind: str) -> None:
        """Sends a body that is no notification to the queue."""
        self._add("message", None, kind, replay=False, body=body)

    def mend(self, key: str, nulls: list[str], kind: str) -> None:
        """Says that texts mean a missing value in the folder of a key of an earlier wave, and asks to read it again.

        Raises:
            ValueError: when there is nothing to read, or it was put in this wave.
        """
        self._of_earlier_wave(key)
        self._add("mend", key, kind, replay=False, events=0, nulls=nulls)

    def write(self) -> list[Operation]:
        """Writes `operations.jsonl` (last: a folder that has it is complete) and returns its lines."""
        for done in self._done:
            if done["op"] == "put":
                done["replay"] = done["replay"] and self._last[done["key"]].get("etag") == done["etag"]
        lines = "".join(json.dumps(done, ensure_ascii=False) + "\n" for done in self._done)
        written = self.folder / "operations.jsonl.part"
        written.write_text(lines, encoding="utf-8")
        written.replace(self.folder / "operations.jsonl")
        return self._done

    def _of_earlier_wave(self, key: str) -> None:
        before = self._last.get(key, {"op": "delete"})
        if before["op"] == "delete" or before["wave"] == self.wave:
            raise ValueError(f"{key} is not there or of this wave; see the module's docstring")

    def _add(self, op: str, key: str | None, kind: str, *, replay: bool, **more: Any) -> None:
        head = {"n": len(self._done) + 1, "wave": self.wave, "op": op, "key": key, "kind": kind}
        done = {**head, "events": 1, "replay": replay, **more}
        self._done.append(done)
        if key is not None and op in ("put", "delete"):
            self._last[key] = done


def notification(bucket: str, key: str, event: str, of: Operation) -> dict[str, Any]:
    """One record in the shape that S3 sends, from before anything that the demo's bucket has sent itself."""
    n = of.get("n", 0)
    thing: dict[str, Any] = {"key": quote_plus(key, safe="/")}
    if event.startswith("ObjectCreated"):
        thing |= {"size": of.get("size", 512), "eTag": of.get("etag", "0" * 32)}
    return {
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "awsRegion": "us-east-1",
        "eventTime": f"2024-01-01T{n // 3600:02d}:{n // 60 % 60:02d}:{n % 60:02d}.000Z",
        "eventName": event,
        "userIdentity": {"principalId": "AWS:PRODUCER"},
        "requestParameters": {"sourceIPAddress": "192.0.2.1"},
        "responseElements": {"x-amz-request-id": f"{n:016X}", "x-amz-id-2": "redelivered"},
        "s3": {
            "s3SchemaVersion": "1.0",
            "configurationId": "tidegate",
            "bucket": {
                "name": bucket,
                "ownerIdentity": {"principalId": "PRODUCER"},
                "arn": f"arn:aws:s3:::{bucket}",
            },
            "object": thing | {"sequencer": f"{n:016X}"},
        },
    }
