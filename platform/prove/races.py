"""Races and reads that an S3 endpoint, and a table of DynamoDB, must stand for a lake: in numbers.

`lake/aws/proofs.py` proves a part of them once a lake, with one race. Here each is repeated, by many threads.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from tidegate.platform.cloud.commit_table import CommitTable
from tidegate.platform.core.keys.s3_address import S3Address, S3Object
from tidegate.platform.core.wording import first_line
from tidegate.platform.lake.aws.answers import code_of, status_of
from tidegate.platform.lake.aws.s3 import ObjectChanged, ObjectStore, StoreError
from tidegate.platform.prove.claims import Claim

_FOLDER = "races/"
_NO_LAKE = "this endpoint cannot hold a lake: two runs would decide one batch differently, and rows would be lost"
_CONFLICT = 409
_THREADS = "; {rounds} rounds of {racers} threads"
#: What is claimed, how it is checked, and what it means if it does not hold.
_CLAIMS = {
    "create-once": (
        "Of several creations of a key at once, exactly one succeeds",
        f"PUT with If-None-Match: *{_THREADS}",
        _NO_LAKE,
    ),
    "complete-once": (
        "Of several uploads in parts of a key that end at once, exactly one succeeds",
        f"CompleteMultipartUpload with If-None-Match: *{_THREADS}",
        "a large commit or batch could replace another one: no lake with large tables there",
    ),
    "enter-once": (
        "Of several entries of a commit at once, exactly one succeeds",
        f"PutItem with attribute_not_exists in the table of commits{_THREADS}",
        "two commits of Delta could take one version: no lake with commits in this DynamoDB",
    ),
    "delete-if-match": (
        "An object is deleted only if it has the etag that was read",
        "DELETE with If-Match, with another etag and with its own",
        "a file that is overwritten while it is loaded could be deleted unread: `after_load` can only keep or tag",
    ),
    "copy-if-match": (
        "An object is copied only if it has the etag that was read",
        "CopyObject with x-amz-copy-source-if-match, with another etag and with its own",
        "a file that is overwritten while it is loaded could be moved unread: `after_load` can only keep or tag",
    ),
    "read-after-write": (
        "An object is read as it was written last",
        "{keys} objects: PUT, GET, PUT again, GET, DELETE, GET",
        f"runs would read old contents: {_NO_LAKE}",
    ),
    "list-after-write": (
        "A list has every object that was written before, and none that was deleted before",
        "{keys} objects: PUT, LIST, DELETE of half of them, LIST",
        f"manifests and commits could be overlooked: {_NO_LAKE}",
    ),
}


@dataclass(frozen=True)
class RaceSize:
    """How much is raced.

    Attributes:
        rounds: of each race.
        racers: threads of a round.
        keys: objects of the reads after writes.
    """

    rounds: int = 25
    racers: int = 12
    keys: int = 100


FULL, QUICK = RaceSize(), RaceSize(rounds=5, racers=8, keys=20)


class Races:
    """The races of one bucket.

    Args:
        s3: client of boto3.
        dynamodb: client of boto3.
        bucket: bucket of the run.
        size: how much is raced.
    """

    def __init__(self, s3: Any, dynamodb: Any, bucket: str, size: RaceSize) -> None:
        self._s3, self._dynamodb, self._bucket, self._size = s3, dynamodb, bucket, size
        self._objects = ObjectStore(s3)

    def run(self, commit_table: str | None, step: Callable[[], None] = lambda: None) -> list[Claim]:
        """Run every race. Returns its claims. An endpoint that refuses the requests of a race does not hold its claim.

        Args:
            commit_table: the table of commits; None if the run has none of its own.
            step: called after each claim.
        """
        races: dict[str, Callable[[], tuple[bool, str]]] = {
            "create-once": self.create_once,
            "complete-once": self.complete_upload_once,
            "delete-if-match": self.delete_if_match,
            "copy-if-match": self.copy_if_match,
            "read-after-write": self.read_after_write,
            "list-after-write": self.list_after_write,
        }
        if commit_table is not None:
            races["enter-once"] = lambda: self.enter_once(commit_table)
        claims = []
        for id, race in races.items():
            says, how, otherwise = _CLAIMS[id]
            try:
                held, found = race()
            except (ClientError, BotoCoreError, StoreError) as error:
                held, found = False, first_line(error)
            size = self._size
            how = how.format(rounds=size.rounds, racers=size.racers, keys=size.keys)
            claims.append(Claim(id, says, how, held, found, otherwise))
            step()
        return claims

    def create_once(self) -> tuple[bool, str]:
        """Race creations of one key with `If-None-Match: *`. Returns whether the claim held, and what was found."""

        def create(place: int, racer: int) -> bool:
            key = f"{_FOLDER}create-{place}"
            return _is_done(lambda: self._put(key, str(racer).encode(), IfNoneMatch="*"))

        return self._race_rounds(create, lambda place: self._read(f"{_FOLDER}create-{place}"))

    def complete_upload_once(self) -> tuple[bool, str]:
        """Race the ends of uploads in parts of one key with `If-None-Match: *`. Returns as `create_once`."""
        uploads: dict[tuple[int, int], tuple[str, str]] = {}

        def begin(place: int) -> None:
            for racer in range(self._size.racers):
                uploads[place, racer] = self._begin_upload(f"{_FOLDER}upload-{place}", str(racer).encode())

        def end_upload(place: int, racer: int) -> bool:
            upload, etag = uploads[place, racer]
            parts = {"Parts": [{"ETag": etag, "PartNumber": 1}]}
            where = {"Bucket": self._bucket, "Key": f"{_FOLDER}upload-{place}", "UploadId": upload}
            return _is_done(lambda: self._s3.complete_multipart_upload(**where, MultipartUpload=parts, IfNoneMatch="*"))

        return self._race_rounds(end_upload, lambda place: self._read(f"{_FOLDER}upload-{place}"), begin)

    def enter_once(self, table: str) -> tuple[bool, str]:
        """Race entries of one commit in the table of commits. Returns as `create_once`."""
        keys = [name for name, _ in CommitTable().keys]

        def entry(place: int) -> dict[str, Any]:
            return {keys[0]: {"S": "s3a://race"}, keys[1]: {"S": f"{place:020d}.json"}}

        def enter(place: int, racer: int) -> bool:
            item, free = {**entry(place), "racer": {"S": str(racer)}}, f"attribute_not_exists({keys[1]})"
            return _is_done(lambda: self._dynamodb.put_item(TableName=table, Item=item, ConditionExpression=free))

        def winner_of(place: int) -> bytes | None:
            item = self._dynamodb.get_item(TableName=table, Key=entry(place), ConsistentRead=True).get("Item")
            return item["racer"]["S"].encode() if item else None

        return self._race_rounds(enter, winner_of)

    def _race_rounds(
        self,
        race: Callable[[int, int], bool],
        winner: Callable[[int], bytes | None],
        begin: Callable[[int], None] = lambda _: None,
    ) -> tuple[bool, str]:
        won: Counter[int] = Counter()
        others = lost = 0
        for place in range(self._size.rounds):
            begin(place)
            outcomes = self._race(place, race)
            winners = [racer for racer, is_winner in enumerate(outcomes) if is_winner]
            bodies = {str(racer).encode(): racer for racer in range(len(outcomes))}
            if not winners and (racer := bodies.get(winner(place) or b"")) is not None:
                # Its answer was lost, and boto sent the request again, which met its own object.
                winners, lost = [racer], lost + 1
            won[len(winners)] += 1
            if len(winners) == 1 and winner(place) != str(winners[0]).encode():
                others += 1
        found = ", ".join(f"{number} won in {rounds} rounds" for number, rounds in sorted(won.items()))
        if lost:
            found += f"; in {lost} rounds the winner's answer was lost"
        if others:
            found += f"; in {others} rounds the object is not the winner's"
        return set(won) == {1} and not others, found

    def _race(self, place: int, race: Callable[[int, int], bool]) -> list[bool]:
        start = threading.Barrier(self._size.racers)

        def run(racer: int) -> bool:
            start.wait(timeout=60)
            return race(place, racer)

        with ThreadPoolExecutor(self._size.racers) as pool:
            return list(pool.map(run, range(self._size.racers)))

    def delete_if_match(self) -> tuple[bool, str]:
        """Delete an object if it has an etag that it has not, and then its own. Returns as `create_once`."""
        key = f"{_FOLDER}delete"
        etag = self._put(key, b"kept")
        wrong = self._refuses(lambda: self._objects.delete_if(self._version(key, "0" * 32)))
        kept = wrong and self._read(key) == b"kept"
        right = not self._refuses(lambda: self._objects.delete_if(self._version(key, etag)))
        gone = right and self._read(key) is None
        return kept and gone, f"another etag: {_word(kept)}; its own etag: {'deleted' if gone else 'refused'}"

    def copy_if_match(self) -> tuple[bool, str]:
        """Copy an object if it has an etag that it has not, and then its own. Returns as `create_once`."""
        key, copy = f"{_FOLDER}copy", S3Address(self._bucket, f"{_FOLDER}copy-of-it")
        etag = self._put(key, b"copied")
        wrong = self._refuses(lambda: self._objects.copy(self._version(key, "0" * 32), copy))
        right = not self._refuses(lambda: self._objects.copy(self._version(key, etag), copy))
        there = right and self._read(copy.key) == b"copied"
        return wrong and there, f"another etag: {_word(wrong)}; its own etag: {'copied' if there else 'refused'}"

    def read_after_write(self) -> tuple[bool, str]:
        """Read each object right after it was written, written again and deleted. Returns as `create_once`."""
        stale = Counter[str]()

        def check(place: int) -> None:
            key = f"{_FOLDER}read-{place}"
            for body in (b"first", b"second"):
                self._put(key, body)
                stale["written"] += self._read(key) != body
            self._s3.delete_object(Bucket=self._bucket, Key=key)
            stale["deleted"] += self._read(key) is not None

        with ThreadPoolExecutor(self._size.racers) as pool:
            list(pool.map(check, range(self._size.keys)))
        found = f"{stale['written']} stale reads after a write, {stale['deleted']} after a delete"
        return not stale.total(), found

    def list_after_write(self) -> tuple[bool, str]:
        """List a folder right after objects were written to it, and deleted. Returns as `create_once`."""
        keys = [f"{_FOLDER}list/{place:04d}" for place in range(self._size.keys)]
        half = len(keys) // 2
        for key in keys:
            self._put(key, b"x")
        missing = len(set(keys) - self._list(f"{_FOLDER}list/"))
        for key in keys[:half]:
            self._s3.delete_object(Bucket=self._bucket, Key=key)
        listed = self._list(f"{_FOLDER}list/")
        missing += len(set(keys[half:]) - listed)
        surplus = len(listed & set(keys[:half]))
        return not missing and not surplus, f"{missing} objects missing, {surplus} deleted ones listed"

    def _put(self, key: str, body: bytes, **more: Any) -> str:
        return str(self._s3.put_object(Bucket=self._bucket, Key=key, Body=body, **more)["ETag"]).strip('"')

    def _read(self, key: str) -> bytes | None:
        return self._objects.get(self._bucket, key)

    def _list(self, prefix: str) -> set[str]:
        pages = self._s3.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix)
        return {each["Key"] for page in pages for each in page.get("Contents", [])}

    def _version(self, key: str, etag: str) -> S3Object:
        return S3Object(S3Address(self._bucket, key), etag)

    def _begin_upload(self, key: str, body: bytes) -> tuple[str, str]:
        where = {"Bucket": self._bucket, "Key": key}
        upload = self._s3.create_multipart_upload(**where)["UploadId"]
        return upload, self._s3.upload_part(**where, UploadId=upload, PartNumber=1, Body=body)["ETag"]

    @staticmethod
    def _refuses(request: Callable[[], object]) -> bool:
        try:
            request()
        except ObjectChanged:
            return True
        return False


def _is_done(request: Callable[[], object]) -> bool:
    """Return whether a conditional request succeeded. One that lost, or met another in flight, did not."""
    try:
        request()
    except ClientError as error:
        if status_of(error) in (412, _CONFLICT) or code_of(error) == "ConditionalCheckFailedException":
            return False
        raise
    return True


def _word(refused: bool) -> str:
    return "refused" if refused else "not refused"
