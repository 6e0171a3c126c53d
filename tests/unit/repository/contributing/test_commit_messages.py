"""Commit messages are `scope: imperative` in 72 characters: in the history of this clone, and by the hook."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.support import commit_messages
from tests.support.commit_messages import MAX_CHARACTERS, main, message_problems, recent_messages

ROOT = Path(__file__).resolve().parents[4]
LONGEST = "silver: keep ties ".ljust(MAX_CHARACTERS, "x")
GOOD = (
    "silver: keep ties in order",
    "silver: keep ties in order\n\nThe order of equal rows was that of tasks.\nNow it is that of files.",
    "late reads: end the run's own work on files with the batch",
    "bronze, silver: name limits as the style says",
    "lake.yaml: refuse a tag without a meaning",
    "docs/reference: add what stays between versions",
    "s3: process answers of 403 one by one",
    "tests: embed the sample",
    "ci: bring the jars",
    "tests: re-read the log",
    "resources: access one object at a time",
    LONGEST,
)
#: The beginning of what is found, by message.
BAD = {
    f"{LONGEST}x": f"the subject has {MAX_CHARACTERS + 1} characters",
    "silver: keep ties\nin order": "the second line has text",
    "keep ties in order": "the subject has no scope",
    "Silver: keep ties": "the subject has no scope",
    "silver:keep ties": "the subject has no scope",
    "silver: ": "the subject has no scope",
    "": "the subject has no scope",
    'Revert "silver: keep ties"': "the subject has no scope",
    "what a run of a table does: count it": "the scope has more than 3 words",
    "silver: keep ties in order.": "the subject ends with a full stop",
    "silver: Keep ties": "`Keep` follows the scope",
    "silver: 10,000 keys take a second": "`10,000` follows the scope",
    "silver: a tie keeps its order": "`a` follows the scope",
    "silver: what ties are": "`what` follows the scope",
    "silver: added ties": "`added` is not an imperative",
    "silver: adds ties": "`adds` is not an imperative",
    "silver: adding ties": "`adding` is not an imperative",
    "silver: kept ties": "`kept` is not an imperative",
    "silver: ties, in order": "`ties` is not an imperative",
}
Git = Callable[..., str]


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """Return a function that runs git in a folder below `tmp_path`, without the configuration of this machine."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "A")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "a@example.org")

    def run(folder: str, *arguments: str) -> str:
        command = ["git", *arguments]
        done = subprocess.run(command, cwd=tmp_path / folder, capture_output=True, text=True, timeout=30, check=True)
        return done.stdout.strip()

    return run


def commit(git: Git, folder: str, message: str) -> str:
    """Make an empty commit. Returns its hash."""
    git(folder, "commit", "-q", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def last_before(git: Git, tmp_path: Path) -> str:
    """Return a repository `origin` with two commits and a merge after the one before the rule.

    Returns that one's hash.
    """
    (tmp_path / "origin").mkdir()
    git("origin", "init", "-q", "-b", "main")
    commit(git, "origin", "Older still")
    before = commit(git, "origin", "The last one of old")
    git("origin", "checkout", "-q", "-b", "side")
    commit(git, "origin", "silver: keep ties\n\nBecause they\n\nmatter.")
    git("origin", "checkout", "-q", "main")
    git("origin", "merge", "-q", "--no-ff", "-m", "Merge side", "side")
    commit(git, "origin", "Bad one")
    return before


@pytest.mark.parametrize("message", GOOD)
def test_a_good_message_is_left_alone(message: str) -> None:
    assert message_problems(message) == []


@pytest.mark.parametrize("message", BAD)
def test_a_bad_message_is_found(message: str) -> None:
    (problem,) = message_problems(message)
    assert problem.startswith(BAD[message])


def test_all_problems_of_a_message_are_found_at_once() -> None:
    problems = message_problems(f"One two three four: {'x' * MAX_CHARACTERS}\nbody")
    assert [problem.split(":")[0] for problem in problems] == [
        "the subject has 92 characters, at most 72",
        "the second line has text",
        "the subject has no scope",
    ]


def test_the_history_of_this_clone_keeps_the_rule() -> None:
    found = {
        f"{revision[:8]} {message.splitlines()[0]}": problems
        for revision, message in recent_messages(ROOT).items()
        if (problems := message_problems(message))
    }
    assert not found, "CONTRIBUTING.md (Commits) says how a message is written; `git rebase -i` changes one"


def test_messages_after_the_last_one_before_the_rule_are_read(git: Git, last_before: str, tmp_path: Path) -> None:
    messages = list(recent_messages(tmp_path / "origin", last_before).values())
    assert [message.strip() for message in messages] == ["Bad one", "silver: keep ties\n\nBecause they\n\nmatter."]


def test_a_shallow_clone_without_that_commit_is_read_whole(git: Git, last_before: str, tmp_path: Path) -> None:
    git(".", "clone", "-q", "--depth", "1", (tmp_path / "origin").as_uri(), "shallow")
    assert [message.strip() for message in recent_messages(tmp_path / "shallow", last_before).values()] == ["Bad one"]


def test_an_export_has_no_messages_to_read(git: Git, last_before: str, tmp_path: Path) -> None:
    (tmp_path / "origin" / "export").mkdir()
    assert recent_messages(tmp_path / "origin" / "export", last_before) == {}
    (tmp_path / "other").mkdir()
    git("other", "init", "-q")
    commit(git, "other", "Import of an export")
    assert recent_messages(tmp_path / "other", last_before) == {}


def test_a_repository_that_git_refuses_is_an_error(git: Git, last_before: str, tmp_path: Path) -> None:
    (tmp_path / "origin" / ".git" / "HEAD").write_text("broken")
    with pytest.raises(subprocess.CalledProcessError):
        recent_messages(tmp_path / "origin", last_before)


def test_in_a_hook_the_repository_is_that_of_the_folder(
    git: Git, last_before: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "gone"))
    assert len(recent_messages(tmp_path / "origin", last_before)) == 2


@pytest.mark.parametrize(
    "text",
    [
        "silver: keep ties\n# Please enter a message\n#\n",
        "\n# Please enter a message\nsilver: keep ties\n\nBody\n# more\n",
        "silver: keep ties\n# On branch\n# ------------------------ >8 ------------------------\n# not\ndiff --git\n",
        "# nothing was written\n",
        "Merge branch 'side'\n",
        "fixup! silver: keep ties\n",
    ],
)
def test_the_hook_lets_a_good_message_pass(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "message").write_text(text)
    assert main([str(tmp_path / "message")]) == 0
    assert capsys.readouterr().out == ""


def test_the_hook_refuses_a_bad_message_and_says_how_to_go_back_to_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "message"
    path.write_text("# a comment\nAdded ties.\n")
    assert main([str(path)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "This commit message is not as CONTRIBUTING.md says (Commits):",
        "- the subject has no scope: begin with lower-case words and a colon, as `silver: keep ties`",
        f"It is kept. Change it and commit with: git commit --edit --file={path}",
    ]


def test_pre_commit_runs_this_check_on_messages_and_nothing_else() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    hooks = [hook for repository in config["repos"] for hook in repository["hooks"]]
    stages = {hook["id"]: hook.get("stages", config["default_stages"]) for hook in hooks}
    (entry,) = (hook["entry"] for hook in hooks if "commit-msg" in stages[hook["id"]])
    assert entry == f".venv/bin/python -m {commit_messages.__name__}"
    assert "commit-msg" in config["default_install_hook_types"]
