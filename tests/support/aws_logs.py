"""Logs as AWS writes them: our own lines by the facts of its documentation, and the values that they have."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any


@dataclass(frozen=True)
class Log:
    """The files of a log.

    Attributes:
        prefix: the folder where AWS writes it.
        setting: how lake.yaml says what it is.
        files: contents by name.
        rows: the values of each row that are not null, in the order of the files.
        bad: lines that do not become rows.
    """

    prefix: str
    setting: Mapping[str, Any]
    files: Mapping[str, bytes]
    rows: Sequence[Mapping[str, Any]]
    bad: Sequence[str] = ()

    @property
    def plain(self) -> dict[str, bytes]:
        """The contents, unpacked."""
        return {name: gzip.decompress(body) if name.endswith(".gz") else body for name, body in self.files.items()}


def _preset(name: str) -> dict[str, Any]:
    return {"format": "text", "text": {"preset": name}}


def _at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type, misc]


def _text(*lines: str) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


_OWNER = "f00dfeed" * 8
_S3_OLD = (
    f"{_OWNER} our-photos [03/Mar/2024:17:05:09 +0000] 203.0.113.7 - 0123456789ABCDEF WEBSITE.GET.OBJECT a%2Bb/c.jpg "
    '"GET /a+b/c.jpg HTTP/1.1" 404 NoSuchKey 345 - 12 - "-" "Mozilla/5.0 (X11; "odd" one)" -'
)
_S3_NEW = (
    f"{_OWNER} our-photos [31/Dec/2025:23:59:59 +0000] 2001:db8::7 arn:aws:iam::012345678901:user/ann FEDCBA9876543210 "
    'REST.PUT.OBJECT in/x.csv "PUT /our-photos/in/x.csv?x-id=PutObject HTTP/1.1" 200 - - 4294967296 70 30 '
    '"https://example.com/up" "aws-cli/2.15" vErSiOn1 hOsT+/id= SigV4 TLS_AES_128_GCM_SHA256 AuthHeader '
    "our-photos.s3.eu-central-1.amazonaws.com TLSv1.3 - - eu-central-1"
)
S3_ACCESS = Log(
    "logs/s3/",
    _preset("s3-access"),
    {
        "2025-12-31-23-59-59-A1B2": _text(_S3_OLD, _S3_NEW + " a-field of-tomorrow"),
        "2026-01-01-00-15-00-C3D4": _text(_S3_NEW, "cut off in the mid"),
    },
    [
        {
            "bucket_owner": _OWNER,
            "bucket": "our-photos",
            "time": _at(2024, 3, 3, 17, 5, 9),
            "remote_ip": "203.0.113.7",
            "request_id": "0123456789ABCDEF",
            "operation": "WEBSITE.GET.OBJECT",
            "key": "a%2Bb/c.jpg",
            "request_uri": "GET /a+b/c.jpg HTTP/1.1",
            "http_status": 404,
            "error_code": "NoSuchKey",
            "bytes_sent": 345,
            "total_time": 12,
            "user_agent": 'Mozilla/5.0 (X11; "odd" one)',
        },
        *(
            {
                "bucket_owner": _OWNER,
                "bucket": "our-photos",
                "time": _at(2025, 12, 31, 23, 59, 59),
                "remote_ip": "2001:db8::7",
                "requester": "arn:aws:iam::012345678901:user/ann",
                "request_id": "FEDCBA9876543210",
                "operation": "REST.PUT.OBJECT",
                "key": "in/x.csv",
                "request_uri": "PUT /our-photos/in/x.csv?x-id=PutObject HTTP/1.1",
                "http_status": 200,
                "object_size": 4294967296,
                "total_time": 70,
                "turn_around_time": 30,
                "referer": "https://example.com/up",
                "user_agent": "aws-cli/2.15",
                "version_id": "vErSiOn1",
                "host_id": "hOsT+/id=",
                "signature_version": "SigV4",
                "cipher_suite": "TLS_AES_128_GCM_SHA256",
                "authentication_type": "AuthHeader",
                "host_header": "our-photos.s3.eu-central-1.amazonaws.com",
                "tls_version": "TLSv1.3",
                "source_region": "eu-central-1",
                **more,
            }
            for more in ({"more": "a-field of-tomorrow"}, {})
        ),
    ],
    ["cut off in the mid"],
)

_TARGETS = "arn:aws:elasticloadbalancing:eu-central-1:012345678901:targetgroup/web/00112233445566aa"
_ALB_OLD = (
    "http 2018-07-02T22:23:00.186641Z app/shop/00aa11bb22cc33dd 192.0.2.99:2817 - -1 -1 -1 503 - 34 366 "
    '"GET http://www.example.com:80/ HTTP/1.1" "curl/7.46.0" - - - "-"'
)
_ALB_NEW = (
    "h2 2025-11-02T22:23:00.000001Z app/shop/00aa11bb22cc33dd [2001:db8::9]:48160 10.0.0.66:9000 0.001 0.037 0.000 200 "
    '200 5 9876543210 "GET https://www.example.com:443/a?q=\\x22b\\x22 HTTP/2.0" "an agent; of \\x22ours\\x22" '
    f'ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 {_TARGETS} "Root=1-58337327-72bd00b0343d75b906739c42" "www.example.com" '
    '"arn:aws:acm:eu-central-1:012345678901:certificate/0a0b" 1 2025-11-02T22:22:59.900000Z "waf,forward" "-" "-" '
    '"10.0.0.66:9000" "200" "-" "-" TID_0123456789abcdef "www.example.org" "/b?q=1" "TransformSuccess"'
)
ALB = Log(
    "logs/alb/",
    _preset("alb"),
    {"012345678901_elasticloadbalancing_eu-central-1_app.shop.log.gz": gzip.compress(_text(_ALB_OLD, _ALB_NEW))},
    [
        {
            "type": "http",
            "time": datetime(2018, 7, 2, 22, 23, 0, 186641, UTC),
            "elb": "app/shop/00aa11bb22cc33dd",
            "client_ip": "192.0.2.99",
            "client_port": 2817,
            "request_processing_time": -1.0,
            "target_processing_time": -1.0,
            "response_processing_time": -1.0,
            "elb_status_code": 503,
            "received_bytes": 34,
            "sent_bytes": 366,
            "request": "GET http://www.example.com:80/ HTTP/1.1",
            "user_agent": "curl/7.46.0",
        },
        {
            "type": "h2",
            "time": datetime(2025, 11, 2, 22, 23, 0, 1, UTC),
            "elb": "app/shop/00aa11bb22cc33dd",
            "client_ip": "[2001:db8::9]",
            "client_port": 48160,
            "target_ip": "10.0.0.66",
            "target_port": 9000,
            "request_processing_time": 0.001,
            "target_processing_time": 0.037,
            "response_processing_time": 0.0,
            "elb_status_code": 200,
            "target_status_code": 200,
            "received_bytes": 5,
            "sent_bytes": 9876543210,
            "request": "GET https://www.example.com:443/a?q=\\x22b\\x22 HTTP/2.0",
            "user_agent": "an agent; of \\x22ours\\x22",
            "ssl_cipher": "ECDHE-RSA-AES128-GCM-SHA256",
            "ssl_protocol": "TLSv1.2",
            "target_group_arn": _TARGETS,
            "trace_id": "Root=1-58337327-72bd00b0343d75b906739c42",
            "domain_name": "www.example.com",
            "chosen_cert_arn": "arn:aws:acm:eu-central-1:012345678901:certificate/0a0b",
            "matched_rule_priority": 1,
            "request_creation_time": datetime(2025, 11, 2, 22, 22, 59, 900000, UTC),
            "actions_executed": "waf,forward",
            "target_port_list": "10.0.0.66:9000",
            "target_status_code_list": "200",
            "conn_trace_id": "TID_0123456789abcdef",
            "transformed_host": "www.example.org",
            "transformed_uri": "/b?q=1",
            "request_transform_status": "TransformSuccess",
        },
    ],
)

NLB = Log(
    "logs/nlb/",
    _preset("nlb"),
    {
        "012345678901_elasticloadbalancing_eu-central-1_net.edge.log.gz": gzip.compress(
            _text(
                "tls 2.0 2020-04-01T08:51:42 net/edge/c6e77e28c25b2234 g3d4b5e8bb8464cd 192.0.2.51:51341 "
                "172.100.100.185:443 5 2 98 246 - arn:aws:acm:eu-central-1:012345678901:certificate/0a0b - "
                "ECDHE-RSA-AES128-SHA tlsv12 - edge.example.com h2 - "
                '"h2","http/1.1" 2020-04-01T08:51:20'
            )
        )
    },
    [
        {
            "type": "tls",
            "version": "2.0",
            "time": _at(2020, 4, 1, 8, 51, 42),
            "elb": "net/edge/c6e77e28c25b2234",
            "listener": "g3d4b5e8bb8464cd",
            "client_ip": "192.0.2.51",
            "client_port": 51341,
            "destination_ip": "172.100.100.185",
            "destination_port": 443,
            "connection_time": 5,
            "tls_handshake_time": 2,
            "received_bytes": 98,
            "sent_bytes": 246,
            "chosen_cert_arn": "arn:aws:acm:eu-central-1:012345678901:certificate/0a0b",
            "tls_cipher": "ECDHE-RSA-AES128-SHA",
            "tls_protocol_version": "tlsv12",
            "domain_name": "edge.example.com",
            "alpn_fe_protocol": "h2",
            "alpn_client_preference_list": '"h2","http/1.1"',
            "tls_connection_creation_time": _at(2020, 4, 1, 8, 51, 20),
        }
    ],
)

_CLOUDFRONT = (
    "date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) "
    "cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header cs-protocol cs-bytes time-taken "
    "x-forwarded-for ssl-protocol ssl-cipher x-edge-response-result-type cs-protocol-version fle-status "
    "fle-encrypted-fields c-port time-to-first-byte x-edge-detailed-result-type sc-content-type sc-content-len "
    "sc-range-start sc-range-end"
)
_EDGE = (
    "2019-12-04\t21:02:31\tLAX1\t392\t192.0.2.100\tGET\td111111abcdef8.cloudfront.net\t/index.html\t200\t-\t"
    "Mozilla/5.0%20(Windows)\t-\t-\tHit\tSOX4xwn4XV6Q4rgb7XiVGOHms_BGlTAC4KyHmureZmBNrjGdRLiNIQ==\t"
    "d111111abcdef8.cloudfront.net\thttps\t23\t0.001\t-\tTLSv1.2\tECDHE-RSA-AES128-GCM-SHA256\tHit\tHTTP/2.0\t-\t-\t"
    "11040\t0.001\tHit\ttext/html\t78\t-\t-"
)
_EDGE_VALUES: Mapping[str, Any] = {
    "date": date(2019, 12, 4),
    "time": "21:02:31",
    "x_edge_location": "LAX1",
    "sc_bytes": 392,
    "c_ip": "192.0.2.100",
    "cs_method": "GET",
    "cs_host": "d111111abcdef8.cloudfront.net",
    "cs_uri_stem": "/index.html",
    "sc_status": 200,
    "cs_user_agent": "Mozilla/5.0%20(Windows)",
    "x_edge_result_type": "Hit",
    "x_edge_request_id": "SOX4xwn4XV6Q4rgb7XiVGOHms_BGlTAC4KyHmureZmBNrjGdRLiNIQ==",
    "x_host_header": "d111111abcdef8.cloudfront.net",
    "cs_protocol": "https",
    "cs_bytes": 23,
    "time_taken": 0.001,
    "ssl_protocol": "TLSv1.2",
    "ssl_cipher": "ECDHE-RSA-AES128-GCM-SHA256",
    "x_edge_response_result_type": "Hit",
    "cs_protocol_version": "HTTP/2.0",
    "c_port": 11040,
    "time_to_first_byte": 0.001,
    "x_edge_detailed_result_type": "Hit",
    "sc_content_type": "text/html",
    "sc_content_len": 78,
}
CLOUDFRONT = Log(
    "logs/cloudfront/",
    _preset("cloudfront"),
    {
        "E2ABC.2019-12-04-21.d111111abcdef8.gz": gzip.compress(
            _text("#Version: 1.0", f"#Fields: {_CLOUDFRONT}", _EDGE, _EDGE + "\tone too many")
        ),
        # Fields that somebody chose, in an order of their own.
        "E2ABC.2026-01-01-00.aaaa.gz": gzip.compress(
            _text("#Version: 1.0", "#Fields: sc-status time date asn", "304\t00:00:01\t2026-01-01\t16509")
        ),
    },
    [
        _EDGE_VALUES,
        {"sc_status": 304, "time": "00:00:01", "date": date(2026, 1, 1), "asn": "16509"},
    ],
    [_EDGE + "\tone too many"],
)

VPC_FLOW = Log(
    "logs/vpc/",
    _preset("vpc-flow"),
    {
        "012345678901_vpcflowlogs_eu-central-1_fl-1_20260101T0000Z_a.log.gz": gzip.compress(
            _text(
                "version account-id interface-id srcaddr dstaddr srcport dstport protocol packets bytes start end "
                "action log-status",
                "2 012345678901 eni-0a 172.31.16.139 172.31.16.21 20641 22 6 20 4294967296 1418530010 1418530070 "
                "ACCEPT OK",
                "2 012345678901 eni-0a - - - - - - - 1431280876 1431280934 - NODATA",
                "2 012345678901 eni-0a 172.31.16.139",
            )
        ),
        "012345678901_vpcflowlogs_eu-central-1_fl-2_20260101T0000Z_b.log.gz": gzip.compress(
            _text("flow-direction pkt-srcaddr tcp-flags version", "ingress 2001:db8::1 19 5")
        ),
    },
    [
        {
            "version": 2,
            "account_id": "012345678901",
            "interface_id": "eni-0a",
            "srcaddr": "172.31.16.139",
            "dstaddr": "172.31.16.21",
            "srcport": 20641,
            "dstport": 22,
            "protocol": 6,
            "packets": 20,
            "bytes": 4294967296,
            "start": 1418530010,
            "end": 1418530070,
            "action": "ACCEPT",
            "log_status": "OK",
        },
        {
            "version": 2,
            "account_id": "012345678901",
            "interface_id": "eni-0a",
            "start": 1431280876,
            "end": 1431280934,
            "log_status": "NODATA",
        },
        {"flow_direction": "ingress", "pkt_srcaddr": "2001:db8::1", "tcp_flags": 19, "version": 5},
    ],
    ["2 012345678901 eni-0a 172.31.16.139"],
)

_CALLS: Sequence[Mapping[str, Any]] = (
    {
        "eventVersion": "1.08",
        "userIdentity": {"type": "IAMUser", "accountId": "012345678901", "userName": "ann"},
        "eventTime": "2026-01-02T03:04:05Z",
        "eventSource": "ec2.amazonaws.com",
        "eventName": "StartInstances",
        "sourceIPAddress": "192.0.2.0",
        "requestParameters": {"instancesSet": {"items": [{"instanceId": "i-0a"}]}},
        "responseElements": None,
        "readOnly": False,
        "eventID": "0a0b",
    },
    {
        "eventVersion": "1.08",
        "userIdentity": {"type": "AWSService", "invokedBy": "elb.amazonaws.com"},
        "eventTime": "2026-01-02T03:04:06Z",
        "eventSource": "sts.amazonaws.com",
        "eventName": "AssumeRole",
        "sourceIPAddress": "elb.amazonaws.com",
        "requestParameters": {"roleArn": "arn:aws:iam::012345678901:role/x", "durationSeconds": 3600},
        "responseElements": {"credentials": {"expiration": "Jan 2, 2026, 4:04:06 AM"}},
        "readOnly": True,
        "eventID": "0a0c",
    },
)
CLOUDTRAIL = Log(
    "logs/cloudtrail/",
    {
        "format": "json",
        "json": {"records": "Records"},
        "columns": {"eventTime": "timestamp", "requestParameters": "string", "responseElements": "string"},
    },
    {
        "012345678901_CloudTrail_eu-central-1_20260102T0305Z_a.json.gz": gzip.compress(
            json.dumps({"Records": _CALLS}, separators=(",", ":")).encode()
        )
    },
    [
        {
            "eventVersion": "1.08",
            "userIdentity": {"type": "IAMUser", "accountId": "012345678901", "userName": "ann", "invokedBy": None},
            "eventTime": _at(2026, 1, 2, 3, 4, 5),
            "eventSource": "ec2.amazonaws.com",
            "eventName": "StartInstances",
            "sourceIPAddress": "192.0.2.0",
            "requestParameters": '{"instancesSet":{"items":[{"instanceId":"i-0a"}]}}',
            "readOnly": False,
            "eventID": "0a0b",
        },
        {
            "eventVersion": "1.08",
            "userIdentity": {
                "type": "AWSService",
                "accountId": None,
                "userName": None,
                "invokedBy": "elb.amazonaws.com",
            },
            "eventTime": _at(2026, 1, 2, 3, 4, 6),
            "eventSource": "sts.amazonaws.com",
            "eventName": "AssumeRole",
            "sourceIPAddress": "elb.amazonaws.com",
            "requestParameters": '{"roleArn":"arn:aws:iam::012345678901:role/x","durationSeconds":3600}',
            "responseElements": '{"credentials":{"expiration":"Jan 2, 2026, 4:04:06 AM"}}',
            "readOnly": True,
            "eventID": "0a0c",
        },
    ],
)

#: All of them, by the names of their tables.
LOGS: Mapping[str, Log] = {
    "s3_access": S3_ACCESS,
    "alb": ALB,
    "nlb": NLB,
    "cloudfront": CLOUDFRONT,
    "vpc_flow": VPC_FLOW,
    "cloudtrail": CLOUDTRAIL,
}
