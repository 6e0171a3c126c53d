"""Draw docs/images/terminal.svg: a file, its rows and its bad row, as commands print them.

Run it in the shell of a running `tidegate dev` (after `. .tidegate/local/environment.sh`), whose lake.yaml has the
table `prices` of the picture. It puts the file, waits for its rows, and draws what the commands really print.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

from rich.console import CONSOLE_SVG_FORMAT, Console
from rich.text import Text

PICTURE = Path(__file__).resolve().parents[1] / "images" / "terminal.svg"
WIDTH = 92
LAKE = """window: 0
lake: {root: s3://landing-lake/tidegate}
queues: [{name: landing-events}]
buckets: [landing]
tables:
  - name: prices
    prefix: s3://landing/prices/
    columns: {shop: string, price: double, day: date}
    silver: {keys: [shop], order: day, every: 10}
"""
FILE = "shop,price,day\nnorth,1.5,2026-11-23\nsouth,2.5,2026-11-23\nwest,?,2026-11-23\n"
COMMANDS = (
    'tidegate sql "SELECT shop, price, day FROM silver.prices ORDER BY shop"',
    'tidegate sql "SELECT key, reason FROM lake.quarantine"',
    "tidegate status",
)


def printed(command: str) -> str:
    """Return what a command prints to a terminal."""
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(WIDTH)}
    done = subprocess.run(
        command, shell=True, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    return done.stdout


def main() -> None:
    """Put the file, wait for its rows and draw."""
    import boto3  # It reads the address of the local S3 from the environment.

    if not os.environ.get("AWS_ENDPOINT_URL"):
        raise SystemExit(f"error: start `tidegate dev` with this lake.yaml, then source its environment.sh:\n{LAKE}")
    boto3.client("s3").put_object(Bucket="landing", Key="prices/monday.csv", Body=FILE.encode())
    deadline = time.monotonic() + 300
    while "north" not in printed(COMMANDS[0]):
        if time.monotonic() > deadline:
            raise SystemExit("error: no rows after 300 seconds; see `tidegate trace s3://landing/prices/monday.csv`")
        time.sleep(5)
    console = Console(record=True, width=WIDTH, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(Text.assemble(("$ ", "bold green"), "cat monday.csv\n", FILE))
    console.print(Text.assemble(("$ ", "bold green"), "aws s3 cp monday.csv s3://landing/prices/monday.csv"))
    console.print("upload: ./monday.csv to s3://landing/prices/monday.csv\n", highlight=False)
    for command in COMMANDS:
        console.print(Text.assemble(("$ ", "bold green"), command))
        console.print(Text.from_ansi(printed(command)))
    # The fonts of the viewer, not of another site.
    code_format = re.sub(r"@font-face \{\{.*?\}\}\n", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    code_format = code_format.replace("Fira Code", "monospace")
    console.save_svg(str(PICTURE), title="tidegate", code_format=code_format, unique_id="terminal")


if __name__ == "__main__":
    sys.exit(main())
