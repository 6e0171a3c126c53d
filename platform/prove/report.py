"""The report of a run, as JSON for programs and as one HTML page, both of which can be shared."""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tidegate.platform.prove.claims import Claim

#: Version of the form of the JSON report. A field may be added; one that is there keeps its meaning.
FORMAT = 1
_HIDDEN = "…"
#: What may name an account, a person or a machine, and what takes its place.
_PRIVATE = (
    (re.compile(r"\barn:[\w-]*:[^\s\"'<>()\[\],;]+"), _HIDDEN),
    (re.compile(r"\b([a-z][a-z0-9+.-]*://)[^\s/\"'<>()\[\],;]+"), rf"\1{_HIDDEN}"),
    # Mail addresses. The files of a run have those of example.org.
    (re.compile(r"(?<![\w.+=-])[\w.+=-]++@(?!example\.org\b)[\w-]++(\.[\w-]++)++"), _HIDDEN),
    # Files of the machine.
    (re.compile(r"(?<![\w/:.…])[~…]?(/[^\s/\"'<>()\[\],;:]+){2,}"), _HIDDEN),
    (re.compile(r"\b\d{1,3}(\.\d{1,3}){3}\b"), _HIDDEN),
    (re.compile(r"\b(A3T|AKIA|ASIA|AROA|AIDA|AGPA)[A-Z0-9]{12,}\b"), _HIDDEN),
    (re.compile(r"\b\d{12}\b"), _HIDDEN),
)
_WORDS = {True: "held", False: "failed", None: "not checked"}

_PAGE = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>tidegate prove: {verdict}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #1b1f24 }}
h1 {{ font-size: 1.6rem }} h2 {{ font-size: 1.2rem; margin-top: 2rem }}
table {{ border-collapse: collapse; width: 100% }}
th, td {{ text-align: left; vertical-align: top; padding: .4rem .6rem; border-bottom: 1px solid #d8dee4 }}
td.n {{ text-align: right; font-variant-numeric: tabular-nums }}
.held {{ color: #116329 }} .failed {{ color: #a40e26; font-weight: 600 }} .unchecked {{ color: #6e7781 }}
small {{ color: #57606a }}
</style></head><body>
<h1>tidegate prove: <span class="{kind}">{verdict}</span></h1>
<p>{facts}</p>
<h2>Claims</h2>
<table><tr><th>claim</th><th>result</th><th>found</th></tr>
{claims}
</table>
<h2>Seconds</h2>
<table><tr><th>of</th><th>count</th><th>median</th><th>95 %</th></tr>
{seconds}
</table>
<h2>Requests</h2>
<p>{price}</p>
<table><tr><th>service</th><th>operation</th><th>requests</th></tr>
{requests}
</table>
<h2>Versions</h2>
<table>
{versions}
</table>
</body></html>
"""


@dataclass(frozen=True)
class Report:
    """The outcome of a run.

    Attributes:
        claims: all claims.
        numbers: what was measured.
        facts: endpoint, region, versions and size.
        hidden: texts that are not shown, such as the id of the run and the hosts of endpoints. What may name an
            account, a person or a machine is not shown either. None: everything is shown.
    """

    claims: Sequence[Claim]
    numbers: Mapping[str, Any]
    facts: Mapping[str, Any]
    hidden: Collection[str] | None
    made: datetime = field(default_factory=lambda: datetime.now(UTC).replace(microsecond=0))

    @property
    def ok(self) -> bool:
        """Whether every claim held."""
        return all(claim.held for claim in self.claims)

    @property
    def verdict(self) -> str:
        """The outcome in a few words."""
        held = sum(claim.held is True for claim in self.claims)
        return f"{held} of {len(self.claims)} claims held"

    def to_json(self) -> dict[str, Any]:
        """Return the report for programs."""
        body = {
            "format": FORMAT,
            "made": self.made.isoformat(),
            "ok": self.ok,
            **self.facts,
            "claims": [claim.to_json() for claim in self.claims],
            "numbers": dict(self.numbers),
        }
        found: dict[str, Any] = self._hide(body)
        return found

    def to_html(self) -> str:
        """Return the report as a page without any other file."""
        report = self.to_json()
        facts = f"{report['made']}, endpoint {report['endpoint']}, region {report['region']}, {report['files']:,} files"
        numbers = report["numbers"]
        price = (
            f"${numbers['dollars']:.4f} at the published prices of us-east-1. "
            f"At most ${numbers['dollars_at_most']:.4f} were announced. "
            f"Requests of the Spark server: {numbers['spark_requests']}."
        )
        return _PAGE.format(
            verdict=_escape(self.verdict),
            kind="held" if self.ok else "failed",
            facts=_escape(facts),
            claims="\n".join(map(_claim_row, report["claims"])),
            seconds="\n".join(_second_rows(numbers)),
            price=_escape(price),
            requests="\n".join(
                _row(service, operation, count)
                for service, counts in numbers["requests"].items()
                for operation, count in counts.items()
            ),
            versions="\n".join(_row(name, version) for name, version in report["versions"].items()),
        )

    def _hide(self, value: Any) -> Any:
        """Return a value of JSON in which no text shows what is hidden."""
        if self.hidden is None:
            return value
        if isinstance(value, dict):
            return {name: self._hide(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self._hide(each) for each in value]
        if not isinstance(value, str):
            return value
        # The longest first: one may be a part of another.
        for text in sorted(filter(None, self.hidden), key=len, reverse=True):
            value = value.replace(text, _HIDDEN)
        for pattern, shown in _PRIVATE:
            value = pattern.sub(shown, value)
        return value


def _claim_row(claim: Mapping[str, Any]) -> str:
    word = _WORDS[claim["held"]]
    kind = word if claim["held"] is not None else "unchecked"
    otherwise = f"<br><b>{_escape(claim['otherwise'])}</b>" if claim["held"] is False and claim["otherwise"] else ""
    return (
        f"<tr><td>{_escape(claim['says'])}<br><small>{_escape(claim['how'])}</small></td>"
        f'<td class="{kind}">{word}</td><td>{_escape(claim["found"])}{otherwise}</td></tr>'
    )


def _second_rows(numbers: Mapping[str, Any]) -> list[str]:
    shown = {
        "from PUT to the row, one worker": numbers.get("put_to_row_seconds"),
        "a batch of bronze": numbers.get("batch_seconds"),
        **numbers.get("request_seconds", {}),
    }
    return [_row(name, each["count"], each.get("p50", ""), each.get("p95", "")) for name, each in shown.items() if each]


def _row(*cells: Any) -> str:
    inner = "".join(
        f'<td class="n">{cell:,}</td>' if isinstance(cell, int | float) else f"<td>{_escape(str(cell))}</td>"
        for cell in cells
    )
    return f"<tr>{inner}</tr>"


def _escape(text: str) -> str:
    return html.escape(text)
