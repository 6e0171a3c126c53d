"""Which functions of Lambda are oxbow's, and by which way events come to them."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.platform.core.migrate.oxbow import Deployment, read_deployment
from tidegate.platform.core.migrate.terraform import Resource, read_terraform


def deployed(text: str) -> Deployment:
    return read_deployment(read_terraform({"main.tf": text}))


def function(name: str = "f", variables: dict[str, str] | None = None, **values: Any) -> Resource:
    arguments = {"function_name": name, "environment": [{"variables": variables or {}}], **values}
    return Resource(f"aws_lambda_function.{name}", "aws_lambda_function", arguments, "main.tf:1")


@pytest.mark.parametrize(
    ("kind", "resource"),
    [
        ("oxbow", function(filename="../target/lambda/oxbow-lambda/bootstrap.zip")),
        ("oxbow", function("oxbow-shop")),
        ("oxbow", function(variables={"SCHEMA_EVOLUTION": "1"}, image_uri="1.dkr.example.org/data/oxbow:1.9")),
        ("oxbow", function(variables={"DYNAMO_LOCK_TABLE_NAME": "locks"}, runtime="provided.al2023")),
        ("group-events", function(s3_key="group-events-bootstrap.zip")),
        ("group-events", function(variables={"QUEUE_URL": "https://q", "GROUP_DISTRIBUTION": "4"})),
        ("sqs-ingest", function("oxbow_sqs_ingest")),
        ("sqs-ingest", function(variables={"DELTA_TABLE_URI": "s3://b/t", "BUFFER_MORE_QUEUE_URL": "https://q"})),
        ("file-loader", function(variables={"DELTA_TABLE_URI": "s3://b/t", "BUFFER_MORE_MBYTES_ALLOWED": "64"})),
        ("webhook", function(variables={"PRESHARED_WEBHOOK_SECRET": "x"})),
        ("webhook", function(filename="target/lambda/webhook/bootstrap.zip")),
        ("auto-tag", function("shop-auto_tagging")),
        ("glue-create", function(variables={"GLUE_PATH_REGEX": ".*", "ATHENA_WORKGROUP": "w"})),
        ("glue-sync", function(variables={"GLUE_PATH_REGEX": ".*"})),
        ("cdf-to-csv", function(variables={"CSV_OUTPUT_URL": "s3://csvs/"})),
        ("parquet-concat", function(variables={"INPUT_BUCKET": "a", "OUTPUT_BUCKET": "b"})),
        ("delta-rs", function(variables={"AWS_S3_LOCKING_PROVIDER": "dynamodb"}, runtime="python3.12")),
    ],
)
def test_a_function_is_known_by_its_variables_its_artifact_or_its_name(kind: str, resource: Resource) -> None:
    (found,) = read_deployment([resource]).functions
    assert found.kind == kind


@pytest.mark.parametrize("resource", [function("webhook"), function("thumbnails", {"QUEUE_URL": "https://q"})])
def test_functions_of_others_are_left_alone(resource: Resource) -> None:
    found = read_deployment([resource])
    assert (found.functions, found.unclear) == ([], [])


def test_an_image_that_nothing_names_is_a_problem_that_says_what_to_write() -> None:
    image = function(variables={"DELTA_TABLE_URI": "s3://b/t"}, image_uri="1.dkr.example.org/ingest:7")
    found = read_deployment([image])
    assert not found.functions
    assert "main.tf:1: aws_lambda_function.f runs the image 1.dkr.example.org/ingest:7" in found.unclear[0]


def test_what_hides_resources_is_a_problem() -> None:
    text = """
module "lake" { source = "./lake" }
resource "aws_sqs_queue" "q" {
  for_each = toset(["a"])
  name     = each.key
}
resource "aws_lambda_function" "f" {
  function_name = "oxbow"
  environment { variables = merge(local.a, local.b) }
}
"""
    found = deployed(text)
    assert len(found.unclear) == 3
    assert all("`terraform show -json`" in each for each in found.unclear)
    assert [each.split(":")[1] for each in found.unclear if "main.tf" in each] == ["7", "2", "3"]


GROUPED = """
resource "aws_s3_bucket_notification" "n" {
  bucket = "landing"
  queue {
    queue_arn     = aws_sqs_queue.events.arn
    events        = ["s3:ObjectCreated:*"]
    filter_prefix = "shop/orders/"
    filter_suffix = ".parquet"
  }
}
resource "aws_sqs_queue" "events" { name = "events" }
resource "aws_sqs_queue" "fifo" { name = "oxbow.fifo" }
resource "aws_lambda_function" "g" {
  function_name = "group-events"
  environment { variables = { QUEUE_URL = aws_sqs_queue.fifo.url } }
}
resource "aws_lambda_function" "f" { function_name = "oxbow" }
resource "aws_lambda_event_source_mapping" "a" {
  event_source_arn = aws_sqs_queue.events.arn
  function_name    = aws_lambda_function.g.arn
}
resource "aws_lambda_event_source_mapping" "b" {
  event_source_arn = aws_sqs_queue.fifo.arn
  function_name    = aws_lambda_function.f.function_name
}
"""


def test_the_queue_that_s3_notifies_is_found_behind_the_function_that_groups() -> None:
    found = deployed(GROUPED)
    group, oxbow = found.functions
    assert found.entries(oxbow) == [("events", [group])]
    (notice,) = found.notices_of(oxbow)
    assert (notice.bucket, notice.prefix, notice.suffix, notice.via) == ("landing", "shop/orders/", ".parquet", "S3")


@pytest.mark.parametrize("protocol", ["sqs", "lambda"])
def test_events_through_a_topic_come_from_its_buckets(protocol: str) -> None:
    found = deployed(f"""
resource "aws_s3_bucket_notification" "n" {{
  bucket = "landing"
  topic {{
    topic_arn = "arn:aws:sns:eu-central-1:111122223333:landing"
    events    = ["s3:ObjectCreated:*"]
  }}
}}
resource "aws_sns_topic_subscription" "s" {{
  topic_arn = "arn:aws:sns:eu-central-1:111122223333:landing"
  protocol  = "{protocol}"
  endpoint  = "arn:aws:x:eu-central-1:111122223333:to"
}}
""")
    (notice,) = found.notices
    assert (notice.queue, notice.function) == (("to", "") if protocol == "sqs" else ("", "to"))
    assert notice.via == "the SNS topic landing"


def test_events_through_eventbridge_come_from_the_buckets_of_the_rule() -> None:
    found = deployed("""
resource "aws_s3_bucket_notification" "n" {
  bucket      = "landing"
  eventbridge = true
}
resource "aws_cloudwatch_event_rule" "r" {
  name          = "landed"
  event_pattern = jsonencode({
    source      = ["aws.s3"]
    detail-type = ["Object Created"]
    detail      = { bucket = { name = ["landing"] }, object = { key = [{ prefix = "shop/" }] } }
  })
}
resource "aws_cloudwatch_event_target" "t" {
  rule = aws_cloudwatch_event_rule.r.name
  arn  = "arn:aws:sqs:eu-central-1:111122223333:events"
}
""")
    (notice,) = found.notices
    assert (notice.bucket, notice.prefix, notice.queue, notice.via) == ("landing", "shop/", "events", "the rule landed")
