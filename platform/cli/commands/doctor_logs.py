"""Examines the log of one Delta table and its entries in DynamoDB, for `tidegate doctor`."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from tidegate.platform.cli.check.findings import Failed, Finding, make_finding
from tidegate.platform.cli.check.known_checks import Check
from tidegate.platform.core.keys.s3_address import S3Address, spellings
from tidegate.platform.lake.aws.commit_table import CommitEntry, CommitTable, choose_spelling, is_ours
from tidegate.platform.lake.aws.s3 import Listed, ObjectStore

#: Seconds after which staged bytes that no entry names may be deleted: far longer than a writer of ours may pause.
SAFE_AGE = 24 * 60 * 60
#: Seconds that the writer of an open commit has to finish it before the commit is reported as pending.
_GRACE = 1.0
_COMMIT = re.compile(r"(\d{20})\.json")
_STAGED = re.compile(r"\.tmp/(\d{20})\.json\.[0-9a-f-]{36}|_commit_[0-9a-f-]{36}\.json\.tmp")


@dataclass
class _Log:
    """The commits and staged commits of a log, by their names in `_delta_log`."""

    bucket: str
    folder: str
    commits: dict[int, Listed] = field(default_factory=dict)
    staged: dict[str, Listed] = field(default_factory=dict)

    @property
    def head(self) -> int:
        return max(self.commits, default=-1)


class LogDoctor:
    """Examines logs, and repairs them on request.

    Args:
        entries: the DynamoDB table; None when no DynamoDB table coordinates the commits.
        grace: seconds, see `_GRACE`.
        used: whether the lake's own commits have entries in the table, and its readers read them. Otherwise other
            writers may have entries there.
    """

    def __init__(
        self, objects: ObjectStore, entries: CommitTable | None, grace: float = _GRACE, *, used: bool = True
    ) -> None:
        self._objects = objects
        self._entries = entries
        self._grace = grace
        self._used = used

    def examine(self, name: str, location: str) -> Iterator[Finding]:
        """Yield every finding of one table.

        Args:
            name: name of the table in the findings.
            location: `s3a://` URI of the table.
        """
        log = self._read(location)
        if (entries := self._entries) is not None:
            yield make_finding(Check.LOG_ENTRIES, name, lambda: self._agree(location, entries))
        yield make_finding(Check.LOG_STAGED, name, lambda: self._check_staged(location, log))

    def sweep(self, location: str) -> int:
        """Delete old staged bytes that no pending entry names and that are not evidence of a lost commit.

        Returns how many were deleted.
        """
        log = self._read(location)
        old = [name for name, kind in self._kinds(location, log).items() if kind == "old"]
        self._objects.delete(log.bucket, [f"{log.folder}{name}" for name in old])
        return len(old)

    def close(self, location: str) -> int:
        """Close the entries that dead writers left open below the newest entry. Returns how many were closed.

        The content of these versions is decided, because the log has later versions. No writer waits for the entries,
        but open entries never expire. Nor do entries that are closed as evidence of a possibly lost commit.
        """
        if self._entries is None:
            return 0
        used, newest = self._spelling(location)
        # A reader of the table reads the newest entry of the spelling in use, and settles that.
        older = [
            (spelling, entry)
            for spelling in self._newest_entries(location)
            for entry in self._entries.entries(spelling)
            if newest is None or (spelling, entry.version) != (used, newest.version)
        ]
        # The log is read after the entries, so it contains what these versions became.
        log = self._read(location)
        return sum(
            self._entries.close(spelling, entry, evidence=self._is_evidence(log, entry))
            for spelling, entry in older
            if not entry.complete and entry.version <= log.head
        )

    def has_pending(self, location: str) -> bool:
        """Return whether the newest entry of a spelling is open, so that somebody must settle it."""
        return self._entries is not None and any(not each.complete for each in self._newest_entries(location).values())

    def last_commits(self, location: str) -> tuple[float | None, float | None]:
        """Return when the last commit with an entry was published, and the last one without, in epoch seconds.

        None if there is none. A commit whose entry may have expired is not known to be without one.
        """
        if self._entries is None:
            return None, None
        versions = {entry.version for entry in self._recent_entries(location)}
        since = time.time() - self._entries.address.ttl
        log = self._read(location)
        through = (item.modified for version, item in log.commits.items() if version in versions)
        without = (item.modified for version, item in log.commits.items() if version not in versions)
        return max(through, default=None), max((at for at in without if at > since), default=None)

    def _read(self, location: str) -> _Log:
        bucket, prefix = S3Address.parse_s3a(location)
        log = _Log(bucket, f"{prefix.rstrip('/')}/_delta_log/")
        for item in self._objects.list_under(bucket, log.folder):
            name = item.key[len(log.folder) :]
            if commit := _COMMIT.fullmatch(name):
                log.commits[int(commit[1])] = item
            elif _STAGED.fullmatch(name):
                log.staged[name] = item
        return log

    def _newest_entries(self, location: str) -> dict[str, CommitEntry]:
        assert self._entries is not None
        found = {spelling: self._entries.newest_entry(spelling) for spelling in spellings(location)}
        return {path: entry for path, entry in found.items() if entry is not None}

    def _recent_entries(self, location: str) -> list[CommitEntry]:
        """Return the entries under every spelling, because the log store may have changed from one to another."""
        assert self._entries is not None
        return [entry for spelling in self._newest_entries(location) for entry in self._entries.entries(spelling)]

    def _spelling(self, location: str) -> tuple[str, CommitEntry | None]:
        newest = self._newest_entries(location)
        if not newest:
            return spellings(location)[0], None
        try:
            used = choose_spelling(newest)
        except ValueError as error:
            raise Failed(str(error)) from None
        return used, newest[used]

    def _agree(self, location: str, entries: CommitTable) -> str:
        spelling, newest = self._spelling(location)
        pending = newest if newest is not None and not newest.complete else None
        if pending is not None:
            time.sleep(self._grace)
            spelling, newest = self._spelling(location)
        # The log is read after the entries, so it must contain what they promise.
        log = self._read(location)
        if newest is None:
            return f"version {log.head}; none that has not expired" if log.head >= 0 else "no table yet"
        if newest.version > log.head + (not newest.complete):
            raise Failed(
                f"DynamoDB has an entry for version {newest.version}, but the log ends at {log.head}: it belongs to a "
                f"dropped table, and writes through DynamoDB are refused. Delete the items with tablePath {spelling}, "
                "or restore the log"
            )
        # A claim that was not there before is of a writer that lives.
        if newest == pending and not newest.complete:
            raise Failed(self._check_pending(log, newest))
        recent = self._recent_entries(location)
        foreign, classic = self._authors(recent, log, entries.address.ttl)
        hours = f"{entries.address.ttl / 3600:g} hours"
        if classic and not self._used:
            raise Failed(
                f"{classic} commits of the last {hours} are by writers with another DynamoDB log store: next to the "
                "lake's own commits without DynamoDB, they lose commits that they have acknowledged. Stop them, or "
                f"switch them to one of Tidegate's log stores; this passes {hours} after their last commit"
            )
        if foreign and classic:
            raise Failed(
                f"of the commits of the last {hours} {classic} are by writers with another DynamoDB log store and "
                f"{foreign} by writers without DynamoDB: next to the second kind, the first loses commits that it has "
                "acknowledged. Switch its writers to Tidegate's log store (docs/operate/log-store.md), or stop one "
                f"kind; this passes {hours} after that kind's last commit"
            )
        left = [entry for entry in recent if not entry.complete and entry.version < newest.version]
        return (
            f"version {log.head}, under {spelling}"
            + (f"; {foreign} recent commits are of writers without DynamoDB" if foreign and self._used else "")
            + (f"; {self._describe_open_entries(left, log)}" if left else "")
        )

    def _check_pending(self, log: _Log, entry: CommitEntry) -> str:
        if entry.version not in log.commits and entry.temp_path not in log.staged:
            return (
                f"version {entry.version} is claimed, its staged bytes ({entry.temp_path}) are gone and it was never "
                f"published: the table cannot be read. If its writer is surely dead, delete the item {entry.file_name}"
            )
        staged = log.staged.get(entry.temp_path)
        settled = "the next read or write of the table settles it, and so does --repair"
        return (
            f"version {entry.version} is pending{f', staged {_format_age(staged)},' if staged else ''} since its "
            f"writer died; {settled if self._used else '--repair settles it'}"
        )

    @staticmethod
    def _describe_open_entries(entries: list[CommitEntry], log: _Log) -> str:
        published = log.commits.get(entries[0].version)
        age = f", published {_format_age(published)}" if published else ""
        return (
            f"below it {len(entries)} entries of dead writers are open, the oldest for version "
            f"{entries[0].version}{age}: no writer waits for them; --repair closes them"
        )

    @staticmethod
    def _authors(entries: list[CommitEntry], log: _Log, ttl: int) -> tuple[int, int]:
        """Count the commits without an entry, and the commits with an entry of another log store.

        Only commits count whose entry cannot have expired yet. Whether the two kinds alternate does not matter: two
        kinds that commit once a day may not alternate within that time.
        """
        since = time.time() - ttl
        recent = {version for version, item in log.commits.items() if item.modified > since}
        others = {entry.version for entry in entries if not is_ours(entry.temp_path)}
        return len(recent - {entry.version for entry in entries}), len(recent & others)

    def _check_staged(self, location: str, log: _Log) -> str:
        kinds = self._kinds(location, log)
        lost = [name for name, kind in kinds.items() if kind == "lost"]
        if lost:
            raise Failed(
                f"possibly lost commits of a writer that is not ours: {', '.join(lost)}. Their version was published "
                "by a writer without DynamoDB. Compare their rows with the table, then delete them. Two such writers "
                "must not share a table (docs/operate/log-store.md)"
            )
        counts = Counter(kinds.values())
        kept = f", {counts['unknown']} of other writers kept, whose entries have expired" if counts["unknown"] else ""
        return f"{len(kinds)}, {counts['old']} to sweep with --repair{kept}" if kinds else "none"

    def _kinds(self, location: str, log: _Log) -> dict[str, str]:
        """Return `claimed`, `lost`, `unknown`, `old` or `young` for each staged file, by its name."""
        if not log.staged:
            return {}
        entries = self._recent_entries(location) if self._entries is not None else []
        by_path = {entry.temp_path: entry for entry in entries}
        versions = {entry.version for entry in entries}
        return {name: self._kind(log, item, by_path.get(name), versions) for name, item in log.staged.items()}

    def _kind(self, log: _Log, item: Listed, entry: CommitEntry | None, versions: set[int]) -> str:
        name = item.key[len(log.folder) :]
        age = "old" if time.time() - item.modified > SAFE_AGE else "young"
        if entry is not None:
            awaited = not entry.complete and entry.version > log.head
            if not awaited and self._is_evidence(log, entry):
                return "lost"
            return age if entry.complete else "claimed"
        found = _STAGED.fullmatch(name)
        assert found is not None
        version = int(found[1] or -1)
        if self._entries is None and version > log.head:
            return "claimed"  # as far as can be seen: then a reader with entries publishes it
        # Another writer's claim won the version, and this writer knows it.
        if is_ours(name) or version in versions or self._holds(log, version, self._objects.get(log.bucket, item.key)):
            return age
        # The writer may believe that it committed, or it lost a race whose entry has expired.
        return "unknown"

    def _is_evidence(self, log: _Log, entry: CommitEntry) -> bool:
        """Return whether an entry shows that a commit was possibly lost.

        Other log stores treat a claim as a commit. The entry is evidence if such a writer staged bytes that its version
        does not contain. The writer may have claimed the version long after it was published, so complete entries of
        later versions may exist.
        """
        if is_ours(entry.temp_path):
            return False
        staged = self._objects.get(log.bucket, log.folder + entry.temp_path)
        return staged is not None and not self._holds(log, entry.version, staged)

    def _holds(self, log: _Log, version: int, staged: bytes | None) -> bool:
        # The listing may be older than the entry, so the object itself is read: a commit made since is not lost.
        published = self._objects.get(log.bucket, f"{log.folder}{version:020d}.json")
        return published is not None and published == staged


def _format_age(item: Listed) -> str:
    minutes = (time.time() - item.modified) / 60
    return f"{minutes:.0f} minutes ago" if minutes < 120 else f"{minutes / 60:.0f} hours ago"
