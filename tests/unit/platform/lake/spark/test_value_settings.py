"""The settings that decide values, without a server."""

from __future__ import annotations

import re
import warnings
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.tracked import ROOT
from tidegate.platform.lake.spark import delta as module
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.lake.spark.session import override_settings
from tidegate.platform.lake.spark.value_settings import VALUE_SETTINGS, other_values
from tidegate.platform.local.spark.conf import spark_conf

#: The defaults of Spark 4.2.0 that Tidegate does not want.
_NOT_DEFAULTS = {
    "spark.sql.variable.substitute",
    "spark.sql.session.timeZone",
    "spark.sql.parquet.outputTimestampType",
    "spark.sql.parquet.filterPushdown",
}


class Session:
    """A session that records its calls."""

    def __init__(self, **settings: str) -> None:
        self.settings, self.calls = settings, list[str]()
        self.conf = SimpleNamespace(_set_all=self._set_all, unset=self._unset)
        self.client = SimpleNamespace(get_config_with_defaults=self._get)

    def _set_all(self, settings: dict[str, str], *, silent: bool) -> None:
        self.calls.append("set")
        # PySpark passes on what the server says of a setting.
        warnings.warn("The SQL config 'spark.sql.x' has been deprecated in Spark v4.0", UserWarning, stacklevel=1)
        self.settings |= settings

    def _unset(self, name: str) -> None:
        del self.settings[name]

    def _get(self, *pairs: tuple[str, str | None]) -> tuple[str | None, ...]:
        return tuple(self.settings.get(name, default) for name, default in pairs)


@pytest.mark.filterwarnings("error")
def test_a_session_has_the_settings_before_its_first_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    session: Any = Session(**{"spark.sql.ansi.enabled": "false", "spark.sql.variable.substitute": "true"})
    monkeypatch.setattr(module, "probe", lambda *_: "4.2.0")
    opened: Any = Delta(SparkRemote.parse("sc://127.0.0.1:1", None), lambda: session).session
    assert opened is session
    assert session.calls == ["set"], "one call"
    assert session.settings == {**VALUE_SETTINGS, **module._ONE_SORT}
    assert other_values(session.settings) == {}


def test_nothing_is_substituted_and_ansi_is_on() -> None:
    wanted = {"variable.substitute": "false", "ansi.enabled": "true", "storeAssignmentPolicy": "ANSI"}
    assert {name: VALUE_SETTINGS[f"spark.sql.{name}"] for name in wanted} == wanted


def test_a_setting_for_a_while_leaves_what_was_there_before() -> None:
    session: Any = Session(**{"of.the.session": "1"})
    with override_settings(session, {"of.the.session": "2", "of.spark": "3"}):
        assert session.settings == {"of.the.session": "2", "of.spark": "3"}
    assert session.settings == {"of.the.session": "1"}


def test_the_local_server_gives_other_clients_the_settings(tmp_path: Any) -> None:
    aws = dict.fromkeys(("AWS_ENDPOINT_URL", "AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "x")
    conf = spark_conf(
        home=tmp_path, port=1, jars=tmp_path, aws=aws, cores=1, memory="1g", log_store=None, own_catalog=True
    )
    assert other_values(conf) == {}


def test_the_page_for_aws_has_the_settings_that_are_not_spark_s_defaults() -> None:
    page = (ROOT / "docs/operate/aws.md").read_text()
    for name in _NOT_DEFAULTS:
        assert f"| `{name}` |" in page


def test_a_location_is_quoted_by_one_function() -> None:
    # Not the files that git knows: a copy for mutants has no git.
    found = [path for name in ("assets", "platform", "resources", "sensors") for path in (ROOT / name).rglob("*.py")]
    assert len(found) > 100
    assert [path for path in found if re.search(r"delta\.`\{", path.read_text(encoding="utf-8"))] == []
