"""Clients of boto3 whose most frequent calls skip most of boto3's layers.

A receive of ten messages, or a GET of a small object, costs boto3 more CPU than the rest of the platform spends on
what comes of it. Most of that is spent again at each call on what does not change: rules of endpoints, hooks, checks of
arguments, a search for proxies. So the first call of a kind is boto3's own, and shows its address and its signature.
Further calls are made of botocore's parts: its serializer, signature, check of checksums and parser. Whatever does not
succeed is asked again by boto3, which repeats, follows redirects, and raises (decision 242).
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any, cast
from urllib.parse import urlsplit

from botocore.auth import AUTH_TYPE_MAPS
from botocore.awsrequest import AWSRequest, AWSResponse
from botocore.credentials import Credentials
from botocore.endpoint import convert_to_response_dict
from botocore.httpchecksum import handle_checksum_body, resolve_response_checksum_algorithms
from botocore.httpsession import create_urllib3_context, get_cert_path
from botocore.parsers import ResponseParserError, ResponseParserFactory
from botocore.serialize import create_serializer
from botocore.utils import get_environ_proxies, parse_timestamp
from urllib3 import PoolManager, Timeout
from urllib3.exceptions import HTTPError

#: The calls that a tick or a run makes thousands of times, by service.
FREQUENT: Mapping[str, Sequence[str]] = {
    "s3": ("get_object", "head_object"),
    "sqs": ("receive_message", "delete_message_batch"),
}
#: Emitted by the events of the client after each request that is not boto3's, with `operation_name` and `seconds`.
REQUESTED = "tidegate-requested"
#: Errors that boto3 would not repeat. All others are left to it.
_FINAL = (404, 405, 412, 416)
_SCOPE = re.compile(r"AWS4-HMAC-SHA256 Credential=[^/]+/\d{8}/([^/]+)/([^/]+)/aws4_request")
_HTTP_DATE = re.compile(r"[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT")
#: A session of S3 Express has keys of its own, which end after minutes.
_EXPRESS = "x-amz-s3session-token"
#: Parameters of S3's calls that boto3 sends as they are. For others, it has hooks, or they are in the query.
_PLAIN = {"Bucket", "Key", "Range", "IfMatch", "ChecksumMode"}
#: Hosts with connections, as boto3 has them, and calls whose addresses are known. S3 has a host for each bucket.
_MAX_HOSTS, _MAX_ADDRESSES = 10, 10_000


@dataclass(frozen=True)
class _Address:
    """Where boto3 sent a call, and how it signed it.

    Attributes:
        base: the URL without the path of the call.
        region: the region of the signature.
        service: the service of the signature.
        agent: boto3's name for itself.
    """

    base: str
    region: str
    service: str
    agent: str


class DirectClient:
    """A client of boto3 whose frequent calls skip most of its layers. It is thread-safe, as that client is.

    Args:
        client: boto3's.
        credentials: its credentials.
        verify: whether certificates are checked, or the file with the authorities; None for those of botocore.
    """

    def __init__(self, client: Any, credentials: Credentials, verify: bool | str | None) -> None:
        self._client, self._credentials = client, credentials
        self._service: str = client.meta.service_model.service_name
        protocol = client.meta.service_model.resolved_protocol
        self._serializer = create_serializer(protocol, include_validation=False)
        parsers = ResponseParserFactory()
        parsers.set_parser_defaults(timestamp_parser=_parse_time)
        self._parser = parsers.create_parser(protocol)
        self._signature: Any = AUTH_TYPE_MAPS["s3v4" if self._service == "s3" else "v4"]
        config = client.meta.config
        self._validates = config.response_checksum_validation == "when_supported"
        authorities: Any = True if verify is None else verify
        certificates = {"ca_certs": get_cert_path(authorities)} if authorities else {"cert_reqs": "CERT_NONE"}
        # botocore's context: that of urllib3 refuses authorities from Python 3.13 on with which boto3 works.
        context = create_urllib3_context()
        self._hosts = PoolManager(
            num_pools=_MAX_HOSTS,
            maxsize=config.max_pool_connections,
            timeout=Timeout(connect=config.connect_timeout, read=config.read_timeout),
            ssl_context=context,
            **certificates,
        )
        self._addresses: dict[tuple[str, str], _Address | None] = {}
        self._calling = threading.local()
        # boto3 decides by the address of its client, not by that of the call.
        self._behind_proxy = bool(get_environ_proxies(client.meta.endpoint_url))
        for method in FREQUENT[self._service]:
            operation = client.meta.service_model.operation_model(client.meta.method_to_api_mapping[method])
            client.meta.events.register(f"before-send.{self._service}.{operation.name}", self._note_request)
            setattr(self, method, partial(self._call, operation, getattr(client, method)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def close(self) -> None:
        """Close all connections."""
        self._hosts.clear()
        self._client.close()

    def _call(self, operation: Any, boto3_call: Callable[..., Any], **params: Any) -> Any:
        place = operation.name, str(params.get("Bucket", ""))
        if self._behind_proxy or not _is_plain(self._service, params):
            return boto3_call(**params)
        try:
            address = self._addresses[place]
        except KeyError:  # not asked before: another thread may forget an address at any time
            return self._learn(operation, boto3_call, params, place)
        if address:
            answer, status = self._ask(operation, address, params)
            if 0 < status < 300:
                return answer
            if status in _FINAL:
                code = answer.get("Error", {}).get("Code")
                raise self._client.exceptions.from_code(code)(answer, operation.name)
            # The bucket may have moved, too. So the next call is boto3's, and shows where it is.
            self._addresses.pop(place, None)
        return boto3_call(**params)

    def _learn(
        self, operation: Any, boto3_call: Callable[..., Any], params: dict[str, Any], place: tuple[str, str]
    ) -> Any:
        self._calling.request = None
        try:
            answer = boto3_call(**params)
            request = self._calling.request
        finally:
            self._calling.request = None
        if len(self._addresses) >= _MAX_ADDRESSES:
            self._addresses.clear()
        path = self._serialize(operation, params)["url_path"]
        self._addresses[place] = request and _address_of(request, path)
        return answer

    def _note_request(self, request: Any, **_: Any) -> None:
        self._calling.request = request

    def _serialize(self, operation: Any, params: dict[str, Any]) -> Any:
        mode = operation.http_checksum.get("requestValidationModeMember")
        if mode and self._validates:
            params.setdefault(mode, "ENABLED")
        made = self._serializer.serialize_to_request(params, operation)
        made["context"] = {}
        resolve_response_checksum_algorithms(made, operation, params)
        return made

    def _ask(self, operation: Any, address: _Address, params: dict[str, Any]) -> tuple[Any, int]:
        """Return the answer and its HTTP status; None and 0 if there is none, or none that can be read."""
        made = self._serialize(operation, params)
        url = address.base + made["url_path"]
        headers = {**made["headers"], "User-Agent": address.agent}
        request: Any = AWSRequest(made["method"], url, headers, made["body"] or None)
        keys = self._credentials.get_frozen_credentials()
        self._signature(keys, address.service, address.region).add_auth(request)
        host = urlsplit(address.base)
        connections = self._hosts.connection_from_host(host.hostname, host.port, host.scheme)
        begun = time.monotonic()
        try:
            # With the path as it was signed: a PoolManager would resolve its dots.
            sent = connections.urlopen(
                request.method,
                url[len(address.base) - len(host.path) :],
                body=request.data,
                headers=dict(request.headers),
                retries=False,
                preload_content=False,
                decode_content=False,
            )
            received: Any = AWSResponse(url, sent.status, cast(Any, sent.headers), sent)
            found = convert_to_response_dict(received, operation)
            handle_checksum_body(received, found, made["context"], operation)
            answer = self._parser.parse(found, operation.output_shape)
        except (HTTPError, OSError, ResponseParserError, ValueError):
            return None, 0
        finally:
            self._client.meta.events.emit(
                f"{REQUESTED}.{self._service}", operation_name=operation.name, seconds=time.monotonic() - begun
            )
        return answer, sent.status


def _is_plain(service: str, params: Mapping[str, Any]) -> bool:
    """Return whether a call needs none of boto3's checks and hooks. Without its key, it would ask for the bucket."""
    return service != "s3" or (params.keys() <= _PLAIN and isinstance(key := params.get("Key"), str) and key != "")


def _address_of(request: Any, path: str) -> _Address | None:
    """Return the address of a call that boto3 has sent; None if only boto3 can reach it."""
    signed = _SCOPE.match(_text(request.headers.get("Authorization", "")))
    url = request.url.partition("?")[0]
    if not signed or _EXPRESS in request.headers or not url.endswith(path):
        return None
    agent = _text(request.headers["User-Agent"])
    return _Address(url.removesuffix(path), region=signed[1], service=signed[2], agent=agent)


def _parse_time(value: Any) -> datetime:
    """Return a time as botocore does. botocore tries all formats there are, for longer than the rest of an answer."""
    return parsedate_to_datetime(value) if _HTTP_DATE.fullmatch(str(value)) else parse_timestamp(value)


def _text(header: str | bytes) -> str:
    return header.decode() if isinstance(header, bytes) else header
