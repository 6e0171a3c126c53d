"""The spellings of a Delta table's path, under which log stores keep its entries."""

from __future__ import annotations

from urllib.parse import quote

from tidegate.platform.core.keys.s3_address import S3Address

#: Characters that writers that encode paths leave as they are.
_PLAIN = "/!$&'()*+,;=:@~"


def spellings(location: str) -> list[str]:
    """The spellings of a table's path under which its entries may be kept. The table's own spelling comes first.

    Args:
        location: the table's `s3a://` URI, not percent-encoded.
    """
    bucket, key = S3Address.parse_s3a(location.rstrip("/"))
    paths = dict.fromkeys((S3Address(bucket, key), S3Address(bucket, quote(key, safe=_PLAIN))))
    return [spelling.rstrip("/") for path in paths for spelling in (path.s3a, path.s3)]
