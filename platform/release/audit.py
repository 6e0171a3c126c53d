"""`make audit`: what is known against the packages and jars of this commit, and secrets that were committed.

Exit code 1 if there is a finding, 3 if there is none but the database of vulnerabilities cannot be reached. `make` ends
with 2 for each of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pyspark

from tidegate.platform.core.errors import TidegateError, UnavailableError
from tidegate.platform.jvm.maven_lock import REPOSITORY, differences, read_lock, strangers
from tidegate.platform.jvm.wheels import ROOT, target_of
from tidegate.platform.lake.spark.versions import SPARKS
from tidegate.platform.release.committed_secrets import committed_secrets
from tidegate.platform.release.components import Component, described_jars, jars, packages
from tidegate.platform.release.vulnerabilities import DATABASE, Database, Vulnerability, accepted_ids

UNREACHABLE = 3


def main() -> int:
    """Compare the checkout with what is known, print what is found, and return the exit code."""
    components, found = list[Component](), list(differences(read_lock(), REPOSITORY))
    dists = [target_of(spark) / "dist" for spark in SPARKS]
    for dist in dists:
        found += strangers(read_lock(shipped=True), dist)
        found += [] if any(dist.glob("*.jar")) else [f"{dist} has no jar that could be compared: run `make audit`"]
    locks = ("deploy", "local", *(f"spark-{spark}" for spark in SPARKS[:-1]))
    parts = [partial(packages, ROOT / "requirements" / f"{name}.txt") for name in locks]
    parts += [partial(jars, dist) for dist in dists]
    parts += [partial(spark_jars, spark) for spark in SPARKS]
    for part in parts:
        try:
            components += part()
        except TidegateError as error:
            found.append(str(error))
    try:
        found += committed_secrets(ROOT)
    except ChildProcessError as error:
        found.append(f"secrets were not looked for: {error}")
    address = sys.argv[1] if len(sys.argv) > 1 else DATABASE
    return audit(list(dict.fromkeys(components)), Database(address), found, print)


def spark_jars(spark: str) -> list[Component]:
    """Return the jars that a Spark brings, and print which of them do not say what they are.

    Raises:
        UnavailableError: an older Spark is not installed.
    """
    if spark == SPARKS[-1]:
        folders = [Path(pyspark.__file__).parent / "jars"]
    else:
        folders = list((ROOT / f".venv-spark-{spark}").glob("lib/python*/site-packages/pyspark/jars"))
    if not folders:
        raise UnavailableError(f"Spark {spark} is not installed, so its jars were not compared: run `make audit`")
    found, silent = described_jars(folders[0])
    if silent:
        print(
            f"{len(silent)} jars of Spark {spark} do not say what they are, and were not compared: {' '.join(silent)}"
        )
    return found


def audit(components: Sequence[Component], database: Database, found: Sequence[str], say: Callable[[str], None]) -> int:
    """Compare components with the database, say what is found, and return the exit code.

    Args:
        components: packages and jars.
        database: knows vulnerabilities.
        found: what was found elsewhere.
        say: takes the lines.
    """
    for line in found:
        say(f"FOUND {line}")
    reasons = accepted_ids()
    left, seen = 0, set[Vulnerability]()
    try:
        for vulnerability in database.vulnerabilities(components):
            if vulnerability in seen:
                continue
            seen.add(vulnerability)
            why = next((reasons[name] for name in vulnerability.names if name in reasons), None)
            say(f"FOUND {vulnerability}" if why is None else f"stays {vulnerability}; {why}")
            left += why is None
    except UnavailableError as error:
        say(f"error: {error}")
        return 1 if left or found else UNREACHABLE
    say(f"{len(components)} packages and jars were compared, {left + len(found)} findings")
    return 1 if left or found else 0


if __name__ == "__main__":
    sys.exit(main())
