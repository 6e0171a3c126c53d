"""Known vulnerabilities of components, as the public database OSV knows them."""

from __future__ import annotations

import json
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.release.components import Component

DATABASE = "https://api.osv.dev"
#: What was looked at and stays, with the reason.
ACCEPTED = Path(__file__).with_name("accepted.toml")
#: The database takes a thousand questions at once.
_AT_ONCE = 500
_SECONDS = 30


@dataclass(frozen=True)
class Vulnerability:
    """One entry of the database, of one component.

    Attributes:
        names: its id, and the ids that others give it.
        fixed: versions that have the fix, of this component.
    """

    component: Component
    names: tuple[str, ...]
    summary: str
    fixed: tuple[str, ...]

    def __str__(self) -> str:
        fix = f"fixed in {' or '.join(self.fixed)}" if self.fixed else "no fix is published"
        return f"{self.component.name} {self.component.version}: {' '.join(self.names)} ({fix}): {self.summary}"


class Database:
    """The database.

    Args:
        address: where it answers.
    """

    def __init__(self, address: str = DATABASE) -> None:
        self._address = address

    def vulnerabilities(self, components: Iterable[Component]) -> Iterator[Vulnerability]:
        """Yield what is known of these components. What has an entry that cannot be read is known by its id alone.

        Raises:
            UnavailableError: the database does not answer, so nothing more is known about them.
        """
        by_purl = {component.purl.partition("?")[0]: component for component in components}
        purls = sorted(by_purl)
        for start in range(0, len(purls), _AT_ONCE):
            for purl, each in self._ids(purls[start : start + _AT_ONCE]):
                yield _vulnerability(by_purl[purl], self._entry(each))

    def _ids(self, purls: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield each component with each of its ids. An answer may have several pages."""
        queries: list[dict[str, Any]] = [{"package": {"purl": purl}} for purl in purls]
        while queries:
            found, following = list[tuple[str, str]](), list[dict[str, Any]]()
            try:
                answers = self._ask("/v1/querybatch", {"queries": queries})["results"]
                for query, answer in zip(queries, answers, strict=True):
                    found += [(query["package"]["purl"], str(each["id"])) for each in answer.get("vulns", ())]
                    if token := answer.get("next_page_token"):
                        following.append({**query, "page_token": token})
            except (LookupError, TypeError, ValueError, AttributeError):
                raise self._unavailable("its answer is none of a database of vulnerabilities") from None
            yield from found
            queries = following

    def _entry(self, each: str) -> dict[str, Any]:
        try:
            entry = self._ask(f"/v1/vulns/{each}")
        except UnavailableError:
            entry = None
        return {"id": each} | (entry if isinstance(entry, dict) else {"summary": "its entry cannot be read"})

    def _ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._address + path, data, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
                return json.load(answer)
        except (OSError, ValueError, HTTPException) as error:
            why = error.reason if isinstance(error, urllib.error.URLError) else error
            raise self._unavailable(why) from None

    def _unavailable(self, why: object) -> UnavailableError:
        return UnavailableError(
            f"the database of vulnerabilities at {self._address} cannot be reached ({why}): not every wheel and jar "
            "was compared with it"
        )


def accepted_ids(path: Path = ACCEPTED) -> dict[str, str]:
    """Return the reason for each id that was looked at and stays."""
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("vulnerability", [])
    return {name: entry["why"] for entry in entries for name in entry["ids"]}


def _vulnerability(component: Component, entry: dict[str, Any]) -> Vulnerability:
    name = component.name.lower().replace("_", "-")
    fixed = [
        event["fixed"]
        for affected in entry.get("affected", ())
        if affected.get("package", {}).get("name", "").lower().replace("_", "-") == name
        for span in affected.get("ranges", ())
        if span.get("type") != "GIT"
        for event in span.get("events", ())
        if "fixed" in event
    ]
    names = (entry["id"], *entry.get("aliases", ()))
    summary = (entry.get("summary") or entry.get("details") or "no description").splitlines()[0]
    return Vulnerability(component, names, summary, tuple(dict.fromkeys(fixed)))
