"""Runs a command and records its CPU seconds: `python measured.py FILE COMMAND…`. It exits as the command does."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

if __name__ == "__main__":
    note, *command = sys.argv[1:]
    code = subprocess.run(command).returncode
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    Path(note).parent.mkdir(parents=True, exist_ok=True)
    Path(note).write_text(f"{used.ru_utime + used.ru_stime:.1f}\n")
    sys.exit(code)
