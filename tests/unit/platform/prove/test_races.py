"""The races of a proof: when they hold, and what they find at an endpoint that heeds no conditions."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from tidegate.platform.prove.races import Races, RaceSize

SIZE = RaceSize(rounds=4, racers=3, keys=5)


def races(s3: Any = None) -> Races:
    return Races(s3, None, "bucket", SIZE)


@pytest.mark.parametrize(
    ("winners", "right", "held", "found"),
    [
        ([1, 1, 1, 1], True, True, "1 won in 4 rounds"),
        ([1, 2, 1, 1], True, False, "1 won in 3 rounds, 2 won in 1 rounds"),
        # A racer's object is there: its answer was lost, and its second request met its own object.
        ([1, 0, 1, 1], True, True, "1 won in 4 rounds; in 1 rounds the winner's answer was lost"),
        ([1, 0, 1, 1], None, False, "0 won in 1 rounds, 1 won in 3 rounds; in 3 rounds the object is not the winner's"),
        ([1, 1, 1, 1], False, False, "1 won in 4 rounds; in 4 rounds the object is not the winner's"),
    ],
)
def test_a_race_holds_if_each_round_has_one_winner_whose_object_is_there(
    winners: list[int], right: bool | None, held: bool, found: str
) -> None:
    def race(place: int, racer: int) -> bool:
        return racer < winners[place]

    body = None if right is None else b"0" if right else b"1"
    assert races()._race_rounds(race, lambda _: body) == (held, found)


class Careless:
    """An S3 that heeds no condition, reads nothing, and whose lists are always empty."""

    def put_object(self, **_: Any) -> dict[str, str]:
        return {"ETag": '"1"'}

    def get_object(self, **_: Any) -> Any:
        raise ClientError({"Error": {"Code": "SlowDown", "Message": "later"}}, "GetObject")

    def delete_object(self, **_: Any) -> None:
        return None

    def copy_object(self, **_: Any) -> None:
        return None

    def get_paginator(self, _: str) -> Any:
        return type("Pages", (), {"paginate": staticmethod(lambda **_: [{}])})

    def create_multipart_upload(self, **_: Any) -> None:
        raise ClientError({"Error": {"Code": "NotImplemented", "Message": "no uploads here"}}, "CreateMultipartUpload")


def test_an_endpoint_without_conditions_holds_nothing_and_each_claim_says_why() -> None:
    claims = {claim.id: claim for claim in races(Careless()).run(None)}
    assert {id: claim.held for id, claim in claims.items()} == dict.fromkeys(claims, False)
    assert "enter-once" not in claims
    assert claims["complete-once"].found.endswith("no uploads here")
    assert claims["list-after-write"].found == "8 objects missing, 0 deleted ones listed"
    assert claims["create-once"].how == "PUT with If-None-Match: *; 4 rounds of 3 threads"
    assert all(claim.otherwise for claim in claims.values())
