"""The JSON Schema of what each command prints with `--json`.

`python -m tidegate.platform.cli.json_schema > docs/commands.schema.json` writes it again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from tidegate.platform.cli.answers.health import NewsAnswer, StatusAnswer
from tidegate.platform.cli.answers.inventory import (
    AdviceAnswer,
    AuditAnswer,
    CostAnswer,
    ForecastAnswer,
    ManifestAnswer,
    UploadsAnswer,
)
from tidegate.platform.cli.answers.plans import (
    AdoptAnswer,
    CatalogSyncAnswer,
    DropAnswer,
    EnableAnswer,
    ForgetAnswer,
    IngestAnswer,
    MaintainAnswer,
    RebuildAnswer,
    RedriveAnswer,
    ResetAnswer,
)
from tidegate.platform.cli.check.findings import FindingsAnswer
from tidegate.platform.cli.commands.catalog_readers import ReadersAnswer
from tidegate.platform.cli.commands.cost import CostsAnswer
from tidegate.platform.cli.commands.infer import InferAnswer
from tidegate.platform.cli.commands.migrate_oxbow import MigrationAnswer
from tidegate.platform.cli.commands.object_trace import TraceAnswer
from tidegate.platform.cli.commands.sql import SqlAnswer
from tidegate.platform.cli.commands.why import WhyAnswer

#: What each command prints with `--json`.
ANSWERS: Mapping[str, type[BaseModel]] = {
    "adopt": AdoptAnswer,
    "catalog readers": ReadersAnswer,
    "catalog sync": CatalogSyncAnswer,
    "check": FindingsAnswer,
    "cost": CostsAnswer,
    "doctor": FindingsAnswer,
    "forget": ForgetAnswer,
    "ingest": IngestAnswer,
    "infer": InferAnswer,
    "inventory advice": AdviceAnswer,
    "inventory audit": AuditAnswer,
    "inventory cost": CostAnswer,
    "inventory drop-bucket": DropAnswer,
    "inventory enable": EnableAnswer,
    "inventory forecast": ForecastAnswer,
    "inventory manifest": ManifestAnswer,
    "inventory uploads": UploadsAnswer,
    "maintain": MaintainAnswer,
    "migrate oxbow": MigrationAnswer,
    "rebuild": RebuildAnswer,
    "redrive": RedriveAnswer,
    "reset": ResetAnswer,
    "sql": SqlAnswer,
    "status": StatusAnswer,
    "tail": NewsAnswer,
    "trace": TraceAnswer,
    "why": WhyAnswer,
}


def schema_text() -> str:
    """Return the text of `docs/commands.schema.json`."""
    models: Sequence[tuple[type[BaseModel], Literal["serialization"]]] = [
        (model, "serialization") for model in dict.fromkeys(ANSWERS.values())
    ]
    places, shared = models_json_schema(models)
    commands: dict[str, Any] = {name: places[model, "serialization"] for name, model in ANSWERS.items()}
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What the commands of tidegate print with --json",
        "description": "Each property is the schema of one command's output; of `tail`, of each line.",
        "type": "object",
        "properties": commands,
        **shared,
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(schema_text(), end="")
