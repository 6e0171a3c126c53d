"""`make audit`: what is known against the packages and jars of this commit, and secrets that were committed.

Exit code 1 if there is a finding, 3 if there is none but the database of vulnerabilities cannot be reached.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pyspark

from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.jvm.maven_lock import REPOSITORY, differences, read_lock, strangers
from tidegate.platform.jvm.wheels import ROOT, TARGET
from tidegate.platform.release.committed_secrets import committed_secrets
from tidegate.platform.release.components import Component, described_jars, jars, packages
from tidegate.platform.release.vulnerabilities import DATABASE, Database, accepted_ids

UNREACHABLE = 3


def main() -> int:
    """Compare the checkout with what is known, print what is found, and return the exit code."""
    dist = TARGET / "dist"
    changed = [*differences(read_lock(), REPOSITORY), *strangers(read_lock(), dist)]
    locks = [component for name in ("deploy", "local") for component in packages(ROOT / "requirements" / f"{name}.txt")]
    components = [*locks, *jars(dist), *described_jars(Path(pyspark.__file__).parent / "jars")]
    address = sys.argv[1] if len(sys.argv) > 1 else DATABASE
    return audit(components, Database(address), [*changed, *committed_secrets(ROOT)], print)


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
    try:
        known = list(dict.fromkeys(database.vulnerabilities(components)))
    except UnavailableError as error:
        say(f"error: {error}")
        return 1 if found else UNREACHABLE
    left = []
    for vulnerability in known:
        why = next((reasons[name] for name in vulnerability.names if name in reasons), None)
        say(f"FOUND {vulnerability}" if why is None else f"stays {vulnerability}; {why}")
        left += [vulnerability] if why is None else []
    say(f"{len(components)} packages and jars were compared, {len(left) + len(found)} findings")
    return 1 if left or found else 0


if __name__ == "__main__":
    sys.exit(main())
