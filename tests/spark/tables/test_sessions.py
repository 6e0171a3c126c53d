"""The settings that sessions and servers get are Spark's and Delta's."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import cast

from pyspark.sql.connect.proto import ConfigRequest
from pyspark.sql.connect.session import SparkSession as ConnectSession

from tests.support.tracked import ROOT
from tidegate.platform.lake.spark.session import isolated_session
from tidegate.platform.testing import TestLake

#: Names that begin as settings do, and are properties of tables or attributes of files.
_NOT_SETTINGS = {"spark.sql.sources.provider", "spark.sql.partitionProvider", "spark.sql.catalyst.type"}

#: Settings of a server, which no session can change.
_OF_A_SERVER = {
    "spark.sql.catalog.spark_catalog",
    "spark.sql.catalog.tidegate",
    "spark.sql.catalogImplementation",
    "spark.sql.extensions",
    "spark.sql.filesourceTableRelationCacheSize",
    "spark.sql.ui.explainMode",
    "spark.sql.warehouse.dir",
}


def _named_settings() -> set[str]:
    folders = [ROOT / name for name in ("assets", "platform", "resources", "sensors")]
    files = [path for folder in folders for kind in ("*.py", "*.java") for path in folder.rglob(kind)]
    assert len(files) > 400
    names = re.compile(r"\"(spark\.(?:sql|databricks)\.[A-Za-z0-9_.]*[A-Za-z0-9_])[\"=]")
    return {name for path in files if "test" not in path.parts for name in names.findall(path.read_text())}


def test_each_setting_is_one_that_spark_has(tidegate_lake: Callable[..., TestLake]) -> None:
    """Spark takes a misspelt setting without a word, and it has no effect."""
    named = _named_settings() - _NOT_SETTINGS - _OF_A_SERVER
    assert len(named) > 80
    with isolated_session(tidegate_lake([{"name": "t", "prefix": "t/"}]).stack.spark.remote) as session:
        # Delta adds its settings to Spark's when this class is loaded.
        loaded = "reflect('org.apache.spark.sql.delta.sources.DeltaSQLConf', 'DELTA_SNAPSHOT_PARTITIONS')"
        session.sql(f"SELECT {loaded}").collect()
        asked = ConfigRequest.Operation(is_modifiable=ConfigRequest.IsModifiable(keys=sorted(named)))
        pairs = cast(ConnectSession, session).client.config(asked).pairs
    assert [name for name, is_modifiable in pairs if is_modifiable != "true"] == []
