"""The form of commit messages: `scope: imperative` in 72 characters. The commit-msg hook and a test both read it here.

Git's own messages of merges, and those that a rebase removes (`fixup!`), are let pass by the hook.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

#: The last commit before the rule. Messages up to it are history, and stay as they are.
LAST_BEFORE = "870c0c24429512ec231303639c482a8d1c5d2d7c"
MAX_CHARACTERS = 72
MAX_SCOPE_WORDS = 3

_SUBJECT = re.compile(r"(?P<scope>[a-z0-9][a-z0-9._/-]*(?:,? [a-z0-9][a-z0-9._/-]*)*): (?P<rest>\S.*)")
#: What a sentence or a heading begins with, and a command does not.
_NO_COMMAND = re.compile(
    "a|an|the|this|that|these|those|it|they|its|we|you|i|he|she|there|here|nothing|nobody|each|every|all|both|no|none|"
    "not|one|two|three|some|any|many|more|most|other|another|only|new|what|which|who|whose|when|where|why|how|if|"
    "while|because|and|but|or|of|in|on|at|for|from|with|without|by|to|into|after|before|as|now|also"
)
_OTHER_FORM = re.compile(
    "became|began|broke|brought|built|came|chose|did|drew|fell|flew|forgot|found|gave|got|grew|had|held|hid|kept|knew|"
    "left|lost|made|met|paid|ran|rose|said|sang|sent|shook|spoke|stole|stood|taught|thought|threw|took|went|woke|won|"
    "wore|wrote|were|are|am|.*ed|.*ing|.*s"
)
#: Commands that end as another form of a verb does.
_COMMAND = re.compile(
    "need|feed|embed|seed|shed|speed|proceed|exceed|succeed|heed|bring|ping|ring|string|swing|alias|bias|focus|.*ss"
)
#: Subjects that git writes itself: a merge, and what `git rebase --autosquash` folds into another commit.
_OF_GIT = ("Merge ", "fixup! ", "squash! ", "amend! ")
#: `git commit --verbose` shows the diff below this line.
_SCISSORS = re.compile(r"^# -+ >8 -+$.*", re.MULTILINE | re.DOTALL)
#: In a hook, git sets these for the repository of the hook, wherever a command runs.
_REPOSITORY = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX")


def message_problems(message: str) -> list[str]:
    """Return what is not as CONTRIBUTING.md says, each with what to write. An empty list is a good message."""
    lines = message.strip("\n").split("\n")
    subject, problems = lines[0], []
    if len(subject) > MAX_CHARACTERS:
        problems.append(f"the subject has {len(subject)} characters, at most {MAX_CHARACTERS}: shorten it")
    if len(lines) > 1 and lines[1].strip():
        problems.append("the second line has text: leave it empty, and begin the body after it")
    if not (parts := _SUBJECT.fullmatch(subject)):
        return [*problems, "the subject has no scope: begin with lower-case words and a colon, as `silver: keep ties`"]
    if len(parts["scope"].replace(",", " ").split()) > MAX_SCOPE_WORDS:
        problems.append(f"the scope has more than {MAX_SCOPE_WORDS} words: name one folder or subject")
    if subject.endswith("."):
        problems.append("the subject ends with a full stop: leave it out")
    return problems + _verb_problems(parts["rest"].split()[0].rstrip(",:;."))


def recent_messages(root: Path, last_before: str = LAST_BEFORE) -> dict[str, str]:
    """Return the messages to which the rule applies, by hash, without merges.

    These are the commits after `last_before`. A shallow clone may lack that commit: then they are all that the clone
    has. An export without git, or one that was committed to another repository, has none.

    Args:
        root: folder of the project.
        last_before: hash of the last commit before the rule.

    Raises:
        subprocess.CalledProcessError: git refuses to read the repository.
    """
    if not (root / ".git").exists():
        return {}
    if _git(root, "cat-file", "-t", last_before, check=False) == "commit\n":
        revisions = f"{last_before}..HEAD"
    elif _git(root, "rev-parse", "--is-shallow-repository") == "true\n":
        revisions = "HEAD"
    else:
        return {}
    # A body may have any text, but no NUL.
    text = _git(root, "log", "-z", "--no-merges", "--format=%H %B", revisions)
    return dict(entry.split(" ", 1) for entry in text.split("\0") if entry)


def main(arguments: list[str]) -> int:
    """Check the file of a commit message, as git gives it to a commit-msg hook. Returns the exit code."""
    path = Path(arguments[0])
    # Git removes both only after the hook.
    lines = _SCISSORS.sub("", path.read_text(encoding="utf-8")).split("\n")
    message = "\n".join(line for line in lines if not line.startswith("#")).strip("\n")
    # Git itself refuses an empty message, which is how a person gives up a commit.
    if not message.strip() or message.startswith(_OF_GIT):
        return 0
    problems = message_problems(message)
    if problems:
        print("This commit message is not as CONTRIBUTING.md says (Commits):")
        print("\n".join(f"- {problem}" for problem in problems))
        print(f"It is kept. Change it and commit with: git commit --edit --file={path}")
    return 1 if problems else 0


def _verb_problems(word: str) -> list[str]:
    """Find a first word that is not a command. It is a guess by endings and lists, and knows no grammar."""
    if not re.fullmatch(r"[a-z][a-z'-]*", word):
        return [f"`{word}` follows the scope: write a verb in lower case"]
    if _COMMAND.fullmatch(word):
        return []
    if _NO_COMMAND.fullmatch(word):
        return [f"`{word}` follows the scope: begin with a verb, as if you gave an order: `keep ties in order`"]
    if _OTHER_FORM.fullmatch(word):
        return [f"`{word}` is not an imperative: write `add`, not `added`, `adds` or `adding`"]
    return []


def _git(root: Path, *arguments: str, check: bool = True) -> str:
    """Return what git prints of the repository at `root`."""
    environment = {name: value for name, value in os.environ.items() if name not in _REPOSITORY}
    done = subprocess.run(["git", *arguments], cwd=root, env=environment, capture_output=True, timeout=30, check=check)
    return done.stdout.decode("utf-8", "replace")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
