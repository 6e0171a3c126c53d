"""Names of objects that other products decoded wrongly from S3's notifications."""

from __future__ import annotations

from tests.support.peers.case import Peer


def _named(source: str, was: str, key: str) -> Peer:
    return Peer(source, was, "texts", "id,a,b\n@1,x,y\n", {1: {"a": "x", "b": "y"}}, key=key)


CASES = (
    _named("localstack/localstack#465", "a blank and colons in the key", "files/2017-11-15 14:22:21_file.csv"),
    _named("airbnb/binaryalert#54", "a blank and a plus sign in the key", "space plus+test.txt.csv"),
    _named("aws/aws-sdk-js#837", "colons in the key", "test/10:47:07.20151213-1450022300.log.csv"),
    _named("aws/aws-lambda-go#82", "blanks became plus signs in the key", "a b/c d+e.csv"),
    _named(
        "aws-samples/siem-on-amazon-opensearch-service#42",
        "characters of patterns and escapes in the key",
        "meta [1]{2}#3?4*5%2F6.csv",
    ),
    _named("boto/boto3#1204", "letters beyond ASCII, and what looks like an escape, in the key", "ünï-試 %41+.csv"),
)
