"""Who starts the Spark Connect server of a lake, and when: `spark` in `lake.yaml`."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from tidegate.platform.core.config.fields import Model, Text, require_match
from tidegate.platform.core.errors import BadSetting
from tidegate.platform.core.spark_address import SparkAddress

#: Fields that need one value of `start`.
_ON_DEMAND = ("idle", "port", "home", "memory", "conf_file")

Memory = Annotated[
    str, require_match(r"[1-9][0-9]*[mgMG]", " is not a size of a heap in Java's notation; for example 4g")
]


def _without_token(text: str) -> str:
    address = SparkAddress.parse(text, "this")
    if address.token is not None:
        raise BadSetting(
            "an address in lake.yaml has no token, because many can read that file: remove `token`, and let the "
            "environment name the token, which is that of all servers (SPARK_CONNECT_AUTHENTICATE_TOKEN, "
            "TIDEGATE_SPARK_TOKEN_FILE or TIDEGATE_SPARK_TOKEN_COMMAND)"
        )
    return address.text


ServerAddress = Annotated[str, AfterValidator(_without_token)]


def _differ(servers: tuple[str, ...]) -> tuple[str, ...]:
    known: dict[tuple[str, int], int] = {}
    for number, server in enumerate(servers):
        first = known.setdefault(SparkAddress.parse(server, "this").endpoint, number)
        if first != number:
            raise BadSetting(f"entry {number + 1} is the server of entry {first + 1} again: remove one of them")
    return servers


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
    servers: Annotated[tuple[ServerAddress, ...], Field(min_length=1, max_length=16), AfterValidator(_differ)] = ()
    """With `always`: addresses of Spark Connect servers that serve the lake at once, `sc://host:port`. A table has the
    same server while that answers, and otherwise another one. All have one token, which the environment names."""
    command: Annotated[tuple[Text, ...], Field(min_length=1)] | None = None
    """With `command`: a program and its arguments. It prints one JSON object with `endpoint`, and `token` or
    `token_command` if the server needs a token. No shell reads it."""

    @model_validator(mode="after")
    def _fits_its_start(self) -> Self:
        given = self.model_fields_set
        if self.start != "on_demand" and (other := [name for name in _ON_DEMAND if name in given]):
            raise BadSetting(f"`{other[0]}` is for a server that is started here: add `start: on_demand`, or remove it")
        if self.start != "always" and self.servers:
            raise BadSetting(
                f"`servers` are servers that are always there, and `start: {self.start}` starts one: remove one of them"
            )
        if self.start == "command" and self.command is None:
            raise BadSetting("`start: command` needs `command`: a list with a program and its arguments")
        if self.start != "command" and self.command is not None:
            raise BadSetting("`command` needs `start: command`: add that, or remove `command`")
        return self
