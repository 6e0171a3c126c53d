"""S3 as the platform uses it: probes, listings, tails and conditional puts."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from boto3.exceptions import Boto3Error
from botocore.exceptions import BotoCoreError, ClientError

from tidegate.platform.core.bronze.object_state import Probe, S3Forbidden, S3Found, S3Gone, S3Unavailable
from tidegate.platform.core.first_line import first_line
from tidegate.resources.threads import parallel

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_CONFLICT_RETRIES = 8
#: Refusals of an object, not of who asks.
_FORBIDDEN = frozenset({"AccessDenied", "InvalidObjectState", "AllAccessDisabled", "Forbidden", "403"})
#: The same, with status 400: its producer encrypts it with a key that every request has to bring (SSE-C). Other codes
#: of that status are about who asks, such as an expired token.
_REFUSED = frozenset({"InvalidRequest"})
#: S3's checksums of an object, the best first: where it has several, those of two sights have to be of one kind.
_CHECKSUMS = (
    "SHA512",
    "SHA256",
    "XXHASH128",
    "CRC64NVME",
    "XXHASH3",
    "XXHASH64",
    "SHA1",
    "MD5",
    "CRC32C",
    "CRC32",
)


class StoreError(RuntimeError):
    """S3 refused or could not be reached; the message names the object."""


class ObjectChanged(StoreError):
    """The object is no longer the one that was looked at."""


class ObjectGone(ObjectChanged):
    """There is no such object any more."""


class ObjectTaken(StoreError):
    """There is an object already where one was to be made."""


class ObjectForbidden(StoreError):
    """S3 will not give this object to us: no permission for it or its key, or it is archived."""


class NotWritable(StoreError):
    """S3 does not let us write where we have to: a permission of ours is missing, and no object is at fault."""


@dataclass(frozen=True)
class Listed:
    """One line of a listing; ``modified`` is epoch seconds by S3's clock."""

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

    def head(self, bucket: str, key: str) -> Probe:
        """Ask for an object's present state; never raises."""
        try:
            answer = self._head_object(bucket, key)
        except ClientError as error:
            status = _status(error)
            if status == 404:
                return S3Gone()
            if status == 403:
                return S3Forbidden(first_line(error))
            if status == 400:
                return self._why_refused(bucket, key)
            return S3Unavailable(first_line(error))
        except BotoCoreError as error:
            return S3Unavailable(first_line(error))
        return _found(answer, answer["ContentLength"])

    def _why_refused(self, bucket: str, key: str) -> Probe:
        """What a 400 means, of which HEAD brings no reason: the object is refused for ever, or who asks is."""
        try:
            self._client.get_object(Bucket=bucket, Key=key, Range="bytes=0-0")["Body"].close()
        except ClientError as error:
            refused = _code(error) in _REFUSED or _is_forbidden(error)
            return (S3Forbidden if refused else S3Unavailable)(first_line(error))
        except BotoCoreError as error:
            return S3Unavailable(first_line(error))
        return S3Unavailable("S3 answered 400 to HEAD and not to GET")

    def _head_object(self, bucket: str, key: str) -> Any:
        try:
            return self._client.head_object(Bucket=bucket, Key=key, ChecksumMode="ENABLED")
        except ClientError as error:
            if _status(error) != 403:
                raise
            # Of an object under a key of KMS that is not ours S3 tells all but the checksum.
            return self._client.head_object(Bucket=bucket, Key=key)

    def head_with_tail(self, bucket: str, key: str, length: int) -> tuple[Probe, bytes]:
        """An object's present state and its last ``length`` bytes, in one request; never raises.

        Where S3 does not give the bytes, as of an empty object, its state is asked for alone.
        """
        try:
            answer = self._client.get_object(Bucket=bucket, Key=key, Range=f"bytes=-{length}")
            body = answer["Body"].read()
        except ClientError as error:
            return (S3Gone() if _status(error) == 404 else self.head(bucket, key)), b""
        except BotoCoreError:
            return self.head(bucket, key), b""
        size = answer.get("ContentRange", "").rpartition("/")[2]
        return _found(answer, int(size) if size.isdigit() else len(body)), body

    def head_with_body(self, bucket: str, key: str, most: int) -> tuple[Probe, bytes | None]:
        """An object's present state, and its bytes if these are no more than ``most``, in one request; never raises.

        Where S3 does not give the bytes its state is asked for alone.
        """
        try:
            # Not a range: S3 tells the checksum of all of an object only with all of it.
            answer = self._client.get_object(Bucket=bucket, Key=key, ChecksumMode="ENABLED")
            with answer["Body"] as stream:
                # What is not read is not sent, but for what is on its way.
                body = stream.read() if answer["ContentLength"] <= most else None
        except ClientError as error:
            return (S3Gone() if _status(error) == 404 else self.head(bucket, key)), None
        except BotoCoreError:
            return self.head(bucket, key), None
        return _found(answer, answer["ContentLength"]), body

    def head_many(self, bucket: str, keys: Iterable[str]) -> dict[str, Probe]:
        """``head`` for many keys at once."""
        return dict(parallel(lambda key: (key, self.head(bucket, key)), keys))

    def bucket_exists(self, bucket: str) -> bool:
        """Whether the bucket is there: a 404 of its keys means nothing otherwise.

        Raises:
            StoreError: S3 did not say.
        """
        try:
            self._client.head_bucket(Bucket=bucket)
        except ClientError as error:
            if _status(error) == 404:
                return False
            raise StoreError(f"s3://{bucket}: {first_line(error)}") from error
        return True

    def tail(self, bucket: str, key: str, etag: str, length: int) -> bytes:
        """The object's last ``length`` bytes, if it still has this etag.

        Raises:
            ObjectChanged: other etag, or gone.
            StoreError: S3 did not answer.
        """
        return self._get(bucket, key, IfMatch=f'"{etag}"', Range=f"bytes=-{length}")

    def first_bytes(self, bucket: str, key: str, etag: str, length: int) -> bytes:
        """The object's first ``length`` bytes, if it still has this etag; raises as ``tail`` does."""
        return self._get(bucket, key, IfMatch=f'"{etag}"', Range=f"bytes=0-{length - 1}")

    @contextmanager
    def reading(self, bucket: str, key: str, etag: str) -> Iterator[BinaryIO]:
        """The object, to be read from its beginning, if it still has this etag; raises as ``tail`` does."""
        with self._asking(bucket, key):
            body = self._client.get_object(Bucket=bucket, Key=key, IfMatch=f'"{etag}"')["Body"]
            with body:
                yield cast(BinaryIO, body)

    def get(self, bucket: str, key: str) -> bytes | None:
        """A whole object, or None if there is none.

        Raises:
            StoreError: S3 did not answer.
        """
        try:
            return self._get(bucket, key)
        except ObjectChanged:
            return None

    def put(self, bucket: str, key: str, body: str | bytes) -> None:
        """Write an object, whatever was there."""
        self._client.put_object(Bucket=bucket, Key=key, Body=_encoded(body))

    def upload(self, bucket: str, key: str, file: Path) -> S3Found:
        """Write a file as an object, whatever was there; what lies there then.

        Raises:
            NotWritable: we may not write there.
            StoreError: S3 does not take it, or did not answer.
        """
        try:
            self._client.upload_file(str(file), bucket, key)
        except (Boto3Error, ClientError, BotoCoreError) as error:
            # boto3 tells in its own error what S3 answered, and keeps S3's as the context.
            answer = error if isinstance(error, ClientError) else error.__context__
            denied = isinstance(answer, ClientError) and _is_forbidden(answer)
            kind = NotWritable if denied else StoreError
            raise kind(f"s3://{bucket}/{key} cannot be written: {first_line(error)}") from error
        found = self.head(bucket, key)
        if not isinstance(found, S3Found):
            raise StoreError(f"s3://{bucket}/{key} was written, and now S3 says {found}")
        return found

    def put_if_absent(self, bucket: str, key: str, body: str | bytes) -> bool:
        """Create an object; False if there is one already.

        A lost reply makes the retry lose against itself, so who must know whose object it is reads it back.

        Raises:
            StoreError: S3 kept answering 409 (a conflicting request in flight).
        """
        for attempt in range(_CONFLICT_RETRIES):
            try:
                self._client.put_object(Bucket=bucket, Key=key, Body=_encoded(body), IfNoneMatch="*")
                return True
            except ClientError as error:
                if _status(error) == 412:
                    return False
                if _status(error) != 409:
                    raise
                time.sleep(0.05 * 2**attempt)
        raise StoreError(
            f"s3://{bucket}/{key}: S3 answered 409 (conflicting request) {_CONFLICT_RETRIES} times; try again"
        )

    def copy(
        self, source_bucket: str, source_key: str, etag: str, bucket: str, key: str, *, only_new: bool = False
    ) -> None:
        """Copy an object inside S3, if it still has this etag.

        Args:
            source_bucket: where it lies.
            source_key: likewise.
            etag: its etag.
            bucket: where the copy is to lie.
            key: likewise.
            only_new: never over an object that lies there; as far as the endpoint heeds ``If-None-Match`` of a copy.

        Raises:
            ObjectTaken: there is one.
            ObjectChanged: other etag; ``ObjectGone``: no such object.
            ObjectForbidden: S3 will not copy this object, for want of a permission or for its size (above 5 GB).
            StoreError: S3 did not answer, or there is no such bucket.
        """
        condition: Any = {"IfNoneMatch": "*"} if only_new else {}
        try:
            self._client.copy_object(
                Bucket=bucket,
                Key=key,
                CopySource={"Bucket": source_bucket, "Key": source_key},
                CopySourceIfMatch=etag,
                **condition,
            )
        except ClientError as error:
            if _code(error) == "NoSuchBucket":
                raise StoreError(f"s3://{bucket}/{key}: {first_line(error)}") from error
            if _status(error) == 412 and only_new and self._has(bucket, key):
                raise ObjectTaken(f"s3://{bucket}/{key} is there already") from error
            if _status(error) in (404, 412):
                kind = ObjectGone if _status(error) == 404 else ObjectChanged
                raise kind(f"s3://{source_bucket}/{source_key} changed while it was read") from error
            if _status(error) == 400:
                raise ObjectForbidden(f"s3://{source_bucket}/{source_key}: {first_line(error)}") from error
            raise _refused(source_bucket, source_key, error) from error
        except BotoCoreError as error:
            raise StoreError(f"s3://{source_bucket}/{source_key}: {first_line(error)}") from error

    def _has(self, bucket: str, key: str) -> bool:
        """Which of the two conditions of a copy did not hold S3 does not say."""
        return not isinstance(self.head(bucket, key), S3Gone)

    def delete_if(self, bucket: str, key: str, etag: str) -> None:
        """Delete an object, if it still has this etag.

        Raises:
            ObjectChanged: other etag; ``ObjectGone``: no such object.
            StoreError: S3 refused, or did not answer.
        """
        with self._asking(bucket, key):
            self._client.delete_object(Bucket=bucket, Key=key, IfMatch=f'"{etag}"')

    def tags(self, bucket: str, key: str, version_id: str | None = None) -> dict[str, str]:
        """The tags of an object, of its present version unless one is named; raises as ``delete_if`` does."""
        with self._asking(bucket, key):
            found = self._client.get_object_tagging(Bucket=bucket, Key=key, **_version(version_id))
        return {tag["Key"]: tag["Value"] for tag in found["TagSet"]}

    def put_tags(self, bucket: str, key: str, tags: Mapping[str, str], version_id: str | None = None) -> None:
        """Give an object exactly these tags; raises as ``delete_if`` does."""
        body: Any = {"TagSet": [{"Key": name, "Value": value} for name, value in tags.items()]}
        with self._asking(bucket, key):
            self._client.put_object_tagging(Bucket=bucket, Key=key, Tagging=body, **_version(version_id))

    def under(self, bucket: str, prefix: str, after: str = "") -> Iterator[Listed]:
        """Every object under a prefix, in key order; from the first key after ``after`` on."""
        start: Any = {"StartAfter": after} if after else {}
        for page in self._client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix, **start):
            for item in page.get("Contents", []):
                yield Listed(item["Key"], item["ETag"].strip('"'), item["Size"], item["LastModified"].timestamp())

    def is_empty(self, bucket: str, prefix: str) -> bool:
        """Whether no object is under a prefix."""
        return not self._client.list_objects_v2(Bucket=bucket, Prefix=prefix, MaxKeys=1).get("Contents")

    def folders(self, bucket: str, prefix: str) -> list[str]:
        """Names of the folders directly under a prefix, without slashes."""
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix, Delimiter="/")
        return [item["Prefix"][len(prefix) : -1] for page in pages for item in page.get("CommonPrefixes", [])]

    def delete(self, bucket: str, keys: Iterable[str]) -> None:
        """Delete objects; missing ones are no error."""
        for _ in parallel(lambda key: self._client.delete_object(Bucket=bucket, Key=key), keys):
            pass

    def _get(self, bucket: str, key: str, **conditions: Any) -> bytes:
        with self._asking(bucket, key):
            return self._client.get_object(Bucket=bucket, Key=key, **conditions)["Body"].read()

    @contextmanager
    def _asking(self, bucket: str, key: str) -> Iterator[None]:
        try:
            yield
        except ClientError as error:
            if _status(error) in (404, 412):
                kind = ObjectGone if _status(error) == 404 else ObjectChanged
                raise kind(f"s3://{bucket}/{key} changed or went while it was read") from error
            raise _refused(bucket, key, error) from error
        except BotoCoreError as error:
            raise StoreError(f"s3://{bucket}/{key}: {first_line(error)}") from error


def _found(answer: Mapping[str, Any], size: int) -> S3Found:
    version = answer.get("VersionId")
    modified = int(answer["LastModified"].timestamp() * 1000)
    etag = answer["ETag"].strip('"')
    return S3Found(
        etag,
        size,
        modified,
        None if version == "null" else version,
        _checksum(answer),
        # That of an upload in parts depends on the size of its parts.
        digested="-" not in etag and not answer.get("ServerSideEncryption", "").startswith("aws:kms"),
    )


def _checksum(answer: Mapping[str, Any]) -> str | None:
    for algorithm in _CHECKSUMS:
        value = answer.get(f"Checksum{algorithm}")
        # That of one part, which S3 gives for its range, is the object's only where there are no others.
        if value and (answer.get("ChecksumType") != "COMPOSITE" or "-" in value):
            return f"{algorithm}:{value}"
    return None


def _refused(bucket: str, key: str, error: ClientError) -> StoreError:
    # Wrong or expired credentials are 403 too, and no object's fault.
    kind = ObjectForbidden if _is_forbidden(error) else StoreError
    return kind(f"s3://{bucket}/{key}: {first_line(error)}")


def _is_forbidden(error: ClientError) -> bool:
    # A key of KMS that is disabled or was deleted (`KMS.DisabledException`, …) is the object's, whatever the status is.
    return (_status(error) == 403 and _code(error) in _FORBIDDEN) or _code(error).startswith("KMS.")


def _status(error: ClientError) -> int:
    details: Mapping[str, Any] = error.response
    return int(details.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _version(version_id: str | None) -> Any:
    return {"VersionId": version_id} if version_id else {}


def _encoded(body: str | bytes) -> bytes:
    return body.encode() if isinstance(body, str) else body
