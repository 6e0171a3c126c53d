"""Make a Spark server do the work of runs, then have it write its classes: `python platform/jvm/record_classes.py`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import run_table
from tidegate.platform.lake.spark.session import isolated_session
from tidegate.platform.local.spark.conf import SMALL_DATA
from tidegate.platform.local.spark.jars import RECORDING, class_archive, jars_folder, write_class_archive
from tidegate.platform.local.stack import LocalStack
from tidegate.platform.silver.merge import merge_table
from tidegate.platform.testing import TestLake

JAVA = "spark.driver.defaultJavaOptions"
COMPILED = {"spark.sql.codegen.factoryMode": "FALLBACK", "spark.sql.codegen.wholeStage": "true"}
SILVER = {"keys": ["id"], "order": "at", "every": 10}
TABLES: list[dict[str, Any]] = [
    {"name": "lines", "prefix": "lines/", "format": "json", "columns": {"id": "int", "at": "int"}, "silver": SILVER},
    {"name": "cells", "prefix": "cells/", "format": "csv"},
    {"name": "files", "prefix": "files/", "mode": "register"},
]


def main() -> None:
    """Write the archive from scratch."""
    jars = jars_folder()
    if old := class_archive(jars):
        old.unlink()
    java = f"{SMALL_DATA[JAVA]} {RECORDING}"
    with tempfile.TemporaryDirectory(prefix="tidegate-classes-") as folder:
        home = Path(folder)
        with LocalStack(home / "stack", aws_port=0, spark_port=0, spark_conf=SMALL_DATA | {JAVA: java}) as stack:
            lake = TestLake(stack, home, "classes", TABLES, {})
            try:
                work(lake)
            finally:
                lake.lake.delta.session.stop()
            assert stack.spark.process is not None
            path = write_class_archive(jars, stack.spark.process.pid)
    print(f"{path}: {path.stat().st_size / 1e6:.0f} MB")


def work(lake: TestLake) -> None:
    """Run bronze, silver and SQL, interpreted as in tests; then one compiled query for the classes that those need."""
    lake.put("lines/1.json", '{"id": 1, "at": 1}\nno JSON\n')
    lake.put("cells/1.csv", "id,v\n1,x\n")
    with isolated_session(lake.stack.spark.remote) as session:
        session.range(3).selectExpr("id", "id AS at").coalesce(1).write.parquet(f"s3a://{lake.bucket}/files/")
    lake.intake()
    for name in ("lines", "cells", "files"):
        run_table(lake.lake.table(lake.key(name)), RunOptions(run_id="classes"))
    merge_table(lake.lake, lake.spec("lines"))
    for name, value in COMPILED.items():
        lake.lake.delta.session.conf.set(name, value)
    lake.sql("SELECT count(*), max(lines.at) FROM silver.lines JOIN bronze.files USING (id)")


if __name__ == "__main__":
    main()
