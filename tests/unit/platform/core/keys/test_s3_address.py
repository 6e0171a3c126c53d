"""An address in S3 is read and written in one place."""

from __future__ import annotations

import re

import pytest

from tests.support.tracked import ROOT
from tidegate.platform.core.keys.s3_address import S3Address


def test_an_address_is_read_and_written() -> None:
    assert S3Address.parse("s3://b/a//c d") == ("b", "a//c d")
    assert S3Address.parse("s3://b") == ("b", "")
    assert S3Address.parse_s3a("s3a://b/t").s3 == "s3://b/t"
    assert S3Address("b", "t/").s3a == "s3a://b/t/"
    assert f"{S3Address('b')}" == "s3://b/"
    assert (S3Address("b", "a/c").bare, S3Address("b").bare) == ("b/a/c", "b")


def test_a_name_or_a_folder_is_no_address() -> None:
    assert [text for text in ("s3://b/a", "s3://", "orders", "b/a", "./s3") if S3Address.names(text)] == [
        "s3://b/a",
        "s3://",
    ]


@pytest.mark.parametrize("wrong", ["", "b/a", "s3a://b/a", "s3:///a", "https://b/a"])
def test_what_is_no_address_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match="s3://bucket/key"):
        S3Address.parse(wrong)


def test_a_path_of_s3_is_no_path_of_spark() -> None:
    with pytest.raises(ValueError, match="s3a://bucket/key"):
        S3Address.parse_s3a("s3://b/a")


def test_nobody_else_puts_addresses_together() -> None:
    by_hand = re.compile(r"""s3a?://\{[^{}]+\}/\{|(replace|removeprefix|startswith)\(["']s3a?://""")
    layers = ("assets", "resources", "sensors", "platform")
    paths = [path for layer in layers for path in (ROOT / layer).rglob("*.py") if path.name != "s3_address.py"]
    paths = [path for path in paths if not {"demo", "local"} & set(path.relative_to(ROOT).parts)]
    assert paths
    assert not [path for path in paths if by_hand.search(path.read_text(encoding="utf-8"))]
