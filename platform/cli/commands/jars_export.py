"""`tidegate jars export` copies the jars of a Spark server to a folder of its class path."""

from __future__ import annotations

import shutil
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tidegate.platform.cli.errors import CommandError
from tidegate.platform.lake.disk import is_full
from tidegate.platform.lake.spark.versions import SPARKS
from tidegate.platform.local.spark.jars import log_store_jar, own_jars


def run_export(console: Console, folder: Path, *, spark: str, log_store: bool) -> None:
    """Copy the jars, and print the settings that they need. Jars of the same names are replaced.

    Args:
        folder: takes the jars; made if it is missing.
        spark: minor version of the Spark that will run with the jars.
        log_store: copy the jar of the log stores alone.

    Raises:
        CommandError: the folder has other jars, or cannot be written; or there are no jars for such a Spark.
        UnavailableError: there are no jars to copy.
    """
    if spark not in SPARKS:
        raise CommandError(f"the jars are built for Spark {' and '.join(SPARKS)}, not for {spark}")
    found = [log_store_jar()] if log_store else sorted(own_jars(spark).glob("*.jar"))
    # The jar of the log stores is put next to a Delta that it does not know: then only ours must not be there twice.
    _refuse_others(folder, {path.name for path in found}, "tidegate-*.jar" if log_store else "*.jar")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in found:
            copy = folder / f".{path.name}.part"
            try:
                shutil.copyfile(path, copy)
                copy.rename(folder / path.name)
            finally:
                copy.unlink(missing_ok=True)
    except OSError as error:
        if is_full(error):
            size = sum(path.stat().st_size for path in found)
            raise CommandError(
                f"the disk with {folder.resolve()} is full, and the jars have {size / 1e6:.1f} MB: free as much there, "
                "or name a folder on another disk"
            ) from None
        raise CommandError(f"{folder} cannot be written: {error.strerror or error}") from None
    lines = [f"{len(found)} jars are in {folder.resolve()}" if not log_store else f"{folder.resolve() / found[0].name}"]
    place = found[0].name if log_store else "*"
    lines += [f"spark.{process}.extraClassPath={folder.resolve()}/{place}" for process in ("driver", "executor")]
    console.print(Text("\n".join(lines)), soft_wrap=True)


def _refuse_others(folder: Path, names: set[str], pattern: str) -> None:
    others = sorted(path.name for path in folder.glob(pattern) if path.name not in names)
    if not others:
        return
    shown = ", ".join(others[:3]) + (f" and {len(others) - 3} more" if len(others) > 3 else "")
    raise CommandError(
        f"{folder} has other jars ({shown}), and two versions of a class must not be on one class path: name an empty "
        "folder and change the class path to it, or delete those jars"
    )
