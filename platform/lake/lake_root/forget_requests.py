"""The requests to forget persons, and what was done for each."""

from __future__ import annotations

import json
from typing import Any

from tidegate.platform.core.errors import BadValue
from tidegate.platform.core.forgetting.request import ForgetRequest
from tidegate.platform.core.stored_members import read_note, reading
from tidegate.platform.lake.lake_root.root import LakeRoot
from tidegate.platform.lake.threads import parallel

#: Members of the notes of all steps.
_NOTED = ("at", "by", "run", "tables", "not_searched", "subjects")


class Forgotten:
    """`forgotten/requests/<ULID>.json`, and `forgotten/<step>/<ULID>.json` of what is done.

    A request is never changed and never deleted, because it suppresses its subjects.

    Requests are read once by a handle, because they do not change.
    """

    def __init__(self, root: LakeRoot) -> None:
        self._root = root
        self._read: dict[str, ForgetRequest] = {}

    def put(self, request: ForgetRequest) -> str:
        """Write a request, unless it exists. Returns its `s3://` address.

        Raises:
            StoreError: S3 did not answer.
        """
        key = self._key(f"{request.id}.json")
        self._root.objects.put_if_absent(self._root.bucket, key, request.to_json())
        return self._root.address(key)

    def requests(self) -> list[ForgetRequest]:
        """Return all requests, oldest first.

        Raises:
            StoreError: S3 did not answer.
            ValueError: an object is not a request.
        """
        listed = [item.key for item in self._root.objects.list_under(self._root.bucket, self._key(""))]
        new = [key for key in listed if key not in self._read]
        for key, request in zip(new, parallel(self._request, new), strict=True):
            self._read[key] = request
        return [self._read[key] for key in sorted(listed)]

    def note(self, request: str, step: str) -> dict[str, Any] | None:
        """Return what was noted of a step of a request. None if the step is not done.

        Raises:
            StoreError: S3 did not answer.
            NewerVersionError: a newer version wrote it.
        """
        key = self._note_key(request, step)
        body = self._root.objects.get(self._root.bucket, key)
        with reading(self._root.address(key), "a note of a request to forget"):
            return None if body is None else read_note(body, _NOTED, "a note of a request to forget")

    def put_note(self, request: str, step: str, body: dict[str, Any], *, again: bool = False) -> None:
        """Write that a step of a request is done. A note that exists stays, unless the step was done `again`."""
        put = self._root.objects.put if again else self._root.objects.put_if_absent
        put(self._root.bucket, self._note_key(request, step), json.dumps(body, ensure_ascii=False))

    def _request(self, key: str) -> ForgetRequest:
        body = self._root.objects.get(self._root.bucket, key)
        where = self._root.address(key)
        if body is None:
            raise BadValue(f"{where} was deleted: restore it, because it keeps forgotten persons from coming back")
        return ForgetRequest.from_json(body, where)

    def _key(self, name: str) -> str:
        return self._root.key("forgotten", "requests", name)

    def _note_key(self, request: str, step: str) -> str:
        return self._root.key("forgotten", step, f"{request}.json")
