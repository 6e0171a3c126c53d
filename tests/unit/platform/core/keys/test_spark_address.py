"""The address that Spark gets of an object of others leads to that object, or there is none."""

from __future__ import annotations

import ast
import re
import string
from contextlib import suppress
from posixpath import normpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.tracked import ROOT
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.keys.spark_address import plain_address, spark_pattern

#: Modules that write `s3a://` addresses of keys that Tidegate or the operator chose.
_OWN = {
    "platform/bronze/prepare/scratch_object.py",
    "platform/inventory/costs/inventory_sizes.py",
    "platform/operations/reset.py",
    "platform/silver/export.py",
    "platform/cloud/roles/lake_arns.py",
    "platform/core/keys/path_spellings.py",
    "platform/lake/inventory/folder.py",
    "platform/lake/lake_root/batches.py",
    "platform/lake/lake_root/births.py",
    "platform/lake/lake_root/root.py",
}
_FOLDERS = st.sampled_from(["", ".", "..", "...", "..x", "a b", "[1]", "{a,b}", "*", "?", "\\", "%2e%2e", "ü", "x\n"])
_NAMES = st.sampled_from(["", ".", "..", "x.csv", "x.csv\n", "_x", ".x", "x._COPYING_"])


@given(folders=st.lists(_FOLDERS), name=_NAMES)
def test_an_address_leads_to_its_object_or_there_is_none(folders: list[str], name: str) -> None:
    address = S3Address("b", "/".join([*folders, name]))
    plain, pattern = plain_address(address), None
    with suppress(ValueError):
        pattern = spark_pattern(address)
    resolved = normpath(f"/{address.key}").lstrip("/") == address.key
    assert (pattern is not None) == (resolved and name in ("x.csv", "x.csv\n"))
    assert plain in (None, pattern)
    if pattern is not None:
        assert re.sub(r"\\(.)", r"\1", pattern) == address.s3a
        assert not re.search(r"(?<!\\)(\\\\)*[\[\]{}*?]", pattern)


def test_a_key_is_plain_if_all_of_its_characters_are() -> None:
    plain = {char for char in map(chr, range(0x250)) if plain_address(S3Address("b", f"x{char}x"))}
    assert plain == {*string.ascii_letters, *string.digits, *"/_.=-"}
    assert not plain_address(S3Address("b", "x\n"))


@pytest.mark.parametrize("key", ["a/b=1/c-d_e.0.csv.gz", "x", "..x/a", "a../x"])
def test_a_plain_key_has_its_address(key: str) -> None:
    assert plain_address(S3Address("b", key)) == f"s3a://b/{key}"


def test_spark_takes_no_part_of_an_address_for_a_pattern() -> None:
    assert spark_pattern(S3Address("in", "a b%20+ü/c.orc")) == "s3a://in/a b%20+ü/c.orc"
    assert spark_pattern(S3Address("in", "[1]{a,b}*?\\c.orc")) == r"s3a://in/\[1\]\{a,b\}\*\?\\c.orc"


def test_nobody_else_gives_spark_the_address_of_an_object_of_others() -> None:
    def reads(path: str) -> bool:
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        return any(isinstance(node, ast.Attribute) and node.attr == "s3a" for node in ast.walk(tree))

    folders = ("assets", "resources", "sensors", "platform")
    paths = [str(path.relative_to(ROOT)) for folder in folders for path in (ROOT / folder).rglob("*.py")]
    assert {path for path in paths if reads(path)} == {*_OWN, "platform/core/keys/spark_address.py"}
