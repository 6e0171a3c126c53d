"""Manifests in the forms that AWS documents and writes: the columns of the files, and their types there."""

from __future__ import annotations

import json

import pytest

from tidegate.platform.core.inventory.columns import FIELDS, column_name
from tidegate.platform.core.inventory.manifest import Inventory, InventoryError

#: As the user guide has them, each with all fields of its time. `BINARY` and `STRING` are two spellings of Parquet's.
_SCHEMAS = {
    "CSV": "Bucket, Key, VersionId, IsLatest, IsDeleteMarker, Size, LastModifiedDate, ETag, StorageClass, "
    "IsMultipartUploaded, ReplicationStatus, EncryptionStatus, ObjectLockRetainUntilDate, ObjectLockMode, "
    "ObjectLockLegalHoldStatus, IntelligentTieringAccessTier, BucketKeyStatus, ChecksumAlgorithm, "
    "ObjectAccessControlList, ObjectOwner",
    "ORC": "struct<bucket:string,key:string,version_id:string,is_latest:boolean,is_delete_marker:boolean,size:bigint,"
    "last_modified_date:timestamp,e_tag:string,storage_class:string,is_multipart_uploaded:boolean,"
    "replication_status:string,encryption_status:string,object_lock_retain_until_date:timestamp,"
    "object_lock_mode:string,object_lock_legal_hold_status:string,intelligent_tiering_access_tier:string,"
    "bucket_key_status:string,checksum_algorithm:string,object_access_control_list:string,object_owner:string>",
    "Parquet": "message s3.inventory { required binary bucket (UTF8); required binary key (UTF8); "
    "optional binary version_id (UTF8); optional boolean is_latest; optional boolean is_delete_marker; "
    "optional int64 size; optional int64 last_modified_date (TIMESTAMP_MILLIS); optional binary e_tag (UTF8); "
    "optional binary storage_class (UTF8); optional boolean is_multipart_uploaded; "
    "optional binary replication_status (UTF8); optional binary encryption_status (UTF8); "
    "optional int64 object_lock_retain_until_date (TIMESTAMP_MILLIS); optional binary object_lock_mode (UTF8); "
    "optional binary object_lock_legal_hold_status (UTF8); optional binary intelligent_tiering_access_tier (UTF8); "
    "optional binary bucket_key_status (UTF8); optional binary checksum_algorithm (UTF8); "
    "optional binary object_access_control_list (UTF8); optional binary object_owner (UTF8);}",
}
_NEWER = _SCHEMAS["Parquet"].replace("UTF8", "STRING").replace("TIMESTAMP_MILLIS", "TIMESTAMP(MILLIS,true)")


def manifest(format: str, schema: str) -> Inventory:
    body = {
        "sourceBucket": "amzn-s3-demo-source-bucket",
        "destinationBucket": "arn:aws:s3:::example-inventory-destination-bucket",
        "version": "2016-11-30",
        "creationTimestamp": "1514944800000",
        "fileFormat": format,
        "fileSchema": schema,
        "files": [
            {
                "key": "Inventory/amzn-s3-demo-source-bucket/2016-11-06T21-32Z/files/939c6d46-85a9-4ba8-87bd.csv.gz",
                "size": 2147483647,
                "MD5checksum": "f11166069f1990abeb9c97ace9cdfabc",
            }
        ],
    }
    return Inventory.from_manifest(json.dumps(body).encode(), "s3://example-inventory-destination-bucket/manifest.json")


@pytest.mark.parametrize(("format", "schema"), [*_SCHEMAS.items(), ("Parquet", _NEWER)])
def test_the_documented_manifests_name_the_columns_and_their_types(format: str, schema: str) -> None:
    found = manifest(format, schema)
    assert (found.source, found.created) == ("amzn-s3-demo-source-bucket", 1514944800.0)
    assert [(file.size, file.md5) for file in found.files] == [(2147483647, "f11166069f1990abeb9c97ace9cdfabc")]
    known = {"bucket": "string", **{name: kind for name, kind in FIELDS.items() if name != "lifecycle_expiration_date"}}
    types = {column_name(name): kind for name, kind in found.columns.items()}
    assert types == (dict.fromkeys(known, "string") if format == "CSV" else known)
    assert list(types) == list(known)


def test_fields_of_other_types_have_them() -> None:
    schema = (
        "message s3.inventory { required binary key (STRING); optional binary raw; optional int32 days; "
        "optional int32 day (DATE); optional double share; optional int96 moment; }"
    )
    assert manifest("Parquet", schema).columns == {
        "key": "string", "raw": "binary", "days": "int", "day": "date", "share": "double", "moment": "timestamp",
    }  # fmt: skip
    assert manifest("ORC", "struct<key:string, days:int, share:decimal(10, 2)>").columns == {
        "key": "string", "days": "int", "share": "decimal(10,2)",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("format", "schema", "left_out"),
    [
        (
            "ORC",
            "struct<key:string,tags:map<string,array<int>>,of:struct<size:bigint,day:date>,x:weird_type,size:bigint>",
            ["tags map<string,array<int>>", "of struct<size:bigint,day:date>", "x weird_type"],
        ),
        (
            "Parquet",
            "message s3.inventory { required binary key (STRING) = 1; optional group tags (MAP) { repeated group "
            "key_value { required binary key (STRING); optional int32 size; } } optional fixed_len_byte_array(16) id "
            "(UUID); repeated binary names (STRING); optional int64 cost (DECIMAL(10,2)); "
            "optional group of { optional binary x; } optional int64 size; }",
            ["tags group (MAP)", "id fixed_len_byte_array(16) (UUID)", "names binary (STRING)",
             "cost int64 (DECIMAL(10,2))", "of group"],
        ),
    ],
)  # fmt: skip
def test_fields_whose_values_have_no_text_are_left_out_and_named(format: str, schema: str, left_out: list[str]) -> None:
    found = manifest(format, schema)
    assert found.columns == {"key": "string", "size": "bigint"}
    assert [f"{field.name} {field.type}" for field in found.left_out] == left_out


@pytest.mark.parametrize(
    ("key", "why"),
    [
        *((key, "outside of the inventory's folder") for key in (
            "other/acme/daily/data/x.orc", "inventory/acme/other/data/x.orc", "x",
        )),
        *((key, "Spark would read another object") for key in (
            "/x", "inventory/acme/daily/../../../secret/x.csv", "inventory/acme/daily/./x.csv", "..",
            "inventory/acme/daily//x.csv", "inventory/acme/daily/data/..", "inventory/acme/daily/data/_x.csv",
        )),
    ],
)  # fmt: skip
def test_a_manifest_names_keys_of_its_own_folder_only(key: str, why: str) -> None:
    body = {
        "sourceBucket": "acme", "fileFormat": "CSV", "creationTimestamp": "1769821200500", "fileSchema": "Bucket, Key",
        "files": [{"key": "inventory/acme/daily/data/a.csv.gz", "size": 1, "MD5checksum": "m"}],
    }  # fmt: skip
    uri = "s3://destination/inventory/acme/daily/2026-01-31T01-00Z/manifest.json"
    assert len(Inventory.from_manifest(json.dumps(body).encode(), uri).files) == 1
    body["files"] += [{"key": key, "size": 1, "MD5checksum": "m"}]  # type: ignore[operator]
    with pytest.raises(InventoryError, match=why):
        Inventory.from_manifest(json.dumps(body).encode(), uri)
