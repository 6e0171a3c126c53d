"""Makes what a run needs, finds what runs have made, and removes it. Nothing without a marker of ours is removed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from tidegate.platform.cloud.commit_table import CommitTable
from tidegate.platform.cloud.requirements import WantedQueue, WantedResources
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.core.wording import first_line
from tidegate.platform.lake.aws.answers import code_of, is_forbidden, status_of
from tidegate.platform.lake.aws.clients import Aws
from tidegate.platform.prove.names import MARKER, MARKER_KEY, PREFIX, Mark, RunNames, run_of
from tidegate.platform.prove.policy import missing_permission

_NO_MARKER = "it has no marker of `tidegate prove`, so it stays"
_NO_TAGS = ("NotImplemented", "MethodNotAllowed", "XNotImplemented")
#: DynamoDB and SQS refuse with the status 400, too.
_DENIED = ("AccessDenied", "AccessDeniedException", "UnauthorizedOperation")
#: There is no such bucket, queue or table. Any other answer 404 is about something else.
_GONE = ("NoSuchBucket", "NonExistentQueue", "QueueDoesNotExist", "ResourceNotFoundException")
#: SQS shows a queue for a minute after its end.
_GONE_WITHIN = 90.0
#: The policy of a queue may take a minute to count. Until then S3 refuses a notification to it.
_NOTIFIES_WITHIN = 60.0
_PAUSE = 2.0
_PER_CALL = 1000


@dataclass(frozen=True)
class Found:
    """A resource that carries a marker of ours.

    Attributes:
        kind: `bucket`, `queue` or `table`.
        name: its name.
        mark: its marker.
    """

    kind: str
    name: str
    mark: Mark


@dataclass(frozen=True)
class Left:
    """A resource that could not be removed, or that has our kind of name and no marker.

    Attributes:
        why: as a sentence.
        command: removes it by hand.
    """

    kind: str
    name: str
    why: str
    command: str


class Resources:
    """The resources of runs in one account and region, or at one endpoint.

    Args:
        aws: clients.
    """

    def __init__(self, aws: Aws) -> None:
        self.aws = aws
        self.s3, self.sqs, self.dynamodb = aws.client("s3"), aws.client("sqs"), aws.client("dynamodb")
        #: Why the buckets of this endpoint notify no queue; None if they do.
        self.no_notifications: str | None = None
        #: Kinds and names of a run that it has not made: a bucket that others have, or a table that it does not need.
        self._not_made: set[tuple[str, str]] = set()

    def make(self, names: RunNames, config: LakeConfig, *, commit_table: bool, kept: bool = False) -> None:
        """Make everything, each with its marker.

        Args:
            config: the lake.yaml of the run.
            commit_table: whether the run's own Spark server needs a table for commits.
            kept: whether only a person who names the run may remove it.

        Raises:
            UnavailableError: AWS refuses something.
        """
        mark, wanted = Mark.begin_run(names, kept=kept), WantedResources.from_config(config)
        if not commit_table:
            self._not_made.add(("table", names.base))  # there may be no DynamoDB to ask
        with explained():
            for bucket in wanted.every_bucket:
                self._make_bucket(bucket, mark)
            (events,) = wanted.every_queue
            arn = self._make_queues(events, wanted, mark)
            if commit_table and wanted.commit_table is not None:
                self._make_table(replace(wanted.commit_table, name=names.base), mark)
            self._notify(names.landing, wanted.notification(arn))

    def queue_url(self, names: RunNames) -> str:
        """Return the URL of the event queue of a run."""
        return str(self.sqs.get_queue_url(QueueName=names.base)["QueueUrl"])

    def _make_bucket(self, name: str, mark: Mark) -> None:
        region = self.s3.meta.region_name
        place = {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}
        try:
            self.s3.create_bucket(Bucket=name, **place)
            self._mark_bucket(name, mark)
        except BaseException as error:
            if isinstance(error, ClientError) and code_of(error) in ("BucketAlreadyExists", "BucketAlreadyOwnedByYou"):
                self._not_made.add(("bucket", name))
                raise UnavailableError(
                    f"the bucket name {name} is taken: run `tidegate prove` again, for another"
                ) from None
            # Without a marker it would stay. Only an empty bucket can be deleted, and nobody else has the name.
            with suppress(ClientError, BotoCoreError):
                self.s3.delete_bucket(Bucket=name)
            raise

    def _mark_bucket(self, name: str, mark: Mark) -> None:
        try:
            tags = {"TagSet": [{"Key": MARKER, "Value": str(mark)}]}
            self.s3.put_bucket_tagging(Bucket=name, Tagging=tags)
        except ClientError as error:
            if not _is_unknown(error):
                raise
            self.s3.put_object(Bucket=name, Key=MARKER_KEY, Body=str(mark).encode())

    def _make_queues(self, queue: WantedQueue, wanted: WantedResources, mark: Mark) -> str:
        """Make the event queue with its dead-letter queue. Returns its ARN."""
        tags = {MARKER: str(mark)}
        dead = self.sqs.create_queue(QueueName=queue.dlq, Attributes=queue.dlq_attributes(), tags=tags)["QueueUrl"]
        dead_arn = self._arn(dead)
        # With its policy from the beginning: a later one takes a minute to count.
        arn = f"{dead_arn.rpartition(':')[0]}:{queue.name}"
        own = queue.attributes(dead_arn) | {"Policy": json.dumps(wanted.queue_policy(arn))}
        self.sqs.create_queue(QueueName=queue.name, Attributes=own, tags=tags)
        return arn

    def _arn(self, url: str) -> str:
        found = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
        return str(found["Attributes"]["QueueArn"])

    def _make_table(self, table: CommitTable, mark: Mark) -> None:
        tags = [{"Key": MARKER, "Value": str(mark)}]
        self.dynamodb.create_table(**table.definition(), Tags=tags)
        self._await_table(table.name)
        self.dynamodb.update_time_to_live(TableName=table.name, TimeToLiveSpecification=table.time_to_live())

    def _await_table(self, name: str) -> None:
        self.dynamodb.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 60})

    def _notify(self, bucket: str, wanted: dict[str, Any]) -> None:
        """Let the bucket notify the queue. An endpoint without notifications is noted."""
        until = time.monotonic() + _NOTIFIES_WITHIN
        while True:
            try:
                self.s3.put_bucket_notification_configuration(
                    Bucket=bucket, NotificationConfiguration={"QueueConfigurations": [wanted]}
                )
                return
            except ClientError as error:
                if _is_unknown(error):
                    self.no_notifications = first_line(error)
                    return
                # S3 asks the queue whether it may send, and says so if it may not yet.
                if "Unable to validate" not in str(error) or time.monotonic() > until:
                    raise
            time.sleep(_PAUSE)

    def find(self) -> tuple[list[Found], list[Left]]:
        """Return what runs have made, and what has such a name and no marker, which may be somebody else's.

        Raises:
            UnavailableError: AWS refuses a list.
        """
        found: list[Found] = []
        strange: list[Left] = []
        with explained():
            for kind, name in self._named_resources():
                mark = self._mark(kind, name)
                if mark is not None and (kind, name) in RunNames(mark.id).resources:
                    found.append(Found(kind, name, mark))
                else:
                    strange.append(Left(kind, name, _NO_MARKER, _command(kind, name)))
        return found, strange

    def find_run(self, names: RunNames) -> tuple[list[Found], list[Left]]:
        """Return what a run has made, by its names, and what cannot be asked. Needs no permission for lists."""
        found: list[Found] = []
        left: list[Left] = []
        for kind, name in self._own_resources(names):
            try:
                mark = self._mark(kind, name)
                unmarked = mark is None and self._is_there(kind, name)
            except (ClientError, BotoCoreError) as error:
                left.append(Left(kind, name, _why(error), _command(kind, name)))
                continue
            if mark is not None and mark.id == names.id:
                found.append(Found(kind, name, mark))
            elif unmarked:
                left.append(Left(kind, name, _NO_MARKER, _command(kind, name)))
        return found, left

    def _own_resources(self, names: RunNames) -> list[tuple[str, str]]:
        return [each for each in names.resources if each not in self._not_made]

    def _named_resources(self) -> Iterator[tuple[str, str]]:
        """Yield the kind and the name of everything that is named like something of a run."""
        buckets = [each["Name"] for each in self.s3.list_buckets().get("Buckets", [])]
        pages = self.sqs.get_paginator("list_queues").paginate(QueueNamePrefix=PREFIX)
        queues = [url.rpartition("/")[2] for page in pages for url in page.get("QueueUrls", [])]
        tables = [name for page in self.dynamodb.get_paginator("list_tables").paginate() for name in page["TableNames"]]
        for kind, names in (("bucket", buckets), ("queue", queues), ("table", tables)):
            yield from ((kind, name) for name in names if run_of(name) is not None)

    def _mark(self, kind: str, name: str) -> Mark | None:
        try:
            return Mark.parse(self._tags(kind, name).get(MARKER, ""))
        except ClientError as error:
            if not _is_gone(error):
                raise
            return None  # it went meanwhile

    def _tags(self, kind: str, name: str) -> dict[str, str]:
        if kind == "queue":
            url = self.sqs.get_queue_url(QueueName=name)["QueueUrl"]
            found = self.sqs.list_queue_tags(QueueUrl=url).get("Tags", {})
            return dict(found)
        if kind == "table":
            table = self.dynamodb.describe_table(TableName=name)["Table"]
            if table["TableStatus"] == "CREATING":  # it has no tags yet
                self._await_table(name)
            listed = self.dynamodb.list_tags_of_resource(ResourceArn=table["TableArn"])["Tags"]
            return {tag["Key"]: tag["Value"] for tag in listed}
        try:
            return {tag["Key"]: tag["Value"] for tag in self.s3.get_bucket_tagging(Bucket=name)["TagSet"]}
        except ClientError as error:
            if code_of(error) != "NoSuchTagSet" and not _is_unknown(error):
                raise
        try:
            return {MARKER: self.s3.get_object(Bucket=name, Key=MARKER_KEY)["Body"].read().decode()}
        except ClientError as error:
            if code_of(error) not in ("NoSuchKey", "404"):
                raise
            return {}

    def remove(self, found: Iterable[Found], step: Callable[[str], None] = lambda _: None) -> list[Left]:
        """Remove resources that carry a marker, and wait until they are gone. Returns those that are left.

        Args:
            step: called with the name of each resource before it is removed.
        """
        ended: list[tuple[str, str]] = []
        end = {"queue": self._remove_queue, "table": self._remove_table, "bucket": self._remove_bucket}
        left: list[Left] = []
        # Queues go first, so that nothing notifies them while buckets are emptied.
        for each in sorted(found, key=lambda each: (list(end).index(each.kind), each.name)):
            step(each.name)
            try:
                end[each.kind](each.name)
            except (ClientError, BotoCoreError) as error:
                if not (isinstance(error, ClientError) and _is_gone(error)):
                    left.append(Left(each.kind, each.name, _why(error), _command(each.kind, each.name)))
                    continue
            ended.append((each.kind, each.name))
        still = self.await_gone(ended)
        return [*left, *(Left(kind, name, "it is still there", _command(kind, name)) for kind, name in still)]

    def _remove_queue(self, name: str) -> None:
        self.sqs.delete_queue(QueueUrl=self.sqs.get_queue_url(QueueName=name)["QueueUrl"])

    def _remove_table(self, name: str) -> None:
        try:
            self.dynamodb.delete_table(TableName=name)
        except ClientError as error:
            # A table that is still being made cannot be deleted.
            if code_of(error) != "ResourceInUseException":
                raise
            self._await_table(name)
            self.dynamodb.delete_table(TableName=name)

    def _remove_bucket(self, name: str) -> None:
        pages = self.s3.get_paginator("list_multipart_uploads").paginate(Bucket=name)
        try:
            uploads = [each for page in pages for each in page.get("Uploads", [])]
        except ClientError as error:
            if not _is_unknown(error):
                raise
            uploads = []
        for upload in uploads:
            try:
                self.s3.abort_multipart_upload(Bucket=name, Key=upload["Key"], UploadId=upload["UploadId"])
            except ClientError as error:
                if code_of(error) != "NoSuchUpload":  # it ended since the list
                    raise
        self._empty(name)
        self.s3.delete_bucket(Bucket=name)

    def _empty(self, bucket: str) -> None:
        """Delete every object and version. The object that marks the bucket is the last."""
        objects = self._versions(bucket)
        marker = [each for each in objects if each["Key"] == MARKER_KEY]
        others = [each for each in objects if each["Key"] != MARKER_KEY]
        for chunk in (*_chunks(others), *_chunks(marker)):
            answer = self.s3.delete_objects(Bucket=bucket, Delete={"Objects": chunk, "Quiet": True})
            if errors := answer.get("Errors"):
                code, message = str(errors[0].get("Code")), str(errors[0].get("Message"))
                raise ClientError({"Error": {"Code": code, "Message": message}}, "DeleteObjects")

    def _versions(self, bucket: str) -> list[dict[str, str]]:
        try:
            pages = self.s3.get_paginator("list_object_versions").paginate(Bucket=bucket)
            every = [each for page in pages for kind in ("Versions", "DeleteMarkers") for each in page.get(kind, [])]
            return [{"Key": each["Key"], "VersionId": each["VersionId"]} for each in every]
        except ClientError as error:
            if not _is_unknown(error):
                raise
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket=bucket)
        return [{"Key": each["Key"]} for page in pages for each in page.get("Contents", [])]

    def remains(self, names: RunNames, within: float | None = None) -> list[str]:
        """Return what of a run is still there, after a wait: SQS shows a queue for a minute after its end."""
        return [name for _, name in self.await_gone(self._own_resources(names), within)]

    def await_gone(self, resources: Collection[tuple[str, str]], within: float | None = None) -> list[tuple[str, str]]:
        """Wait until resources are gone, each given by its kind and name. Returns those that are still there."""
        within = _GONE_WITHIN if within is None else within
        until = time.monotonic() + within
        while there := [(kind, name) for kind, name in resources if self._is_there(kind, name)]:
            if time.monotonic() > until:
                break
            time.sleep(min(_PAUSE, within / 10))
        return there

    def _is_there(self, kind: str, name: str) -> bool:
        """Return whether something has a name. What cannot be asked counts as there, and a table that ends does not."""
        try:
            if kind == "bucket":
                self.s3.head_bucket(Bucket=name)
            elif kind == "queue":
                self.sqs.get_queue_url(QueueName=name)
            else:
                return bool(self.dynamodb.describe_table(TableName=name)["Table"]["TableStatus"] != "DELETING")
        except ClientError as error:
            return not _is_gone(error)
        except BotoCoreError:
            return True
        return True


class explained:  # noqa: N801 - read as a sentence: with explained()
    """Turns an error of AWS into the sentence that a person needs."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ClientError) and _is_denied(error):
            raise UnavailableError(_why(error)) from error


def _why(error: ClientError | BotoCoreError) -> str:
    said = first_line(error)
    if not (isinstance(error, ClientError) and _is_denied(error)):
        return said
    how = "forbidden" if "explicit deny" in said else "missing"
    return (
        f"the permission {missing_permission(error)} is {how}: `tidegate prove --policy` prints all that the command "
        f"needs. AWS says: {said}"
    )


def _is_denied(error: ClientError) -> bool:
    """Return whether AWS knows the caller, and refuses the request."""
    return code_of(error) in _DENIED or is_forbidden(error)


def _is_unknown(error: ClientError) -> bool:
    return code_of(error) in _NO_TAGS or status_of(error) in (405, 501)


def _is_gone(error: ClientError) -> bool:
    if error.operation_name == "HeadBucket":
        return status_of(error) == 404  # a HEAD has no code
    return code_of(error).rpartition(".")[2] in _GONE


def _chunks(objects: list[dict[str, str]]) -> Iterator[list[dict[str, str]]]:
    for start in range(0, len(objects), _PER_CALL):
        yield objects[start : start + _PER_CALL]


def _command(kind: str, name: str) -> str:
    return {
        "bucket": f"aws s3 rb --force s3://{name}",
        "queue": f'aws sqs delete-queue --queue-url "$(aws sqs get-queue-url --queue-name {name} --output text)"',
        "table": f"aws dynamodb delete-table --table-name {name}",
    }[kind]
