"""The component of `dg`: what it scaffolds loads next to definitions of others, and errors name lines of lake.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster.components.core.component_tree import ComponentTreeException
from dagster.components.testing import create_defs_folder_sandbox

from tidegate.platform.component import LakeComponent
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.load import LakeConfigError, load_lake

INLINE: dict[str, Any] = {
    "type": "tidegate.LakeComponent",
    "attributes": {
        "inline": {
            "lake": {"root": "s3://lake/root"},
            "queues": [{"name": "events"}],
            "buckets": ["${LANDING}"],
            "tables": [
                {
                    "name": "orders",
                    "prefix": "s3://landing/orders/",
                    "silver": {"keys": ["id"], "order": "at", "every": 10},
                }
            ],
        }
    },
}
TABLE = 'tables: [{name: orders, prefix: "s3://landing/orders/", silver: {keys: [id], order: at, every: 10}}]\n'
PARAMS = {"root": "s3://lake/root", "bucket": "landing", "queue": "events"}


def test_a_scaffolded_lake_loads_and_limits_nothing_of_its_project() -> None:
    with create_defs_folder_sandbox() as sandbox:
        folder = sandbox.scaffold_component(component_cls=LakeComponent, scaffold_params=PARAMS)
        assert "lake: lake.yaml" in (folder / "defs.yaml").read_text(encoding="utf-8")
        with (folder / "lake.yaml").open("a", encoding="utf-8") as lake_yaml:
            lake_yaml.write(TABLE)
        with sandbox.load_component_and_build_defs(defs_path=folder) as (component, defs):
            assert isinstance(component, LakeComponent)
            keys = {key.to_user_string() for key in defs.resolve_asset_graph().get_all_asset_keys()}
            assert {"bronze", "bronze/orders", "silver/orders", "sqs/events"} <= keys
            # The executor of the project stays. Tidegate's jobs name theirs.
            assert defs.executor is None

            @dg.asset
            def theirs() -> None:
                """An asset of the project."""

            both = dg.Definitions.merge(
                defs, dg.Definitions(assets=[theirs], executor=dg.multiprocess_executor, resources={"warehouse": "x"})
            )
            dg.Definitions.validate_loadable(both)


def test_an_error_of_lake_yaml_names_file_and_line() -> None:
    with create_defs_folder_sandbox() as sandbox:
        folder = sandbox.scaffold_component(component_cls=LakeComponent, scaffold_params=PARAMS)
        text = (folder / "lake.yaml").read_text(encoding="utf-8")
        (folder / "lake.yaml").write_text(text.replace("queues:", "queue:"), encoding="utf-8")
        with (
            pytest.raises(ComponentTreeException) as raised,
            sandbox.load_component_and_build_defs(defs_path=folder),
        ):
            pass
        cause = raised.value.__cause__
        assert isinstance(cause, LakeConfigError)
        assert any(
            problem.endswith("lake.yaml:3: queue: unknown field; did you mean 'queues'?") for problem in cause.problems
        )


def test_a_lake_may_be_in_the_component_s_own_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANDING", "landing")
    with create_defs_folder_sandbox() as sandbox:
        folder = sandbox.scaffold_component(component_cls=LakeComponent, defs_yaml_contents=INLINE)
        with sandbox.load_component_and_build_defs(defs_path=folder) as (_, defs):
            graph = defs.resolve_asset_graph()
            assert {"bronze/orders", "silver/orders"} <= {key.to_user_string() for key in graph.get_all_asset_keys()}
            # Runs read the same file, and the page of the table opens its line in an editor.
            lake = (defs.resources or {})["lake"]
            path = (folder / "defs.yaml").resolve()
            assert lake.lake_yaml == str(path)
            assert [spec.name for spec in load_lake(lake.lake_yaml).tables] == ["orders"]
            metadata = graph.get(dg.AssetKey(["bronze", "orders"])).metadata
            # Dagster adds the first line of the component.
            reference, _ = metadata["dagster/code_references"].code_references
            assert (reference.label, Path(reference.file_path)) == ("defs.yaml", path)
            assert "name: orders" in path.read_text(encoding="utf-8").splitlines()[reference.line_number - 1]


def test_a_lake_may_be_one_of_several_components_of_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANDING", "landing")
    with create_defs_folder_sandbox() as sandbox:
        folder = sandbox.scaffold_component(component_cls=LakeComponent, defs_yaml_contents=INLINE)
        path = (folder / "defs.yaml").resolve()
        script = "attributes: {execution: {path: theirs.py}, assets: [{key: theirs}]}"
        other = f"type: dagster.PythonScriptComponent\n{script}\n"
        path.write_text(f"{other}---\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
        with sandbox.build_all_defs() as defs:
            keys = {key.to_user_string() for key in defs.resolve_asset_graph().get_all_asset_keys()}
            assert {"bronze/orders", "theirs"} <= keys
            assert (defs.resources or {})["lake"].lake_yaml == str(path)


@pytest.mark.parametrize("attributes", [{}, {"lake": "lake.yaml", **INLINE["attributes"]}], ids=["none", "two"])
def test_a_component_has_one_lake(attributes: dict[str, Any]) -> None:
    with create_defs_folder_sandbox() as sandbox:
        contents = {**INLINE, "attributes": attributes}
        folder = sandbox.scaffold_component(component_cls=LakeComponent, defs_yaml_contents=contents)
        with (
            pytest.raises(ComponentTreeException) as raised,
            sandbox.load_component_and_build_defs(defs_path=folder),
        ):
            pass
        assert "give `lake`, the path of a lake.yaml, or `inline`, the lake itself" in str(raised.value.__cause__)


def test_the_component_describes_itself() -> None:
    assert LakeComponent.get_spec().description == "S3 event notifications become Delta tables."
    schema = LakeComponent.get_model_cls().model_json_schema()
    assert schema["oneOf"] == [{"required": ["lake"]}, {"required": ["inline"]}]
    assert schema["properties"]["inline"]["required"] == LakeConfig.model_json_schema()["required"]
    assert schema["properties"]["lake"]["description"]
