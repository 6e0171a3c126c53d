"""The base of what commands print with `--json`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Answer(BaseModel):
    """A part of an answer. A later version may add fields, and removes none."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
