"""A lake as a component of Dagster's `dg`: its assets, sensors and jobs in a project of your own."""

import dagster as dg
from pydantic import BaseModel, Field

from tidegate.platform.core.config.load import load_lake
from tidegate.platform.definitions import build_definitions
from tidegate.resources.lake_resource import LakeResource

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
        """Returns the parameters."""
        return LakeParams

    def scaffold(self, request: dg.ScaffoldRequest[LakeParams]) -> None:
        """Write `defs.yaml` and `lake.yaml`."""
        dg.scaffold_component(request, {"lake": "lake.yaml"})
        text = _LAKE_YAML.format(**request.params.model_dump())
        (request.target_path / "lake.yaml").write_text(text, encoding="utf-8")


@dg.scaffold_with(LakeScaffolder)
class LakeComponent(dg.Component, dg.Model, dg.Resolvable):
    """The tables, silver tables, sensors and jobs of a lake.

    The environment names Spark and AWS, as for Tidegate's own code location.
    """

    lake: str = Field(description="Path of the lake.yaml, relative to the folder of this file.", examples=["lake.yaml"])

    @classmethod
    def get_spec(cls) -> dg.ComponentTypeSpec:
        """Returns what `dg list components` shows."""
        return dg.ComponentTypeSpec(
            description="S3 event notifications become Delta tables.", tags=["aws", "s3", "delta", "spark"]
        )

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Returns the definitions of the lake.

        Raises:
            LakeConfigError: the lake.yaml has errors. Each is a line with file, line and field.
        """
        path = str((context.path / self.lake).resolve())
        return build_definitions(load_lake(path), LakeResource.from_environment(path), is_guest=True)
