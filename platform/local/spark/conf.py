"""The configuration of the local Spark Connect server: the text of its two files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tidegate.platform.lake.spark.value_settings import VALUE_SETTINGS
from tidegate.platform.local.spark.jars import class_archive_options

LOG_STORE = "io.tidegate.storage.DynamoDbLogStore"

#: A local server lives for minutes and runs many short queries: the optimizing compiler costs more on two cores than it
#: saves. With one compiler only, the default code cache is too small and would thrash.
_LIGHTLY_COMPILED = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"

#: For a server that reads a few rows at a time, as in tests (decision 21). On many rows these settings are slower.
SMALL_DATA = {
    # Each short query would be compiled to Java again, which takes longer than running it.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # A task costs more than a few rows. VACUUM would plan 10,000 tasks.
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    # Tests open hundreds of tables for seconds each. Their snapshots would stay in memory for an hour, and slow down
    # each garbage collection.
    "spark.databricks.delta.delta.log.cacheSize": "40",
    "spark.driver.defaultJavaOptions": f"{_LIGHTLY_COMPILED} -Xms1200m -Xmn800m",
}

#: For such a server that a whole session of tests shares. The optimizing compiler pays for itself if it compiles only
#: what runs ten times as often as by default (decision 22).
SMALL_DATA_FOR_LONG = SMALL_DATA | {
    "spark.driver.defaultJavaOptions": "-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 "
    "-XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000 "
    # Lightly compiled code has 94 MB after 185 CPU seconds, and by default room for 117. Such a server lives for 1,500:
    # what does not fit is dropped, and compiled again.
    "-XX:ReservedCodeCacheSize=512m "
    # A larger heap is collected less often.
    "-Xms2000m -Xmn800m",
}

#: Settings that are the same for every server.
_FIXED = {
    "spark.driver.defaultJavaOptions": _LIGHTLY_COMPILED,
    "spark.sql.catalogImplementation": "in-memory",
    # Clients that are not Tidegate's see the same values.
    **VALUE_SETTINGS,
    "spark.sql.shuffle.partitions": "4",
    # Adaptive execution plans again after each stage, which only helps with long stages.
    "spark.sql.adaptive.enabled": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Spark prints the plan of each execution for its UI, also if that is off. This mode prints the least.
    "spark.sql.ui.explainMode": "simple",
    # Otherwise a session would keep its first listing of lake.intake and lake.quarantine.
    "spark.sql.filesourceTableRelationCacheSize": "0",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # The default of 50 makes every small read of a log take seconds.
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.databricks.delta.commit.idempotencyCheck.enabled": "true",
    # The .crc file next to each commit costs a request per commit, and no reader here uses it.
    "spark.databricks.delta.writeChecksumFile.enabled": "false",
    # Its content costs a Spark job at each commit, which lists all files.
    "spark.databricks.delta.allFilesInCrc.enabled": "false",
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
logger.truncate.name = org.apache.spark.sql.catalyst.util.SparkStringUtils
logger.truncate.level = error
"""


def log4j_properties() -> str:
    """Return settings that write warnings and errors to stderr, which is the log file of the process."""
    return _LOG4J


def spark_conf(
    *,
    home: Path,
    port: int,
    jars: Path,
    aws: Mapping[str, str],
    cores: int,
    memory: str,
    log_store: str | None,
    own_catalog: bool,
    class_archive: Path | None = None,
) -> dict[str, str]:
    """Return every setting of the server, so that the machine's own Spark configuration has no effect.

    Args:
        home: folder for the files that the server writes outside S3.
        port: port on loopback.
        jars: folder of the jars besides Spark's own.
        aws: `AWS_ENDPOINT_URL`, region and keys of its S3.
        cores: worker threads of the one JVM.
        memory: size of the heap, in Java's notation.
        log_store: class that publishes Delta commits on S3; None takes Delta's own single-driver store.
        own_catalog: whether to configure the `tidegate` catalog with our procedures.
        class_archive: archive of classes that the JVM need not read and verify again (see `jars.py`). The JVM
            ignores an archive that does not fit.
    """
    java = _java_options(home)
    if class_archive is not None:
        java += class_archive_options(class_archive)
    conf = {
        "spark.master": f"local[{cores}]",
        "spark.app.name": "tidegate",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": memory,
        "spark.driver.extraClassPath": f"{jars}/*",
        "spark.driver.extraJavaOptions": " ".join(f'"{option}"' for option in java),
        "spark.sql.warehouse.dir": (home / "warehouse").as_uri(),
        **_FIXED,
    }
    conf |= {f"spark.hadoop.{key}": value for key, value in _s3a(home, aws).items()}
    if own_catalog:
        conf["spark.sql.catalog.tidegate"] = "io.tidegate.spark.TidegateCatalog"
    if log_store is not None:
        conf["spark.delta.logStore.s3a.impl"] = log_store
        conf["spark.delta.logStore.s3.impl"] = log_store
        # Saves two thirds of the requests, and makes create(overwrite=false) overwrite silently. It is only safe
        # together with a log store that publishes with If-None-Match.
        conf["spark.hadoop.fs.s3a.performance.flags"] = "*"
        # Region and credentials are those of S3A.
        conf[f"spark.{LOG_STORE}.ddb.endpoint"] = aws["AWS_ENDPOINT_URL"]
    return conf


def _java_options(home: Path) -> list[str]:
    return [
        "-XX:+UseSerialGC",
        # The size that the classes need. While it grows to that size, each step would collect the whole heap.
        "-XX:MetaspaceSize=128m",
        # This parser is found in any case, but by a search of all jars for each answer of S3.
        "-Djavax.xml.stream.XMLInputFactory=org.apache.hadoop.shaded.com.ctc.wstx.stax.WstxInputFactory",
        "-Duser.timezone=UTC",
        f"-Dlog4j2.configurationFile={(home / 'log4j2.properties').as_uri()}",
        f"-Dderby.system.home={home / 'derby'}",
        f"-Djava.io.tmpdir={home / 'tmp'}",
    ]


def _s3a(home: Path, aws: Mapping[str, str]) -> dict[str, str]:
    return {
        "fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "fs.s3a.endpoint": aws["AWS_ENDPOINT_URL"],
        "fs.s3a.endpoint.region": aws["AWS_REGION"],
        "fs.s3a.path.style.access": "true",
        "fs.s3a.connection.ssl.enabled": "false",
        "fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
        "fs.s3a.access.key": aws["AWS_ACCESS_KEY_ID"],
        "fs.s3a.secret.key": aws["AWS_SECRET_ACCESS_KEY"],
        "fs.s3a.connection.maximum": "96",
        # The default, analytics, remembers objects by name and gives bytes of an object that was overwritten.
        "fs.s3a.input.stream.type": "classic",
        # Pauses double from half a second: about a minute in total. With the default of 20 a request hangs for days.
        "fs.s3a.retry.throttle.limit": "7",
        "fs.s3a.buffer.dir": str(home / "tmp" / "s3a"),
    }


def properties_text(conf: Mapping[str, str]) -> str:
    """Return `conf` in the format of spark-submit's --properties-file."""
    return "".join(f"{key}={value}\n" for key, value in _escape_conf(conf).items())


def _escape_conf(conf: Mapping[str, str]) -> dict[str, str]:
    return {key: value.replace("\\", "\\\\") for key, value in conf.items()}
