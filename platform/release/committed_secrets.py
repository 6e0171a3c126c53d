"""Secrets in the files of the checkout and in its whole history, as detect-secrets knows them."""

from __future__ import annotations

import hashlib
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from detect_secrets.core.scan import scan_line
from detect_secrets.settings import transient_settings

from tidegate.platform.release.vulnerabilities import ACCEPTED

#: Those that know a form of a secret. Those that guess by entropy or by a variable's name find each hash of a lock.
_DETECTORS = (
    "ArtifactoryDetector",
    "AWSKeyDetector",
    "AzureStorageKeyDetector",
    "BasicAuthDetector",
    "DiscordBotTokenDetector",
    "GitHubTokenDetector",
    "GitLabTokenDetector",
    "JwtTokenDetector",
    "MailchimpDetector",
    "NpmDetector",
    "OpenAIDetector",
    "PrivateKeyDetector",
    "PypiTokenDetector",
    "SendGridDetector",
    "SlackDetector",
    "SquareOAuthDetector",
    "StripeDetector",
    "TelegramBotTokenDetector",
    "TwilioKeyDetector",
)
#: Of a longer line only so much is read: a line of data may have megabytes.
_LONGEST_LINE = 20_000


@dataclass(frozen=True)
class Line:
    """A line of a file, and where it is, or first was."""

    place: str
    text: str


def committed_secrets(root: Path) -> list[str]:
    """Return a sentence for each secret in a checkout of git. None has the secret itself."""
    known = {entry["sha256"] for entry in tomllib.loads(ACCEPTED.read_text(encoding="utf-8")).get("secret", [])}
    found = []
    with transient_settings({"plugins_used": [{"name": name} for name in _DETECTORS]}):
        for line in written_lines(root):
            for secret in scan_line(line.text[:_LONGEST_LINE]):
                digest = hashlib.sha256((secret.secret_value or "").encode()).hexdigest()
                if digest not in known:
                    found.append(
                        f"{line.place} has what looks like a secret ({secret.type}): if it is one, change it where it "
                        f"is used; if not, write its SHA-256 {digest} and why into platform/release/accepted.toml"
                    )
    return found


def written_lines(root: Path) -> Iterator[Line]:
    """Yield each different line that a commit or the working tree of a checkout has added."""
    seen: set[str] = set()
    log = ["log", "--all", "--reverse", "--format=commit %h", "--diff-merges=first-parent"]
    for arguments, place in ((log, ""), (["diff", "HEAD"], "the working tree")):
        yield from _added_lines(root, arguments, place, seen)
    listed = ["git", "ls-files", "--others", "--exclude-standard", "-z"]
    for name in subprocess.run(listed, cwd=root, check=True, capture_output=True, text=True).stdout.split("\0")[:-1]:
        for text in (root / name).read_text(encoding="utf-8", errors="replace").splitlines():
            if text not in seen:
                seen.add(text)
                yield Line(name, text)


def _added_lines(root: Path, arguments: list[str], place: str, seen: set[str]) -> Iterator[Line]:
    command = ["git", *arguments, "--patch", "--unified=0", "--no-color", "--no-ext-diff", "--text"]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, encoding="utf-8", errors="replace") as git:
        assert git.stdout is not None
        name = ""
        for line in git.stdout:
            text = line.rstrip("\n")
            if text.startswith("commit "):
                place = text
            elif text.startswith("+++ "):
                name = text[4:].removeprefix("b/")
            elif text.startswith("+") and (added := text[1:]) not in seen:
                seen.add(added)
                yield Line(f"{name} ({place})", added)
    if git.returncode:
        raise ChildProcessError(f"git {arguments[0]} ended with {git.returncode}")
