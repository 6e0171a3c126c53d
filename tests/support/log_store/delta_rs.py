"""delta-rs in separate processes: the last version that commits through DynamoDB, and the current version."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.support.log_store.delta_log import DeltaLog
from tests.support.servers.child import ending_with_us
from tests.support.servers.shore import DEADLINE, Shore

#: The interpreter with deltalake 1.6.0, and our own with the current version.
CLASSIC = Path(__file__).resolve().parents[3] / ".venv-delta-rs" / "bin" / "python"
CURRENT = Path(sys.executable)
_SCRIPT = Path(__file__).with_name("delta_rs_writer.py")


@dataclass
class DeltaRs:
    """A process that appends by delta-rs."""

    process: subprocess.Popen[bytes]
    outcomes: Path
    _stop: Path

    def said(self, kind: str) -> list[str]:
        """Return the rows of one kind of outcome."""
        lines = self.outcomes.read_text().splitlines() if self.outcomes.exists() else []
        return [line.split(" ")[1] for line in lines if line.startswith(f"{kind} ")]

    def stop(self) -> None:
        """Stop the process in order."""
        self._stop.touch()
        assert self.process.wait(DEADLINE) == 0, self.outcomes.read_text()


def start(shore: Shore, python: Path, log: DeltaLog, name: str, *, proxied: bool = False) -> DeltaRs:
    """Start a writer that appends rows with its name until `stop`."""
    assert python.exists(), f"{python} is missing: run `make test`, which makes it"
    options = shore.options()
    if proxied:
        options["AWS_ENDPOINT_URL"] = shore.proxy.endpoint
    if python == CLASSIC:
        options |= {"AWS_S3_LOCKING_PROVIDER": "dynamodb", "DELTA_DYNAMO_TABLE_NAME": "delta_log"}
        options["AWS_ENDPOINT_URL_DYNAMODB"] = shore.services.dynamodb.endpoint
    clean = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")}
    outcomes, stop = shore.folder / f"outcomes-{name}", shore.folder / f"stop-{name}"
    with (shore.folder / f"errors-{name}").open("wb") as errors:
        process = subprocess.Popen(
            ending_with_us(python, str(_SCRIPT), log.location, name, str(stop), str(outcomes)),
            # The DynamoDB client of 1.6.0 reads its settings only from the environment.
            env=clean | options | {"STORAGE_OPTIONS": json.dumps(options)},
            stderr=errors,
        )
    shore.closing.callback(process.wait, 30.0)
    shore.closing.callback(process.kill)
    return DeltaRs(process, outcomes, stop)
