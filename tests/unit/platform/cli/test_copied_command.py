"""A command that is copied into a shell gives the query to `tidegate sql` as it is."""

from __future__ import annotations

import subprocess

from tidegate.platform.cli.copied_command import copied_command


def test_a_shell_passes_the_query_as_it_is() -> None:
    query = r"""SELECT `order_id`, '$HOME', "\n" FROM silver.orders WHERE `a.b` = CAST('1' AS bigint)"""
    command = copied_command(query)
    assert command.startswith("tidegate sql ")
    passed = subprocess.run(
        ["/bin/sh", "-c", command.replace("tidegate sql", "printf %s", 1)],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert passed.stdout == query
