"""`mode: repartition` in lake.yaml: where rows may go, and what has no meaning there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.unit.conftest import PAPER
from tidegate.platform.bronze.prepare.outputs import output_key
from tidegate.platform.cloud.requirements import WantedResources
from tidegate.platform.cloud.roles.dagster_role import dagster
from tidegate.platform.cloud.roles.lake_arns import PROBE
from tidegate.platform.cloud.roles.roles import find_permission
from tidegate.platform.cloud.roles.spark_role import spark
from tidegate.platform.cloud.statement import permits
from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.load import LakeConfigError, load_lake
from tidegate.platform.core.config.output import ExportSpec
from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.keys.folder_template import FolderTemplate

LAKE = """\
lake: {root: "s3://lake/x"}
queues: [{name: events}]
buckets: [landing]
tables:
  - name: t
    prefix: s3://landing/t/
"""
TABLE = LAKE + "    format: json\n    mode: repartition\n"


def _load(tmp_path: Path, text: str) -> LakeConfig:
    path = tmp_path / "lake.yaml"
    path.write_text(text)
    return load_lake(path, {})


def _problem(tmp_path: Path, text: str) -> str:
    with pytest.raises(LakeConfigError) as caught:
        _load(tmp_path, text)
    (problem,) = caught.value.problems
    return problem.removeprefix(f"{tmp_path}/")


@pytest.mark.parametrize(
    ("text", "of_key", "root", "parts"),
    [
        ("s3://out/a/", (), "s3://out/a/", [{"text": "a/"}]),
        ("s3://out/{event:type}/", (), "s3://out/", [{"key": "event:type"}, {"text": "/"}]),
        ("s3://out/{v}/", (), "s3://out/", [{"field": ["v"]}, {"text": "/"}]),
        (
            "s3://out/a/b-{x.y}/d={at:date}/h={type:hour}/",
            ("type",),
            "s3://out/a/",
            [
                {"text": "a/b-"},
                {"field": ["x", "y"]},
                {"text": "/d="},
                {"field": ["at"], "form": "date"},
                {"text": "/h="},
                {"key": "type", "form": "hour"},
                {"text": "/"},
            ],
        ),
    ],
)
def test_a_folder_has_parts(text: str, of_key: tuple[str, ...], root: str, parts: list[dict[str, Any]]) -> None:
    template = FolderTemplate.parse(text)
    assert (template.bucket, template.root) == ("out", root)
    assert template.layout(of_key) == {"parts": parts}


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("out/a/", "is not of the form s3://bucket/key"),
        ("s3://out", "is not a folder: it has a path, and ends with"),
        ("s3://out/", "is not a folder: it has a path, and ends with"),
        ("s3://out/a", "is not a folder: it has a path, and ends with"),
        ("s3://out/a//", "must not have an empty folder"),
        ("s3://{b}/a/", "only folders may have parts"),
        ("s3://Out/a/", "'Out' is not a bucket name"),
        ("s3://out/{a/", "without its other half"),
        ("s3://out/{{a}}/", "without its other half"),
        ("s3://out/{}/", "names no field"),
        ("s3://out/{a..b}/", "names no field"),
        ("s3://out/{a:week}/", "'week' is not a piece of a timestamp (date, year, month, day, hour)"),
        ("s3://out/{event:type}/", "no event has a type, because lake.yaml has no `event_types`"),
        ("s3://out/{a:}/", "is not a piece of a timestamp"),
        # Each object would come back as a new file, or is below what is not its own.
        ("s3://landing/out/", "the bucket 'landing' is also a source bucket"),
        ("s3://landing/t/out/", "the bucket 'landing' is also a source bucket"),
        ("s3://lake/x/{a}/", "s3://lake/x/ overlaps the lake root s3://lake/x"),
        ("s3://lake/{a}/", "s3://lake/ overlaps the lake root s3://lake/x"),
    ],
)
@pytest.mark.limit("Outputs", "The folder of an output is in no source bucket and outside of the lake root.")
def test_a_folder_that_cannot_be_an_output(tmp_path: Path, folder: str, expected: str) -> None:
    found = _problem(tmp_path, f"{TABLE}    output: {{folder: '{folder}'}}\n")
    assert found.startswith("lake.yaml:9: tables[0].output.folder: ")
    assert expected in found


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("inventory: s3://out/a/", "s3://out/ overlaps s3://out/a/ of tables[0]"),
        ("after_load: {move: s3://out/done/}", "s3://out/ overlaps s3://out/done/ of tables[0]"),
        (
            "columns: {a: int}",
            "`columns` gives columns their types, and no value is converted with `mode: repartition`",
        ),
        ("partition_columns: {a: int}", "`partition_columns` gives folders their types"),
        ("schema: strict", "`schema` says what new columns do, and there are no columns"),
        ("silver: {keys: [a], order: b, every: 9}", "`silver` is merged from a table, and there is no table"),
    ],
)
@pytest.mark.limit(
    "Outputs",
    "`mode: repartition` converts no values, so it has no `columns`, no types of folders, no `schema`, and no "
    "`silver`.",
)
def test_what_makes_no_sense_with_an_output_is_refused(tmp_path: Path, more: str, expected: str) -> None:
    assert expected in _problem(tmp_path, f"{TABLE}    output: {{folder: 's3://out/{{a}}/'}}\n    {more}\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TABLE, "`mode: repartition` needs `output`"),
        (f"{LAKE}    mode: repartition\n    output: {{folder: s3://out/a/}}\n", "needs `format: json`"),
        (f"{LAKE}    mode: load\n    output: {{folder: s3://out/a/}}\n", "`output` is for `mode:` `repartition`"),
        (f"{LAKE}    format: csv\n    mode: repartition\n", "only json files can be repartitioned"),
        (
            f"{TABLE}    output: {{folder: 's3://out/{{a}}/', key: 't/{{b}}/**'}}\n",
            "no part of `key` is in `folder`",
        ),
    ],
)
def test_mode_and_output_belong_together(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in _problem(tmp_path, text)


CONVERT = LAKE + "    format: csv\n    mode: convert\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CONVERT, "`mode: convert` needs `output`"),
        (
            f"{CONVERT}    output: {{folder: 's3://out/d={{at:date}}/'}}\n",
            "`folder` of `output` has the part {at}, which only `mode: repartition` fills in",
        ),
        (f"{CONVERT}    output: {{folder: s3://out/a/, compression: zstd}}\n", "`compression` of `output` is for"),
        (f"{CONVERT}    output: {{folder: s3://out/a/, object_bytes: 9}}\n", "`object_bytes` of `output` is for"),
        (f"{CONVERT}    output: {{folder: s3://out/a/, key: 't/{{b}}/**'}}\n", "no part of `key` is in `folder`"),
        (f"{CONVERT}    output: {{folder: s3://landing/a/}}\n", "the bucket 'landing' is also a source bucket"),
        (
            f"{CONVERT}    output: {{folder: s3://out/a/}}\n    completion: _SUCCESS\n",
            "`completion` puts files into one",
        ),
        (
            f"{CONVERT}    output: {{folder: s3://out/a/}}\n    silver: {{keys: [a], order: b, every: 9}}\n",
            "`silver` is",
        ),
        (
            f"{LAKE}    format: json\n    mode: convert\n    schema: variant\n    output: {{folder: s3://out/a/}}\n",
            "`schema: variant` is a type of Delta tables",
        ),
        (
            f"{LAKE}    format: orc\n    mode: convert\n    widen: true\n    output: {{folder: s3://out/a/}}\n",
            "`widen` makes columns wider, and files that are written keep their types",
        ),
    ],
)
def test_what_makes_no_sense_with_converted_files_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in _problem(tmp_path, text)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("mode: concatenate\n    output: {folder: s3://out/a/}", "`mode: concatenate` needs `format: parquet`"),
        ("format: csv\n    mode: concatenate", "only parquet files can be concatenated"),
        ("format: parquet\n    mode: concatenate", "`mode: concatenate` needs `output`"),
        (
            "format: parquet\n    mode: concatenate\n    output: {folder: s3://out/a/}\n    columns: {a: int}",
            "`columns` gives columns their types, and no value is converted with `mode: concatenate`",
        ),
        (
            "format: parquet\n    mode: concatenate\n    output: {folder: s3://out/a/, compression: zstd}",
            "`compression` of `output` is for objects of lines",
        ),
    ],
)
@pytest.mark.limit("Outputs", "`mode: concatenate` is for Parquet only.")
def test_what_makes_no_sense_with_concatenated_files_is_refused(tmp_path: Path, more: str, expected: str) -> None:
    assert expected in _problem(tmp_path, f"{LAKE}    {more}\n")


def test_no_two_objects_have_one_key() -> None:
    birth = Birth("generation-1", "s3a://lake/x/outputs/landing.t", "t", registered=False, output="repartition")
    births = [birth, replace(birth, generation="generation-2")]
    keys = {output_key("a/b/", born, n, index, "json.gz") for born in births for n in (1, 2) for index in (1, 2)}
    assert len(keys) == 8
    assert output_key("a/b/", birth, 3, 4, "json.zst") == "a/b/t-0000000003-00004-generation-1.json.zst"


def test_the_bucket_of_an_output_is_made_and_its_permissions_are_printed(tmp_path: Path) -> None:
    config = _load(tmp_path, f"{TABLE}    output: {{folder: 's3://out/clicks/{{a}}/'}}\n")
    assert (config.output_roots, config.tables[0].registers) == (["s3://out/clicks/"], False)
    assert WantedResources.from_config(config).every_bucket == ["lake", "landing", "out"]
    objects = "arn:aws:s3:::out/clicks/*"
    assert [find_permission(config, action, objects) is not None for action in ("s3:PutObject", "s3:DeleteObject")] == [
        True,
        True,
    ]
    assert not any(statement.covers("s3:DeleteObject", objects) for statement in dagster(config))
    # `check` puts a probe there, gives up an upload that never began, and deletes the probe.
    probe = f"arn:aws:s3:::out/clicks/{PROBE}1"
    for action in ("s3:PutObject", "s3:AbortMultipartUpload", "s3:GetObject", "s3:PutObjectTagging", "s3:DeleteObject"):
        assert permits(dagster(config), action, probe), action


def test_its_bucket_is_made_locally_and_both_roles_may_write_there() -> None:
    export = ExportSpec(folder="s3://out/orders/")
    silver = {"keys": ["id"], "order": "at", "every": 10, "export": export}
    table = {"name": "orders", "prefix": "s3://landing/o/", "silver": silver}
    config = LakeConfig.model_validate({**PAPER, "tables": [table]})
    assert config.output_roots == ["s3://out/orders/"]
    assert WantedResources.from_config(config).outputs == ("out",)
    for role in (dagster, spark):
        for action in ("s3:PutObject", "s3:DeleteObject"):
            assert any(each.covers(action, "arn:aws:s3:::out/orders/x/part-0") for each in role(config)), action


@pytest.mark.parametrize(
    ("folder", "problem"),
    [
        ("s3://landing/exports/", "landing"),
        ("s3://lake/root/exports/", "overlaps the lake root"),
    ],
)
def test_an_export_is_written_where_nobody_takes_it_for_new_files(folder: str, problem: str) -> None:
    silver = {"keys": ["id"], "order": "at", "every": 10, "export": {"folder": folder}}
    with pytest.raises(ValidationError, match=problem):
        LakeConfig.model_validate(
            {**PAPER, "tables": [{"name": "orders", "prefix": "s3://landing/o/", "silver": silver}]}
        )


def test_a_history_has_no_export() -> None:
    silver = {"keys": ["id"], "order": "at", "every": 10, "stored_as": "scd2", "export": {"folder": "s3://out/o/"}}
    with pytest.raises(ValidationError, match="export is for tables with one row of each key"):
        SilverSpec.model_validate(silver)
