"""The parts of the webhook server, without sockets: secrets, bounds of bodies, the way to SQS, and the answers."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from tidegate.platform.core.config.webhook import WebhookSpec
from tidegate.platform.core.events.row_queue import RowOrigin
from tidegate.platform.core.webhook.refusal import Reason, Refusal
from tidegate.platform.core.webhook.schemes import scheme_of
from tidegate.platform.webhook.application import Application, RateLimit, Sender, request_body
from tidegate.platform.webhook.connection_limits import Unverified, client_network
from tidegate.platform.webhook.queue_writer import QueueWriter
from tidegate.platform.webhook.secret_values import secret_values
from tidegate.platform.webhook.webhook_metrics import Tallies

ORIGIN = RowOrigin("shop:1", 1)


def webhook(**fields: Any) -> WebhookSpec:
    given = {"name": "shop", "queue": "rows", "verification": "secret", "secrets": [{"env": "SHOP"}], **fields}
    return WebhookSpec.model_validate(given)


def test_secrets_are_read_from_variables_and_files(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text("a-secret-from-a-file\n")
    spec = webhook(secrets=[{"env": "SHOP"}, {"file": str(path)}])
    found = ("a-secret-from-a-variable", "a-secret-from-a-file")
    assert secret_values(spec, {"SHOP": f" {found[0]} "}) == (found, [])


@pytest.mark.parametrize("verification", ["standard", "github", "stripe", "slack", "shopify", "secret"])
@pytest.mark.parametrize(
    ("secret", "problem"),
    [
        ("x" * 15, "has a secret of 15 characters, and 16 are the least"),
        ("€" * 16, "has characters beyond ASCII"),
        ("whsec_QUJDREVGR0g=", "its key has 8 bytes, and 16 are the least"),
    ],
    ids=["short", "beyond ASCII", "short key"],
)
def test_a_secret_that_protects_nothing_is_a_problem(verification: str, secret: str, problem: str) -> None:
    found, problems = secret_values(webhook(verification=verification), {"SHOP": secret})
    if secret.startswith("whsec_") and verification != "standard":
        assert (found, problems) == ((secret,), [])
    else:
        assert found == ()
        assert problem in problems[0]


def test_every_secret_that_is_missing_or_useless_is_named_and_none_is_shown(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "binary").write_bytes(b"\xff")
    (tmp_path / "lines").write_text("hush\thush\nhush\thush")
    places = [{"env": "NONE"}, *({"file": str(tmp_path / name)} for name in ("empty", "binary", "lines", "gone"))]
    found, problems = secret_values(webhook(secrets=places), {"OTHER": "hush"})
    assert found == ()
    assert [problem.replace(f"{tmp_path}/", "") for problem in problems] == [
        "the environment variable NONE is not set",
        "the file empty is empty",
        "the file binary cannot be read: it is not UTF-8",
        "the file lines has control characters inside of the secret",
        "the file gone cannot be read: No such file or directory",
    ]


def test_a_secret_that_is_not_a_key_of_its_scheme_is_a_problem() -> None:
    _, (problem,) = secret_values(webhook(verification="standard"), {"SHOP": "whsec_!!!!!!!!!!!!"})
    assert problem == "the environment variable SHOP has no secret of `standard`: it is not `whsec_` and base64"


def body(*chunks: bytes, length: str | None = None, stalls: bool = False) -> bytes:
    async def parts() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk
        if stalls:
            await asyncio.sleep(60)

    return asyncio.run(request_body(parts(), length, 10, seconds=0.05 if stalls else 30))


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"length": str(2 << 20)}, Reason.TOO_LARGE),
        ({"length": "9" * 5000}, Reason.TOO_LARGE),
        ({"chunks": (b"x" * 11,)}, Reason.TOO_LARGE),
        ({"chunks": (b"x",) * 11, "length": "1"}, Reason.TOO_LARGE),
        ({"chunks": (b"x" * 600_000,) * 2, "stalls": True}, Reason.TOO_LARGE),
        ({"chunks": (b"x",), "stalls": True}, Reason.SLOW_BODY),
        ({"chunks": (b"x" * 11,), "stalls": True}, Reason.SLOW_BODY),
    ],
)
def test_a_body_is_cut_off_at_its_bounds(given: dict[str, Any], reason: Reason) -> None:
    with pytest.raises(Refusal) as caught:
        body(*given.pop("chunks", ()), **given)
    assert caught.value.reason is reason


def test_a_body_of_exactly_its_bound_is_read() -> None:
    assert body(b"12345", b"", b"67890", length="10") == b"1234567890"


def put_all(send: Callable[[Any], list[str]], rows: Sequence[str], patience: float = 30) -> list[str]:
    """Put rows at once. Returns for each the detail of its refusal; empty if it was stored."""

    async def send_one(writer: QueueWriter, text: str) -> str:
        try:
            await writer.put(text, ORIGIN)
        except Refusal as refusal:
            return f"{refusal.reason.label}, again after {refusal.retry_after} s: {refusal.detail}"
        return ""

    async def every() -> list[str]:
        writer = QueueWriter(send, lambda _: None, patience)
        try:
            return await asyncio.gather(*(send_one(writer, text) for text in rows))
        finally:
            writer.close()

    return asyncio.run(every())


def test_rows_that_wait_leave_together_up_to_the_bounds_of_a_call() -> None:
    calls: list[list[str]] = []

    def send(rows: Any) -> list[str]:
        calls.append([text for text, _ in rows])
        return [""] * len(rows)

    rows = [f"{n}" for n in range(25)] + ["x" * 150_000, "y" * 150_000, "z" * 900_000]
    assert put_all(send, rows) == [""] * len(rows)
    assert sorted(text for call in calls for text in call) == sorted(rows)
    # Each of the eight threads takes the row that finds it idle.
    assert len(calls) <= 8 + 2 + 3
    assert all(len(call) <= 10 for call in calls)
    assert all(len(call) == 1 or sum(map(len, call)) <= 200_000 for call in calls)


def test_each_delivery_learns_of_its_own_row() -> None:
    def send(rows: Any) -> list[str]:
        return ["InternalError" if text == "bad" else "" for text, _ in rows]

    found = put_all(send, ["good", "bad"] * 20)
    assert found[::2] == [""] * 20
    (detail,) = set(found[1::2])
    assert detail.startswith("unavailable, again after 10 s: the queue did not store the row (InternalError)")


def refused(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code}}, "SendMessageBatch")


def test_a_row_that_sqs_cannot_take_refuses_no_other_row() -> None:
    def send(rows: Any) -> list[str]:
        if any(text == "bad" for text, _ in rows):
            raise refused("AWS.SimpleQueueService.BatchRequestTooLong")
        return [""] * len(rows)

    found = put_all(send, [*"abcdefghijklmnop", "bad", *"qrstuvwxyz"])
    assert [bool(detail) for detail in found] == [False] * 16 + [True] + [False] * 10


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (refused("AccessDenied"), "AccessDenied"),
        (EndpointConnectionError(endpoint_url="x"), "EndpointConnectionError"),
        (KeyError("what nobody thought of"), "KeyError"),
    ],
)
def test_without_sqs_every_delivery_is_refused(error: Exception, text: str) -> None:
    calls = []

    def send(rows: Any) -> list[str]:
        calls.append(len(rows))
        raise error

    found = put_all(send, ["row"] * 30)
    assert all(text in detail for detail in found)
    assert sum(calls) == 30, "no row was sent again"


def test_a_queue_that_does_not_answer_holds_no_delivery_for_long_and_what_is_late_is_not_sent() -> None:
    sent, release = [], threading.Event()

    def send(rows: Any) -> list[str]:
        sent.extend(rows)
        release.wait(30)
        return [""] * len(rows)

    timer = threading.Timer(0.3, release.set)
    timer.start()
    found = put_all(send, ["row"] * 20, patience=0.05)
    timer.join(30)
    assert all("no answer in 0.05 s" in detail for detail in found)
    assert len(sent) == 8, "one row a thread"


def sender(send: Callable[[Any], list[str]], say: Callable[[str], None], **fields: Any) -> Sender:
    spec = webhook(**fields)
    return Sender(
        spec, scheme_of("secret", spec.header), lambda: ("s",), QueueWriter(send, say), RateLimit(spec.rate, 0.0)
    )


def ask(
    application: Application, path: str, payload: bytes = b"{}", method: str = "POST", **headers: str
) -> tuple[int, dict[str, str], Any]:
    """Call the application as a server does. Returns status, headers and body."""
    messages = iter([{"type": "http.request", "body": payload, "more_body": False}])
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return next(messages, {"type": "http.disconnect"})

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"token=hush",
        "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
        "http_version": "1.1", "scheme": "http", "server": ("x", 1), "client": ("x", 1), "root_path": "",
    }  # fmt: skip
    served = application.operations() if path in ("/readyz", "/metrics") else application.public()
    asyncio.run(served(scope, receive, send))  # type: ignore[arg-type]
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    content = b"".join(message.get("body", b"") for message in sent[1:])
    return (
        sent[0]["status"],
        found,
        json.loads(content) if "json" in found.get("content-type", "") else content.decode(),
    )


async def ready() -> str:
    return ""


async def unready() -> str:
    return "queue rows: AccessDenied"


def test_each_kind_of_request_has_its_answer_and_its_count_and_no_secret_is_logged() -> None:
    said: list[str] = []
    stored: list[Any] = []

    def send(rows: Any) -> list[str]:
        stored.extend(rows)
        return [""] * len(rows)

    senders = {"shop": sender(send, said.append, max_bytes=100, rate=0.1)}
    application = Application(senders, ready, said.append)
    good = {"x_webhook_secret": "s", "webhook_id": "a"}
    assert ask(application, "/shop", **good)[::2] == (200, {"row": "shop:a"})
    status, headers, problem = ask(application, "/shop", **good)
    assert (status, headers["retry-after"], problem["reason"]) == (429, "10", "too-many")
    assert headers["content-type"] == "application/problem+json"
    status, headers, problem = ask(application, "/shop", x_webhook_secret="hush")
    assert (status, problem["reason"]) == (401, "signature")
    assert ask(application, "/shop", b"[]", **good)[0] == 400
    status, headers, _ = ask(application, "/shop", b"x" * 101, **good)
    assert (status, headers["connection"]) == (413, "close")
    assert ask(application, "/token-hush")[0] == 404
    assert ask(application, "/shop/")[0] == 404
    assert ask(application, "/shop", method="GET")[0] == 405
    assert ask(application, "/healthz", method="GET")[0] == ask(application, "/readyz", method="GET")[0] == 200
    assert [text for text, _ in stored] == ["{}"]
    assert "hush" not in "".join(said)
    assert [json.loads(line)["outcome"] for line in said] == [
        "stored",
        "too-many",
        "signature",
        "no-row",
        "too-large",
        "unknown-sender",
    ]
    metrics = ask(application, "/metrics", method="GET")[2]
    assert 'requests_total{sender="shop",outcome="stored"} 1\n' in metrics
    assert 'requests_total{sender="",outcome="unknown-sender"} 1\n' in metrics
    assert 'stored_seconds_count{sender="shop"} 1\n' in metrics
    senders["shop"].writer.close()
    assert "'s'" not in repr(senders["shop"])


def test_a_forged_delivery_takes_nothing_of_the_sender_s_rate() -> None:
    application = Application({"shop": sender(lambda rows: [""], print, rate=0.1)}, ready, lambda _: None)
    for _ in range(20):
        assert ask(application, "/shop", x_webhook_secret="forged")[0] == 401
    assert ask(application, "/shop", x_webhook_secret="s")[0] == 200


def test_a_server_whose_queue_does_not_answer_is_not_ready() -> None:
    status, headers, problem = ask(Application({}, unready, print), "/readyz", method="GET")
    assert (status, headers["retry-after"], problem["detail"]) == (503, "5", "queue rows: AccessDenied")


def test_more_deliveries_than_fit_in_memory_are_refused() -> None:
    application = Application({"shop": sender(lambda rows: [""], print)}, ready, lambda _: None)
    application._max_verified = 0
    status, headers, problem = ask(application, "/shop", x_webhook_secret="s")
    assert (status, headers["retry-after"], headers["connection"]) == (503, "1", "close")
    assert problem["reason"] == "busy"
    assert ask(application, "/shop", x_webhook_secret="forged")[0] == 401, "it takes no place of a verified delivery"


def test_a_request_without_its_header_is_refused_before_its_body_is_read() -> None:
    application = Application({"shop": sender(lambda rows: [""], print, max_bytes=100)}, ready, lambda _: None)
    status, headers, problem = ask(application, "/shop", b"x" * 101)
    assert (status, headers["connection"], problem["reason"]) == (401, "close", "unsigned")


@pytest.mark.parametrize(
    ("address", "network"),
    [("192.0.2.7", "192.0.2.7"), ("2001:db8::1:2:3:4", "2001:db8::/64"), ("", ""), ("unix", "unix")],
)
def test_one_client_is_one_network(address: str, network: str) -> None:
    assert client_network(address) == network


def test_slow_bodies_of_one_address_take_no_place_of_another() -> None:
    async def outcome(places: Unverified, address: str, body: asyncio.Event) -> str:
        try:
            async with places.hold_place(address):
                await body.wait()
        except Refusal as refusal:
            return refusal.reason.label
        return "read"

    async def run() -> tuple[list[str], str, str]:
        places, never, at_once = Unverified(4), asyncio.Event(), asyncio.Event()
        slow = [asyncio.create_task(outcome(places, f"2001:db8::{n}", never)) for n in range(20)]
        await asyncio.sleep(0)
        first = asyncio.create_task(outcome(places, "192.0.2.1", at_once))
        more = [asyncio.create_task(outcome(places, f"2001:db8::{n}", never)) for n in range(20, 60)]
        await asyncio.sleep(0)
        second = asyncio.create_task(outcome(places, "192.0.2.2", at_once))
        await asyncio.sleep(0)
        at_once.set()
        genuine = await first, await second
        never.set()
        return await asyncio.gather(*slow, *more), *genuine

    slow, *genuine = asyncio.run(asyncio.wait_for(run(), 60))
    assert genuine == ["read", "read"]
    assert Counter(slow) == {"busy": 58, "read": 2}


def test_an_error_that_nobody_thought_of_is_answered_counted_and_logged() -> None:
    said: list[str] = []

    class Broken(QueueWriter):
        async def put(self, text: str, origin: RowOrigin) -> None:
            raise RuntimeError(f"with the text {text}")

    given = sender(lambda rows: [""], print)
    application = Application({"shop": replace(given, writer=Broken(lambda rows: [], print))}, ready, said.append)
    assert ask(application, "/shop", b'{"hush": 1}', x_webhook_secret="s")[0] == 500
    (line,) = map(json.loads, said)
    assert (line["outcome"], line["status"], line["sender"]) == ("error", 500, "shop")
    assert line["error"].startswith("RuntimeError in test_application.py, line ")
    assert "hush" not in said[0]
    assert 'outcome="error"} 1\n' in ask(application, "/metrics", method="GET")[2]


def test_a_challenge_that_is_not_text_is_refused() -> None:
    given = sender(lambda rows: [""], print, verification="slack")
    scheme = replace(scheme_of("slack", ""), verify=lambda *_: None)
    application = Application({"shop": replace(given, scheme=scheme)}, ready, lambda _: None)
    body = b'{"type": "url_verification", "challenge": "\\ud800"}'
    status, _, problem = ask(application, "/shop", body, x_slack_signature="v0=", x_slack_request_timestamp="1")
    assert (status, problem["reason"]) == (400, "no-row")


def test_tallies_without_requests_are_a_page() -> None:
    assert Tallies().text(0).count("# TYPE") == 3
