"""The output of a table whose rows become objects, and the export of a silver table's changes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from tidegate.platform.core.config.fields import Bucket, Folder, Model, Pattern, Text, convert_value
from tidegate.platform.core.errors import BadSetting
from tidegate.platform.core.keys.file_format import FormatName, Mode, OutputMode, output_mode
from tidegate.platform.core.keys.folder_template import FolderTemplate
from tidegate.platform.core.keys.key_pattern import KeyPattern


def _checked_template(text: str) -> str:
    template = FolderTemplate.parse(text)
    if convert_value(Bucket, template.bucket) is None:
        raise BadSetting(f"{template.bucket!r} is not a bucket name")
    return text


Template = Annotated[Text, AfterValidator(_checked_template)]


_NO_TABLE = {
    "cluster_by": "sorts the rows of a table, and there is no table",
    "completion": "puts files into one commit, and objects appear one after the other",
    "silver": "is merged from a table, and there is no table",
    "personal": "is about the columns of a table, and there is no table",
    "on_overwrite": "is about the rows of a table, and there is no table",
    "on_removed": "is about the rows of a table, and there is no table",
}
_AS_THEY_ARE = {
    "columns": "gives columns their types, and no value is converted",
    "partition_columns": "gives folders their types, and no folder becomes a column",
    **_NO_TABLE,
}
#: Fields of tables that have no meaning in a mode, each with the reason.
_MEANINGLESS_FIELDS: Mapping[OutputMode, Mapping[str, str]] = {
    "repartition": {"policy": "says what new columns do, and there are no columns", **_AS_THEY_ARE},
    "convert": {"widen": "makes columns wider, and files that are written keep their types", **_NO_TABLE},
    "concatenate": {
        "policy": "says what new columns do, and files with other columns become other files",
        "widen": "makes columns wider, and no value is converted",
        **_AS_THEY_ARE,
    },
}
#: Fields of `output` that have no meaning in a mode, each with the reason.
_NOT_OF_OUTPUT: Mapping[OutputMode, Mapping[str, str]] = {
    "repartition": {},
    "convert": {
        "key": "finds values for `folder`, which has no parts",
        "compression": "is for objects of lines",
        "object_bytes": "is for rows that are put together by folder",
    },
    "concatenate": {
        "key": "finds values for `folder`, which has no parts",
        "compression": "is for objects of lines",
    },
}


class OutputSpec(Model):
    """Where the rows go, and how the objects are written."""

    folder: Template
    """`s3://bucket/folder/` of a row's object. `{name}` is the value of a field of the row, `{a.b}` that of a field
    inside an object, and `{name:date}` a piece of a timestamp in UTC: `date`, `year`, `month`, `day` or `hour`.
    `{event:type}` is the event type of the source object, by `event_types`. Only `mode: repartition` has such parts."""
    key: Pattern | None = None
    """A pattern of the source objects' keys, as in `event_types`. Its parts can be used in `folder`. Only for
    `repartition`."""
    compression: Literal["gzip", "zstd"] = "gzip"
    """How the objects of `repartition` are compressed. Parquet files have a compression of their own."""
    object_bytes: Annotated[int, Field(ge=1, le=1 << 30)] = 128 << 20
    """Compressed bytes at which an object is full. The next rows of its folder begin another object. For
    `concatenate`: bytes of source files that become one file. Not for `convert`."""

    @model_validator(mode="after")
    def _check_folder_template(self) -> Self:
        if self.pattern and not set(self.pattern.parts) & set(self.template.names):
            raise BadSetting("no part of `key` is in `folder`; use one there, or remove `key`")
        return self

    @cached_property
    def template(self) -> FolderTemplate:
        """The folder with its parts."""
        return FolderTemplate(self.folder)

    @cached_property
    def pattern(self) -> KeyPattern | None:
        """The pattern of `key`."""
        return KeyPattern(self.key) if self.key else None


def output_problem(
    mode: Mode | None, format: FormatName | None, output: OutputSpec | None, given: Mapping[str, Any]
) -> str | None:
    """Return why a table cannot have its output, or cannot be without one. None if its fields go together.

    Args:
        mode: of the table.
        format: of its files; None if their endings give it.
        output: where its rows go.
        given: the fields that `lake.yaml` gives the table, with their values.
    """
    if (of := output_mode(mode)) is None:
        modes = "`repartition`, `convert` or `concatenate`"
        return f"`output` is for `mode:` {modes}; add a mode, or remove `output`" if output else None
    if output is None:
        return f"`mode: {mode}` needs `output`, with the folder of the objects"
    if mode == "repartition" and format is None:
        return "`mode: repartition` needs `format: json`: rows of other files cannot be written as lines"
    if mode == "concatenate" and format is None:
        return "`mode: concatenate` needs `format: parquet`: it puts Parquet files together"
    if mode == "convert" and given.get("policy") == "variant":
        return "`schema: variant` is a type of Delta tables; remove it, or use `mode: load`"
    if mode != "repartition" and output.template.names:
        return (
            f"`folder` of `output` has the part {{{output.template.names[0]}}}, which only `mode: repartition` fills "
            "in; folders below the prefix are also below `folder`"
        )
    for name, why in _MEANINGLESS_FIELDS[of].items():
        if (given.get(name) or "keep") not in ("keep", "append"):
            return f"`{'schema' if name == 'policy' else name}` {why} with `mode: {mode}`; remove it"
    for name, why in _NOT_OF_OUTPUT[of].items():
        if name in output.model_fields_set:
            return f"`{name}` of `output` {why}, and not for `mode: {mode}`; remove it"
    return None


class ExportSpec(Model):
    """Where the changes of a silver table are written as files, for readers that know no Delta."""

    folder: Folder
    """`s3://` folder for the files and their manifests. Its bucket is not a source bucket."""
    format: Literal["parquet", "csv"] = "parquet"
    """Format of the files. In CSV, nested values are JSON, and binary values base64."""
