"""Silver's trigger compares the tables, so a missed tick loses nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dagster as dg

from tidegate.assets.keys import LakeNames
from tidegate.platform.testing import TestLake
from tidegate.sensors.silver import silver_request


def test_the_trigger_is_level_triggered(tidegate_lake: Callable[..., TestLake], kit: Any) -> None:
    silver = {"keys": ["id"], "order": "v", "every": 10}
    lake = tidegate_lake([{"name": "sales", "prefix": "sales/", "silver": silver}])
    with dg.instance_for_test() as instance:

        def asked() -> str | None:
            answer = silver_request(instance, LakeNames(), lake.resource, lake.spec("sales")).answer
            return answer.tags["tidegate/silver"] if isinstance(answer, dg.RunRequest) else None

        assert asked() is None  # no bronze yet
        lake.put("sales/a.json", b'{"id": 1, "v": 1}\n')
        kit.run(lake, "sales")
        assert [asked(), asked()] == ["0..1", "0..1"]  # until a merge
        kit.merge(lake, "sales")
        assert asked() is None
        for name in "bc":
            lake.put(f"sales/{name}.json", b'{"id": 1, "v": 2}\n')
            kit.run(lake, "sales")
        assert asked() == "1..3"
        kit.merge(lake, "sales")
        assert asked() is None
