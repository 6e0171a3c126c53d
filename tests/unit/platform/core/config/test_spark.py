"""`spark` of lake.yaml: who starts the server, and which settings that needs."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.spark import SparkSpec

LAKE = {"lake": {"root": "s3://lake/root"}, "queues": [{"name": "q"}], "buckets": ["landing"]}


def test_a_server_is_always_there_unless_lake_yaml_says_otherwise() -> None:
    assert LakeConfig.model_validate(LAKE).spark.start == "always"
    spec = LakeConfig.model_validate({**LAKE, "spark": {"start": "on_demand"}}).spark
    assert (spec.idle, spec.port, spec.home, spec.memory, spec.conf_file) == (300, 15002, None, None, None)
    assert SparkSpec(servers=("sc://a/", "sc://b:1;use_ssl=true")).servers == ("sc://a", "sc://b:1/;use_ssl=true")
    assert SparkSpec(start="command", command=("./start", "lake")).command == ("./start", "lake")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"idle": 60}, "`idle` is for a server that is started here: add `start: on_demand`, or remove it"),
        ({"start": "command", "command": ["x"], "memory": "4g"}, "`memory` is for a server that is started here"),
        ({"start": "command"}, "`start: command` needs `command`: a list with a program and its arguments"),
        ({"start": "on_demand", "command": ["x"]}, "`command` needs `start: command`: add that, or remove `command`"),
        ({"start": "command", "command": []}, "at least 1 item"),
        ({"start": "command", "command": "ecs run-task"}, "valid tuple"),
        ({"start": "sometimes"}, "'always', 'on_demand' or 'command'"),
        ({"start": "on_demand", "idle": 9}, "greater than or equal to 10"),
        ({"start": "on_demand", "idle": 86401}, "less than or equal to 86400"),
        ({"start": "on_demand", "port": 0}, "greater than or equal to 1"),
        ({"start": "on_demand", "memory": "4 GB"}, "'4 GB' is not a size of a heap in Java's notation; for example 4g"),
        ({"servers": []}, "at least 1 item"),
        ({"servers": [f"sc://spark-{n}" for n in range(17)]}, "at most 16 items"),
        ({"servers": "sc://spark"}, "valid tuple"),
        ({"servers": ["sc://a:1", "http://b:1"]}, "spark.servers.1\n  Value error, this is not an address of a Spark"),
        ({"servers": ["sc://a:1", "sc://"]}, "spark.servers.1\n  Value error, this is not an address of a Spark"),
        ({"servers": [" sc://a:1"]}, "this is not an address of a Spark"),
        ({"servers": ["SC://a:1"]}, "this is not an address of a Spark"),
        ({"servers": ["sc://a:1\n"]}, "this is not an address of a Spark"),
        ({"servers": ["sc://a:1/;x"]}, "a parameter of this is not name=value"),
        ({"servers": ["sc://a:1/;token=abc"]}, "an address in lake.yaml has no token"),
        ({"servers": ["sc://b", "sc://a:1", "sc://B:15002/"]}, "entry 3 is the server of entry 1 again"),
        (
            {"start": "on_demand", "servers": ["sc://a"]},
            "`servers` are servers that are always there, and `start",
        ),
        ({"start": "command", "command": ["x"], "servers": ["sc://a"]}, "and `start: command` starts one"),
        ({"start": "on_demand", "idle_minutes": 10}, "Extra inputs are not permitted"),
    ],
)
def test_a_setting_that_does_not_fit_is_refused_with_what_to_do(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError) as refused:
        LakeConfig.model_validate({**LAKE, "spark": given})
    assert why in str(refused.value)
