"""The addresses of an inventory's files, as Spark's reader takes them."""

from __future__ import annotations

from tidegate.resources.inventory.rows import _literal


def test_spark_takes_no_part_of_an_address_for_a_pattern() -> None:
    assert _literal("s3a://in/a b%20+ü/c.orc") == "s3a://in/a b%20+ü/c.orc"
    assert _literal("s3a://in/[1]{a,b}*?\\c.orc") == r"s3a://in/\[1\]\{a,b\}\*\?\\c.orc"
