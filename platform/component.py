"""A lake as a component of Dagster's `dg`: its assets, sensors and jobs in a project of your own."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import dagster as dg
from dagster.components.resolved.core_models import AssetAttributesModel
from dagster.components.utils.translation import TranslationFn, TranslationFnResolver
from pydantic import BaseModel, ConfigDict, Field

from tidegate.assets.translator import LakeTranslator
from tidegate.platform.core.config.json_schema import component_schema
from tidegate.platform.core.config.load import INLINE
from tidegate.platform.core.errors import BadSetting
from tidegate.platform.definitions import build_definitions

_LAKE_YAML = """\
# docs/reference/lake-yaml.md describes every field. `tidegate infer s3://{bucket}/` proposes the tables.
lake: {{root: "{root}"}}
queues: [{{name: {queue}}}]
buckets: [{bucket}]
discovery: true
"""


class LakeParams(BaseModel):
    """What `dg scaffold defs` asks for."""

    root: str = Field("s3://your-lake/lake", description="Folder for all that Tidegate keeps, as s3://bucket/folder.")
    bucket: str = Field("your-landing-bucket", description="Bucket whose files become tables.")
    queue: str = Field("your-queue", description="SQS queue with the events of that bucket.")


class LakeScaffolder(dg.Scaffolder[LakeParams]):
    """Writes a `lake.yaml` next to the component."""

    @classmethod
    def get_scaffold_params(cls) -> type[LakeParams]:
        """Return the parameters."""
        return LakeParams

    def scaffold(self, request: dg.ScaffoldRequest[LakeParams]) -> None:
        """Write `defs.yaml` and `lake.yaml`."""
        dg.scaffold_component(request, {"lake": "lake.yaml"})
        text = _LAKE_YAML.format(**request.params.model_dump())
        (request.target_path / "lake.yaml").write_text(text, encoding="utf-8")


class LakeAttributes(BaseModel):
    """The attributes of the component, as `dg check yaml` and editors check them."""

    model_config = ConfigDict(extra="forbid")

    lake: str | None = Field(
        None, description="Path of the lake.yaml, relative to the folder of this file.", examples=["lake.yaml"]
    )
    inline: dict[str, Any] | None = Field(None, description="The lake itself: all that a lake.yaml has.")
    translation: str | AssetAttributesModel | None = Field(  # type: ignore[valid-type]  # Dagster makes it at run time
        None,
        description="Groups, owners, tags and descriptions of the assets; `{{ spec }}` is an asset as it would be.",
        examples=[{"group_name": "lake", "tags": {"domain": "sales"}}],
    )

    @classmethod
    def model_json_schema(cls, *args: Any, **options: Any) -> dict[str, Any]:
        """Return the schema with the fields of a lake."""
        return component_schema(super().model_json_schema(*args, **options))


@dg.scaffold_with(LakeScaffolder)
class LakeComponent(dg.Component, dg.Model, dg.Resolvable):
    """The tables, silver tables, sensors and jobs of a lake.

    The environment names Spark and AWS, as for Tidegate's own code location.
    """

    lake: str | None = None
    inline: Mapping[str, Any] | None = None
    translation: Annotated[TranslationFn[None], TranslationFnResolver[None](lambda _: {})] | None = None

    @classmethod
    def get_model_cls(cls) -> type[BaseModel]:
        """Return the attributes."""
        return LakeAttributes

    @classmethod
    def get_spec(cls) -> dg.ComponentTypeSpec:
        """Return what `dg list components` shows."""
        return dg.ComponentTypeSpec(
            description="S3 event notifications become Delta tables.", tags=["aws", "s3", "delta", "spark"]
        )

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Return the definitions of the lake.

        Raises:
            LakeConfigError: the lake has errors. Each is a line with file, line and field.
            BadSetting: there is not one lake.
        """
        if (self.lake is None) == (self.inline is None):
            raise BadSetting(f"{context.path}: give `lake`, the path of a lake.yaml, or `{INLINE}`, the lake itself")
        path = str((context.path / self.lake).resolve() if self.lake else _defs_yaml(context.path))
        translator = _Translation(self.translation) if self.translation else None
        return build_definitions(path, translator=translator, is_guest=True)


class _Translation(LakeTranslator):
    """The translator of a component's `translation`."""

    def __init__(self, translate: TranslationFn[None]) -> None:
        self._translate = translate

    def get_asset_spec(self, spec: dg.AssetSpec) -> dg.AssetSpec:
        """Return the spec with the attributes of `translation`."""
        return self._translate(spec, None)


def _defs_yaml(folder: Path) -> Path:
    """Return the file of the component. Runs and commands read the lake in it, as they read a lake.yaml."""
    for name in ("defs.yaml", "defs.yml", "component.yaml"):
        if (folder / name).is_file():
            return (folder / name).resolve()
    raise BadSetting(f"{folder} has no defs.yaml, and a lake in Python has no file that runs could read: give `lake`")
