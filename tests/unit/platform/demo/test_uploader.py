"""A demo that is run again repeats an incomplete wave from its start, and of a complete wave what changes no bucket."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tidegate.platform.demo.operations import Operations
from tidegate.platform.demo.uploader import Uploader

CREATED = "ObjectCreated:Put"


class Cloud:
    """A bucket, and the bodies that a queue got."""

    def __init__(self) -> None:
        self.bucket: dict[str, bytes] = {}
        self.bodies: list[str] = []

    def put_object(self, **given: Any) -> None:
        self.bucket[given["Key"]] = given["Body"]

    def delete_object(self, **given: Any) -> None:
        self.bucket.pop(given["Key"], None)

    def list_objects_v2(self, **given: Any) -> dict[str, int]:
        return {"KeyCount": int(given["Prefix"] in self.bucket)}

    def send_message(self, **given: Any) -> None:
        self.bodies.append(given["MessageBody"])


def produce(folder: Path) -> None:
    does = Operations(folder)
    does.put("weather/1.json", b"1", "export")
    does.put("weather/2.json", b"2", "export")
    does.put("weather/3.json", b"3", "export")
    does.wave = 2
    does.fix("weather/3.json", ["NA"], "mended")
    does.put("weather/1.json", b"newer", "overwritten")
    does.put("weather/bad.json", b"", "bad", bad=True)
    does.delete("weather/2.json", "removed")
    does.redeliver("weather/1.json", CREATED, "redelivered")
    does.message("no notification", "bad")
    does.write()


def test_each_wave_is_sent_as_far_as_it_is_not_complete(tmp_path: Path) -> None:
    produce(tmp_path)
    cloud = Cloud()

    def sent(wave: int, uploader: Uploader) -> tuple[int, int, int]:
        """Send a wave. Returns the numbers of its fixes, of its other operations, and of their events."""
        fixes, operations = uploader.plan_wave(wave)
        done: list[int] = []
        events = uploader.upload(operations, lambda: done.append(1))
        assert len(done) == len(operations)
        return len(fixes), len(operations), events

    def started() -> Uploader:
        return Uploader(tmp_path, cloud, cloud, "queue")

    first = started()
    assert first.waves == [1, 2]
    assert sent(1, first) == (0, 3, 3)
    assert sent(1, started()) == (0, 3, 3), "it was interrupted before the wave was complete"
    started().mark_completed(1)
    assert started().completed_waves() == [1]
    assert sent(1, started()) == (0, 1, 1), "not what is overwritten or deleted later"
    assert sent(2, started()) == (1, 5, 5)
    assert sent(2, started()) == (1, 5, 4), "a key that is gone already causes no event"
    started().mark_completed(2)
    after, bodies = dict(cloud.bucket), list(cloud.bodies)
    assert [sent(wave, started()) for wave in (1, 2)] == [(0, 1, 1), (0, 2, 2)]
    assert cloud.bucket == after
    assert len(cloud.bodies) == len(bodies) + 1
    assert "no notification" not in cloud.bodies[len(bodies) :]
