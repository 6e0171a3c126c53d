"""The settings of the Spark Connect server of the local platform."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tidegate.platform.local.spark.server_settings import (
    LAKE_SETTINGS,
    PROCEDURES,
    endpoint_settings,
    log_store_settings,
    process_settings,
)

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

#: Settings of a small server on this machine.
_LOCAL = {
    "spark.driver.defaultJavaOptions": _LIGHTLY_COMPILED,
    "spark.sql.shuffle.partitions": "4",
    # Adaptive execution plans again after each stage, which only helps with long stages.
    "spark.sql.adaptive.enabled": "false",
}


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
    conf = process_settings(home, jars, "127.0.0.1", port, memory, class_archive, ["-XX:+UseSerialGC"])
    conf |= {
        "spark.master": f"local[{cores}]",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    conf |= LAKE_SETTINGS | _LOCAL | endpoint_settings(aws["AWS_ENDPOINT_URL"])
    conf |= {f"spark.hadoop.{key}": value for key, value in _s3a(aws).items()}
    if own_catalog:
        conf |= PROCEDURES
    return conf | (log_store_settings(log_store) if log_store is not None else {})


def _s3a(aws: Mapping[str, str]) -> dict[str, str]:
    return {
        "fs.s3a.endpoint.region": aws["AWS_REGION"],
        "fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
        "fs.s3a.access.key": aws["AWS_ACCESS_KEY_ID"],
        "fs.s3a.secret.key": aws["AWS_SECRET_ACCESS_KEY"],
        "fs.s3a.connection.maximum": "96",
    }
