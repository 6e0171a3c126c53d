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
LAKE_YAML = """\
lake: {root: "s3://lake/root"}
queues: [{name: events}]
buckets: [landing]
discovery: true
"""
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
                """Do nothing: an asset of the project."""

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


def test_the_assets_of_a_component_have_the_groups_and_tags_of_its_translation() -> None:
    attributes = {
        "lake": "lake.yaml",
        "translation": {"group_name": "sales_{{ spec.group_name }}", "tags": {"domain": "sales"}, "owners": ["team:x"]},
    }
    with create_defs_folder_sandbox() as sandbox:
        folder = sandbox.scaffold_component(
            component_cls=LakeComponent, scaffold_params=PARAMS, defs_yaml_contents={**INLINE, "attributes": attributes}
        )
        (folder / "lake.yaml").write_text(LAKE_YAML + TABLE, encoding="utf-8")
        with sandbox.load_component_and_build_defs(defs_path=folder) as (_, defs):
            graph = defs.resolve_asset_graph()
            for key in (["bronze"], ["bronze", "orders"], ["silver", "orders"], ["lake_health"], ["sqs", "events"]):
                asset = graph.get(dg.AssetKey(key))
                assert asset.group_name.startswith("sales_"), key
                assert (asset.tags["domain"], asset.owners) == ("sales", ["team:x"])
            assert graph.get(dg.AssetKey(["silver", "orders"])).tags["tidegate/layer"] == "silver", "tags are added"


@pytest.mark.parametrize("translation", [{"key": "mine"}, {"key_prefix": "mine"}])
def test_a_translation_that_changes_keys_is_refused_with_the_remedy(
    translation: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANDING", "landing")
    attributes = {**INLINE["attributes"], "translation": translation}
    with create_defs_folder_sandbox() as sandbox:
        folder = sandbox.scaffold_component(
            component_cls=LakeComponent, defs_yaml_contents={**INLINE, "attributes": attributes}
        )
        with (
            pytest.raises(ComponentTreeException) as raised,
            sandbox.load_component_and_build_defs(defs_path=folder),
        ):
            pass
        assert "`lake.name` in lake.yaml gives them a prefix" in str(raised.value.__cause__)


@pytest.mark.parametrize("template", ["{{ env.LANDING }}", "{{env('LANDING')}}", '{{ env("LANDING", "other") }}'])
def test_a_lake_in_the_component_s_file_may_have_its_templates_of_the_environment(
    template: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANDING", "first")
    inline = {**INLINE["attributes"]["inline"], "buckets": [template, "landing"]}
    with create_defs_folder_sandbox() as sandbox:
        folder = sandbox.scaffold_component(
            component_cls=LakeComponent, defs_yaml_contents={**INLINE, "attributes": {"inline": inline}}
        )
        with sandbox.load_component_and_build_defs(defs_path=folder) as (_, defs):
            assert dg.AssetKey(["s3", "first"]) in defs.resolve_asset_graph().get_all_asset_keys()
        assert load_lake(folder / "defs.yaml", {"LANDING": "runs"}).buckets[0] == "runs"
    unset = "type: tidegate.LakeComponent\nattributes: {inline: {lake: {root: '{{ env.NOWHERE }}'}}}\n"
    path = folder.parent / "unset.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(unset, encoding="utf-8")
    with pytest.raises(LakeConfigError, match="NOWHERE"):
        load_lake(path, {})


def test_lakes_with_names_and_a_foreign_project_share_one_code_location() -> None:
    lakes = {}
    for name in ("sales", "parts"):
        lakes[name] = {
            **INLINE["attributes"]["inline"],
            "lake": {"root": f"s3://lake-{name}/root", "name": name},
            "buckets": ["landing"],
        }
    with create_defs_folder_sandbox() as sandbox:
        for name, inline in lakes.items():
            contents = {**INLINE, "attributes": {"inline": inline}}
            sandbox.scaffold_component(component_cls=LakeComponent, defs_path=name, defs_yaml_contents=contents)
        unnamed = {**INLINE["attributes"]["inline"], "buckets": ["landing"]}
        contents = {**INLINE, "attributes": {"inline": unnamed}}
        sandbox.scaffold_component(component_cls=LakeComponent, defs_path="unnamed", defs_yaml_contents=contents)

        @dg.asset(key=["bronze", "theirs"], partitions_def=dg.DynamicPartitionsDefinition(name="theirs"))
        def theirs() -> None:
            """Do nothing: an asset of the project."""

        @dg.job(name="intake_job")
        def their_job() -> None:
            """Do nothing: a job of the project."""

        with sandbox.build_all_defs() as defs:
            both = dg.Definitions.merge(defs, dg.Definitions(assets=[theirs], jobs=[their_job]))
            dg.Definitions.validate_loadable(both)
            repository = both.get_repository_def()
            assert set(both.resources or {}) == {"lake", "sales_lake", "parts_lake"}
            graph = both.resolve_asset_graph()
            roots = {key.path[0] for key in graph.get_all_asset_keys()}
            assert {"sales", "parts", "bronze", "silver"} <= roots
            for name in lakes:
                of_lake = [key for key in graph.get_all_asset_keys() if key.path[0] == name]
                others = [key for key in graph.get_all_asset_keys() if key.path[0] in {"bronze", "silver", "sqs", "s3"}]
                assert of_lake
                # Whatever an asset depends on, and whatever it is checked by, is of its own lake.
                for key in of_lake:
                    assert all(parent.path[0] == name for parent in graph.get(key).parent_keys), key
                    assert graph.get(key).group_name.startswith(f"{name}_")
                for key in others:
                    assert all(parent.path[0] != name for parent in graph.get(key).parent_keys), key
                partitions = graph.get(dg.AssetKey([name, "bronze"])).partitions_def
                assert isinstance(partitions, dg.DynamicPartitionsDefinition)
                assert partitions.name == f"{name}_tables"
                assert {f"{name}_intake", f"{name}_health"} <= {sensor.name for sensor in repository.sensor_defs}
                assert {f"{name}_bronze_job", f"{name}_redrive"} <= set(repository.job_names)
            pools = {op.pool for assets in both.resolve_all_asset_specs() and graph.assets_defs for op in _ops(assets)}
            assert {"silver.orders", "sales.silver.orders", "parts.silver.orders"} <= pools


def _ops(assets: dg.AssetsDefinition) -> list[Any]:
    return [assets.op] if assets.is_executable and hasattr(assets.node_def, "pool") else []
