"""S3 as the platform uses it: probes, listings, partial reads and conditional writes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from boto3.exceptions import Boto3Error
from botocore.exceptions import BotoCoreError, ClientError

from tidegate.platform.core.bronze.object_state import Probe, S3Forbidden, S3Found, S3Gone, S3Unavailable
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.core.keys.s3_address import S3Address, S3Object
from tidegate.platform.core.wording import first_line
from tidegate.platform.lake.aws.answers import code_of, is_forbidden, is_transient, region_in, status_of
from tidegate.platform.lake.aws.object_answer import parse_s3_found
from tidegate.platform.lake.capacity import TooLarge
from tidegate.platform.lake.deadline import TimedStream, seconds_left
from tidegate.platform.lake.threads import parallel

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_CONFLICT_RETRIES = 8


class StoreError(UnavailableError):
    """S3 refused or could not be reached. The message names the object."""


class ObjectChanged(StoreError):
    """The object is no longer the object that was read before."""


class ObjectGone(ObjectChanged):
    """The object exists no longer."""


class ObjectTaken(StoreError):
    """The object that should be created exists already."""


class ObjectRefused(StoreError):
    """S3 refuses this object only: its key is too long, its tags are not valid, or its producer encrypts it."""


class ObjectForbidden(ObjectRefused):
    """S3 denies access to this object: we lack the permission for it or for its key."""


class ObjectArchived(ObjectForbidden):
    """S3 gives this object only after it was restored from an archive."""


class NotWritable(StoreError):
    """S3 refuses a write: a permission of ours is missing, and no object is at fault."""


@dataclass(frozen=True)
class Listed:
    """One object of a listing. `modified` is epoch seconds by S3's clock."""

    key: str
    etag: str
    size: int
    modified: float


class ObjectStore:
    """A thin, thread-safe handle on S3."""

    def __init__(self, client: S3Client) -> None:
        self._client = client

    @property
    def endpoint(self) -> str:
        """URL of the S3 endpoint in use."""
        return self._client.meta.endpoint_url

    @property
    def region(self) -> str:
        """Region of the requests."""
        return self._client.meta.region_name

    def head(self, bucket: str, key: str) -> Probe:
        """Ask for an object's present state. Never raises."""
        try:
            answer = self._head_object(bucket, key)
        except ClientError as error:
            status = status_of(error)
            if status == 404:
                return S3Gone()
            if is_transient(error):
                return S3Unavailable(first_line(error))
            return S3Forbidden(first_line(error)) if status == 403 else self._why_refused(bucket, key)
        except BotoCoreError as error:
            return S3Unavailable(first_line(error))
        return parse_s3_found(answer, answer["ContentLength"])

    def _why_refused(self, bucket: str, key: str) -> Probe:
        """Return the meaning of an error for which HEAD gives no reason: S3 refuses the object for ever, or
        the caller.
        """
        try:
            self._client.get_object(Bucket=bucket, Key=key, Range="bytes=0-0")["Body"].close()
        except ClientError as error:
            if is_transient(error):
                return S3Unavailable(first_line(error))
            return S3Forbidden(first_line(error), of_the_object=not is_forbidden(error))
        except BotoCoreError as error:
            return S3Unavailable(first_line(error))
        return S3Unavailable("S3 refused HEAD and not GET")

    def _head_object(self, bucket: str, key: str) -> Any:
        try:
            return self._client.head_object(Bucket=bucket, Key=key, ChecksumMode="ENABLED")
        except ClientError as error:
            if status_of(error) != 403:
                raise
            # If an object is encrypted with a KMS key that is not ours, S3 gives everything but the checksum.
            return self._client.head_object(Bucket=bucket, Key=key)

    def head_with_tail(self, bucket: str, key: str, length: int) -> tuple[Probe, bytes]:
        """Return an object's present state and its last `length` bytes, in one request. Never raises.

        If S3 does not give the bytes, for example of an empty object, a second request asks for the state alone.
        """
        try:
            answer = self._client.get_object(Bucket=bucket, Key=key, Range=f"bytes=-{length}")
            body = answer["Body"].read()
        except ClientError as error:
            return (S3Gone() if status_of(error) == 404 else self.head(bucket, key)), b""
        except BotoCoreError:
            return self.head(bucket, key), b""
        size = answer.get("ContentRange", "").rpartition("/")[2]
        return parse_s3_found(answer, int(size) if size.isdigit() else len(body)), body

    def head_with_body(self, bucket: str, key: str, max_bytes: int) -> tuple[Probe, bytes | None]:
        """Return an object's present state, and its bytes if there are at most `max_bytes`, in one request.

        Never raises.

        If S3 does not give the bytes, a second request asks for the state alone.
        """
        try:
            # Not a range: S3 gives the checksum of a whole object only with the whole object.
            answer = self._client.get_object(Bucket=bucket, Key=key, ChecksumMode="ENABLED")
            with answer["Body"] as stream:
                # Bytes that are not read are not sent, except those that are on their way.
                body = stream.read() if answer["ContentLength"] <= max_bytes else None
        except ClientError as error:
            return (S3Gone() if status_of(error) == 404 else self.head(bucket, key)), None
        except BotoCoreError:
            return self.head(bucket, key), None
        return parse_s3_found(answer, answer["ContentLength"]), body

    def head_many(self, bucket: str, keys: Iterable[str]) -> dict[str, Probe]:
        """Ask for the present state of many keys in parallel."""
        return dict(parallel(lambda key: (key, self.head(bucket, key)), keys))

    def bucket_exists(self, bucket: str) -> bool:
        """Return whether the bucket exists. If it does not, a 404 for a key says nothing about the object.

        Raises:
            StoreError: S3 did not answer.
        """
        try:
            self._client.head_bucket(Bucket=bucket)
        except ClientError as error:
            if status_of(error) == 404:
                return False
            raise StoreError(f"s3://{bucket}: {first_line(error)}") from error
        return True

    def region_of(self, bucket: str) -> str:
        """Return the region of a bucket. If S3 does not name it, that of the client."""
        try:
            region = self._client.head_bucket(Bucket=bucket).get("BucketRegion", "")
        except ClientError as error:
            region = region_in(error)  # a refusal names it, too
        except BotoCoreError:
            region = ""
        return region or self.region

    def tail(self, version: S3Object, length: int) -> bytes:
        """Return the last `length` bytes of an object, if it still is this version.

        Raises:
            ObjectChanged: the object has another etag, or is gone.
            StoreError: S3 did not answer. `DeadlineExceeded`: the time of the work is over.
        """
        return self._get(*version.address, IfMatch=_timed_etag(version), Range=f"bytes=-{length}")

    def piece(self, version: S3Object, start: int, length: int) -> bytes:
        """Return up to `length` bytes of an object from `start` on, if it still is this version.

        Raises what `tail` raises.
        """
        return self._get(*version.address, IfMatch=_timed_etag(version), Range=f"bytes={start}-{start + length - 1}")

    @contextmanager
    def open_version(self, version: S3Object) -> Iterator[BinaryIO]:
        """Read an object from its beginning, if it still is this version. Raises what `tail` raises."""
        bucket, key = version.address
        with self._translate_errors(bucket, key):
            body = TimedStream(self._client.get_object(Bucket=bucket, Key=key, IfMatch=_timed_etag(version))["Body"])
            with body:
                yield cast(BinaryIO, body)

    def get(self, bucket: str, key: str, max_bytes: float = inf) -> bytes | None:
        """Return the whole object; None if there is no object.

        Raises:
            TooLarge: it has more bytes.
            StoreError: S3 did not answer.
        """
        try:
            return self._get(bucket, key, max_bytes)
        except ObjectChanged:
            return None

    def put(self, bucket: str, key: str, body: str | bytes) -> None:
        """Write an object. An older object of that key is replaced.

        Raises:
            ObjectRefused: S3 takes no object of this key. `ObjectForbidden`: it does not let us write it.
            StoreError: S3 did not answer, or there is no such bucket.
        """
        with self._translate_errors(bucket, key, exists=False):
            self._client.put_object(Bucket=bucket, Key=key, Body=_to_bytes(body))

    def upload(self, bucket: str, key: str, file: Path) -> S3Found:
        """Write a file as an object. An older object of that key is replaced. Returns the new object's state.

        Raises:
            NotWritable: we lack the permission to write there.
            ObjectRefused: S3 takes no object of this key.
            StoreError: S3 did not answer.
        """
        try:
            self._client.upload_file(str(file), bucket, key)
        except (Boto3Error, ClientError, BotoCoreError) as error:
            # boto3 raises an error of its own with S3's answer as text, and keeps S3's error as the context.
            answer = error if isinstance(error, ClientError) else error.__context__
            kind = _kind_of(answer) if isinstance(answer, ClientError) else StoreError
            kind = NotWritable if issubclass(kind, ObjectForbidden) else kind
            raise kind(f"{S3Address(bucket, key)} cannot be written: {first_line(error)}") from error
        found = self.head(bucket, key)
        if not isinstance(found, S3Found):
            raise StoreError(f"{S3Address(bucket, key)} was written, and now S3 says {found}")
        return found

    def put_if_absent(self, bucket: str, key: str, body: str | bytes) -> bool:
        """Create an object. Returns False if there is an object already.

        After a lost reply the retry finds its own object, so a caller that must know whose object it is reads it back.

        Raises:
            StoreError: S3 answered 409 (a conflicting request in flight) each time.
        """
        for attempt in range(_CONFLICT_RETRIES):
            try:
                self._client.put_object(Bucket=bucket, Key=key, Body=_to_bytes(body), IfNoneMatch="*")
                return True
            except ClientError as error:
                if status_of(error) == 412:
                    return False
                if status_of(error) != 409:
                    raise
                time.sleep(0.05 * 2**attempt)
        address = S3Address(bucket, key)
        raise StoreError(f"{address}: S3 answered 409 (conflicting request) {_CONFLICT_RETRIES} times; try again")

    def copy(self, source: S3Object, target: S3Address, *, only_new: bool = False) -> None:
        """Copy an object inside S3, if it still is this version.

        Args:
            source: the version to copy.
            target: address of the copy.
            only_new: fail if an object of that address exists, provided that the endpoint heeds `If-None-Match`.

        Raises:
            ObjectTaken: an object of the target's address exists.
            ObjectChanged: the object has another etag. `ObjectGone`: the object does not exist.
            ObjectForbidden: S3 denies access to it. `ObjectRefused`: it is larger than 5 GB, or a key is too long.
            StoreError: S3 did not answer, or there is no such bucket.
        """
        with self._translate_errors(*source.address, exists=False):
            try:
                self._client.copy_object(
                    Bucket=target.bucket,
                    Key=target.key,
                    CopySource={"Bucket": source.address.bucket, "Key": source.address.key},
                    CopySourceIfMatch=source.etag,
                    **cast(Any, {"IfNoneMatch": "*"} if only_new else {}),
                )
            except ClientError as error:
                if code_of(error) == "NoSuchBucket":
                    raise StoreError(f"{target}: {first_line(error)}") from error
                # S3 does not say which of the two conditions of a copy did not hold.
                if status_of(error) == 412 and only_new and not isinstance(self.head(*target), S3Gone):
                    raise ObjectTaken(f"{target} is there already") from error
                if status_of(error) in (404, 412):
                    kind = ObjectGone if status_of(error) == 404 else ObjectChanged
                    raise kind(f"{source.address} changed while it was read") from error
                raise

    def publish(self, source: S3Address, target: S3Address) -> None:
        """Copy an object that never changes.

        Raises:
            ObjectGone: the source does not exist.
            NotWritable: a permission is missing.
            StoreError: S3 did not answer, or there is no such bucket.
        """
        try:
            self._client.copy_object(
                Bucket=target.bucket, Key=target.key, CopySource={"Bucket": source.bucket, "Key": source.key}
            )
        except ClientError as error:
            if code_of(error) == "NoSuchKey":
                raise ObjectGone(f"{source} is not there") from error
            kind = NotWritable if is_forbidden(error) else StoreError
            raise kind(f"{target} cannot be written: {first_line(error)}") from error
        except BotoCoreError as error:
            raise StoreError(f"{target}: {first_line(error)}") from error

    def delete_if(self, version: S3Object) -> None:
        """Delete an object, if it still is this version.

        Raises:
            ObjectChanged: the object has another etag. `ObjectGone`: the object does not exist.
            StoreError: S3 refused, or did not answer.
        """
        bucket, key = version.address
        with self._translate_errors(bucket, key):
            self._client.delete_object(Bucket=bucket, Key=key, IfMatch=f'"{version.etag}"')

    def tags(self, bucket: str, key: str, version_id: str | None = None) -> dict[str, str]:
        """Return the tags of an object, or of one version of it. Raises what `delete_if` raises."""
        with self._translate_errors(bucket, key):
            found = self._client.get_object_tagging(Bucket=bucket, Key=key, **_version(version_id))
        return {tag["Key"]: tag["Value"] for tag in found["TagSet"]}

    def put_tags(self, bucket: str, key: str, tags: Mapping[str, str], version_id: str | None = None) -> None:
        """Replace the tags of an object. Raises what `delete_if` raises."""
        body: Any = {"TagSet": [{"Key": name, "Value": value} for name, value in tags.items()]}
        with self._translate_errors(bucket, key):
            self._client.put_object_tagging(Bucket=bucket, Key=key, Tagging=body, **_version(version_id))

    def list_under(self, bucket: str, prefix: str, after: str = "") -> Iterator[Listed]:
        """Yield all objects under a prefix with keys after `after`, in the order of keys."""
        start: Any = {"StartAfter": after} if after else {}
        for page in self._client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix, **start):
            for item in page.get("Contents", []):
                yield Listed(item["Key"], item["ETag"].strip('"'), item["Size"], item["LastModified"].timestamp())

    def is_empty(self, bucket: str, prefix: str) -> bool:
        """Return whether there is no object under a prefix."""
        return not self._client.list_objects_v2(Bucket=bucket, Prefix=prefix, MaxKeys=1).get("Contents")

    def folders(self, bucket: str, prefix: str) -> list[str]:
        """Return the names of the folders directly under a prefix, without slashes."""
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix, Delimiter="/")
        return [item["Prefix"][len(prefix) : -1] for page in pages for item in page.get("CommonPrefixes", [])]

    def delete(self, bucket: str, keys: Iterable[str]) -> None:
        """Delete objects. Missing objects are not an error."""
        list(parallel(lambda key: self._client.delete_object(Bucket=bucket, Key=key), keys))

    def _get(self, bucket: str, key: str, max_bytes: float = inf, **conditions: Any) -> bytes:
        with self._translate_errors(bucket, key):
            answer = self._client.get_object(Bucket=bucket, Key=key, **conditions)
            with answer["Body"] as stream:
                if answer["ContentLength"] > max_bytes:
                    raise TooLarge
                return stream.read()

    @contextmanager
    def _translate_errors(self, bucket: str, key: str, *, exists: bool = True) -> Iterator[None]:
        try:
            yield
        except ClientError as error:
            # 405 is S3's answer about a key whose newest version is a delete marker.
            if exists and status_of(error) in (404, 405, 412):
                kind = ObjectChanged if status_of(error) == 412 else ObjectGone
                raise kind(f"{S3Address(bucket, key)} changed or went while it was read") from error
            raise _kind_of(error)(f"{S3Address(bucket, key)}: {first_line(error)}") from error
        except BotoCoreError as error:
            raise StoreError(f"{S3Address(bucket, key)}: {first_line(error)}") from error


def _kind_of(error: ClientError) -> type[StoreError]:
    if is_forbidden(error):
        return ObjectArchived if code_of(error) == "InvalidObjectState" else ObjectForbidden
    return StoreError if is_transient(error) else ObjectRefused


def _timed_etag(version: S3Object) -> str:
    seconds_left()
    return f'"{version.etag}"'


def _version(version_id: str | None) -> Any:
    return {"VersionId": version_id} if version_id else {}


def _to_bytes(body: str | bytes) -> bytes:
    return body.encode() if isinstance(body, str) else body
