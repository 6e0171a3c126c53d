"""What a running local platform says of `lake.yaml` when the file changes."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.load import LakeConfigError


class LakeYamlWatch:
    """Watches a `lake.yaml`. It says when it is wrong, when it is right again, and which buckets need a new start.

    Args:
        path: the file.
        load: reads it, and raises LakeConfigError if it is wrong.
        buckets: returns the buckets that a configuration needs.
        say: called with each line.
        created: the buckets that are there.
    """

    def __init__(
        self,
        path: Path,
        load: Callable[[], LakeConfig],
        buckets: Callable[[LakeConfig], Collection[str]],
        say: Callable[[str], None],
        *,
        created: Collection[str],
    ) -> None:
        self._path, self._load, self._buckets, self._say = path, load, buckets, say
        self._stamp: tuple[int, int] | None = (0, 0)  # The first look reads the file, which may have changed since.
        self._created = set(created)
        self._is_wrong = False

    def look(self) -> None:
        """Read the file if it changed since the last call, and say what came of it."""
        stamp = self._now()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            config = self._load()
        except LakeConfigError as error:
            self._is_wrong = True
            self._say(f"{self._path} is wrong: {error}")
            return
        if self._is_wrong:
            self._is_wrong = False
            self._say(f"{self._path} is right again")
        if new := sorted(set(self._buckets(config)) - self._created):
            self._created |= set(new)
            self._say(f"{self._path} names {', '.join(new)}: stop and start `tidegate dev`, which creates the bucket")

    def _now(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size
