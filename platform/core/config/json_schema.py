"""The published JSON Schema of `lake.yaml`, for editors.

`python -m tidegate.platform.core.config.json_schema > docs/lake.schema.json` writes the file again.
"""

from __future__ import annotations

import json

from tidegate.platform.core.config.lake import LakeConfig


def schema_text() -> str:
    """The text of `docs/lake.schema.json`."""
    return json.dumps(LakeConfig.json_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(schema_text(), end="")
