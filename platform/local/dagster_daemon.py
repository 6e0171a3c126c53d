"""Dagster's daemon as `python -m tidegate.platform.local.dagster_daemon`: its command, wherever it is installed.

The command `dagster-daemon` is public, and the module that it runs is not.
"""

from __future__ import annotations

from importlib.metadata import entry_points

if __name__ == "__main__":
    (command,) = entry_points(group="console_scripts", name="dagster-daemon")
    command.load()()
