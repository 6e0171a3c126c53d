"""A record that cannot be read costs a listing from the beginning, and no file."""

from __future__ import annotations

import pytest

from tests.support.lakes.objects import Objects
from tidegate.platform.lake.lake_root.progress import ListingProgress
from tidegate.platform.lake.lake_root.store import LakeStore


def test_each_generation_has_its_own_record_and_a_damaged_one_counts_as_none() -> None:
    objects = Objects()
    listings = LakeStore(objects, "s3://lake/root").generation_listings  # type: ignore[arg-type]
    assert listings.read("landing.t..one") == ListingProgress()
    for reached in (ListingProgress('t/"ü\U0001f30a\n.csv'), ListingProgress(whole=True)):
        listings.write("landing.t..one", reached)
        assert listings.read("landing.t..one") == reached
        assert listings.read("landing.t..two") == ListingProgress()


@pytest.mark.parametrize("body", ["", "{", "[]", "7", '{"key": 7}', '{"key": null}', '{"key": "t/a", "whole": "yes"}'])
def test_a_damaged_record_is_nothing(body: str) -> None:
    objects = Objects()
    objects.put("lake", "root/listings/landing.t..one.json", body)
    assert LakeStore(objects, "s3://lake/root").generation_listings.read("landing.t..one") == ListingProgress()  # type: ignore[arg-type]
