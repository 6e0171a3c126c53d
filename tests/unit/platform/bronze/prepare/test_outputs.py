"""Objects of an output are named where they lie, in whatever sets their files were staged."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tidegate.platform.bronze.prepare.load.load import Staged
from tidegate.platform.bronze.prepare.outputs import Convert
from tidegate.platform.bronze.prepared_batch import PreparedBatch
from tidegate.platform.core.bronze.batch import Add
from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.config.output import OutputSpec


def test_each_set_has_its_objects_below_its_own_folder() -> None:
    convert: Any = object.__new__(Convert)
    convert.prepared = PreparedBatch()
    convert.output = OutputSpec.model_validate({"folder": "s3://outputs/t/"})
    convert.work = SimpleNamespace(birth=Birth("g", "s3a://lake/staging/t", "t", False, output="convert"), n=3)
    for place in ("one", "two"):
        add = Add(f"{place}.parquet", {}, 1, 1, '{"numRecords": 2}')
        convert.staged = [*getattr(convert, "staged", []), Staged([], f"s3a://lake/staging/t/{place}", [add], {}, "")]
    convert._keep_staged()
    assert [found.staged for found in convert.prepared.objects] == [
        "staging/t/one/one.parquet",
        "staging/t/two/two.parquet",
    ]
    assert len({found.key for found in convert.prepared.objects}) == 2
