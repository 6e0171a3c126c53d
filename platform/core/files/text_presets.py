"""Logs whose lines AWS decides: what their fields are called, and which types they have.

The facts are those of AWS's documentation: docs/guides/aws-logs.md names its pages. A preset is data.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tidegate.platform.core.errors import Misfit
from tidegate.platform.core.files.line_pattern import LinePattern, parse_line_pattern

#: The names of the presets in lake.yaml.
PresetName = Literal["s3-access", "alb", "nlb", "cloudfront", "vpc-flow"]
#: Names of a header that are read. The longest of AWS has 30 characters, and a record has some forty fields.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9()-]{0,99}")
_MAX_NAMES = 500
_MARK = b"\xef\xbb\xbf"
#: Fields of a layout: `name`, `"name"` in quotes, `'name'` in quotes that may be in the value too, `*name` the last in
#: such quotes, `~name` with quotes within, `[name]` in brackets, and `@name`, an address with a port, which is two
#: columns.
_FIELD = {
    '"': '"(?P<{}>[^"]*)"',
    "'": '(?:"(?P<{}>.*?)"|-)',
    # A requester chooses the value, so that it ends at the last quote of the line: no field behind it has one.
    "*": '(?:"(?P<{}>.*)"|-)',
    "~": "(?P<{}>[^ ]*)",
    "[": r"\[(?P<{}>[^\]]*)\]",
    "@": "(?:(?P<{0}_ip>[^ ]*):(?P<{0}_port>[0-9]+)|-)",
}
_PLAIN = '(?P<{}>[^ "]*)'


@dataclass(frozen=True)
class TextPreset:
    """The lines of a log.

    Attributes:
        sign: matches the first bytes of most files of the log, and of no other text.
        layout: the fields of a line, with a blank between two; empty if the header of each file names them. Those
            from `|` on came later, so that older lines end before one of them. What follows the last is the column
            `more`.
        header: what begins the line that names the fields; None if there is none, empty if it is the first line.
        separator: between two fields of a file with a header.
        comment: what begins a line that has no values.
        types: of the columns that are not text.
    """

    sign: re.Pattern[bytes]
    layout: str = ""
    header: str | None = None
    separator: str = " "
    comment: str | None = None
    types: Mapping[str, str] = field(default_factory=dict)

    @property
    def skips_first(self) -> bool:
        """Whether the first line of a file has no values."""
        return self.header == ""

    def pattern(self, names: tuple[str, ...]) -> LinePattern:
        """Return the pattern of the lines of a file.

        Args:
            names: the columns of its header, if it has one.
        """
        if self.header is None:
            return parse_line_pattern(_pattern_of(self.layout))
        return LinePattern(names, self.separator.join([f"([^{self.separator}]*)"] * len(names)))

    def names(self, head: bytes) -> tuple[str, ...]:
        """Return the columns of a file. The fields of a header are in lower case, with `_` for other characters.

        Args:
            head: the file's first bytes.

        Raises:
            Misfit: its first lines have no header of this log.
        """
        if self.header is None:
            return self.pattern(()).names
        mark = self.header.encode()
        # A header is before all values.
        lines = head.removeprefix(_MARK).split(b"\n", 20)[:20]
        found = next((line for line in lines if line.startswith(mark)), b"").removeprefix(mark)
        fields = found.decode("utf-8", "replace").split()
        if not fields or len(fields) > _MAX_NAMES or not all(map(_NAME.fullmatch, fields)):
            what = f"line that begins with {self.header}" if self.header else "first line that names its fields"
            raise Misfit(f"it has no {what}; is it a log of another kind, or in another format?")
        # The last line may be cut off.
        rows = (line for line in lines[1:-1] if line.strip() and not line.startswith(b"#"))
        if len(fields) > 1 and self.separator.encode() not in next(rows, self.separator.encode()):
            what = "a tab" if self.separator == "\t" else "a blank"
            raise Misfit(f"its first line of values has not {what} between fields; is it a log in another format?")
        names = tuple(re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") for name in fields)
        if len(set(names)) < len(names):
            raise Misfit("its header names a field twice; write the file again")
        return names


def recognize(head: bytes) -> PresetName | None:
    """Return the log that a file is, by its first bytes; None if it is of no known log."""
    text = head.removeprefix(_MARK)
    return next((name for name, preset in PRESETS.items() if _is_of(preset, text)), None)


def _is_of(preset: TextPreset, text: bytes) -> bool:
    if not preset.sign.match(text):
        return False
    first, second = (line.split() for line in [*text.split(b"\n", 2), b""][:2])
    # A first line of names is not enough: CSV of one column has one, too.
    return not preset.skips_first or 1 < len(first) == len(second)


def _pattern_of(layout: str) -> str:
    first, _, later = layout.partition(" | ")
    rest = " (?P<more>.*)"
    for later_field in reversed(later.split()):
        rest = f" {_field(later_field)}(?:{rest})?"
    return " ".join(map(_field, first.split())) + f"(?:{rest})?"


def _field(text: str) -> str:
    return _FIELD.get(text[0], _PLAIN).format(text.strip("\"'*~[]@"))


def _types(**columns: str) -> Mapping[str, str]:
    return {name: kind for kind, names in columns.items() for name in names.split()}


PRESETS: Mapping[PresetName, TextPreset] = {
    "s3-access": TextPreset(
        re.compile(rb"[0-9a-f]{64} [^ \n]+ \[\d\d/[A-Z][a-z]{2}/\d{4}:"),
        "bucket_owner bucket [time] remote_ip requester request_id operation key 'request_uri' http_status error_code "
        "bytes_sent object_size total_time turn_around_time 'referer' *user_agent version_id | host_id "
        "signature_version cipher_suite authentication_type host_header tls_version access_point_arn acl_required "
        "source_region",
        types=_types(timestamp="time", int="http_status", bigint="bytes_sent object_size total_time turn_around_time"),
    ),
    "alb": TextPreset(
        re.compile(rb"(?:https?|h2|grpcs|wss?) \d{4}-\d\d-\d\dT[0-9:.]+Z app/"),
        "type time elb @client @target request_processing_time target_processing_time response_processing_time "
        'elb_status_code target_status_code received_bytes sent_bytes "request" "user_agent" ssl_cipher ssl_protocol '
        'target_group_arn "trace_id" | "domain_name" "chosen_cert_arn" matched_rule_priority request_creation_time '
        '"actions_executed" "redirect_url" "error_reason" "target_port_list" "target_status_code_list" '
        '"classification" "classification_reason" conn_trace_id "transformed_host" "transformed_uri" '
        '"request_transform_status"',
        types=_types(
            timestamp="time request_creation_time",
            double="request_processing_time target_processing_time response_processing_time",
            int="client_port target_port elb_status_code target_status_code matched_rule_priority",
            bigint="received_bytes sent_bytes",
        ),
    ),
    "nlb": TextPreset(
        re.compile(rb"tls [0-9.]+ \d{4}-\d\d-\d\dT[0-9:.]+Z? net/"),
        "type version time elb listener @client @destination connection_time tls_handshake_time received_bytes "
        "sent_bytes incoming_tls_alert chosen_cert_arn chosen_cert_serial tls_cipher tls_protocol_version "
        "tls_named_group domain_name alpn_fe_protocol alpn_be_protocol ~alpn_client_preference_list | "
        "tls_connection_creation_time",
        types=_types(
            timestamp="time tls_connection_creation_time",
            int="client_port destination_port incoming_tls_alert",
            bigint="connection_time tls_handshake_time received_bytes sent_bytes",
        ),
    ),
    "cloudfront": TextPreset(
        re.compile(rb"(?:#Version:[^\n]*\n)?#Fields:[^\n]*[ \t]x-edge-"),
        header="#Fields:",
        separator="\t",
        comment="#",
        types=_types(
            date="date",
            int="sc_status c_port",
            bigint="sc_bytes cs_bytes sc_content_len sc_range_start sc_range_end",
            double="time_taken time_to_first_byte",
        ),
    ),
    "vpc-flow": TextPreset(
        re.compile(rb"(?:[a-z-]+ ){0,40}(?:srcaddr|interface-id|flow-direction)(?: [a-z-]+){0,40}\r?\n"),
        header="",
        types=_types(
            int="version srcport dstport protocol tcp_flags traffic_path",
            bigint="packets bytes start end",
        ),
    ),
}
