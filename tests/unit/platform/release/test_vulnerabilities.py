"""Questions to the database of vulnerabilities: pages of answers, the fixed version, and no answer at all."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.release import vulnerabilities
from tidegate.platform.release.audit import UNREACHABLE, audit
from tidegate.platform.release.components import Component
from tidegate.platform.release.vulnerabilities import Database, accepted_ids

LZ4 = Component("at.yawk.lz4:lz4-java", "1.11.0", "pkg:maven/at.yawk.lz4/lz4-java@1.11.0?classifier=x")
RICH = Component("rich", "14.0.0", "pkg:pypi/rich@14.0.0")
DERBY = Component("org.apache.derby:derby", "10.16.1.1", "pkg:maven/org.apache.derby/derby@10.16.1.1")
ENTRIES: dict[str, dict[str, Any]] = {
    "GHSA-1": {
        "id": "GHSA-1",
        "aliases": ["CVE-1"],
        "summary": "five bytes allocate a gigabyte",
        "affected": [
            {
                "package": {"name": "at.yawk.lz4:lz4-java"},
                "ranges": [
                    {"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "1.11.2"}]},
                    {"type": "GIT", "events": [{"fixed": "abcdef"}]},
                ],
            },
            {"package": {"name": "org.lz4:lz4-java"}, "ranges": [{"type": "ECOSYSTEM", "events": [{"fixed": "9"}]}]},
        ],
    },
    "GHSA-2": {"id": "GHSA-2", "details": "no fix\nat all"},
    "GHSA-4": {},
    "GHSA-3": {"id": "GHSA-3", "aliases": ["CVE-2022-46337"], "summary": "a metastore's login"},
}
BUSY = Component("busy", "1", "pkg:pypi/busy@1")
STRANGE = Component("strange", "1", "pkg:pypi/strange@1")
#: Ids by component and page.
KNOWN = {
    ("pkg:maven/at.yawk.lz4/lz4-java@1.11.0", ""): ["GHSA-1"],
    (DERBY.purl, ""): ["GHSA-3"],
    (BUSY.purl, ""): ["GHSA-4"],
}
SECOND = {("pkg:maven/at.yawk.lz4/lz4-java@1.11.0", "more"): ["GHSA-2"]}


class _Answers(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        results = []
        for query in body["queries"]:
            place = query["package"]["purl"], query.get("page_token", "")
            ids = KNOWN.get(place) or SECOND.get(place) or []
            page = {"next_page_token": "more"} if (place[0], "more") in SECOND and not place[1] else {}
            results.append({"vulns": [{"id": each} for each in ids], **page} if ids else {})
        strange = any(query["package"]["purl"] == STRANGE.purl for query in body["queries"])
        self._send({"message": "try later"} if strange else {"results": results})

    def do_GET(self) -> None:
        if entry := ENTRIES[self.path.rpartition("/")[2]]:
            self._send(entry)
        else:
            self.send_error(429)

    def log_message(self, *arguments: object) -> None:
        pass

    def _send(self, answer: object) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Database(f"http://127.0.0.1:{server.server_port}")
        server.shutdown()


def test_each_page_is_read_and_the_fix_is_that_of_this_component(database: Database) -> None:
    fixed, unfixed = map(str, database.vulnerabilities([LZ4, RICH]))
    assert fixed == ("at.yawk.lz4:lz4-java 1.11.0: GHSA-1 CVE-1 (fixed in 1.11.2): five bytes allocate a gigabyte")
    assert unfixed == "at.yawk.lz4:lz4-java 1.11.0: GHSA-2 (no fix is published): no fix"


def test_a_finding_ends_the_audit_with_1_and_what_was_looked_at_does_not(database: Database) -> None:
    said: list[str] = []
    assert audit([RICH], database, [], said.append) == 0
    assert said == ["1 packages and jars were compared, 0 findings"]
    assert audit([DERBY], database, [], said.append) == 0
    assert said[1].startswith("stays org.apache.derby:derby 10.16.1.1: GHSA-3 CVE-2022-46337")
    assert said[1].endswith(accepted_ids()["CVE-2022-46337"])
    assert audit([LZ4], database, [], said.append) == 1
    assert said[-1] == "1 packages and jars were compared, 2 findings"
    assert audit([RICH], database, ["a jar was changed"], said.append) == 1
    assert "FOUND a jar was changed" in said


def test_without_an_answer_the_audit_says_so_and_ends_with_a_code_of_its_own() -> None:
    nobody, said = Database("http://127.0.0.1:9"), []
    with pytest.raises(UnavailableError, match="not every wheel and jar was compared"):
        list(nobody.vulnerabilities([RICH]))
    assert audit([RICH], nobody, [], said.append) == UNREACHABLE == 3
    assert said[0].startswith("error: the database of vulnerabilities at http://127.0.0.1:9 cannot be reached (")
    assert audit([RICH], nobody, ["a secret"], said.append) == 1, "what was found is not hidden by the network"


def test_an_entry_that_cannot_be_read_is_a_finding_by_its_id_and_hides_no_other(database: Database) -> None:
    said: list[str] = []
    assert audit([BUSY, LZ4], database, [], said.append) == 1
    assert "FOUND busy 1: GHSA-4 (no fix is published): its entry cannot be read" in said
    assert said[-1] == "2 packages and jars were compared, 3 findings"


def test_what_was_found_before_the_database_failed_is_reported(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vulnerabilities, "_AT_ONCE", 1)
    said: list[str] = []
    assert audit([BUSY, STRANGE], database, [], said.append) == 1
    assert said[0].startswith("FOUND busy 1: GHSA-4")
    assert "(its answer is none of a database of vulnerabilities): not every wheel" in said[1]
    assert audit([RICH, STRANGE], database, [], said.append) == UNREACHABLE
