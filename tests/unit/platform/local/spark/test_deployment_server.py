"""The settings of a deployed Spark server: all that the page for AWS explains, the token, and the memory."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tidegate.platform.cli.commands.spark import parse_settings, print_settings, read_settings
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.config.commits import Commits, log_store_class
from tidegate.platform.core.config.load import LakeConfigError
from tidegate.platform.core.errors import BadSetting, UnavailableError
from tidegate.platform.lake.spark.log_stores import LOG_STORE_S3, LOG_STORE_S3A
from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.lake.spark.token_source import TOKEN, TOKEN_COMMAND, TOKEN_FILE, TokenSource
from tidegate.platform.lake.spark.value_settings import other_values
from tidegate.platform.local.spark.deployment_server import (
    DeployedServer,
    DeployedSettings,
    default_memory,
    lake_settings,
    make_token_file,
)
from tidegate.platform.local.spark.server import ConnectServer

ROOT = Path(__file__).parents[5]
WANTED = DeployedSettings("eu-central-1")


def server(folder: Path, wanted: DeployedSettings = WANTED) -> DeployedServer:
    return DeployedServer(folder, wanted, SparkRemote("sc://elsewhere:1", "s3cr3t"))


def test_the_page_gives_a_reason_for_each_setting_that_is_not_a_value() -> None:
    page = (ROOT / "docs/operate/aws.md").read_text(encoding="utf-8")
    table = page.split("| setting | why |", 1)[1].split("\n\n", 1)[0]
    explained = {name.removeprefix("spark.hadoop.") for name in re.findall(r"^\| `([\w.]+)", table, re.MULTILINE)}
    settings = lake_settings(Path("/opt/tidegate/jars"), "eu-central-1")
    printed = {name.removeprefix("spark.hadoop.") for name in settings}
    assert explained <= printed, "the page explains a setting that is not printed"
    ours = {name for name in printed if not name.startswith("spark.sql.") or "catalog" in name or "extensions" in name}
    assert ours <= explained | {"spark.delta.logStore.s3.impl"}
    assert other_values(settings) == {}


def test_a_server_of_this_machine_needs_no_name_server_and_a_cluster_reaches_the_driver(tmp_path: Path) -> None:
    here = server(tmp_path)._settings(tmp_path)
    assert (here["spark.master"], here["spark.driver.host"]) == ("local[*]", "127.0.0.1")
    assert here["spark.connect.grpc.binding.address"] == "127.0.0.1"
    assert not [name for name in here if "endpoint" in name and not name.endswith("region")]
    more = {"spark.driver.memory": "9g", "spark.x": "y"}
    cluster = DeployedSettings("eu-central-1", None, "0.0.0.0", 1, "spark://master:7077", "2g", more)
    found = server(tmp_path, cluster)._settings(tmp_path)
    assert "spark.driver.host" not in found
    assert found["spark.executor.extraClassPath"] == f"{tmp_path}/*"
    assert more.items() <= found.items()


@pytest.mark.parametrize("commits", ["dynamodb", "s3"])
def test_the_log_store_is_that_of_the_lake(tmp_path: Path, commits: Commits) -> None:
    found = server(tmp_path, DeployedSettings("eu-central-1", commits=commits))._settings(tmp_path)
    assert {found[LOG_STORE_S3A], found[LOG_STORE_S3]} == {log_store_class(commits)}
    assert found["spark.hadoop.fs.s3a.performance.flags"] == "*"
    assert lake_settings(tmp_path, "eu-central-1", None, commits).items() <= found.items()


def test_its_environment_has_the_token_and_the_credentials_and_no_other_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", "/var/run/token")
    for name in (
        "SPARK_HOME",
        "SPARK_REMOTE",
        "HADOOP_CONF_DIR",
        "JAVA_TOOL_OPTIONS",
        TOKEN_FILE,
        "https_proxy",
        "DAGSTER_PG_PASSWORD",
    ):
        monkeypatch.setenv(name, "foreign")
    environ = server(tmp_path)._environ(tmp_path)
    assert environ[TOKEN] == "s3cr3t"
    assert environ["AWS_WEB_IDENTITY_TOKEN_FILE"] == "/var/run/token"
    assert "foreign" not in environ.values()
    cluster = server(tmp_path, DeployedSettings("eu-central-1", master="yarn"))._environ(tmp_path)
    assert [name for name, value in cluster.items() if value == "foreign"] == ["HADOOP_CONF_DIR"]


@pytest.mark.parametrize("host", ["10.0.0.7", "::1", "localhost", "spark.internal"])
def test_a_host_that_localhost_cannot_reach_is_refused(host: str, tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match=f"--host {host}: choose 127.0.0.1"):
        server(tmp_path, DeployedSettings("eu-central-1", host=host))


def test_a_server_without_a_token_is_refused_with_the_ways_to_give_one(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match=f"{TOKEN_FILE} .*{TOKEN_COMMAND} or {TOKEN}"):
        DeployedServer(tmp_path, WANTED, SparkRemote("sc://localhost:1"))


def test_a_token_file_is_made_once_and_only_for_its_owner(tmp_path: Path) -> None:
    source = TokenSource(TOKEN_FILE, str(tmp_path / "deep" / "token"))
    make_token_file(source)
    token = source.read()
    assert len(token) >= 40
    assert Path(source.value).stat().st_mode & 0o777 == 0o600
    make_token_file(source)
    assert source.read() == token
    make_token_file(TokenSource(TOKEN_COMMAND, str(tmp_path / "none")))
    assert not (tmp_path / "none").exists()
    (tmp_path / "file").touch()
    with pytest.raises(BadSetting, match=r"cannot be made: (Not a directory|File exists)"):
        make_token_file(TokenSource(TOKEN_FILE, str(tmp_path / "file" / "token")))


@pytest.mark.parametrize(("limit", "wanted"), [(str(8 << 30), "4096m"), (str(1 << 20), "1024m")])
def test_half_of_the_container_s_memory_is_the_heap(limit: str, wanted: str, tmp_path: Path) -> None:
    file = tmp_path / "memory.max"
    file.write_text(f"{limit}\n")
    assert default_memory(file) == wanted


@pytest.mark.parametrize("text", ["max\n", None])
def test_without_a_limit_it_is_half_of_the_machine_s(text: str | None, tmp_path: Path) -> None:
    file = tmp_path / "memory.max"
    if text:
        file.write_text(text)
    total = int(re.findall(r"MemTotal:\s+(\d+) kB", Path("/proc/meminfo").read_text())[0]) << 10
    assert abs(int(default_memory(file)[:-1]) - (total // 2 >> 20)) <= 1


def test_settings_of_the_command_are_of_spark() -> None:
    assert parse_settings(["spark.a=b=c", "spark.d="]) == {"spark.a": "b=c", "spark.d": ""}
    for wrong in ("spark.a", "a=b", "=b"):
        with pytest.raises(CommandError, match=re.escape(f"--conf {wrong.partition('=')[0]!r}")) as refused:
            parse_settings([f"{wrong}s3cr3t" if "=" in wrong else wrong])
        assert "s3cr3t" not in str(refused.value)


@pytest.mark.parametrize(
    "name",
    ["spark.delta.logStore.s3a.impl", "spark.hadoop.fs.s3a.performance.flags", "spark.sql.catalog.tidegate"],
)
def test_the_log_store_is_not_a_choice(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match=f"--conf {name}: the log store and the procedures are those of Tidegate"):
        server(tmp_path, DeployedSettings("eu-central-1", more={name: "x"}))


def test_two_servers_do_not_share_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConnectServer, "start", lambda *_: None)
    (tmp_path / "home" / "tmp" / "blockmgr-of-one-that-was-killed").mkdir(parents=True)
    first = server(tmp_path / "home")
    first.start()
    assert not (tmp_path / "home" / "tmp").exists()
    with pytest.raises(UnavailableError, match=r"another Spark server uses .*: choose another with --home"):
        server(tmp_path / "home").start()
    server(tmp_path / "other").start()
    assert (tmp_path / "other").stat().st_mode & 0o777 == 0o700


def test_settings_of_a_file_are_as_those_of_a_command_line_and_no_value_is_repeated(tmp_path: Path) -> None:
    (path := tmp_path / "more").write_text("# a key\n\nspark.a = b=c\n  spark.d=\n")
    assert read_settings(None) == {}
    assert read_settings(path) == {"spark.a": "b=c", "spark.d": ""}
    for wrong in ("hive.x=s3cr3t", "spark.a s3cr3t"):
        path.write_text(f"spark.a=1\n{wrong}\n")
        with pytest.raises(CommandError, match="line 2: write a setting of Spark") as raised:
            read_settings(path)
        assert "s3cr3t" not in str(raised.value)
    with pytest.raises(CommandError, match=r"nowhere cannot be read: .*No such file"):
        read_settings(tmp_path / "nowhere")


def test_printed_settings_have_the_log_store_of_lake_yaml(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.delenv("TIDEGATE_LAKE", raising=False)
    print_settings(tmp_path, None)
    printed, note = capsys.readouterr()
    assert f"{LOG_STORE_S3A}={log_store_class('dynamodb')}\n" in printed
    assert note == "note: there is no lake.yaml, so these are the settings for `commits: dynamodb`\n"
    lake = 'lake: {root: "s3://lake/root", commits: s3}\nqueues: [{name: q}]\nbuckets: [landing]\n'
    (tmp_path / "lake.yaml").write_text(lake)
    print_settings(tmp_path, None)
    printed, note = capsys.readouterr()
    assert f"{LOG_STORE_S3A}={log_store_class('s3')}\n" in printed
    assert "DynamoDb" not in printed + note
    with pytest.raises(LakeConfigError):
        print_settings(tmp_path, tmp_path / "missing.yaml")


def test_a_server_knows_whether_the_next_one_has_another_token(tmp_path: Path) -> None:
    file = tmp_path / "token"
    source = TokenSource(TOKEN_FILE, str(file))
    on_demand = DeployedServer(tmp_path, WANTED, SparkRemote("sc://elsewhere:1", source=source))
    elsewhere = DeployedServer(tmp_path / "other", WANTED, SparkRemote("sc://elsewhere:1", source=source))
    assert not on_demand.is_token_replaced
    file.write_text("")
    assert not on_demand.is_token_replaced, "it is being written"
    file.write_text("another")
    assert on_demand.is_token_replaced
    file.unlink()
    assert on_demand.is_token_replaced, "the next server makes one"
    assert not elsewhere.is_token_replaced, "what reads it from elsewhere starts it again"
