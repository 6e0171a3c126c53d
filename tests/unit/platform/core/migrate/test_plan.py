"""The lake that takes the place of a deployment, what becomes of each part, and what should be settled first."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.load import parse_lake
from tidegate.platform.core.errors import BadValue
from tidegate.platform.core.migrate.oxbow import read_deployment
from tidegate.platform.core.migrate.plan import Migration, plan_migration, read_tables
from tidegate.platform.core.migrate.terraform import read_terraform

#: Oxbow's own simple deployment in shape, with our names.
SIMPLE = """
variable "prefix" { default = "shop/orders/" }

resource "aws_s3_bucket" "landing" { bucket = "acme-landing" }

resource "aws_s3_bucket_notification" "landing" {
  bucket = aws_s3_bucket.landing.id
  queue {
    queue_arn     = aws_sqs_queue.events.arn
    events        = ["s3:ObjectCreated:*", "s3:ObjectRemoved:Delete"]
    filter_prefix = var.prefix
    filter_suffix = ".parquet"
  }
}

resource "aws_lambda_function" "oxbow" {
  filename      = "oxbow-lambda-bootstrap.zip"
  function_name = "landing-to-delta"
  runtime       = "provided.al2023"
  timeout       = 120
  environment {
    variables = {
      AWS_S3_LOCKING_PROVIDER = "dynamodb"
      DYNAMO_LOCK_TABLE_NAME  = aws_dynamodb_table.lock.name
      DELTA_DYNAMO_TABLE_NAME = aws_dynamodb_table.log.name
    }
  }
}

resource "aws_lambda_event_source_mapping" "oxbow" {
  event_source_arn = aws_sqs_queue.events.arn
  function_name    = aws_lambda_function.oxbow.arn
}

resource "aws_sqs_queue" "events" {
  name           = "landing-events"
  redrive_policy = jsonencode({ deadLetterTargetArn = aws_sqs_queue.dead.arn, maxReceiveCount = 8 })
}

resource "aws_sqs_queue" "dead" { name = "landing-events-dlq" }

resource "aws_dynamodb_table" "lock" {
  name     = "acme-lock"
  hash_key = "key"
}

resource "aws_dynamodb_table" "log" {
  name      = "acme-log"
  hash_key  = "tablePath"
  range_key = "fileName"
}

resource "aws_cloudwatch_metric_alarm" "dead" {
  alarm_name = "dead letters"
  dimensions = { QueueName = aws_sqs_queue.dead.name }
}
"""


def planned(text: str, tables: list[str] | None = None, **variables: str) -> Migration:
    files = {"main.tf": text, "given.tfvars.json": json.dumps(variables)}
    return plan_migration(read_deployment(read_terraform(files)), tables or [], None)


def lake_of(migration: Migration) -> LakeConfig:
    return parse_lake(migration.lake_yaml(), "lake.yaml", {})


def becomes(migration: Migration, address: str) -> str:
    (change,) = [each for each in migration.changes if each.address == address]
    return change.becomes


def test_the_lake_takes_over_the_queue_and_registers_the_tables() -> None:
    migration = planned(SIMPLE)
    lake = lake_of(migration)
    assert migration.problems == []
    assert [(each.name, each.dlq) for each in lake.queues] == [("landing-events", "landing-events-dlq")]
    assert lake.buckets == ("acme-landing",)
    assert [(each.name, each.prefix, each.mode) for each in lake.tables] == [
        ("shop_orders", "s3://acme-landing/shop/orders/", "register")
    ]
    assert lake.lake.commits == "dynamodb"
    assert (migration.log_table, migration.adopted) == ("acme-log", {"shop_orders": True})
    assert "dlq" in becomes(migration, "aws_sqs_queue.dead")
    assert "the commit table of the lake" in becomes(migration, "aws_dynamodb_table.log")
    assert becomes(migration, "aws_dynamodb_table.lock").startswith("nothing: not needed")
    assert "tidegate alarms" in becomes(migration, "aws_cloudwatch_metric_alarm.dead")


def test_without_dynamodb_the_lake_commits_by_conditional_writes() -> None:
    text = SIMPLE.replace("AWS_S3_LOCKING_PROVIDER", "A").replace("DYNAMO_LOCK_TABLE_NAME", "B")
    migration = planned(text.replace("DELTA_DYNAMO_TABLE_NAME", "C"))
    assert (migration.log_table, lake_of(migration).lake.commits) == ("", "s3")


def test_a_table_of_another_key_is_not_a_log_table() -> None:
    migration = planned(SIMPLE.replace("aws_dynamodb_table.log.name", "aws_dynamodb_table.lock.name"))
    assert "whose key is key and not tablePath and fileName" in migration.problems[0]
    assert migration.problems[0].startswith("main.tf:16: aws_lambda_function.oxbow")


def test_two_log_tables_are_a_problem() -> None:
    other = 'resource "aws_lambda_function" "w" {\n  function_name = "sqs-ingest"\n  environment {\n    variables = '
    text = f'{SIMPLE}\n{other}{{ DELTA_DYNAMO_TABLE_NAME = "b-log", DELTA_TABLE_URI = "s3://b/t" }}\n  }}\n}}\n'
    assert any("commit through acme-log and b-log" in each for each in planned(text).problems)


def test_tables_that_a_list_names_are_the_tables_and_new_folders_become_some() -> None:
    listed = read_tables("s3://acme-landing/a/_delta_log/00000000000000000000.json\n\ns3://acme-landing/b\n", "t.txt")
    migration = planned(SIMPLE, listed, prefix="")
    assert migration.problems == []
    lake = lake_of(migration)
    assert [each.prefix for each in lake.tables] == ["s3://acme-landing/a/", "s3://acme-landing/b/"]
    assert lake.discovery
    for line in ("b", "s3://", "s3://acme", "s3:///b/", "s3://B_/b/", "s3://acme//b"):
        with pytest.raises(BadValue, match=rf"t\.txt:2: '{line}' is not s3://bucket/folder/"):
            read_tables(f"s3://acme/b\n{line}", "t.txt")


def test_a_listed_table_that_nothing_announces_is_named() -> None:
    migration = planned(SIMPLE, ["s3://acme-landing/shop/orders/", "s3://other/x/"])
    assert [each.prefix for each in lake_of(migration).tables] == ["s3://acme-landing/shop/orders/"]
    (problem,) = migration.problems
    assert problem.startswith("no notification in these files covers s3://other/x/: add the file or state that has it")


@pytest.mark.parametrize("value", ['"s3://"', '"https://u:secret@h/x"', '"${var.uri}"', "5", "null"])
def test_a_value_that_may_have_a_secret_is_not_shown(value: str) -> None:
    text = SIMPLE.replace("variables = {", f"variables = {{\n DELTA_TABLE_URI = {value}\n", 1).replace(
        "landing-to-delta", "file-loader"
    )
    migration = planned(text)
    assert any("DELTA_TABLE_URI does not say s3://bucket/folder" in each for each in migration.problems)
    assert "secret" not in "".join([*migration.problems, migration.lake_yaml(), *map(str, migration.changes)])


@pytest.mark.parametrize("value", ["2024", '["a"]', "{ a = 1 }", "true", "jsonencode()", 'merge(["a"], jsonencode())'])
@pytest.mark.parametrize("name", ["events", "filter_prefix", "filter_suffix", "queue_arn", "bucket"])
def test_no_value_of_a_notification_ends_the_plan(name: str, value: str) -> None:
    lines = [f"    {name} = {value}" if line.split()[:1] == [name] else line for line in SIMPLE.splitlines()]
    migration = planned("\n".join(lines) + "\n")
    assert migration.lake_yaml()


@pytest.mark.parametrize(
    ("prefix", "why"), [("", "of the whole bucket"), ("shop/ord", "of every key that begins with shop/ord")]
)
def test_a_filter_that_names_no_table_asks_for_the_tables(prefix: str, why: str) -> None:
    (problem,) = planned(SIMPLE, prefix=prefix).problems
    assert problem.startswith("main.tf:6: aws_s3_bucket_notification.landing: oxbow is notified " + why)
    assert "--tables" in problem


def test_a_name_that_is_not_known_is_a_problem_with_the_variable_and_the_lake_still_loads() -> None:
    text = SIMPLE.replace('"landing-events"', '"${var.env}-events"')
    migration = planned(text)
    assert migration.problems == [
        "main.tf:35: aws_sqs_queue.events: the queue is ${var.env}-events, which these files do not say: give "
        "var.env in a .tfvars file, or the output of `terraform show -json`"
    ]
    assert lake_of(migration).queues[0].name == "change-me-events"
    assert planned(text, env="test").problems == []


def test_two_queues_of_one_prefix_are_a_problem() -> None:
    second = SIMPLE.replace('resource "aws_dynamodb', 'resource "other').replace('_queue" "events"', '_queue" "second"')
    second = second.replace("queue.events", "queue.second").replace('"landing-events"', '"second-events"')
    for kind, name in (("lambda_function", "oxbow"), ("bucket_notification", "landing"), ("mapping", "oxbow")):
        second = second.replace(f'{kind}" "{name}"', f'{kind}" "second"')
    second = second.replace("function.oxbow", "function.second").replace('"landing-to-delta"', '"oxbow-second"')
    (problem,) = [each for each in planned(SIMPLE + second).problems if "go to" in each]
    assert "events of s3://acme-landing/shop/orders/ go to landing-events and to second-events" in problem


def test_a_queue_that_no_bucket_notifies_here_asks_for_the_other_state() -> None:
    text = SIMPLE.replace('"aws_s3_bucket_notification"', '"elsewhere"')
    migration = planned(text, ["s3://acme-landing/shop/orders/"])
    assert any("no bucket in these files notifies the queue landing-events" in each for each in migration.problems)
    assert [each.prefix for each in lake_of(migration).tables] == ["s3://acme-landing/shop/orders/"]


def test_a_function_that_the_bucket_calls_gets_a_queue() -> None:
    text = SIMPLE.replace("  queue {", "  lambda_function {").replace(
        "queue_arn     = aws_sqs_queue.events.arn", "lambda_function_arn = aws_lambda_function.oxbow.arn"
    )
    text = text.replace('"aws_lambda_event_source_mapping"', '"elsewhere"')
    migration = planned(text)
    assert [each.name for each in lake_of(migration).queues] == ["acme-landing-events"]
    assert migration.problems == []


def loader(name: str, variables: dict[str, str], more: str = "") -> str:
    given = "\n".join(f"      {key} = {json.dumps(value)}" for key, value in variables.items())
    return f"""
resource "aws_lambda_function" "{name}" {{
  function_name = "{name}"
  environment {{
    variables = {{
{given}
    }}
  }}
}}
resource "aws_sqs_queue" "{name}" {{ name = "{name}-q" }}
resource "aws_lambda_event_source_mapping" "{name}" {{
  event_source_arn = aws_sqs_queue.{name}.arn
  function_name    = aws_lambda_function.{name}.arn
}}
{more}"""


def test_messages_that_are_rows_go_to_a_row_queue_and_the_rows_so_far_stay_a_table() -> None:
    migration = planned(loader("sqs-ingest", {"DELTA_TABLE_URI": "s3://acme-tables/clicks"}))
    lake = lake_of(migration)
    rows, before = lake.tables
    assert migration.problems == []
    assert (rows.name, rows.row_queue and rows.row_queue.name) == ("clicks", "sqs-ingest-q")
    assert (before.name, before.prefix, before.mode) == ("clicks_before", "s3://acme-tables/clicks/", "register")
    assert migration.adopted == {"clicks_before": False}, "no producer puts files there, so nothing else may enter"


def test_envelopes_of_rows_name_their_topic_and_several_rows_of_a_message_are_refused() -> None:
    topic = "arn:aws:sns:eu-central-1:111122223333:clicks"
    subscribed = f"""
resource "aws_sns_topic_subscription" "s" {{
  topic_arn = "{topic}"
  protocol  = "sqs"
  endpoint  = aws_sqs_queue.sqs-ingest.arn
}}
"""
    variables = {"DELTA_TABLE_URI": "s3://acme-tables/clicks", "UNWRAP_SNS_ENVELOPE": "1"}
    migration = planned(loader("sqs-ingest", variables, subscribed))
    queue = lake_of(migration).tables[0].row_queue
    assert queue is not None
    assert queue.topic == topic
    assert ["takes one row a message" in each for each in migration.problems] == [True]


def test_files_that_were_loaded_become_a_loaded_table() -> None:
    notification = """
resource "aws_s3_bucket_notification" "json" {
  bucket = "acme-landing"
  queue {
    queue_arn     = aws_sqs_queue.file-loader.arn
    events        = ["s3:ObjectCreated:*"]
    filter_prefix = "web/visits/"
  }
}
"""
    migration = planned(loader("file-loader", {"DELTA_TABLE_URI": "s3://acme-tables/visits"}, notification))
    (table,) = lake_of(migration).tables
    assert (table.prefix, table.mode, table.format) == ("s3://acme-landing/web/visits/", "load", "json")
    assert "s3://acme-tables/visits/ stays as it is" in becomes(migration, "aws_lambda_function.file-loader")
    assert (migration.adopted, migration.problems) == ({}, [])


def test_a_webhook_keeps_its_header_and_its_secret_is_nowhere() -> None:
    variables = {"PRESHARED_WEBHOOK_SECRET": "s3cret", "DELTA_TABLE_URI": "s3://acme-tables/payments"}
    migration = planned(loader("payments-webhook", variables))
    (sender,) = lake_of(migration).webhooks
    assert (sender.name, sender.header, sender.queue) == ("payments-webhook", "authorization", "payments-webhook-rows")
    said = [migration.lake_yaml(), *migration.problems, *(each.becomes for each in migration.changes)]
    assert not any("s3cret" in each for each in said)


def test_tags_become_a_route_if_the_filter_says_the_ending() -> None:
    tagger = loader("auto-tag", {})
    notification = SIMPLE[SIMPLE.index('resource "aws_s3_bucket_notification"') : SIMPLE.index('resource "aws_lambda')]
    notification = notification.replace('"landing" {', '"tags" {').replace("queue.events", "queue.auto-tag")
    notification = notification.replace("shop/orders/", "").replace("var.prefix", '""')
    migration = planned(SIMPLE + tagger + notification)
    (route,) = lake_of(migration).routes
    assert (route.bucket, dict(route.tag or {})) == ("acme-landing", {"fileext": "parquet"})
    migration = planned(SIMPLE + tagger + notification.replace(".parquet", ""))
    assert not lake_of(migration).routes
    assert becomes(migration, "aws_lambda_function.auto-tag").startswith("no counterpart")


def test_entries_of_glue_follow_the_one_database_that_is_there() -> None:
    glue = loader("glue-sync", {"GLUE_PATH_REGEX": ".*"})
    assert lake_of(planned(SIMPLE + glue)).catalog is None
    database = 'resource "aws_glue_catalog_database" "d" { name = "acme_bronze" }\n'
    catalog = lake_of(planned(SIMPLE + glue + database)).catalog
    assert catalog is not None
    assert catalog.bronze == "acme_bronze"


@pytest.mark.parametrize("kind", ["cdf-to-csv", "parquet-concat", "group-events"])
def test_every_other_function_has_an_answer(kind: str) -> None:
    migration = planned(SIMPLE + loader(kind, {}))
    assert becomes(migration, f"aws_lambda_function.{kind}").startswith(("it may stay", "nothing: not needed"))


def test_a_writer_of_ones_own_has_no_counterpart() -> None:
    writer = loader("compact", {"AWS_S3_LOCKING_PROVIDER": "dynamodb", "DELTA_DYNAMO_TABLE_NAME": "acme-log"})
    assert becomes(planned(SIMPLE + writer), "aws_lambda_function.compact").startswith("no counterpart")


def test_nothing_of_oxbow_is_an_error_that_says_what_hid_it() -> None:
    with pytest.raises(BadValue, match=r"no function of oxbow, .* is in these files$"):
        planned('resource "aws_sqs_queue" "q" { name = "q" }\n')
    with pytest.raises(BadValue, match="what a module makes is not in these files"):
        planned('module "oxbow" { source = "./oxbow" }\n')


def test_what_the_state_shows_plans_the_same_lake_as_the_files() -> None:
    """Every value is resolved in a state: ARNs and URLs instead of names."""

    def arn(of: str) -> str:
        return f"arn:aws:{of.partition(':')[0]}:eu-central-1:111122223333:{of.partition(':')[2]}"

    def shown(address: str, **values: Any) -> dict[str, Any]:
        return {"address": f"module.x.{address}", "mode": "managed", "type": address.split(".")[0], "values": values}

    variables = {"AWS_S3_LOCKING_PROVIDER": "dynamodb", "DELTA_DYNAMO_TABLE_NAME": "acme-log"}
    block = {
        "queue_arn": arn("sqs:landing-events"),
        "events": ["s3:ObjectCreated:*", "s3:ObjectRemoved:Delete"],
        "filter_prefix": "shop/orders/",
        "filter_suffix": ".parquet",
    }
    redrive = json.dumps({"deadLetterTargetArn": arn("sqs:landing-events-dlq"), "maxReceiveCount": 8})
    resources = [
        shown("aws_s3_bucket_notification.n", bucket="acme-landing", queue=[block], topic=[], eventbridge=False),
        shown("aws_lambda_function.f", function_name="oxbow", environment=[{"variables": variables}], image_uri=""),
        shown(
            "aws_lambda_event_source_mapping.m",
            uuid="1-2",
            event_source_arn=arn("sqs:landing-events"),
            function_name=arn("lambda:function:oxbow"),
            function_arn=arn("lambda:function:oxbow"),
        ),
        shown("aws_sqs_queue.events", name="landing-events", redrive_policy=redrive, fifo_queue=False),
        shown("aws_sqs_queue.dead", name="landing-events-dlq", redrive_policy="", fifo_queue=False),
        shown("aws_dynamodb_table.log", name="acme-log", hash_key="tablePath", range_key="fileName", ttl=[]),
    ]
    state = {"format_version": "1.0", "values": {"root_module": {"child_modules": [{"resources": resources}]}}}
    found = plan_migration(read_deployment(read_terraform({"s.json": json.dumps(state)})), [], None)
    assert (found.problems, found.lake_yaml()) == ([], planned(SIMPLE).lake_yaml())
