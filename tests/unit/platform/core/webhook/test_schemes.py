"""The schemes of webhooks: published examples, forged requests, clocks, and secrets in rotation."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.config.webhook import Verification
from tidegate.platform.core.webhook.refusal import Reason, Refusal
from tidegate.platform.core.webhook.scheme import TOLERANCE, Received
from tidegate.platform.core.webhook.schemes import scheme_of

#: The key of the example, which is public. Scanners take the joined text for a secret.
STANDARD_SECRET = "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
SLACK_BODY = (
    "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V"
    "&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text="
    "&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN"
    "&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
)
#: By scheme: the secret, the signed request, the header of the signature, and the header with the time, if any.
EXAMPLES = {
    # The example of Standard Webhooks and of Svix: https://docs.svix.com/receiving/verifying-payloads/how-manual
    "standard": (
        STANDARD_SECRET,
        Received(
            {
                "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
                "webhook-timestamp": "1614265330",
                "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
            },
            b'{"test": 2432232314}',
            1614265330,
        ),
        "webhook-signature",
        "webhook-timestamp",
    ),
    # https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
    "github": (
        "It's a Secret to Everybody",
        Received(
            {
                "x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
            },
            b"Hello, World!",
            1614265330,
        ),
        "x-hub-signature-256",
        "",
    ),
    # https://docs.slack.dev/authentication/verifying-requests-from-slack
    "slack": (
        "8f742231b10e8888abcd99yyyzzz85a5",
        Received(
            {
                "x-slack-request-timestamp": "1531420618",
                "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
            },
            SLACK_BODY.encode(),
            1531420618,
        ),
        "x-slack-signature",
        "x-slack-request-timestamp",
    ),
    # Shopify publishes no example. This one is from SQLPage's tests of its documentation.
    "shopify": (
        "test-webhook-secret",
        Received(
            {"x-shopify-hmac-sha256": "QNyObTlKbMx2qDlPF/ZOZcBqg5OgPg+2oky3zldc0Gw="},
            b'{"id":1234567890,"email":"customer@example.com","total_price":"123.45"}',
            1614265330,
        ),
        "x-shopify-hmac-sha256",
        "",
    ),
    # Stripe publishes no example. `openssl dgst -sha256 -hmac` made this one.
    "stripe": (
        "whsec_test_secret",
        Received(
            {
                "stripe-signature": "t=1492774577,"
                "v1=9182d1b008f5b651895d7fb2c850bc4e39abb798ec01cb9fd8ef8d7b40749772,"
                "v0=6ffbb59b2300aae63f272406069a9788598b792a944a07aba816edb039989a39"
            },
            b'{"id": "evt_1", "created": 1492774570}',
            1492774577,
        ),
        "stripe-signature",
        "stripe-signature",
    ),
    "secret": ("s3cret", Received({"x-webhook-secret": "s3cret"}, b"{}", 1614265330), "x-webhook-secret", ""),
}
SCHEMES = sorted(EXAMPLES)
WITH_TIME = sorted(name for name in SCHEMES if EXAMPLES[name][3])
SIGNED = sorted(set(SCHEMES) - {"secret"})


def verify(name: str, received: Received, *secrets: str) -> None:
    scheme_of(name, "X-Webhook-Secret").verify(received, secrets or (EXAMPLES[name][0],))


def refused(reason: Reason, check: Callable[[], None]) -> str:
    with pytest.raises(Refusal) as caught:
        check()
    # A signature that is empty is one that is missing.
    assert caught.value.reason in (reason, Reason.UNSIGNED if reason is Reason.SIGNATURE else reason)
    return caught.value.detail


def test_each_scheme_that_can_be_configured_has_an_example() -> None:
    assert sorted(get_args(Verification)) == SCHEMES


@pytest.mark.parametrize("name", SCHEMES)
def test_the_example_of_a_scheme_is_genuine(name: str) -> None:
    verify(name, EXAMPLES[name][1])


@pytest.mark.parametrize("name", SIGNED)
def test_no_byte_of_a_signed_body_can_be_changed(name: str) -> None:
    received = EXAMPLES[name][1]
    for at in range(len(received.body)):
        changed = received.body[:at] + bytes([received.body[at] ^ 1]) + received.body[at + 1 :]
        for body in (changed, received.body[:at], received.body + b" "):
            refused(Reason.SIGNATURE, lambda body=body: verify(name, replace(received, body=body)))


@pytest.mark.parametrize("name", SCHEMES)
def test_every_header_of_a_scheme_is_needed_and_named(name: str) -> None:
    received = EXAMPLES[name][1]
    assert set(scheme_of(name, "X-Webhook-Secret").headers) == received.headers.keys(), (
        "what is asked for before the body"
    )
    for header in received.headers:
        left = {other: value for other, value in received.headers.items() if other != header}
        detail = refused(Reason.UNSIGNED, lambda left=left: verify(name, replace(received, headers=left)))
        assert header in detail


@pytest.mark.parametrize("name", SCHEMES)
@given(st.text(max_size=40))
def test_no_text_in_place_of_the_signature_is_genuine_or_an_error(name: str, text: str) -> None:
    _, received, header, _ = EXAMPLES[name]
    for forged in (text, f"v1,{text}", f"v0={text}", f"sha256={text}", f"t=1492774577,v1={text}", f"t={text},v1="):
        headers = {**received.headers, header: forged}
        refused(Reason.SIGNATURE, lambda headers=headers: verify(name, replace(received, headers=headers)))


@pytest.mark.parametrize("name", SCHEMES)
def test_a_secret_is_valid_while_it_is_in_the_list(name: str) -> None:
    secret, received, _, _ = EXAMPLES[name]
    other = "whsec_" + base64.b64encode(b"another key of the same length").decode()
    for secrets in ((secret, other), (other, secret)):
        verify(name, received, *secrets)
    detail = refused(Reason.SIGNATURE, lambda: verify(name, received, other))
    assert secret not in detail
    assert other not in detail


@pytest.mark.parametrize("name", WITH_TIME)
@pytest.mark.parametrize("late", [-1, 1])
def test_an_old_signature_and_one_of_the_future_are_refused_as_a_clock(name: str, late: int) -> None:
    received = EXAMPLES[name][1]
    verify(name, replace(received, at=received.at + late * TOLERANCE))
    moved = replace(received, at=received.at + late * (TOLERANCE + 1))
    detail = refused(Reason.CLOCK, lambda: verify(name, moved))
    assert ("301 s old" if late > 0 else "301 s in the future") in detail


@pytest.mark.parametrize("name", WITH_TIME)
@pytest.mark.parametrize("time", ["", "x", "-1", "1.5", "٣", "9" * 12, "9" * 400])
def test_a_signed_time_that_is_not_a_time_is_refused(name: str, time: str) -> None:
    _, received, _, header = EXAMPLES[name]
    forged = received.headers[header].replace("1492774577", time) if name == "stripe" else time
    headers = {**received.headers, header: forged}
    refused(Reason.SIGNATURE, lambda: verify(name, replace(received, headers=headers)))


def test_a_sender_may_sign_with_its_old_and_its_new_secret_at_once() -> None:
    _, received, header, _ = EXAMPLES["standard"]
    both = {**received.headers, header: f"v1,{'A' * 43}= v1a,AAAA {received.headers[header]}"}
    verify("standard", replace(received, headers=both))
    _, received, header, _ = EXAMPLES["stripe"]
    both = {**received.headers, header: received.headers[header].replace(",v1", f",v1={'0' * 64},v1")}
    verify("stripe", replace(received, headers=both))


def test_an_asymmetric_signature_is_not_a_signature_of_ours() -> None:
    _, received, header, _ = EXAMPLES["standard"]
    headers = {**received.headers, header: received.headers[header].replace("v1,", "v1a,")}
    refused(Reason.SIGNATURE, lambda: verify("standard", replace(received, headers=headers)))


def test_a_standard_body_that_is_not_text_is_not_a_row() -> None:
    received = replace(EXAMPLES["standard"][1], body=b"\xff")
    refused(Reason.NO_ROW, lambda: verify("standard", received))


@pytest.mark.parametrize(
    ("secret", "problem"),
    [(STANDARD_SECRET, ""), (STANDARD_SECRET.removeprefix("whsec_"), ""), ("whsec_", "base64"), ("hello!", "base64")],
)
def test_a_standard_secret_that_cannot_be_a_key_is_recognized(secret: str, problem: str) -> None:
    found = scheme_of("standard", "").secret_problem(secret)
    assert bool(found) == bool(problem)
    assert problem in found


def test_the_examples_without_a_publisher_agree_with_the_definition() -> None:
    """The standard library, without our code."""
    secret, received, header, _ = EXAMPLES["stripe"]
    expected = hmac.new(secret.encode(), b"1492774577." + received.body, hashlib.sha256).hexdigest()
    assert f"v1={expected}," in received.headers[header]
    secret, received, header, _ = EXAMPLES["shopify"]
    assert (
        base64.b64decode(received.headers[header]) == hmac.new(secret.encode(), received.body, hashlib.sha256).digest()
    )
