"""The operations of the company's systems on their bucket, as a list that can be run, repeated and checked.

A folder contains every file exactly as it is uploaded, under `files/wave-<n>/`, and `operations.jsonl` with one
operation per line, in order:

    {"n": 4, "wave": 1, "op": "put", "key": "weather/2013-01-01.json", "kind": "export", "events": 1,
     "replay": true, "file": "files/wave-1/weather/2013-01-01.json", "size": 19812, "etag": "…"}
    {…, "op": "delete", "key": …}
    {…, "op": "redeliver", "key": …, "event": "ObjectCreated:Put", "of": 4, "body": "{\"Records\": […]}"}
    {…, "op": "message", "key": null, "body": "…"}
    `{…, "op": "mend", "key": …, "events": 0, "nulls": ["NA"]}`

Every operation except `mend` causes exactly one event. The bucket notifies a `put` or a `delete`. The body of a
`redeliver` (a repeated or late notification; `of` is the `n` of its operation) or of a `message` (not a notification)
is sent to the queue unchanged. A `mend` changes no bucket: people configure which texts mean a missing value in the
folder of a key that could not be read, and redrive the file. It comes before the other operations of its wave.

A wave ends when all its operations are ingested. Within a wave a key has at most one content, put once or more often,
or is deleted; so neither the order within a wave nor the time of a read matters. This gives the rule for a run with
kept state: an incomplete wave is repeated from its start; of a complete wave, only the operations with `replay` true
are repeated. These leave the bucket unchanged: puts of existing content, and notifications of keys in any state. Not
repeated are deletes (the key is gone), contents that were overwritten or deleted later, bad input, and `mend`.
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
"""Endings of keys whose content never changes, which producers must guarantee for registered files."""

Operation = dict[str, Any]


@dataclass
class Operations:
    """Writes the files of a folder one by one and, at the end, the list of operations.

    Attributes:
        folder: folder of the files. Files of an earlier production are replaced.
        wave: the wave of the following operations, counted from 1.
    """

    folder: Path
    wave: int = 1
    _done: list[Operation] = field(default_factory=list)
    _last: dict[str, Operation] = field(default_factory=dict)

    def __post_init__(self) -> None:
        (self.folder / "operations.jsonl").unlink(missing_ok=True)
        shutil.rmtree(self.folder / "files", ignore_errors=True)

    def put(self, key: str, content: bytes, kind: str, *, bad: bool = False) -> None:
        """Upload `content`. If `bad`, no table can load it, so the operation is not repeated.

        Raises:
            ValueError: another operation of the wave has the key, or the key is write-once and was written.
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
        """Upload the content of an earlier wave again, byte for byte."""
        self.put(key, (self.folder / self._last[key]["file"]).read_bytes(), kind)

    def delete(self, key: str, kind: str) -> None:
        """Delete a key of an earlier wave.

        Raises:
            ValueError: the key does not exist, or was put in this wave.
        """
        self._require_earlier_wave(key)
        self._add("delete", key, kind, replay=False)

    def redeliver(self, key: str, event: str, kind: str, *, bucket: str = BUCKET) -> None:
        """Send the notification of the key's first operation: late, twice, or for a key that never existed."""
        of = next((done for done in self._done if done["key"] == key and done["op"] == "put"), None)
        body = json.dumps({"Records": [notification(bucket, key, event, of or {})]})
        self._add("redeliver", key, kind, replay=True, event=event, of=of and of["n"], body=body)

    def message(self, body: str, kind: str) -> None:
        """Send a body to the queue that is not a notification."""
        self._add("message", None, kind, replay=False, body=body)

    def fix(self, key: str, nulls: list[str], kind: str) -> None:
        """Configure that texts mean a missing value in the folder of a key of an earlier wave, and redrive the key.

        Raises:
            ValueError: the key does not exist, or was put in this wave.
        """
        self._require_earlier_wave(key)
        self._add("mend", key, kind, replay=False, events=0, nulls=nulls)

    def write(self) -> list[Operation]:
        """Write `operations.jsonl` and return its lines. It is written last, so a folder that has it is complete."""
        for done in self._done:
            if done["op"] == "put":
                done["replay"] = done["replay"] and self._last[done["key"]].get("etag") == done["etag"]
        lines = "".join(json.dumps(done, ensure_ascii=False) + "\n" for done in self._done)
        written = self.folder / "operations.jsonl.part"
        written.write_text(lines, encoding="utf-8")
        written.replace(self.folder / "operations.jsonl")
        return self._done

    def _require_earlier_wave(self, key: str) -> None:
        before = self._last.get(key, {"op": "delete"})
        if before["op"] == "delete" or before["wave"] == self.wave:
            raise ValueError(f"{key} does not exist or is of this wave; see the module's docstring")

    def _add(self, op: str, key: str | None, kind: str, *, replay: bool, **more: Any) -> None:
        head = {"n": len(self._done) + 1, "wave": self.wave, "op": op, "key": key, "kind": kind}
        done = {**head, "events": 1, "replay": replay, **more}
        self._done.append(done)
        if key is not None and op in ("put", "delete"):
            self._last[key] = done


def notification(bucket: str, key: str, event: str, of: Operation) -> dict[str, Any]:
    """Return one record in the format of S3, with a time before all events of the demo's bucket."""
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
