"""Who starts the Spark Connect server of a lake, and when: `spark` in `lake.yaml`."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from tidegate.platform.core.config.fields import Model, Text, require_match
from tidegate.platform.core.errors import BadSetting

#: Fields that need one value of `start`.
_ON_DEMAND = ("idle", "port", "home", "memory", "conf_file")

Memory = Annotated[
    str, require_match(r"[1-9][0-9]*[mgMG]", " is not a size of a heap in Java's notation; for example 4g")
]


class SparkSpec(Model):
    """Who starts the Spark Connect server, and when. It counts where `SPARK_REMOTE` is not set."""

    start: Literal["always", "on_demand", "command"] = "always"
    """`always`: somebody else runs it, and it is always there. `on_demand`: the first run or command that needs it
    starts `tidegate spark` on this machine, and it ends when nobody uses it. `command`: `command` starts it, or names
    it, for each session."""
    idle: Annotated[int, Field(ge=10, le=86_400)] = 300
    """With `on_demand`: seconds without a client after which the server ends."""
    port: Annotated[int, Field(ge=1, le=65_535)] = 15002
    """With `on_demand`: port of the server on this machine."""
    home: Text | None = None
    """With `on_demand`: folder for the server's files, relative to the folder of lake.yaml. By default
    `.tidegate/spark-on-demand`. All processes of the lake on this machine share it."""
    memory: Memory | None = None
    """With `on_demand`: the server's heap, such as `4g`. By default half of the memory of the machine or container."""
    conf_file: Text | None = None
    """With `on_demand`: a file of settings of Spark, `spark.name=value`, one a line, relative to the folder of
    lake.yaml."""
    command: Annotated[tuple[Text, ...], Field(min_length=1)] | None = None
    """With `command`: a program and its arguments. It prints one JSON object with `endpoint`, and `token` or
    `token_command` if the server needs a token. No shell reads it."""

    @model_validator(mode="after")
    def _fits_its_start(self) -> Self:
        given = self.model_fields_set
        if self.start != "on_demand" and (other := [name for name in _ON_DEMAND if name in given]):
            raise BadSetting(f"`{other[0]}` is for a server that is started here: add `start: on_demand`, or remove it")
        if self.start == "command" and self.command is None:
            raise BadSetting("`start: command` needs `command`: a list with a program and its arguments")
        if self.start != "command" and self.command is not None:
            raise BadSetting("`command` needs `start: command`: add that, or remove `command`")
        return self
