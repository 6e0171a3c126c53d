"""An address in S3 is read and written in one place."""

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
from tidegate.platform.core.keys.s3_address import S3Address, plain_address, spark_pattern

#: Modules that write `s3a://` addresses of keys that Tidegate or the operator chose.
_OWN = {
    "platform/bronze/prepare/file_access.py",
    "platform/inventory/costs/inventory_sizes.py",
    "platform/operations/adopt.py",
    "platform/operations/reset.py",
    "platform/silver/export.py",
    "platform/cloud/roles/lake_arns.py",
    "platform/core/keys/s3_address.py",
    "platform/lake/inventory/folder.py",
    "platform/lake/lake_root/batches.py",
    "platform/lake/lake_root/births.py",
    "platform/lake/lake_root/root.py",
}
_FOLDERS = st.sampled_from(["", ".", "..", "...", "..x", "a b", "[1]", "{a,b}", "*", "?", "\\", "%2e%2e", "ü", "x\n"])
_NAMES = st.sampled_from(["", ".", "..", "x.csv", "x.csv\n", "_x", ".x", "x._COPYING_"])


def test_an_address_is_read_and_written() -> None:
    assert S3Address.parse("s3://b/a//c d") == ("b", "a//c d")
    assert S3Address.parse("s3://b") == ("b", "")
    assert S3Address.parse_s3a("s3a://b/t").s3 == "s3://b/t"
    assert S3Address("b", "t/").s3a == "s3a://b/t/"
    assert f"{S3Address('b')}" == "s3://b/"
    assert (S3Address("b", "a/c").bare, S3Address("b").bare) == ("b/a/c", "b")


def test_a_name_or_a_folder_is_not_an_address() -> None:
    assert [text for text in ("s3://b/a", "s3://", "orders", "b/a", "./s3") if S3Address.names(text)] == [
        "s3://b/a",
        "s3://",
    ]


@pytest.mark.parametrize("wrong", ["", "b/a", "s3a://b/a", "s3:///a", "https://b/a"])
def test_what_is_not_an_address_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match="s3://bucket/key"):
        S3Address.parse(wrong)


def test_a_path_of_s3_is_not_a_path_of_spark() -> None:
    with pytest.raises(ValueError, match="s3a://bucket/key"):
        S3Address.parse_s3a("s3://b/a")


def test_nobody_else_puts_addresses_together() -> None:
    by_hand = re.compile(r"""s3a?://\{[^{}]+\}/\{|(replace|removeprefix|startswith)\(["']s3a?://""")
    layers = ("assets", "resources", "sensors", "platform")
    paths = [path for layer in layers for path in (ROOT / layer).rglob("*.py") if path.name != "s3_address.py"]
    paths = [path for path in paths if not {"demo", "local"} & set(path.relative_to(ROOT).parts)]
    assert paths
    assert not [path for path in paths if by_hand.search(path.read_text(encoding="utf-8"))]


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
    assert {path for path in paths if reads(path)} == {*_OWN, "platform/core/keys/s3_address.py"}
