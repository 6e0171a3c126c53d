"""What an answer of AWS means for a resource of a proof, and what is tried again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.prove import resources
from tidegate.platform.prove.names import Mark, RunNames
from tidegate.platform.prove.resources import Found, Resources, explained

NAMES = RunNames("0123456789")
MARK = Mark(NAMES.id, 1)


def refused(code: str, operation: str, status: int = 400, message: str = "") -> ClientError:
    answer: Any = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(answer, operation)


class Answers:
    """A client: each call gives its next answer, and then its last one again. Answers may be errors."""

    meta: Any

    def __init__(self, **answers: Any) -> None:
        self.answers, self.called = {name: list(each) for name, each in answers.items()}, list[str]()

    def __getattr__(self, name: str) -> Any:
        def call(**_: Any) -> Any:
            self.called.append(name)
            answers = self.answers.get(name, [{}])
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
            if isinstance(answer, BaseException):
                raise answer
            return answer

        return call

    def get_paginator(self, name: str) -> Any:
        return SimpleNamespace(paginate=lambda **_: [getattr(self, name)()])

    def get_waiter(self, name: str) -> Any:
        return SimpleNamespace(wait=lambda **_: self.called.append(name))


def having(s3: Any = None, sqs: Any = None, dynamodb: Any = None) -> Resources:
    clients = {"s3": s3, "sqs": sqs, "dynamodb": dynamodb}
    return Resources(SimpleNamespace(client=clients.__getitem__))  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_PAUSE", "_GONE_WITHIN"):
        monkeypatch.setattr(resources, name, 0.0)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (refused("AccessDeniedException", "CreateTable"), "the permission dynamodb:CreateTable is missing: "),
        (refused("403", "HeadBucket", 403), "the permission s3:ListBucket is missing: "),
        (
            refused("AccessDenied", "CreateBucket", 403, "with an explicit deny in a service control policy"),
            r"the permission s3:CreateBucket is forbidden: .* AWS says: .*service control policy",
        ),
    ],
)
def test_a_refusal_names_the_permission_and_says_what_aws_says(error: ClientError, said: str) -> None:
    with pytest.raises(UnavailableError, match=said), explained():
        raise error


@pytest.mark.parametrize("code", ["InvalidAccessKeyId", "RequestTimeTooSkewed", "ExpiredToken"])
def test_an_answer_about_the_caller_is_not_about_a_permission(code: str) -> None:
    with pytest.raises(ClientError), explained():
        raise refused(code, "ListBuckets", 403)


NO_BUCKET = refused("404", "HeadBucket", 404)
BUCKET = Found("bucket", NAMES.lake, MARK)


def test_an_upload_that_ended_since_the_list_is_passed_over() -> None:
    uploads = {"Uploads": [{"Key": "a", "UploadId": "1"}, {"Key": "b", "UploadId": "2"}]}
    gone = refused("NoSuchUpload", "AbortMultipartUpload", 404)
    s3 = Answers(list_multipart_uploads=[uploads], abort_multipart_upload=[gone], head_bucket=[NO_BUCKET])
    assert having(s3).remove([BUCKET]) == []
    assert s3.called.count("abort_multipart_upload") == 2
    assert "delete_bucket" in s3.called


def test_what_is_still_there_after_its_removal_is_left() -> None:
    (left,) = having(Answers()).remove([BUCKET])
    assert (left.name, left.why) == (NAMES.lake, "it is still there")
    assert left.command == f"aws s3 rb --force s3://{NAMES.lake}"


def test_only_an_answer_that_the_resource_is_missing_counts_as_removed() -> None:
    gone = Answers(delete_bucket=[refused("NoSuchBucket", "DeleteBucket", 404)], head_bucket=[NO_BUCKET])
    assert having(gone).remove([BUCKET]) == []
    other = Answers(delete_bucket=[refused("NoSuchKey", "DeleteBucket", 404)], head_bucket=[NO_BUCKET])
    assert [each.name for each in having(other).remove([BUCKET])] == [NAMES.lake]


def test_a_table_that_is_still_being_made_is_awaited() -> None:
    dynamodb = Answers(
        delete_table=[refused("ResourceInUseException", "DeleteTable"), {}],
        describe_table=[refused("ResourceNotFoundException", "DescribeTable")],
    )
    assert having(dynamodb=dynamodb).remove([Found("table", NAMES.base, MARK)]) == []
    assert dynamodb.called == ["delete_table", "table_exists", "delete_table", "describe_table"]


def test_a_queue_that_s3_cannot_validate_yet_is_tried_again() -> None:
    early = refused("InvalidArgument", "PutBucketNotificationConfiguration", 400, "Unable to validate the following")
    s3 = Answers(put_bucket_notification_configuration=[early, early, {}])
    own = having(s3)
    own._notify(NAMES.landing, {})
    assert len(s3.called) == 3
    assert own.no_notifications is None
    wrong = refused("InvalidArgument", "PutBucketNotificationConfiguration", 400, "the ARN is not well formed")
    with pytest.raises(ClientError):
        having(Answers(put_bucket_notification_configuration=[wrong]))._notify(NAMES.landing, {})


@pytest.mark.parametrize("error", [refused("AccessDenied", "PutBucketTagging", 403), KeyboardInterrupt()])
def test_a_bucket_that_cannot_be_marked_is_deleted_while_it_is_empty(error: BaseException) -> None:
    s3 = Answers(put_bucket_tagging=[error])
    s3.meta = SimpleNamespace(region_name="us-east-1")
    with pytest.raises(type(error)):
        having(s3)._make_bucket(NAMES.lake, MARK)
    assert s3.called == ["create_bucket", "put_bucket_tagging", "delete_bucket"]


def test_a_bucket_of_somebody_else_is_neither_deleted_nor_listed() -> None:
    s3 = Answers(
        create_bucket=[refused("BucketAlreadyExists", "CreateBucket", 409)],
        get_bucket_tagging=[refused("AccessDenied", "GetBucketTagging", 403)],
    )
    s3.meta = SimpleNamespace(region_name="us-east-1")
    no_queue = refused("AWS.SimpleQueueService.NonExistentQueue", "GetQueueUrl")
    no_table = refused("ResourceNotFoundException", "DescribeTable")
    own = having(s3, Answers(get_queue_url=[no_queue]), Answers(describe_table=[no_table]))
    with pytest.raises(UnavailableError, match="is taken"):
        own._make_bucket(NAMES.lake, MARK)
    assert "delete_bucket" not in s3.called
    _, left = own.find_run(NAMES)
    assert [each.name for each in left] == [NAMES.landing]
    assert own.remains(NAMES, 0.0) == [NAMES.landing]


def test_a_bucket_of_the_run_without_a_marker_is_listed_with_the_command_that_removes_it() -> None:
    s3 = Answers(
        get_bucket_tagging=[refused("NoSuchTagSet", "GetBucketTagging", 404)],
        get_object=[refused("NoSuchKey", "GetObject", 404)],
        head_bucket=[{}, NO_BUCKET],
    )
    no_queue = refused("AWS.SimpleQueueService.NonExistentQueue", "GetQueueUrl")
    no_table = refused("ResourceNotFoundException", "DescribeTable")
    found, left = having(s3, Answers(get_queue_url=[no_queue]), Answers(describe_table=[no_table])).find_run(NAMES)
    assert found == []
    assert [each.command for each in left] == [f"aws s3 rb --force s3://{NAMES.landing}"]
