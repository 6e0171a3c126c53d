"""The settings that every Spark Connect server of a lake has, wherever it runs, and the texts of its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tidegate.platform.core.config.commits import log_store_class
from tidegate.platform.lake.spark.log_stores import LOG_STORE_S3, LOG_STORE_S3A
from tidegate.platform.lake.spark.value_settings import VALUE_SETTINGS
from tidegate.platform.local.spark.jars import class_archive_options

#: The log store by default.
LOG_STORE = log_store_class("dynamodb")

#: The catalog of our procedures.
PROCEDURES = {"spark.sql.catalog.tidegate": "io.tidegate.spark.TidegateCatalog"}

#: Settings of every server, in addition to the procedures and to those of `log_store_settings`. For people who start a
#: server themselves, docs/operate/aws.md gives the reasons.
LAKE_SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # Clients that are not Tidegate's see the same values.
    **VALUE_SETTINGS,
    # Otherwise a session would keep its first listing of lake.intake and lake.quarantine.
    "spark.sql.filesourceTableRelationCacheSize": "0",
    # The default of 50 makes every small read of a log take seconds.
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.databricks.delta.commit.idempotencyCheck.enabled": "true",
    # The .crc file next to each commit costs a request per commit, and no reader here uses it.
    "spark.databricks.delta.writeChecksumFile.enabled": "false",
    # Its content costs a Spark job at each commit, which lists all files.
    "spark.databricks.delta.allFilesInCrc.enabled": "false",
    "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
    # The default, analytics, remembers objects by name and gives bytes of an object that was overwritten.
    "spark.hadoop.fs.s3a.input.stream.type": "classic",
    # Pauses double from half a second: about a minute in total. With the default of 20 a request hangs for days.
    "spark.hadoop.fs.s3a.retry.throttle.limit": "7",
}

_LOG4J = """\
status = error
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{yyyy-MM-dd'T'HH:mm:ss.SSSX} %p %c{1}: %m%n%ex
# Says on every start that it found no native library and no metrics file: true, and of no use.
logger.native.name = org.apache.hadoop.util.NativeCodeLoader
logger.native.level = error
logger.metrics.name = org.apache.hadoop.metrics2
logger.metrics.level = error
# Warns about every plan that is longer than the cut it applies by itself.
logger.truncate.name = org.apache.spark.util.SparkStringUtils
logger.truncate.level = error
# Warns at each copy of a session that it has a setting which a later Spark may not have.
logger.settings.name = org.apache.spark.sql.internal.SQLConf
logger.settings.level = error
# Warn, one of them with a trace, about folders of the lake that have no object yet.
logger.sink.name = org.apache.spark.sql.execution.streaming.sinks.FileStreamSink
logger.sink.level = error
logger.listing.name = org.apache.spark.util.HadoopFSUtils
logger.listing.level = error
# Warns that a schema exists where it is made unless it exists.
logger.namespace.name = org.apache.spark.sql.execution.datasources.v2.CreateNamespaceExec
logger.namespace.level = error
"""


def log_store_settings(log_store: str = LOG_STORE) -> dict[str, str]:
    """Return the settings that let a log store publish the commits of Delta.

    Args:
        log_store: its class. It must publish with If-None-Match.
    """
    return {
        LOG_STORE_S3A: log_store,
        LOG_STORE_S3: log_store,
        # Saves two thirds of the requests, and makes create(overwrite=false) overwrite silently. It is only safe
        # together with such a log store.
        "spark.hadoop.fs.s3a.performance.flags": "*",
    }


def endpoint_settings(endpoint: str) -> dict[str, str]:
    """Return the settings for another AWS than Amazon's: of S3A and of the log store.

    Args:
        endpoint: URL of all of its services.
    """
    return {
        "spark.hadoop.fs.s3a.endpoint": endpoint,
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": str(not endpoint.startswith("http:")).lower(),
        # Region and credentials are those of S3A.
        f"spark.{LOG_STORE}.ddb.endpoint": endpoint,
    }


def process_settings(
    home: Path,
    jars: Path,
    host: str,
    port: int,
    memory: str,
    class_archive: Path | None,
    java_options: Sequence[str] = (),
) -> dict[str, str]:
    """Return the settings of the process of a server.

    Args:
        home: folder for the files that the server writes outside S3.
        jars: folder of the jars besides Spark's own.
        host: address that it listens on.
        port: port that it listens on.
        memory: size of the heap, in Java's notation.
        class_archive: archive of classes that the JVM need not read and verify again (see `jars.py`). The JVM
            ignores an archive that does not fit.
        java_options: further options of the JVM.
    """
    java = [
        *java_options,
        # The size that the classes need. While it grows to that size, each step would collect the whole heap.
        "-XX:MetaspaceSize=128m",
        # This parser is found in any case, but by a search of all jars for each answer of S3.
        "-Djavax.xml.stream.XMLInputFactory=org.apache.hadoop.shaded.com.ctc.wstx.stax.WstxInputFactory",
        "-Duser.timezone=UTC",
        f"-Dlog4j2.configurationFile={(home / 'log4j2.properties').as_uri()}",
        f"-Dderby.system.home={home / 'derby'}",
        f"-Djava.io.tmpdir={home / 'tmp'}",
    ]
    if class_archive is not None:
        java += class_archive_options(class_archive)
    return {
        "spark.app.name": "tidegate",
        "spark.connect.grpc.binding.address": host,
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.memory": memory,
        "spark.driver.extraClassPath": f"{jars}/*",
        "spark.driver.extraJavaOptions": " ".join(f'"{option}"' for option in java),
        "spark.sql.warehouse.dir": (home / "warehouse").as_uri(),
        "spark.sql.catalogImplementation": "in-memory",
        # Its pages have no login.
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Spark prints the plan of each execution for its UI, also if that is off. This mode prints the least.
        "spark.sql.ui.explainMode": "simple",
        "spark.hadoop.fs.s3a.buffer.dir": str(home / "tmp" / "s3a"),
    }


def log4j_properties() -> str:
    """Return settings that write warnings and errors to stderr."""
    return _LOG4J


def properties_text(conf: Mapping[str, str]) -> str:
    """Return `conf` in the format of spark-submit's --properties-file."""
    return "".join(f"{key}={value}\n" for key, value in _escape_conf(conf).items())


def _escape_conf(conf: Mapping[str, str]) -> dict[str, str]:
    return {key: value.replace("\\", "\\\\") for key, value in conf.items()}
