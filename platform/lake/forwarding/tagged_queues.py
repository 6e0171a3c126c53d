"""The queues of an account and region that have an event type as the value of a tag."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

#: Seconds after which the tags are read again. The Tagging API shows a change some time after it was made.
_REFRESH = 60.0


class TaggedQueues:
    """The queues that have a tag, by the tag's value. They are read at first use, and again every minute.

    Args:
        client: opens the client at its first use.
        tag: key of the tag.
        excluded: names of queues that are never found: the lake's own queues, from which an event would come back.
        clock: returns seconds.
    """

    def __init__(
        self,
        client: Callable[[], Any],
        tag: str,
        excluded: Collection[str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client, self._tag, self._excluded, self._clock = client, tag, frozenset(excluded), clock
        self._found: Mapping[str, tuple[str, ...]] = {}
        self._read_at: float | None = None

    def names_with_value(self, value: str) -> tuple[str, ...]:
        """Return the names of the queues whose tag has a value, in order.

        Raises:
            ClientError: the Tagging API refused the call.
            BotoCoreError: it did not answer.
        """
        return self.names_by_value().get(value, ())

    def has(self, name: str) -> bool:
        """Return whether a queue has the tag, whatever its value. Raises what `names_with_value` raises."""
        return any(name in names for names in self.names_by_value().values())

    def forget(self) -> None:
        """Read the tags again at the next use, because a queue that was found does not exist."""
        self._read_at = None

    def names_by_value(self) -> Mapping[str, tuple[str, ...]]:
        """Return the names of the queues by the values of the tag. Raises what `names_with_value` raises."""
        if self._read_at is None or self._clock() - self._read_at > _REFRESH:
            self._found = self._read()
            self._read_at = self._clock()
        return self._found

    def _read(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, set[str]] = {}
        token = ""
        while True:
            page = self._client().get_resources(
                TagFilters=[{"Key": self._tag}], ResourceTypeFilters=["sqs"], PaginationToken=token
            )
            for resource in page.get("ResourceTagMappingList", []):
                name = resource["ResourceARN"].rpartition(":")[2]
                # A queue that lost its tags is still listed, without them.
                for tag in resource.get("Tags", []):
                    if tag["Key"] == self._tag and name not in self._excluded:
                        found.setdefault(tag["Value"], set()).add(name)
            # A page may be short, or empty, before the last one.
            token = page.get("PaginationToken") or ""
            if not token:
                return {value: tuple(sorted(names)) for value, names in found.items()}
