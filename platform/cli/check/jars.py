"""Which jars the Spark server commits with, and whether they are those that this program was built with."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.metadata import version

from pyspark.errors import PySparkException

from tidegate.platform.cli.check.findings import Failed, Warned
from tidegate.platform.core.wording import first_line
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.results import ServerJar
from tidegate.platform.lake.spark.versions import how_to_build, spark_minor, spark_of_jar
from tidegate.platform.local.spark.jars import OWN_JAR, known_jars_with, other_build

_CURE = "put those that `tidegate jars export DIR` writes on its class path, and start it again"


def check_jars(delta: Delta, spark: str) -> str:
    """Check which jars the server commits with.

    Args:
        delta: of the server.
        spark: version of the server.

    Raises:
        Failed: a jar is missing or is for another Spark, or ours or Delta's is not the one of this program.
        Warned: another jar is not the one that this program was built with.
    """
    try:
        answered = delta.component_jars()
    except PySparkException as error:
        raise Failed(
            f"the server does not know tidegate.system.jars ({first_line(error)}): its jar of Tidegate is missing, or "
            f"older than this program: {_CURE}"
        ) from None
    if missing := [component for component, jar in answered.items() if jar is None]:
        raise Failed(f"the server has no {', '.join(missing)}: {_CURE}")
    jars = {component: jar for component, jar in answered.items() if jar is not None}
    if jars["Tidegate"].name != OWN_JAR:
        raise Failed(f"the server has {jars['Tidegate'].name}, this program needs {OWN_JAR}: {_CURE}")
    delta_version = version("delta-spark")
    if not jars["Delta"].name.endswith(f"-{delta_version}.jar"):
        raise Failed(f"the server has {jars['Delta'].name}, this Python has delta-spark {delta_version}: {_CURE}")
    if (other := spark_of_jar(jars["Delta"].name)) not in ("", spark_minor(spark)):
        raise Failed(
            f"the server is Spark {spark} and has {jars['Delta'].name}, which is for Spark {other}: use the jars of "
            f"{how_to_build(spark_minor(spark))}"
        )
    known = known_jars_with(jars["Delta"].name)
    if (wanted := known.get(OWN_JAR)) is not None and (found := jars["Tidegate"].sha256) not in (None, wanted):
        raise Failed(f"the server has {other_build(str(found), wanted)}: {_CURE}")
    if others := list(_other_jars(jars, known)):
        raise Warned(f"the server has {', '.join(others)}, which were not tested together: {_CURE}")
    return ", ".join(jar.name for jar in jars.values())


def _other_jars(jars: Mapping[str, ServerJar], known: Mapping[str, str]) -> Iterator[str]:
    """Return the jars of other versions or bytes than those that this program was built with."""
    ours = {_artifact(name): name for name in known}
    for jar in jars.values():
        name = ours.get(_artifact(jar.name))
        if name is not None and name != jar.name:
            yield f"{jar.name} instead of {name}"
        elif name is not None and jar.sha256 not in (None, known[name]):
            yield f"a {name} of other bytes (SHA-256 {str(jar.sha256)[:12]}…) than {known[name][:12]}…"


def _artifact(name: str) -> str:
    """Return the name of a jar up to its version."""
    return re.split(r"-(?=\d)", name, maxsplit=1)[0]
