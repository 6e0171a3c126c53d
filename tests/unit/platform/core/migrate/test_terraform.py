"""Resources of Terraform: of what it shows, of a state, and of the files of a project."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from tidegate.platform.core.errors import BadSetting, BadValue
from tidegate.platform.core.migrate.terraform import Resource, name_of, read_terraform


def resource(address: str, **values: Any) -> dict[str, Any]:
    kind, name = address.split(".")[-2:]
    return {"address": address, "mode": "managed", "type": kind, "name": name, "values": values}


def shown(*resources: dict[str, Any], **more: Any) -> str:
    return json.dumps({"format_version": "1.0", "values": {"root_module": {"resources": list(resources), **more}}})


def only(files: dict[str, str]) -> Resource:
    (found,) = read_terraform(files)
    return found


@pytest.mark.parametrize("values", [5, "a", ["a"]])
@pytest.mark.parametrize("field", ["values", "address", "type"])
def test_a_state_of_another_shape_is_named(field: str, values: Any) -> None:
    if field != "values" and values == "a":
        values = None
    text = shown({**resource("aws_sqs_queue.events", name="events"), field: values})
    with pytest.raises(BadValue, match=r"state\.json is not shaped as Terraform writes a state"):
        read_terraform({"state.json": text})


def test_what_terraform_shows_has_the_resources_of_modules_and_no_data_sources() -> None:
    queue = resource("module.lake.aws_sqs_queue.events[0]", name="events")
    text = shown(
        {**resource("data.aws_region.current"), "mode": "data"},
        child_modules=[{"child_modules": [{"resources": [queue]}]}],
    )
    found = only({"state.json": text})
    assert (found.address, found.type, found.text("name"), str(found)) == (
        "module.lake.aws_sqs_queue.events[0]",
        "aws_sqs_queue",
        "events",
        "state.json: module.lake.aws_sqs_queue.events[0]",
    )


def test_a_plan_shows_what_is_there_and_not_what_is_planned() -> None:
    values = [{"root_module": {"resources": [resource("aws_sqs_queue.q", name=name)]}} for name in ("old", "new")]
    plan = {"format_version": "1.2", "prior_state": {"values": values[0]}, "planned_values": values[1]}
    assert only({"plan.json": json.dumps(plan)}).text("name") == "old"
    del plan["prior_state"]
    assert only({"plan.json": json.dumps(plan)}).text("name") == "new"


def test_a_state_that_was_pulled_has_an_address_for_each_instance() -> None:
    state = {
        "version": 4,
        "terraform_version": "1.9.5",
        "lineage": "0",
        "resources": [
            {
                "mode": "managed",
                "module": "module.lake",
                "type": "aws_sqs_queue",
                "name": "q",
                "instances": [{"index_key": "a", "attributes": {"name": "qa"}}, {"attributes": {"name": "q"}}],
            },
            {"mode": "data", "type": "aws_region", "name": "now", "instances": [{}]},
        ],
    }
    found = read_terraform({"pulled.tfstate": json.dumps(state)})
    assert [(each.address, each.text("name")) for each in found] == [
        ('module.lake.aws_sqs_queue.q["a"]', "qa"),
        ("module.lake.aws_sqs_queue.q", "q"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.json", '{"format_version": "2.0", "values": {}}', "has the format 2.0"),
        ("a.tfstate", '{"version": 3, "terraform_version": "0.11.0", "modules": []}', "is a state of version 3"),
        ("a.json", '{"Resources": {}}', "is JSON, and not a state of Terraform"),
        ("a.json", "[]", "is JSON, and not a state of Terraform"),
        ("a.json", '{"format_version": "1.0", "values": {"root_module": {"resources": [1]}}}', "is not shaped as"),
        ("notes.txt", "Dear all,", "is not Terraform"),
        ("a.tf", 'resource "aws_sqs_queue" {\n', "a.tf:2: this is not HCL"),
    ],
)
def test_what_is_not_terraform_is_refused_by_name(name: str, text: str, says: str) -> None:
    with pytest.raises(BadValue, match=says):
        read_terraform({name: text})


PROJECT = """
variable "env" {}
variable "team" { default = "shop" }
locals { stem = "${var.env}-${var.team}" }

resource "aws_sqs_queue" "events" {
  name           = "${local.stem}-events"
  redrive_policy = jsonencode({ deadLetterTargetArn = aws_sqs_queue.dead.arn, maxReceiveCount = 8 })
  tags = { url = aws_sqs_queue.dead.url }
}

resource "aws_sqs_queue" "dead" {
  count = 1
  name  = "${local.stem}-dead"
}

resource "aws_lambda_event_source_mapping" "m" {
  event_source_arn = aws_sqs_queue.dead[0].arn
  function_name    = data.aws_lambda_function.other.arn
}
"""


def test_files_of_a_project_are_evaluated_and_every_link_is_a_name() -> None:
    files = {"main.tf": PROJECT, "terraform.tfvars": 'env = "prod"'}
    events, dead, mapping = read_terraform(files)
    assert events.text("name") == "prod-shop-events"
    assert events.document("redrive_policy") == {"deadLetterTargetArn": "prod-shop-dead", "maxReceiveCount": 8}
    assert events.values["tags"] == {"url": "prod-shop-dead"}
    assert (dead.text("name"), dead.where) == ("prod-shop-dead", "main.tf:12")
    assert mapping.text("event_source_arn") == "prod-shop-dead"
    assert mapping.text("function_name") == "${data.aws_lambda_function.other.arn}", "not known, so as it is written"


def test_a_variable_without_a_value_stays_as_it_is_written_and_links_still_hold() -> None:
    events, dead, _ = read_terraform({"main.tf": PROJECT})
    assert dead.text("name") == "${var.env}-shop-dead"
    assert events.document("redrive_policy")["deadLetterTargetArn"] == dead.text("name")
    other = read_terraform({"main.tf": PROJECT, "a.tfvars.json": '{"env": "test", "team": "web"}'})
    assert other[1].text("name") == "test-web-dead"


def test_maps_that_are_merged_have_what_is_known_of_each() -> None:
    text = 'locals { more = { B = "2" } }\nresource "x" "y" { v = merge({ A = "1" }, local.more, local.none) }\n'
    assert only({"a.tf": text}).values["v"] == {"A": "1", "B": "2", "${local.none}": "${local.none}"}


def test_expressions_that_name_each_other_end() -> None:
    text = 'locals {\n  a = local.b\n  b = local.a\n}\nresource "aws_sqs_queue" "q" { name = local.a }\n'
    assert only({"a.tf": text}).text("name") == "${local.a}"


def test_a_resource_that_is_counted_away_is_not_there_and_one_for_each_has_several_names() -> None:
    text = 'resource "aws_sqs_queue" "q" {\n  count = 0\n}\n'
    assert read_terraform({"a.tf": text}) == []
    text = """
resource "aws_sqs_queue" "q" {
  for_each = var.all
  name     = each.key
}
resource "x" "y" { q = aws_sqs_queue.q["a"].arn }
"""
    assert "${" in read_terraform({"a.tf": text})[1].text("q")


def test_a_state_counts_before_the_file_that_made_it() -> None:
    files = {
        "a.tf": 'resource "aws_sqs_queue" "q" { name = var.x }',
        "s.json": shown(resource("aws_sqs_queue.q", name="q")),
    }
    assert only(files).text("name") == "q"


def test_hcl_without_the_package_says_what_to_install_and_a_state_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hcl2", None)
    with pytest.raises(BadSetting, match=r"tidegate\[migrate\]"):
        read_terraform({"a.tf": ""})
    assert only({"s.json": shown(resource("aws_sqs_queue.q", name="q"))}).text("name") == "q"


@pytest.mark.parametrize(
    "value",
    [
        "orders",
        "arn:aws:sqs:eu-central-1:111122223333:orders",
        "https://sqs.eu-central-1.amazonaws.com/111122223333/orders",
        "arn:aws:s3:::orders",
        "arn:aws:dynamodb:eu-central-1:111122223333:table/orders",
        "arn:aws:lambda:eu-central-1:111122223333:function:orders",
        "arn:aws:lambda:eu-central-1:111122223333:function:orders:live",
    ],
)
def test_the_name_of_what_an_arn_or_a_url_is_of(value: str) -> None:
    assert name_of(value) == "orders"


def test_levels_are_counted_before_hcl_is_parsed() -> None:
    with pytest.raises(BadValue, match=r"a\.tf has more than 40 levels"):
        read_terraform({"a.tf": f"x = {'[' * 41}{']' * 41}\n"})
