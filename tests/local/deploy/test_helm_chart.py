"""The Helm chart, rendered by Helm for each supported way, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tests.support.helm import CHART, refusal, render, run_helm

WAYS = sorted((CHART / "ci").glob("*-values.yaml"))
MINIMAL, SEPARATE, SHARED = (
    CHART / "ci" / f"{name}-values.yaml" for name in ("minimal", "separate-spark", "shared-dagster")
)


def of_kind(objects: list[dict[str, Any]], kind: str) -> dict[str, dict[str, Any]]:
    """Return the objects of a kind by name."""
    return {found["metadata"]["name"]: found for found in objects if found["kind"] == kind}


def pods(objects: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the templates of pods, by the name of what makes them."""
    return {
        found["metadata"]["name"]: found["spec"]["template"] for found in objects if "template" in found.get("spec", {})
    }


def containers(pod: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the containers of a pod by name, those that start first too."""
    spec = pod["spec"]
    return {found["name"]: found for found in [*spec.get("initContainers", []), *spec["containers"]]}


def environ(container: dict[str, Any]) -> dict[str, Any]:
    """Return the variables of a container: values, or where they come from."""
    return {found["name"]: found.get("value", found.get("valueFrom")) for found in container["env"]}


def texts(value: Any) -> Iterator[str]:
    """Yield each text in an object."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts(each)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize("values", WAYS, ids=lambda path: path.stem)
def test_each_way_renders_to_objects_of_kubernetes_without_a_secret_or_a_root(values: Path) -> None:
    lint = run_helm("lint", "--strict", str(CHART), "--values", str(values))
    assert lint.returncode == 0, lint.stdout
    objects = render(values)
    for found in objects:
        kubernetes_validate.validate(found, "1.37", strict=True)
    assert not of_kind(objects, "Secret")
    accounts = of_kind(objects, "ServiceAccount")
    assert not any(account["automountServiceAccountToken"] for account in accounts.values())
    policies = [found["spec"]["podSelector"]["matchLabels"] for found in of_kind(objects, "NetworkPolicy").values()]
    for name, pod in pods(objects).items():
        spec = pod["spec"]
        assert spec["serviceAccountName"] in accounts, name
        assert (spec["securityContext"]["runAsNonRoot"], spec["securityContext"]["runAsUser"]) == (True, 10001)
        for container in containers(pod).values():
            secured = container["securityContext"]
            assert (secured["allowPrivilegeEscalation"], secured["readOnlyRootFilesystem"]) == (False, True)
            assert secured["capabilities"]["drop"] == ["ALL"]
            named = {volume["name"] for volume in spec["volumes"]} | {"home"}
            assert {mount["name"] for mount in container["volumeMounts"]} <= named
        # Containers share the token, and no folder for temporary files.
        places = [mount["name"] for each in containers(pod).values() for mount in each["volumeMounts"]
                  if mount["mountPath"] == "/tmp"]  # fmt: skip
        assert len(places) == len(set(places)), name
        # Each pod has a policy that says who may reach it.
        assert [each for each in policies if each.items() <= pod["metadata"]["labels"].items()], name
    for found in of_kind(objects, "Service").values():
        selector = found["spec"]["selector"].items()
        (pod,) = (pod for pod in pods(objects).values() if selector <= pod["metadata"]["labels"].items())
        ports = {port["name"] for container in containers(pod).values() for port in container.get("ports", [])}
        assert {port["targetPort"] for port in found["spec"]["ports"]} <= ports


def test_by_default_one_pod_has_everything_and_nothing_reaches_it() -> None:
    objects = render(MINIMAL)
    (dagster,) = of_kind(objects, "StatefulSet").values()
    assert (list(pods(objects)), dagster["spec"]["replicas"]) == (["lake"], 1)
    pod = pods(objects)["lake"]
    spark, daemon = containers(pod)["spark"], containers(pod)["dagster"]
    # Spark starts before Dagster, and ends after it.
    assert pod["spec"]["initContainers"] == [spark]
    assert spark["restartPolicy"] == "Always"
    probes = {probe: spark[probe]["httpGet"] for probe in ("startupProbe", "readinessProbe", "livenessProbe")}
    assert [found["path"] for found in probes.values()] == ["/readyz", "/readyz", "/livez"]
    # The token is a file of both, in memory. PySpark sends it to `localhost`, the default.
    shared = {"name": "secrets", "mountPath": "/run/tidegate"}
    assert shared in spark["volumeMounts"]
    assert shared in daemon["volumeMounts"]
    assert not {"SPARK_REMOTE", "TIDEGATE_UI_HOST", "DAGSTER_PG_HOST"} & environ(daemon).keys()
    (policy,) = of_kind(objects, "NetworkPolicy").values()
    assert policy["spec"]["ingress"] == []
    (claim,) = dagster["spec"]["volumeClaimTemplates"]
    assert claim["metadata"]["name"] == "home"
    config = of_kind(objects, "ConfigMap")["lake"]["data"]
    assert yaml.safe_load(config["lake.yaml"]) == yaml.safe_load(yaml.safe_load(MINIMAL.read_text())["lake"])


def test_the_pods_start_again_with_another_lake_yaml(tmp_path: Path) -> None:
    (other := tmp_path / "lake.yaml").write_text("lake: {root: s3://other/lake}\n")
    before, after = (
        pods(render(MINIMAL, *more))["lake"]["metadata"]["annotations"]
        for more in ((), ("--set-file", f"lake={other}"))
    )
    assert before.keys() == after.keys() == {"checksum/config"}
    assert before != after


def test_a_role_is_named_for_irsa_and_the_accounts_are_those_of_tidegate_stack() -> None:
    irsa = of_kind(render(CHART / "ci" / "irsa-values.yaml"), "ServiceAccount")
    role = {"eks.amazonaws.com/role-arn": "arn:aws:iam::111122223333:role/acme-lake"}
    assert {name: account["metadata"].get("annotations") for name, account in irsa.items()} == {"lake": role}
    objects = render(CHART / "ci" / "pod-identity-values.yaml")
    accounts = of_kind(objects, "ServiceAccount")
    assert accounts.keys() == {"acme", "acme-webhook"}
    assert not [account for account in accounts.values() if "annotations" in account["metadata"]]
    assert of_kind(render(SEPARATE), "ServiceAccount").keys() == {"lake-dagster", "lake-spark"}


def test_processes_of_the_intake_have_the_role_of_dagster_and_know_no_spark() -> None:
    assert "lake-intake" not in of_kind(render(MINIMAL), "Deployment")
    for values, account in ((MINIMAL, "lake"), (SEPARATE, "lake-dagster")):
        server = of_kind(render(values, "--set", "intake.replicas=4"), "Deployment")["lake-intake"]["spec"]
        pod = server["template"]["spec"]
        (container,) = pod["containers"]
        assert (server["replicas"], pod["serviceAccountName"], container["args"][0]) == (4, account, "intake")
        assert not [name for name in environ(container) if "SPARK" in name]


def test_webhooks_have_servers_of_their_own_that_one_drained_machine_does_not_end() -> None:
    objects = render(CHART / "ci" / "pod-identity-values.yaml")
    server = of_kind(objects, "Deployment")["lake-webhook"]
    (container,) = server["spec"]["template"]["spec"]["containers"]
    assert (server["spec"]["replicas"], container["args"][0]) == (2, "webhook")
    assert container["envFrom"] == [{"secretRef": {"name": "webhook-secrets"}}]
    budgets = of_kind(objects, "PodDisruptionBudget")
    assert {name: found["spec"]["maxUnavailable"] for name, found in budgets.items()} == {"lake-webhook": 1}
    rules = of_kind(objects, "NetworkPolicy")["lake-webhook"]["spec"]["ingress"]
    assert rules == [
        {
            "from": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}],
            "ports": [{"port": port}],
        }
        for name, port in (("ingress", "webhook"), ("monitoring", "operations"))
    ]
    (rule,) = of_kind(
        render(CHART / "ci" / "pod-identity-values.yaml", "--set", "webhook.metricsFrom=null"), "NetworkPolicy"
    )["lake-webhook"]["spec"]["ingress"]
    assert rule["ports"] == [{"port": "webhook"}], "metrics have no login"


def test_the_password_of_postgres_is_a_reference_and_spark_does_not_have_it() -> None:
    objects = render(CHART / "ci" / "external-postgres-values.yaml")
    both = containers(pods(objects)["lake"])
    found = environ(both["dagster"])
    assert found["DAGSTER_PG_PASSWORD"] == {"secretKeyRef": {"name": "postgres", "key": "password"}}
    assert found["DAGSTER_PG_HOST"] == "lake.abc.eu-central-1.rds.amazonaws.com"
    assert not [name for name in environ(both["spark"]) if "PG_" in name]
    assert "envFrom" not in both["spark"]
    # Pages without a login are for the proxy alone.
    assert found["TIDEGATE_UI_HOST"] == "0.0.0.0"
    services = of_kind(objects, "Service")
    assert services["lake"]["spec"]["clusterIP"] == "None"
    assert "clusterIP" not in services["lake-ui"]["spec"]
    (rule,) = of_kind(objects, "NetworkPolicy")["lake"]["spec"]["ingress"]
    assert rule == {"from": [{"podSelector": {"matchLabels": {"app": "oauth2-proxy"}}}], "ports": [{"port": "ui"}]}


def test_a_spark_pod_takes_only_dagster_by_tls_and_its_key_stays_there() -> None:
    objects = render(SEPARATE)
    dagster, spark = pods(objects)["lake"], pods(objects)["lake-spark"]
    assert "initContainers" not in dagster["spec"]
    found = environ(containers(dagster)["dagster"])
    assert found["SPARK_REMOTE"] == "sc://lake-spark.lakes.svc:15443/;use_ssl=true"
    (rule,) = of_kind(objects, "NetworkPolicy")["lake-spark"]["spec"]["ingress"]
    (peer,) = rule["from"]
    assert peer["podSelector"]["matchLabels"].items() <= dagster["metadata"]["labels"].items()
    assert rule["ports"] == [{"port": "connect"}]
    # The server itself listens on loopback, behind the proxy.
    assert "--host" not in containers(spark)["spark"]["args"]
    assert "reverse_proxy h2c://127.0.0.1:15002" in of_kind(objects, "ConfigMap")["lake"]["data"]["Caddyfile"]
    secrets = [volume["secret"] for volume in dagster["spec"]["volumes"] if "secret" in volume]
    assert [(each["secretName"], [item["path"] for item in each["items"]]) for each in secrets] == [
        ("spark-token", ["token"]),
        ("spark-tls", ["ca.crt"]),
    ]
    assert found["GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"] == "/run/secrets/tidegate-ca/ca.crt"
    for pod, container in ((dagster, "dagster"), (spark, "spark")):
        assert environ(containers(pod)[container])["TIDEGATE_SPARK_TOKEN_FILE"] == "/run/secrets/tidegate/token"


def test_only_a_spark_pod_is_bound_to_its_machine() -> None:
    def places(*options: str) -> dict[str, tuple[Any, ...]]:
        specs = {name: pod["spec"] for name, pod in pods(render(SEPARATE, *options)).items()}
        return {name: (spec.get("nodeSelector"), spec.get("tolerations")) for name, spec in specs.items()}

    large = {"node.kubernetes.io/instance-type": "m7i.4xlarge"}
    lakes, spark = ([{"key": key, "operator": "Exists"}] for key in ("lakes", "spark"))
    assert places() == {"lake": (None, lakes), "lake-spark": (large, spark)}
    without = ("--set-json", "spark.nodeSelector=null", "--set-json", "spark.tolerations=null")
    assert places(*without, "--set", "nodeSelector.disk=ssd") == {
        name: ({"disk": "ssd"}, lakes) for name in ("lake", "lake-spark")
    }


def test_runs_of_a_shared_dagster_get_what_the_code_location_has() -> None:
    objects = render(SHARED)
    assert not of_kind(objects, "StatefulSet")
    pod = pods(objects)["lake"]
    code = containers(pod)["code"]
    assert code["args"] == ["code-server"]
    found = environ(code)
    context = json.loads(found["DAGSTER_CONTAINER_CONTEXT"])["k8s"]
    assert found["DAGSTER_CURRENT_IMAGE"] == code["image"]
    assert (context["namespace"], context["service_account_name"]) == ("lakes", "lake-dagster")
    of_run = {each["name"]: each["value"] for each in context["env"]}
    assert of_run == {name: value for name, value in found.items() if name in of_run}
    assert "SPARK_REMOTE" in of_run
    assert {each["name"] for each in context["volume_mounts"]} == {each["name"] for each in context["volumes"]}
    (rule,) = of_kind(objects, "NetworkPolicy")["lake"]["spec"]["ingress"]
    assert rule["ports"] == [{"port": "code"}]
    # Runs are pods of that Dagster, and need the Spark server too.
    (rule,) = of_kind(objects, "NetworkPolicy")["lake-spark"]["spec"]["ingress"]
    assert {"podSelector": {"matchLabels": {"app.kubernetes.io/name": "dagster"}}} in rule["from"]


@pytest.mark.parametrize(
    ("values", "options", "why"),
    [
        (MINIMAL, ["lake="], "lake is empty: give your lake.yaml with --set-file lake=lake.yaml"),
        (MINIMAL, ["image.repository="], "image.repository is empty"),
        (MINIMAL, ["region="], "region is empty"),
        (MINIMAL, ["replicas=2"], "replicas is 2: Dagster's daemon, web server and runs are one machine"),
        (MINIMAL, ["env.GITHUB_TOKEN=x"], "env.GITHUB_TOKEN looks like a secret"),
        (MINIMAL, ["spark.separate=true"], "spark.token.secret is empty"),
        (MINIMAL, ["spark.remote=sc://other:443/;use_ssl=true"], "spark.token.secret is empty"),
        (SEPARATE, ["spark.tls.secret=", "spark.tls.ca=false"], "spark.tls.secret is empty: PySpark sends a"),
        (SEPARATE, ["spark.remote=sc://other:443/;use_ssl=true"], "spark.separate and spark.remote are both set"),
        (MINIMAL, ["spark.remote=sc://other:443", "spark.token.secret=t"], "spark.remote has no use_ssl=true"),
        (MINIMAL, ["spark.nodeSelector.disk=ssd"], "spark.nodeSelector and spark.tolerations are for a Spark pod"),
        (MINIMAL, ["spark.tls.ca=true"], "spark.tls.ca is set without spark.tls.secret"),
        (MINIMAL, ["dagster.shared=true"], "dagster.shared needs spark.separate or spark.remote"),
        (SHARED, ["dagster.from=null"], "dagster.shared needs dagster.from"),
        (SHARED, ["networkPolicy=false"], "networkPolicy is off"),
        (MINIMAL, ["postgres.host=db"], "postgres.password.secret is empty"),
        (MINIMAL, ["ui.service=true"], "ui.service needs ui.from"),
        (MINIMAL, ["webhook.enabled=true"], "webhook.secret is empty"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused_with_a_sentence(values: Path, options: list[str], why: str) -> None:
    given = [text for option in options for text in ("--set", option)]
    assert refusal(values, *given).startswith(why)


@pytest.mark.parametrize("option", ["spark.seperate=true", "serviceAccount.roles.processes=admin", "replicas=many"])
def test_a_value_that_the_chart_does_not_have_is_refused(option: str) -> None:
    assert "schema" in refusal(MINIMAL, "--set", option)
