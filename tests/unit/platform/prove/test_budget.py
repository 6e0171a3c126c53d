"""What a proof says that it spends, and how requests are billed."""

from __future__ import annotations

from tidegate.platform.core.costs.usage import Usage
from tidegate.platform.prove.budget import batch_requests, dollars_of, plan_requests, race_requests
from tidegate.platform.prove.races import FULL, QUICK, RaceSize
from tidegate.platform.prove.requests import billed_requests, count_logged, counts_by_service, percentile

PRICES = {
    "s3_write": 5.0,
    "s3_read": 0.5,
    "sqs_request": 0.25,
    "dynamodb_write": 2.0,
    "dynamodb_read": 1.0,
    "utilization": 1.0,
    "vcpu_hour": 9.0,
    "core_gigabytes": 1.0,
    "gigabyte_hour": 9.0,
}


def test_the_price_is_that_of_each_class_and_nothing_for_the_own_machine() -> None:
    assert dollars_of(Usage(1, 2, 4, 8, 16), PRICES) == 5 + 1 + 1 + 16 + 16


def test_more_files_and_more_kills_cost_more() -> None:
    assert dollars_of(plan_requests(1000, 3)) < dollars_of(plan_requests(2000, 3))
    assert dollars_of(plan_requests(1000, 3)) < dollars_of(plan_requests(1000, 8))


def test_the_plan_has_the_requests_of_the_races_by_their_size() -> None:
    # Two rounds of three threads: creations, three requests of each upload, and entries; and ten objects.
    assert race_requests(RaceSize(2, 3, 10), "dynamodb") == Usage(6 + 18 + 4 + 30 + 2, 4 + 3 + 30, 0, 6, 2)
    assert race_requests(FULL, "s3").s3_writes == 1506
    assert dollars_of(plan_requests(1000, 3, QUICK)) < dollars_of(plan_requests(1000, 3, FULL))
    assert plan_requests(60, 0).dynamodb_writes > 3 * FULL.rounds * FULL.racers


def test_a_run_of_a_thousand_files_costs_cents() -> None:
    assert 0.01 < dollars_of(plan_requests(1000, 8)) < 0.25


def test_a_batch_takes_the_requests_that_were_measured() -> None:
    assert batch_requests(2, "dynamodb") == Usage(20, 16, 0, 8, 8)


def test_a_lake_that_s3_coordinates_asks_dynamodb_nothing() -> None:
    assert batch_requests(2, "s3") == Usage(16, 16, 0, 0, 0)
    assert race_requests(RaceSize(2, 3, 10), "s3") == Usage(6 + 18 + 4 + 30 + 2, 4 + 3 + 30, 0, 0, 0)
    planned = plan_requests(1000, 8, FULL, "s3")
    assert (planned.dynamodb_writes, planned.dynamodb_reads) == (0, 0)
    assert dollars_of(planned) < dollars_of(plan_requests(1000, 8, FULL, "dynamodb"))


def test_requests_are_billed_by_class_and_deletes_are_free() -> None:
    counts = {
        "s3.PutObject": 1,
        "s3.ListObjectsV2": 2,
        "s3.CopyObject": 4,
        "s3.GetObject": 8,
        "s3.HeadObject": 16,
        "s3.DeleteObject": 32,
        "s3.DeleteObjects": 64,
        "sqs.ReceiveMessage": 3,
        "dynamodb.PutItem": 5,
        "dynamodb.Query": 7,
        "dynamodb.Request": 9,
        "sts.GetCallerIdentity": 11,
    }
    assert billed_requests(counts) == Usage(7, 24, 3, 14, 7)
    assert counts_by_service({"s3.GetObject": 1, "s3.PutObject": 2}) == {"S3": {"PutObject": 2, "GetObject": 1}}


def test_the_requests_of_a_server_are_counted_by_its_log() -> None:
    def sent(method: str, headers: str = "Host", query: str = "") -> str:
        return (
            f"Sending Request: DefaultSdkHttpFullRequest(httpMethod={method}, protocol=https, host=h, port=443, "
            f"encodedPath=/k, headers=[{headers}], queryParameters=[{query}])"
        )

    lines = [
        sent("GET"),
        sent("GET", query="list-type, prefix"),
        sent("PUT"),
        sent("PUT", "Host, x-amz-copy-source"),
        sent("HEAD"),
        sent("DELETE"),
        sent("POST", query="delete"),
        sent("POST", query="uploads"),
        sent("POST", "Host, X-Amz-Target"),
        "Received successful response: 200",
    ]
    assert count_logged(lines) == {
        "s3.GetObject": 1,
        "s3.ListObjectsV2": 1,
        "s3.PutObject": 1,
        "s3.CopyObject": 1,
        "s3.HeadObject": 1,
        "s3.DeleteObject": 1,
        "s3.DeleteObjects": 1,
        "s3.Upload": 1,
        "dynamodb.Request": 1,
    }


def test_a_percentile_is_a_value_that_was_measured() -> None:
    assert percentile([], 0.5) is None
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert percentile(range(100), 0.95) == 95
