"""`tidegate tail` prints what happens in a lake, as it happens."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tidegate.assets.operations.activity import Follower, News
from tidegate.platform.cli.answers.answer import print_answer
from tidegate.platform.cli.answers.health import NewsAnswer
from tidegate.platform.cli.dagster_storage import dagster_instance
from tidegate.platform.cli.environment import client
from tidegate.platform.core.wording import number_of, one_line, size_text

#: Seconds between two requests.
INTERVAL = 1.0
_STYLES = {"quarantined": "yellow", "failed": "bold red", "unknown": "red", "committed": "green", "merged": "green"}


def run_tail(
    console: Console,
    lake: Path | None,
    home: Path | None,
    *,
    seconds: float | None,
    as_json: bool,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Print each event of a lake in a line, until Ctrl-C or until a time is over.

    Args:
        lake: the lake.yaml; None takes that of the local platform, else TIDEGATE_LAKE, else `lake.yaml`.
        home: home of a running local platform; None takes a running default one, else the environment.
        seconds: time after which the command ends. None: it ends at Ctrl-C.
        as_json: print one JSON object on each line.
        clock: returns seconds.
        sleep: waits for a number of seconds.

    Raises:
        CommandError: this machine has no storage of Dagster, or lake.yaml is wrong.
    """
    using = client(home, lake)
    # No retries: the next request comes in a second.
    once = replace(using.settings, aws=replace(using.settings.aws, max_attempts=0))
    with replace(using, settings=once).open_lake() as opened, dagster_instance(using.home) as instance:
        follower = Follower(opened, instance)
        if not as_json:
            console.print(Text(f"Following {using.settings.lake_yaml}; Ctrl-C ends it", style="dim"))
        end = None if seconds is None else clock() + seconds
        try:
            while True:
                for news in follower.take_news(time.time()):
                    _print(console, news, as_json=as_json)
                left = INTERVAL if end is None else min(INTERVAL, end - clock())
                if left <= 0:
                    return
                sleep(left)
        except KeyboardInterrupt:
            # The usual end.
            return


def _print(console: Console, news: News, *, as_json: bool) -> None:
    at = datetime.fromtimestamp(news.at, UTC)
    if as_json:
        answer = NewsAnswer(
            at=at, event=news.event, table=news.table, numbers=news.numbers, key=news.key, detail=news.detail
        )
        print_answer(console, answer, lines=True)
        return
    style = _STYLES.get(news.event, "")
    line = Text(f"{at:%H:%M:%S} ", style="dim") + Text(f"{news.event:12}", style=style)
    # Nothing was removed or quarantined in most batches.
    numbers = [_number(name, value) for name, value in news.numbers.items() if value or name == "files"]
    details = [", ".join(numbers), news.key or "", news.detail]
    console.print(line + Text(f"{one_line(news.table):24} ") + Text(one_line("  ".join(filter(None, details)))))


def _number(name: str, value: int | float) -> str:
    if name == "bytes":
        return size_text(int(value))
    if name in ("batch", "delta_version"):
        return f"{name.removeprefix('delta_')} {value}"
    return number_of(int(value), name[:-1]) if name in ("files", "rows") else f"{value:,} {name}"
