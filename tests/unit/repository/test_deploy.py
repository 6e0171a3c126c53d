"""What deploy/ has agrees with the commands, the pages and itself."""

from __future__ import annotations

import configparser
import json
import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose" / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, Any] = COMPOSE["services"]
CHART = DEPLOY / "helm" / "tidegate"
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "operate" / "deploy.md").read_text(encoding="utf-8")
AWS = (ROOT / "docs" / "operate" / "aws.md").read_text(encoding="utf-8")
ENVIRONMENT = (ROOT / "docs" / "reference" / "environment.md").read_text(encoding="utf-8")


def variables(path: Path) -> set[str]:
    """Return the variables of a file of an environment, those behind a comment sign too."""
    return set(re.findall(r"^(?:# )?([A-Z][A-Z_]+)=", path.read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.stem)
def test_a_unit_runs_a_command_of_the_pages_without_root(unit: Path) -> None:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment]
    parser.read(unit, encoding="utf-8")
    service = parser["Service"]
    command = service["ExecStart"].removeprefix("/opt/tidegate/bin/").split(" --")[0]
    assert f"\n{command}" in AWS
    assert (service["User"], service["Restart"]) == ("tidegate", "always")
    assert service["EnvironmentFile"] == "/etc/tidegate/tidegate.env"
    if "webserver" in command:
        assert "--host 127.0.0.1" in service["ExecStart"]


def test_the_environment_of_the_units_is_documented() -> None:
    for name in variables(DEPLOY / "systemd" / "tidegate.env.example"):
        assert f"`{name}`" in ENVIRONMENT, name


def test_compose_asks_for_each_variable_and_has_no_secret() -> None:
    text = (DEPLOY / "compose" / "compose.yaml").read_text(encoding="utf-8")
    asked = set(re.findall(r"\$\{([A-Z_]+):\?", text))
    assert asked == set(re.findall(r"\$\{?([A-Z_]+)", text)) == variables(DEPLOY / "compose" / ".env.example")
    for secret in ("POSTGRES_PASSWORD", "UI_PASSWORD_HASH"):
        assert f"\n{secret}=\n" in (DEPLOY / "compose" / ".env.example").read_text(encoding="utf-8")
    proxied = set(re.findall(r"\{\$([A-Z_]+)\}", (DEPLOY / "compose" / "Caddyfile").read_text(encoding="utf-8")))
    assert proxied == set(SERVICES["proxy"]["environment"])


def test_only_the_proxy_can_be_reached_and_it_asks_for_a_login() -> None:
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["network"]
    others = {name: service["network_mode"] for name, service in SERVICES.items() if name != "network"}
    assert set(others.values()) == {"service:network"}
    assert "environment" not in SERVICES["network"]
    caddy = (DEPLOY / "compose" / "Caddyfile").read_text(encoding="utf-8")
    assert caddy.index("basic_auth") < caddy.index("reverse_proxy 127.0.0.1:3000")
    assert "\tadmin off\n" in caddy, "its own port has no login, on the loopback of all services"
    # The image of PostgreSQL trusts its loopback.
    assert SERVICES["postgres"]["environment"]["POSTGRES_INITDB_ARGS"] == "--auth=scram-sha-256"
    assert not [name for name in SERVICES["spark"]["environment"] if "PG_" in name], "Spark's clients need no password"
    entrypoint = (DEPLOY / "image" / "entrypoint").read_text(encoding="utf-8")
    assert "${TIDEGATE_UI_HOST:-127.0.0.1}" in entrypoint
    assert "${TIDEGATE_UI_PORT:-3000}" in entrypoint


def test_compose_takes_a_lake_yaml_that_is_there_and_keeps_secrets_from_spark() -> None:
    for name in ("spark", "dagster"):
        (lake,) = (volume for volume in SERVICES[name]["volumes"] if isinstance(volume, dict))
        assert lake["bind"] == {"create_host_path": False}
        assert (lake["read_only"], lake["target"]) == (True, "/etc/tidegate/lake.yaml")
    files = {name: [each["path"] for each in service.get("env_file", [])] for name, service in SERVICES.items()}
    assert {name: given for name, given in files.items() if given} == {
        "spark": ["lake.env"], "dagster": ["lake.env", "secrets.env"],
    }  # fmt: skip
    for name in ("`lake.env`", "`secrets.env`"):
        assert name in PAGE


def test_a_second_spark_server_has_ports_a_folder_and_memory_of_its_own() -> None:
    found = []
    for page in (ROOT / "docs").rglob("*.md"):
        found += re.findall(r"`tidegate spark --port [^`]*`", page.read_text(encoding="utf-8"))
    assert found
    for command in found:
        assert {"--health-port", "--home", "--memory"} <= set(command.split()), command


def test_a_dump_of_the_database_asks_for_no_password_and_gets_no_terminal() -> None:
    page = (ROOT / "docs" / "operate" / "backup.md").read_text(encoding="utf-8")
    commands = re.findall(r"^docker compose exec (.*)$", page, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        assert command.startswith("-T postgres sh -c 'PGPASSWORD=$POSTGRES_PASSWORD p"), command


def test_check_waits_for_the_pod() -> None:
    notes = (CHART / "templates" / "NOTES.txt").read_text(encoding="utf-8")
    for text in (PAGE, *notes.split("{{ else }}")):
        assert text.index(" rollout status ") < text.index("-- tidegate check")
    assert "--create-namespace" in PAGE


def test_no_command_in_a_checkout_takes_the_lake_of_the_checkout() -> None:
    recipes = (DEPLOY / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```console\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    blocks += re.findall(r"`(helm install [^`]*)`", recipes)
    commands = [line.split(" # ")[0] for block in blocks for line in block.splitlines()]
    named = [word for line in commands for word in re.findall(r"[\w./-]*\blake\.yaml", line)]
    assert "../acme/lake.yaml" in named
    assert "lake.yaml" not in named, "that is the example for one machine"


def test_the_pages_come_to_the_port_that_the_page_names() -> None:
    assert "portNumber=3000,localPortNumber=3000\n" in PAGE
    assert "[?OutputKey=='Group']" in PAGE


def test_the_page_of_networks_names_each_port_of_a_recipe() -> None:
    page = (ROOT / "docs" / "operate" / "network.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\| (\d+) \|", page, re.MULTILINE))
    chart = "".join(path.read_text(encoding="utf-8") for path in (CHART / "templates").iterdir())
    ports = set(re.findall(r"containerPort: (\d+)", chart))
    ports |= {each.split(":")[0] for each in SERVICES["network"]["ports"]}
    assert ports <= named


def test_a_boot_starts_what_docker_gave_up() -> None:
    unit = configparser.ConfigParser(interpolation=None)
    unit.read(DEPLOY / "compose" / "tidegate.service", encoding="utf-8")
    assert unit["Service"]["ExecStart"] == "/usr/bin/docker compose --env-file .env up --detach"
    assert unit["Install"]["WantedBy"] == "multi-user.target"
    folder = unit["Service"]["WorkingDirectory"]
    assert f"cp -r deploy/compose {folder}\n" in PAGE
    assert "systemctl enable --now tidegate\n" in PAGE


def test_the_proxy_is_a_caddy_that_knows_the_caddyfile_and_keeps_the_hash_to_itself() -> None:
    # Debian's package of Caddy is older than 2.8, in which `basicauth` got this name.
    assert "Caddy 2.8 or newer" in PAGE
    assert "apt-get install caddy" not in PAGE
    conf = (DEPLOY / "systemd" / "caddy.conf").read_text(encoding="utf-8")
    commands = re.findall(r"^ExecStart=(.*)$", conf, re.MULTILINE)
    assert commands == ["", "/usr/bin/caddy run --config /etc/caddy/Caddyfile"], "without --environ"


def test_the_image_gets_what_it_copies_and_runs_without_root() -> None:
    dockerfile = (DEPLOY / "image" / "Dockerfile").read_text(encoding="utf-8")
    context = [
        line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] == "!"
    ]
    copied = [word for line in re.findall(r"^COPY (.*)", dockerfile, re.MULTILINE) for word in line.split()[:-1]]
    copied = [word for word in copied if not word.startswith("--")]
    assert sorted(copied) == sorted(context)
    for word in (word for word in copied if "*" not in word):
        assert (ROOT / word).is_file()
    patterns = [word for word in copied if "*" in word]
    assert f"pip install --no-deps {' '.join(patterns)}\n" in PAGE, "without containers, these wheels too"
    # `make wheels` also builds the jars for Spark 4.1, which would be a second set of classes.
    names = ("tidegate", "tidegate_jars", "tidegate_jars_spark_4_1")
    made = [f"build/dist/{name}-0.1.0-py3-none-any.whl" for name in names]
    assert [wheel for wheel in made if any(fnmatch(wheel, pattern) for pattern in patterns)] == made[:2]
    assert dockerfile.index("USER 10001") < dockerfile.index("ENTRYPOINT")
    assert "--require-hashes" in dockerfile


def test_the_entrypoint_is_a_script_that_bash_reads() -> None:
    path = DEPLOY / "image" / "entrypoint"
    assert path.stat().st_mode & 0o111
    subprocess.run(["bash", "-n", str(path)], check=True, timeout=30)


def test_every_recipe_has_a_login_before_the_pages_and_spark_on_the_loopback_with_a_token() -> None:
    asked = variables(DEPLOY / "systemd" / "proxy.env.example")
    assert asked == set(SERVICES["proxy"]["environment"]), "both recipes have one Caddyfile"
    conf = (DEPLOY / "systemd" / "caddy.conf").read_text(encoding="utf-8")
    assert "EnvironmentFile=/etc/tidegate/proxy.env\n" in conf
    assert "install -m 644 deploy/compose/Caddyfile /etc/caddy/Caddyfile" in PAGE
    spark = [
        SERVICES["spark"]["command"][1:],
        (DEPLOY / "systemd" / "tidegate-spark.service").read_text(encoding="utf-8"),
    ]
    assert not [each for each in spark if "--host" in each], "its default is 127.0.0.1"
    assert "TIDEGATE_SPARK_TOKEN_FILE" in variables(DEPLOY / "systemd" / "tidegate.env.example")
    assert "TIDEGATE_SPARK_TOKEN_FILE=" in (DEPLOY / "image" / "Dockerfile").read_text(encoding="utf-8")
    every = [path for path in DEPLOY.rglob("*") if path.is_file() and path.suffix in (".yaml", ".service", ".conf", "")]
    assert not [path for path in every if "15002:" in path.read_text(encoding="utf-8")], (
        "no recipe publishes Spark's port"
    )


@pytest.mark.parametrize(
    "command", ["hadolint image/Dockerfile", "shellcheck image/entrypoint", "shellcheck image/build"]
)
def test_a_linter_finds_nothing_in_the_image_s_files(command: str) -> None:
    program, path = command.split()
    found = subprocess.run(
        [Path(sys.executable).with_name(program), DEPLOY / path],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr


def names_of(values: dict[str, Any], above: str = "") -> set[str]:
    """Return the dotted names of all values, those that have others too."""
    found = set()
    for name, value in values.items():
        found.add(f"{above}{name}")
        if isinstance(value, dict):
            found |= names_of(value, f"{above}{name}.")
    return found


def test_the_templates_of_the_chart_use_each_value_and_no_other() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in (CHART / "templates").iterdir())
    used = set(re.findall(r"(?:\.Values|\$v)\.([A-Za-z.]+)", text))
    known = names_of(VALUES)
    assert used <= known
    # A value is used by its own name, or with what it is a part of.
    unused = {
        name
        for name in known
        if not any(name == each or name.startswith(f"{each}.") or each.startswith(f"{name}.") for each in used)
    }
    assert unused == set()


def test_the_chart_takes_the_values_of_each_way_and_its_schema_knows_all() -> None:
    ways = sorted((CHART / "ci").glob("*-values.yaml"))
    assert {path.name.removesuffix("-values.yaml") for path in ways} == {
        "external-postgres", "irsa", "minimal", "pod-identity", "separate-spark", "shared-dagster",
    }  # fmt: skip
    for path in ways:
        given = yaml.safe_load(path.read_text(encoding="utf-8"))
        jsonschema.validate(given, SCHEMA)
        # Names of variables and labels are not the chart's.
        named = {name for name in names_of(given) if not re.match(r"(env|(spark\.)?nodeSelector)\.", name)}
        assert named <= names_of(VALUES) | {
            f"spark.resources.{kind}.{name}" for kind in ("requests", "limits") for name in ("cpu", "memory")
        }
    jsonschema.validate(VALUES, SCHEMA)
    assert VALUES.keys() == SCHEMA["properties"].keys() - {"global"}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"spark": {"seperate": True}}, SCHEMA)


def test_the_chart_runs_the_commands_and_ports_of_the_image() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in (CHART / "templates").iterdir())
    entrypoint = (DEPLOY / "image" / "entrypoint").read_text(encoding="utf-8")
    assert set(re.findall(r"^  ([a-z-]+)\)", entrypoint, re.MULTILINE)) == {"dagster", "code-server"}
    assert set(re.findall(r"args: \[(\w[\w-]*)", text)) == {"dagster", "code-server", "intake", "webhook", "caddy"}
    assert "args:\n  - spark\n" in text
    assert "{name: code, containerPort: 4000}" in text
    assert "--port 4000" in entrypoint
    cli = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    for name, port in {"health-port": 15003, "operations-port": 8081}.items():
        assert f"| `--{name}` | `{port}`" in cli
        assert f"containerPort: {port}}}" in text
    version = re.search(
        r'^__version__ = "(.*)"', (ROOT / "tidegate" / "__init__.py").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert version
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert (chart["version"], chart["appVersion"]) == (version[1], version[1])


def test_what_the_entrypoint_and_the_chart_set_is_documented() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in (CHART / "templates").iterdir())
    for name in set(re.findall(r"name: ((?:TIDEGATE|SPARK|DAGSTER_PG)_[A-Z_]+)", text)) - {"TIDEGATE_UI_HOST"}:
        assert f"`{name}`" in ENVIRONMENT, name
