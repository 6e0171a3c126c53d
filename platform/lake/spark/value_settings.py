"""The settings of Spark that decide how a SQL text is read and what a value becomes.

A server has settings of its own. Each session of Tidegate is given these before its first statement, so that a lake has
the same values on every server. Sessions that the server copies from such a session have them too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from pyspark.sql.connect.session import SparkSession as ConnectSession

from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.lake.spark.session import isolated_session

#: How a text of SQL is read.
_TEXTS = {
    # Otherwise Spark replaces ${env:…} in every text, in quoted names of columns too, and a producer chooses those.
    "spark.sql.variable.substitute": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.orderByOrdinal": "true",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled": "false",
    "spark.sql.legacy.interval.enabled": "false",
    "spark.sql.legacy.literal.pickMinimumPrecision": "true",
    "spark.sql.legacy.setopsPrecedence.enabled": "false",
}

#: What a value becomes in an expression, a cast or a column of another type.
_EXPRESSIONS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.storeAssignmentPolicy": "ANSI",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.legacy.decimal.retainFractionDigitsOnTruncate": "false",
    "spark.sql.mapKeyDedupPolicy": "EXCEPTION",
    "spark.sql.legacy.disableMapKeyNormalization": "false",
    "spark.sql.legacy.charVarcharAsString": "false",
    "spark.sql.charAsVarchar": "false",
    "spark.sql.preserveCharVarcharTypeInfo": "false",
    "spark.sql.readSideCharPadding": "true",
    "spark.sql.legacy.castComplexTypesToString.enabled": "false",
    "spark.sql.legacy.doLooseUpcast": "false",
    "spark.sql.legacy.followThreeValuedLogicInArrayExists": "true",
    "spark.sql.legacy.javaCharsets": "false",
    "spark.sql.legacy.codingErrorAction": "false",
    "spark.sql.legacy.negativeIndexInArrayInsert": "false",
    "spark.sql.legacy.truncateForEmptyRegexSplit": "false",
    "spark.sql.legacy.typeCoercion.datetimeToString.enabled": "false",
    "spark.sql.function.concatBinaryAsString": "false",
    "spark.sql.function.eltOutputAsString": "false",
    "spark.sql.icu.caseMappings.enabled": "true",
    "spark.sql.chunkBase64String.enabled": "true",
    "spark.sql.jsonGenerator.ignoreNullFields": "true",
    "spark.sql.json.enablePartialResults": "true",
    "spark.sql.json.enableExactStringParsing": "true",
    "spark.sql.legacy.json.allowEmptyString.enabled": "false",
    "spark.sql.variant.allowDuplicateKeys": "false",
}

#: How values are read from files and written to them.
_FILES = {
    # Readers that go by Arrow take an INT96, Spark's default, for nanoseconds: years after 2262 become others.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Writers leave NaN out of a file's bounds, and Spark, for which NaN is the greatest number, skips rows by these.
    # Delta leaves out whole files by the table's own bounds all the same.
    "spark.sql.parquet.filterPushdown": "false",
    "spark.sql.parquet.aggregatePushdown": "false",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.binaryAsString": "false",
    "spark.sql.parquet.int96AsTimestamp": "true",
    "spark.sql.parquet.int96TimestampConversion": "false",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.parquet.fieldId.read.enabled": "false",
    "spark.sql.parquet.mergeSchema": "false",
    "spark.sql.parquet.writeLegacyFormat": "false",
    "spark.sql.legacy.parquet.nanosAsLong": "false",
    "spark.sql.legacy.parquet.returnNullStructIfAllFieldsMissing": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
}

#: All of them. Except for the first of texts, the zone and the first two of files, they are the defaults of Spark.
VALUE_SETTINGS: Mapping[str, str] = _TEXTS | _EXPRESSIONS | _FILES

#: Names of UTC without summer time that Java knows.
_UTC = ("UTC", "Etc/UTC", "GMT", "Etc/GMT", "Z", "+00:00")
_TIME_ZONE = "spark.sql.session.timeZone"
_LEGACY = "spark.sql.legacy."


def server_settings(remote: SparkRemote) -> dict[str, str]:
    """Return the settings that a session of another client has: those that decide values, and all that are set."""
    with isolated_session(remote) as session:
        asked = cast(ConnectSession, session).client.get_config_dict(*VALUE_SETTINGS)
        return {name: value or "" for name, value in asked.items()} | session.conf.getAll


def other_values(found: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that give other values than a session of Tidegate has, by name.

    Args:
        found: all settings of a session. Of Spark's older ways, `spark.sql.legacy.…`, none may be set that Tidegate
            does not set itself.
    """
    differ = {name: found.get(name, "") for name in VALUE_SETTINGS if not _is_equal(name, found.get(name, ""))}
    older = {name: value for name, value in found.items() if name.startswith(_LEGACY) and name not in VALUE_SETTINGS}
    return differ | older


def _is_equal(name: str, value: str) -> bool:
    return value in _UTC if name == _TIME_ZONE else value.lower() == VALUE_SETTINGS[name].lower()
