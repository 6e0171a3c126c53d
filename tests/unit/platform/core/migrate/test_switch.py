"""The order of the switch: one writer at each moment, and every event is kept until somebody has taken it."""

from __future__ import annotations

import shlex

import pytest

from tests.unit.platform.core.migrate.test_oxbow import GROUPED
from tests.unit.platform.core.migrate.test_plan import SIMPLE, loader, planned
from tidegate.platform.core.migrate.switch import Step, switch_steps


def steps_of(text: str, **variables: str) -> list[Step]:
    return switch_steps(planned(text, **variables))


def place(steps: list[Step], words: str) -> int:
    """Return the only step with these words in what it says or runs."""
    (found,) = [at for at, step in enumerate(steps) if any(words in text for text in (step.what, *step.commands))]
    return found


def test_the_writer_stops_before_the_tables_are_taken_over_and_nothing_is_read_before_that() -> None:
    steps = steps_of(SIMPLE)
    order = [
        "MessageRetentionPeriod=1209600",
        "--no-enabled",
        "put-function-concurrency",
        "tidegate policy buckets",
        "tidegate adopt shop_orders --enter --yes",
        "Start Dagster's sensors",
        "tidegate redrive --dlq",
        "Remove from Terraform",
        "The way back",
    ]
    places = [place(steps, words) for words in order]
    assert places == sorted(set(places))


def test_the_queue_of_the_function_that_groups_is_stopped_first_and_its_output_is_emptied() -> None:
    steps = steps_of(GROUPED)
    first, second = [step for step in steps if any("--no-enabled" in each for each in step.commands)]
    assert "--function-name group-events" in first.commands[0]
    assert "Wait until nothing is in flight from group-events and oxbow.fifo is empty, then stop oxbow" in second.what
    waits = [each for each in second.commands if "get-queue-attributes" in each]
    assert [name for each in waits for name in ("events", "oxbow.fifo") if f"--queue-name {name} " in each] == [
        "events",
        "oxbow.fifo",
    ]
    assert "--function-name oxbow " in second.commands[-1]


def test_a_state_gives_the_id_of_a_mapping_and_files_the_command_that_finds_it() -> None:
    (found,) = [each for step in steps_of(SIMPLE) for each in step.commands if "--no-enabled" in each]
    assert "list-event-source-mappings --function-name landing-to-delta" in found
    with_id = SIMPLE.replace("  event_source_arn =", '  uuid = "1-2"\n  event_source_arn =')
    (found,) = [each for step in steps_of(with_id) for each in step.commands if "--no-enabled" in each]
    assert found.endswith("--uuid 1-2")


def test_the_log_table_of_delta_rs_is_set_expires_and_is_searched_for_open_claims() -> None:
    steps = steps_of(SIMPLE)
    assert "ddb.tableName=acme-log" in steps[0].what
    assert "--table-name acme-log" in steps[place(steps, "update-time-to-live")].commands[0]
    assert place(steps, "dynamodb scan") < place(steps, "tidegate adopt shop_orders --enter --yes")
    expiring = SIMPLE.replace(
        'range_key = "fileName"', 'range_key = "fileName"\n  ttl {\n    attribute_name = "expireTime"\n  }'
    )
    assert not any("update-time-to-live" in each for step in steps_of(expiring) for each in step.commands)
    default = SIMPLE.replace('"acme-log"', '"delta_log"')
    assert "ddb.tableName" not in steps_of(default)[0].what
    without = SIMPLE.replace("AWS_S3_LOCKING_PROVIDER", "A").replace("DYNAMO_LOCK_TABLE_NAME", "B")
    none = steps_of(without.replace("DELTA_DYNAMO_TABLE_NAME", "C"))
    assert not any("dynamodb" in each for step in none for each in step.commands)


def test_a_command_with_a_name_that_is_not_known_is_left_out() -> None:
    text = SIMPLE.replace('"landing-to-delta"', "var.name")
    commands = [each for step in steps_of(text) for each in step.commands]
    assert not any("${" in each or "--no-enabled" in each for each in commands)
    assert any("function_name is ${var.name}" in each for each in planned(text).problems)


def test_messages_stay_hidden_for_as_long_as_a_tick_takes() -> None:
    found = [each for step in steps_of(SIMPLE) for each in step.commands if "VisibilityTimeout=120" in each]
    assert len(found) == 1, "30 seconds are SQS's default"
    longer = SIMPLE.replace('= "landing-events"', '= "landing-events"\n  visibility_timeout_seconds = 300')
    assert not any("VisibilityTimeout" in each for step in steps_of(longer) for each in step.commands)


def test_invocations_end_before_the_adoption() -> None:
    steps = steps_of(SIMPLE)
    assert "120 seconds longer" in steps[place(steps, "put-function-concurrency")].what
    forever = steps_of(SIMPLE.replace("  timeout       = 120\n", ""))
    assert "900 seconds longer" in forever[place(forever, "put-function-concurrency")].what, "Lambda's longest"


def test_the_bucket_announces_what_a_registered_table_needs() -> None:
    steps = steps_of(SIMPLE)
    assert place(steps, "Let acme-landing announce s3:ObjectCreated:*, s3:ObjectRemoved:*, s3:LifecycleExpiration:*")
    every = '["s3:ObjectCreated:*", "s3:ObjectRemoved:*", "s3:LifecycleExpiration:*"]'
    whole = steps_of(SIMPLE.replace('["s3:ObjectCreated:*", "s3:ObjectRemoved:Delete"]', every))
    assert not any("announce" in step.what for step in whole)


def test_without_known_tables_the_adoption_is_still_a_step() -> None:
    assert place(steps_of(SIMPLE, prefix=""), "Adopt each table with `tidegate adopt`")


def test_a_sender_of_webhooks_always_finds_somebody_and_loaded_files_are_listed_once() -> None:
    variables = {"PRESHARED_WEBHOOK_SECRET": "s3cret", "DELTA_TABLE_URI": "s3://acme-tables/payments"}
    steps = steps_of(loader("payments-webhook", variables))
    assert place(steps, "Start `tidegate webhook`") < place(steps, "put-function-concurrency")
    assert place(steps, "Make what lake.yaml names") < place(steps, "Start `tidegate webhook`")
    assert "tidegate adopt payments_before --yes" in steps[place(steps, "then adopt it")].commands
    notification = SIMPLE[SIMPLE.index('resource "aws_s3_bucket_n') : SIMPLE.index('resource "aws_lambda')]
    text = loader(
        "file-loader", {"DELTA_TABLE_URI": "s3://t/v"}, notification.replace("queue.events", "queue.file-loader")
    )
    steps = steps_of(text.replace("var.prefix", '"v/"'))
    assert place(steps, "Start Dagster's sensors") < place(steps, "Materialize the partition of v once")


def test_a_function_that_the_bucket_calls_is_replaced_by_a_queue() -> None:
    text = SIMPLE.replace("  queue {", "  lambda_function {").replace("queue_arn     =", "lambda_function_arn =")
    text = text.replace("= aws_sqs_queue.events.arn\n    events", "= aws_lambda_function.oxbow.arn\n    events")
    steps = steps_of(text.replace('"aws_lambda_event_source_mapping"', '"elsewhere"'))
    made, pointed = place(steps, "Make what lake.yaml names"), place(steps, "notify the queue of lake.yaml instead")
    assert made < pointed < place(steps, "put-function-concurrency")


@pytest.mark.parametrize("text", [SIMPLE, GROUPED])
def test_every_command_is_words_of_a_shell(text: str) -> None:
    commands = [line for step in steps_of(text) for each in step.commands for line in each.splitlines()]
    assert {shlex.split(each)[0] for each in commands} == {"aws", "tidegate"}
