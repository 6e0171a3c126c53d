from __future__ import annotations

import hashlib
import io
import json

import pyarrow.parquet as pq
import pytest

from tidegate.platform.demo.storage.company import company
from tidegate.platform.demo.storage.deliveries import delivery

BUCKET = company(40, 30)[0]


@pytest.mark.parametrize("broken", [False, True])
def test_a_delivery_is_as_s3_writes_it_and_a_broken_one_has_another_file(broken: bool) -> None:
    (file, lines), (manifest, text), (checksum, digest) = delivery(BUCKET, 3, broken=broken)
    assert (manifest.rpartition("/")[0], checksum.rpartition("/")[2]) == (
        checksum.rpartition("/")[0],
        "manifest.checksum",
    )
    assert digest.decode().strip() == hashlib.md5(text).hexdigest()
    (named,) = json.loads(text)["files"]
    assert named["key"] == file
    same = (named["size"], named["MD5checksum"]) == (len(lines), hashlib.md5(lines).hexdigest())
    assert same is not broken


def test_its_lines_are_the_objects_of_the_day() -> None:
    (_, lines), *_ = delivery(BUCKET, 3)
    rows = pq.read_table(io.BytesIO(lines)).to_pylist()
    assert {(row["key"], row["size"]) for row in rows} == {(stored.key, stored.size) for stored in BUCKET.objects_on(3)}
