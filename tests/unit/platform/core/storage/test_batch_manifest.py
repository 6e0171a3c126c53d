"""Manifests of S3 Batch Operations."""

from __future__ import annotations

import json
import shlex
from urllib.parse import unquote_plus

import botocore.session
import pytest
from botocore.validate import ParamValidator

from tidegate.platform.core.errors import BadValue
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.storage.batch_manifest import (
    INVENTORY,
    LIST,
    BatchManifest,
    ListedObject,
    manifest_columns,
    manifest_lines,
)

ODD = ["a b/c+d.json", 'quo"te,', "ü/\U0001f30a", "50%41", "line\nbreak"]


def test_keys_are_encoded_so_that_each_decoding_gives_them_again() -> None:
    lines = list(manifest_lines([ListedObject("acme", key) for key in ODD], with_versions=False))
    assert lines[0] == "acme,a%20b/c%2Bd.json\n"
    cells = [line.removesuffix("\n").split(",") for line in lines]
    assert [(bucket, unquote_plus(key)) for bucket, key in cells] == [("acme", key) for key in ODD]
    assert all(line.isascii() and line.count("\n") == 1 for line in lines)


def test_versions_are_those_of_all_objects_or_of_none() -> None:
    objects = [ListedObject("acme", "a", "v1"), ListedObject("acme", "b", None)]
    assert list(manifest_lines(objects[:1], with_versions=True)) == ["acme,a,v1\n"]
    assert list(manifest_lines(objects[1:], with_versions=False)) == ["acme,b\n"]
    with pytest.raises(BadValue, match="acme/b has no version ID, unlike others of its bucket"):
        list(manifest_lines(objects, with_versions=True))
    with pytest.raises(BadValue, match=r"acme/a has a version ID, .*: let the query have rows of one"):
        list(manifest_lines(objects[::-1], with_versions=False))


def test_the_null_version_has_a_name_and_an_empty_text_is_none() -> None:
    null = ListedObject("acme", "a", "null")
    assert list(manifest_lines([null, ListedObject("acme", "b", "v1")], with_versions=True)) == [
        "acme,a,null\n",
        "acme,b,v1\n",
    ]
    for with_versions in (True, False):
        with pytest.raises(BadValue, match="the version ID of acme/a is empty"):
            list(manifest_lines([null._replace(version="")], with_versions=with_versions))


@pytest.mark.parametrize("listed", [ListedObject(None, "a"), ListedObject("acme", None), ListedObject("acme", "")])
def test_a_row_without_bucket_or_key_is_refused(listed: ListedObject) -> None:
    with pytest.raises(BadValue, match="the bucket or the key of row 2 is NULL or empty"):
        list(manifest_lines([ListedObject("acme", "a"), listed], with_versions=False))


def test_the_columns_of_a_query_are_the_fields_of_a_job() -> None:
    def columns(*names: str, **types: str) -> list[str]:
        return manifest_columns((name, types.get(name, "string")) for name in names)

    assert columns("size", "Key", "VERSION_ID", "bucket", size="bigint", VERSION_ID="void") == [
        "bucket", "Key", "VERSION_ID",
    ]  # fmt: skip
    assert columns("bucket", "key", "size", "size", bucket="varchar(63)") == ["bucket", "key"]
    with pytest.raises(BadValue, match="no column bucket, only name, key: give a column its name with AS"):
        columns("name", "key")
    for second in ("Key", "key"):
        with pytest.raises(BadValue, match=f"two columns of the query have the name {second}"):
            columns("bucket", "key", second)
    for kind in ("array<string>", "bigint", "struct<a:string>"):
        with pytest.raises(BadValue, match=f"the column key of the query is {kind} and no text"):
            columns("bucket", "key", key=kind)


@pytest.mark.parametrize("bucket", ["a/b", "../x", "1", "two words", "a,b", "ü" * 5])
def test_a_bucket_whose_name_no_bucket_has_is_refused(bucket: str) -> None:
    with pytest.raises(BadValue, match="is not a name of a bucket"):
        list(manifest_lines([ListedObject(bucket, "a")], with_versions=False))


@pytest.mark.parametrize(
    ("format", "versions", "fields"),
    [(LIST, False, ["Bucket", "Key"]), (LIST, True, ["Bucket", "Key", "VersionId"]), (INVENTORY, True, None)],
)
def test_the_call_is_one_that_the_api_of_s3_control_takes(
    format: str, versions: bool, fields: list[str] | None
) -> None:
    """Fields are of a list only. The API's own description, as the client has it, is the measure."""
    manifest = BatchManifest("acme", S3Address("jobs", "a.csv"), "e7", 3, format, versions)
    words = shlex.split(manifest.call("123456789012", "eu-west-1", "arn:aws:s3:::jobs/a.csv"))
    given = json.loads(words[words.index("--manifest") + 1])
    assert given["Spec"] == {"Format": format} | ({"Fields": fields} if fields else {})
    assert given["Location"] == {"ObjectArn": "arn:aws:s3:::jobs/a.csv", "ETag": "e7"}
    shape = botocore.session.get_session().get_service_model("s3control").operation_model("CreateJob").input_shape
    asked = {
        "AccountId": words[words.index("--account-id") + 1],
        "Manifest": given,
        "Operation": {"S3DeleteObjectTagging": {}},
        "Report": json.loads(words[words.index("--report") + 1]),
        "Priority": int(words[words.index("--priority") + 1]),
        "RoleArn": "arn:aws:iam::123456789012:role/x",
        "ClientRequestToken": "t",
    }
    assert not ParamValidator().validate(asked, shape).has_errors()
    assert {LIST, INVENTORY} == set(shape.members["Manifest"].members["Spec"].members["Format"].enum)
