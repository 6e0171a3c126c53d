"""A port has no more connections than the process has files for."""

from __future__ import annotations

import resource

import pytest

from tidegate.platform.webhook.server import max_connections


@pytest.mark.parametrize(("files", "connections"), [(1024, 341), (1 << 20, 4000), (resource.RLIM_INFINITY, 4000)])
def test_the_files_that_a_process_may_open_bound_its_connections(
    files: int, connections: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = [(256, files)]
    monkeypatch.setattr(resource, "getrlimit", lambda of: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda of, given: limits.append(given))
    assert (max_connections(), max_connections()) == (connections, connections)
    assert limits[-1] == (files, files)
