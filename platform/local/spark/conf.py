"""The configuration of the local Spark Connect server, as text of its two files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tidegate.platform.local.spark.class_archive import class_archive_options

LOG_STORE = "io.tidegate.storage.DynamoDbLogStore"

#: For a server that sees a few rows at a time, as tests do (decision 21). On many rows it is the other way round.
SMALL_DATA = {
    # Each short query would be compiled to Java anew, which takes longer than to run it.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # A task for a few rows costs more than the rows. VACUUM would plan 10,000 of them.
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    # Hundreds of tables, each for seconds: their snapshots would be kept for an hour, and looked at by each collection.
    "spark.databricks.delta.delta.log.cacheSize": "40",
    "spark.driver.defaultJavaOptions": "-Xms1200m -Xmn800m",
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
    """Warnings and errors to stderr, which the process writes to its log file."""
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
    """Every setting of the server; nothing is left to the machine's own Spark configuration.

    Args:
        home: Folder for everything the server writes outside S3.
        port: Port on loopback.
        jars: Folder of jars on top of Spark's own.
        aws: `AWS_ENDPOINT_URL`, region and keys of the S3 to use.
        cores: Worker threads of the one JVM.
        memory: Its heap, in Java's notation.
        log_store: Class that publishes Delta commits on S3; None leaves Delta's own single-driver store.
        own_catalog: Whether the `tidegate` catalog (our procedures) is there.
        class_archive: Classes as the JVM keeps them, so that it need not read and verify them again (see
            `class_archive.py`); one that does not fit is ignored by the JVM.
    """
    java = [
        # A local server lives for minutes and runs many short queries: what the optimizing compiler takes from two
        # cores it never gives back. One compiler alone comes with a small code cache, which would thrash.
        "-XX:TieredStopAtLevel=1",
        "-XX:ReservedCodeCacheSize=256m",
        "-XX:+UseSerialGC",
        # What the classes take: the heap would be collected whole at each step on the way there.
        "-XX:MetaspaceSize=128m",
        # The one that is found anyhow, but by a search of all jars for each answer of S3.
        "-Djavax.xml.stream.XMLInputFactory=org.apache.hadoop.shaded.com.ctc.wstx.stax.WstxInputFactory",
        "-Duser.timezone=UTC",
        f"-Dlog4j2.configurationFile={(home / 'log4j2.properties').as_uri()}",
        f"-Dderby.system.home={home / 'derby'}",
        f"-Djava.io.tmpdir={home / 'tmp'}",
    ]
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
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
        # Plans again after each stage, which pays where stages are long.
        "spark.sql.adaptive.enabled": "false",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # A session would go on with the listing of its first look at lake.intake and lake.quarantine.
        "spark.sql.filesourceTableRelationCacheSize": "0",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # The default of 50 makes every small read of a log take seconds.
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.databricks.delta.commit.idempotencyCheck.enabled": "true",
        # The .crc beside each commit: one more request per commit, read by nobody here.
        "spark.databricks.delta.writeChecksumFile.enabled": "false",
        # What would be in it: a Spark job at each commit, for a list of all files.
        "spark.databricks.delta.allFilesInCrc.enabled": "false",
    }
    conf |= {f"spark.hadoop.{key}": value for key, value in _s3a(home, aws).items()}
    if own_catalog:
        conf["spark.sql.catalog.tidegate"] = "io.tidegate.spark.TidegateCatalog"
    if log_store is not None:
        conf["spark.delta.logStore.s3a.impl"] = log_store
        conf["spark.delta.logStore.s3.impl"] = log_store
        # Saves two thirds of the requests, and makes create(overwrite=false) overwrite without a word: safe
        # only together with a log store that publishes with If-None-Match.
        conf["spark.hadoop.fs.s3a.performance.flags"] = "*"
        # Region and credentials are S3A's.
        conf[f"spark.{LOG_STORE}.ddb.endpoint"] = aws["AWS_ENDPOINT_URL"]
    return conf


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
        # Pauses that double from half a second: about a minute. The default of 20 hangs for days.
        "fs.s3a.retry.throttle.limit": "7",
        "fs.s3a.buffer.dir": str(home / "tmp" / "s3a"),
    }


def properties_text(conf: Mapping[str, str]) -> str:
    """`conf` in the notation of spark-submit's --properties-file."""
    return "".join(f"{key}={value}\n" for key, value in _escaped(conf).items())


def _escaped(conf: Mapping[str, str]) -> dict[str, str]:
    return {key: value.replace("\\", "\\\\") for key, value in conf.items()}
