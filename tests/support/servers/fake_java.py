"""A Java that says its version, and does nothing else."""

from __future__ import annotations

from pathlib import Path


def fake_java(folder: Path, version: str) -> Path:
    """Make a Java of a version in a folder, and return the folder, which is its home."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    return folder
