"""The types of the fields of `lake.yaml`, each with its check."""

from __future__ import annotations

import keyword
import re
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    StringConstraints,
    TypeAdapter,
    ValidationError,
)

from tidegate.platform.core.completion.signal_name import SignalName
from tidegate.platform.core.errors import BadSetting
from tidegate.platform.core.keys.key_pattern import KeyPattern
from tidegate.platform.core.keys.object_key import is_hidden
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.keys.table_key import BUCKET, MAX_ENCODED_LENGTH, TableKey
from tidegate.platform.core.schema.column_reference import is_expression
from tidegate.platform.core.schema.column_types import fold_name
from tidegate.platform.core.schema.sql_types import parse_sql_type, simple_type

# Words that are keywords of Python or SQL in `silver_<name>` or `SELECT … FROM bronze.<name>`.
_SQL_WORDS = """
    all alter and any as asc between by case create cross delete desc describe distinct drop else
    end except exists false from full group having in inner insert intersect into is join left like
    limit merge natural not null on or order outer partition right select set show table then true
    truncate union unique update use using values view when where window with
"""


def is_reserved(name: str) -> bool:
    """Return whether a word cannot be the name of a table, because it is one of SQL or Python."""
    return keyword.iskeyword(name) or name in _SQL_WORDS.split()


def _checked_name(name: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        near = re.sub(r"\W+", "_", name.lower(), flags=re.ASCII).strip("_0123456789")
        example = f", for example {near!r}" if near else ""
        raise BadSetting(f"use lower-case letters, digits and underscores, beginning with a letter{example}")
    if is_reserved(name):
        raise BadSetting(f"{name!r} is a word of SQL or Python, choose another name")
    return name


def _checked_bucket(bucket: str) -> str:
    if not BUCKET.fullmatch(bucket):
        raise BadSetting(f"{bucket!r} is not a bucket name (without s3:// and without a path)")
    return bucket


def _checked_prefix(uri: str) -> str:
    key = TableKey.from_uri(uri)
    if is_hidden(key.prefix):
        raise BadSetting('no file below it would be taken: a folder that begins with "_" or "." is never a source')
    if len(key.encode()) > MAX_ENCODED_LENGTH:
        raise BadSetting(f"its table key has more than {MAX_ENCODED_LENGTH} characters, use a shorter prefix")
    return uri


def _checked_folder(uri: str) -> str:
    bucket, path = S3Address.parse(uri)
    _checked_bucket(bucket)
    if not path or not path.endswith("/"):
        raise BadSetting(f'{uri!r} is not a folder: it has a path, and ends with "/"')
    if "//" in path:
        raise BadSetting("the path must not have an empty folder (//)")
    return uri


def _checked_root(uri: str) -> str:
    bucket, prefix = S3Address.parse(uri.rstrip("/"))
    _checked_bucket(bucket)
    if "//" in prefix:
        raise BadSetting("the path must not have an empty folder (//)")
    return uri.rstrip("/")


_CRON_FIELDS: tuple[tuple[str, int, int, str], ...] = (
    ("minute", 0, 59, ""),
    ("hour", 0, 23, ""),
    ("day of month", 1, 31, ""),
    ("month", 1, 12, "jan feb mar apr may jun jul aug sep oct nov dec"),
    ("day of week", 0, 7, "sun mon tue wed thu fri sat"),
)


def _checked_cron(text: str) -> str:
    fields = text.split()
    if len(fields) != len(_CRON_FIELDS):
        raise BadSetting(
            f"{text!r} has {len(fields)} fields, a cron schedule has 5: minute hour day month weekday. "
            "For less than a minute use `every` (seconds)"
        )
    for field, (title, low, high, names) in zip(fields, _CRON_FIELDS, strict=True):
        numbers = {name: low + index for index, name in enumerate(names.split())}
        for part in field.lower().split(","):
            found = re.fullmatch(r"(?:\*|(\w+)(?:-(\w+))?)(?:/([1-9]\d*))?", part)
            bounds = [numbers.get(word, word) for word in (found.groups()[:2] if found else ()) if word]
            if not found or any(
                not str(b).isascii() or not str(b).isdigit() or not low <= int(b) <= high for b in bounds
            ):
                raise BadSetting(f"{part!r} is not a valid {title} of a cron schedule ({low} to {high})")
    return text


# Checked here and not by a pattern, which the published schema would show: editors see ${VARIABLE}.
def require_match(pattern: str, problem: str) -> AfterValidator:
    """Return a check that a text matches a pattern as a whole. `problem` follows the text in the error."""

    def check(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise BadSetting(f"{text!r}{problem}")
        return text

    return AfterValidator(check)


def _checked_simple_type(text: str) -> str:
    simple_type(text)
    return text


def _checked_type(text: str) -> str:
    parse_sql_type(text)
    return text


# Each run of Dagster loads lake.yaml in a new process, and sqlglot takes 0.3 s to import: it parses only conditions
# that are more than the name of a column.
def _checked_condition(text: str) -> str:
    if text.isidentifier():
        return text
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        sqlglot.parse_one(f"SELECT 1 WHERE (\n{text}\n)", read="databricks")
    except SqlglotError as error:
        raise BadSetting(f"{text!r} is not a condition of Spark SQL, such as `op = 'D'`") from error
    return text


def _checked_reference(text: str) -> str:
    return _checked_expression(text) if is_expression(text) else text


def _checked_expression(text: str) -> str:
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        sqlglot.parse_one(f"SELECT (\n{text}\n)", read="databricks")
    except SqlglotError as error:
        raise BadSetting(
            f"{text!r} is not an expression of Spark SQL, such as `coalesce(a, b)`; a column or a nested field is "
            "written as `name` or `name.field`"
        ) from error
    return text


def _checked_signal(pattern: str) -> str:
    return SignalName.parse(pattern).pattern


def wrap_text(value: Any) -> Any:
    """Return one text as a tuple of it. Another value is returned as it is."""
    return (value,) if isinstance(value, str) else value


def convert_value(kind: Any, value: Any) -> Any:
    """Return the value converted to a type; None if it is invalid."""
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError:
        return None


Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Name = Annotated[Text, AfterValidator(_checked_name)]
Root = Annotated[Text, AfterValidator(_checked_root)]
Prefix = Annotated[Text, AfterValidator(_checked_prefix)]
Folder = Annotated[Text, AfterValidator(_checked_folder)]
Bucket = Annotated[Text, AfterValidator(_checked_bucket)]
QueueUrl = Annotated[Text, require_match(r"https?://(?s:.*)", " is not a URL of a queue; `name` takes a queue's name")]
QueueName = Annotated[
    Text, require_match(r"[A-Za-z0-9_-]{1,80}(\.fifo)?", " is not a name of a queue; `url` takes a queue's URL")
]
TOPIC = r"arn:aws[a-z-]*:sns:(?P<region>[a-z0-9-]+):(?P<account>\d{12}):(?P<name>[A-Za-z0-9_-]{1,256}(\.fifo)?)"
TopicArn = Annotated[
    Text, require_match(TOPIC, " is not an ARN of an SNS topic (arn:aws:sns:<region>:<account>:<name>)")
]
Cron = Annotated[Text, AfterValidator(_checked_cron)]
SimpleType = Annotated[Text, AfterValidator(_checked_simple_type)]
Type = Annotated[Text, AfterValidator(_checked_type)]
Condition = Annotated[Text, AfterValidator(_checked_condition)]
Expression = Annotated[Text, AfterValidator(_checked_expression)]
Reference = Annotated[Text, AfterValidator(_checked_reference)]
SignalPattern = Annotated[Text, AfterValidator(_checked_signal)]
Owner = Annotated[
    Text, require_match(r"team:\w+|[^@\s:]+@[^@\s]+\.[^@\s]+", " is neither team:<name> nor an email address")
]


def _checked_path(text: str) -> str:
    if is_expression(text):
        raise BadSetting(f"{text!r} is an expression; name a column, or a nested field as `name.field`")
    return text


#: A column, or a nested field as `name.field`.
ColumnPath = Annotated[Text, AfterValidator(_checked_path)]
#: One of them, or a list.
ColumnPaths = Annotated[
    tuple[ColumnPath, ...], BeforeValidator(wrap_text, json_schema_input_type=ColumnPath | list[ColumnPath])
]
#: Columns that a table may be clustered by: Delta's limit.
MAX_CLUSTER_COLUMNS = 4


def _checked_cluster_columns(names: tuple[str, ...]) -> tuple[str, ...]:
    lower = [fold_name(name) for name in names]
    if twice := sorted({name for name in names if lower.count(fold_name(name)) > 1}):
        raise BadSetting(f"{', '.join(twice)} is named twice")
    if len(names) > MAX_CLUSTER_COLUMNS:
        raise BadSetting(
            f"{len(names)} columns, and Delta clusters by {MAX_CLUSTER_COLUMNS} at most: keep those that queries "
            "select rows by"
        )
    return names


#: The columns that a table is clustered by.
ClusterColumns = Annotated[ColumnPaths, AfterValidator(_checked_cluster_columns)]


class Model(BaseModel):
    """A section of `lake.yaml`: frozen, no unknown fields, docstrings become the schema's descriptions."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


def _checked_pattern(text: str) -> str:
    KeyPattern.parse(text)
    return text


#: A pattern of keys, as text.
Pattern = Annotated[Text, AfterValidator(_checked_pattern)]
