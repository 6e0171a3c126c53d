"""The units of cost: what work was measured to take, and published prices, each with its source and date.

Prices are list prices of us-east-1, without free tiers, discounts and taxes. `lake.yaml` may give others.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tidegate.platform.core.errors import BadSetting
from tidegate.platform.core.storage.prices import StoragePrices


@dataclass(frozen=True)
class Figure:
    """A number with its origin.

    Attributes:
        value: the number.
        unit: what it counts.
        source: where it was measured or published, or that it is assumed.
        date: when it was measured, published or read.
    """

    value: float
    unit: str
    source: str
    date: datetime.date

    def to_json(self) -> dict[str, Any]:
        """Return the figure as the command and the asset show it."""
        return {**asdict(self), "date": self.date.isoformat()}


class Figures(Mapping[str, float]):
    """Figures by name.

    The values are plain numbers. `find` and `figures_with_sources` return figures with their sources.
    """

    def __init__(self, figures: Mapping[str, Figure]) -> None:
        self._figures = figures

    def __getitem__(self, name: str) -> float:
        return self._figures[name].value

    def __iter__(self) -> Iterator[str]:
        return iter(self._figures)

    def __len__(self) -> int:
        return len(self._figures)

    def find(self, name: str) -> Figure:
        """Return a figure with its source."""
        return self._figures[name]

    def figures_with_sources(self) -> Mapping[str, Figure]:
        """Return all figures with their sources, by name."""
        return self._figures

    def with_prices(self, prices: StoragePrices, source: str) -> Figures:
        """Return the figures with the prices of S3 Standard that a price list of AWS has.

        Args:
            prices: of the region.
            source: names of the files.

        Raises:
            BadSetting: the prices are not in dollars, in which all other figures are.
        """
        if prices.currency != "USD":
            raise BadSetting(
                f"{source} has prices in {prices.currency}, and the other units of cost are in USD: give a list in USD"
            )
        found = {"s3_write": prices.writes.get("STANDARD"), "s3_read": prices.reads.get("STANDARD")}
        found["s3_gigabyte_month"] = prices.tiers["STANDARD"][0][1]
        date = datetime.date.fromisoformat(prices.effective[:10])
        read = {name: value for name, value in found.items() if value is not None}
        return Figures(
            {
                **self._figures,
                **{name: Figure(value, self.find(name).unit, source, date) for name, value in read.items()},
            }
        )

    def with_values(self, values: Mapping[str, float], date: datetime.date) -> Figures:
        """Return the figures with the values that `lake.yaml` gives.

        Args:
            values: by the name of a figure that exists.
            date: when they were read.
        """
        return self._with_values_of(values, "lake.yaml, costs", date)

    def without_dynamodb(self) -> Figures:
        """Return the figures of a lake whose commits only S3 coordinates."""
        # Through DynamoDB each commit, that of the table and that of the ledger, stages its bytes in a PUT of its own.
        values = {name: self[name] - 2 for name in ("batch_s3_writes", "register_s3_writes")}
        requests = {"batch_dynamodb_writes": 0.0, "batch_dynamodb_reads": 0.0}
        source = "computed: without the requests by which DynamoDB coordinates the two commits of a batch"
        return self._with_values_of(values | requests, source, self.find("batch_s3_writes").date)

    def _with_values_of(self, values: Mapping[str, float], source: str, date: datetime.date) -> Figures:
        own = {name: Figure(value, self.find(name).unit, source, date) for name, value in values.items()}
        return Figures({**self._figures, **own})


def _parse_date(text: str) -> datetime.date:
    return datetime.date.fromisoformat(text)


_BENCHMARKS = "docs/internals/benchmarks.md, "
_ONE_FILE_RUN = "python -m benchmarks.one_file_run --only load"
_REGISTERED = "python -m benchmarks.one_file_run --only register --runs 5: "

#: What work takes, measured.
_WORK = {
    "run_cpu": Figure(
        0.76,
        "CPU seconds of a run, without its tables",
        _BENCHMARKS + "runs: 0.96 for a run of one Parquet table is run_cpu and a batch, 0.22 in a run of fifty is a "
        "fiftieth of run_cpu and a batch",
        _parse_date("2026-11-26"),
    ),
    "batch_cpu": Figure(
        0.37,
        "CPU seconds of a batch of JSON, without its files",
        _ONE_FILE_RUN + " --no-requests --runs 40 --warm-up 60: client and server",
        _parse_date("2026-11-26"),
    ),
    "batch_seconds": Figure(
        0.5,
        "seconds of a batch, without its files",
        _BENCHMARKS + "runs: seconds of a run of one file inside its process",
        _parse_date("2026-11-23"),
    ),
    "file_seconds": Figure(
        0.00126,
        "seconds for a small JSON file",
        "python -m benchmarks.small_files --only json --files 4000: a later load in 5.0 s on two cores",
        _parse_date("2026-11-30"),
    ),
    "cores_of_batch": Figure(
        1.0,
        "cores that a batch uses, for each of its seconds",
        _BENCHMARKS + "small files: 18.5 CPU seconds in 18.2 s. Large files use more: all cores of the server",
        _parse_date("2026-11-24"),
    ),
    "message_cpu": Figure(
        0.00025,
        "CPU seconds of the intake for a message",
        "docs/decisions/0242-calls-without-boto3s-layers.md: 225 to 275 microseconds for an event that is drained",
        _parse_date("2026-11-30"),
    ),
    "merge_cpu": Figure(
        1.4,
        "CPU seconds of a merge of 1,000 keys into 100,000 silver rows",
        _BENCHMARKS + "silver merges",
        _parse_date("2026-11-23"),
    ),
    "batch_s3_writes": Figure(
        10, "PUTs and LISTs of S3 for a batch of JSON", _ONE_FILE_RUN + ": 7 PUT and 3 LIST", _parse_date("2026-11-30")
    ),
    "batch_s3_reads": Figure(
        8,
        "GETs and HEADs of S3 for a batch of JSON, without its files; 1.0 for each file",
        _ONE_FILE_RUN + ": 5 GET, of which one reads the file, and 4 HEAD",
        _parse_date("2026-11-30"),
    ),
    "register_s3_writes": Figure(
        9,
        "PUTs and LISTs of S3 for a batch that registers",
        _REGISTERED + "6 PUT and 3 LIST",
        _parse_date("2026-11-30"),
    ),
    "register_s3_reads": Figure(
        6,
        "GETs and HEADs of S3 for a batch that registers, without its files; 1.0 for each file",
        _REGISTERED + "5 GET, of which one reads the file, and 2 HEAD",
        _parse_date("2026-11-30"),
    ),
    "batch_dynamodb_writes": Figure(
        4,
        "write request units of DynamoDB for a batch",
        "python -m benchmarks.one_file_run --only load: 2 PutItem and 2 UpdateItem of less than 1 KB",
        _parse_date("2026-11-25"),
    ),
    "batch_dynamodb_reads": Figure(
        4,
        "read request units of DynamoDB for a batch",
        _ONE_FILE_RUN + " --pause 65: 4 Query. Within a minute of the batch before there is none",
        _parse_date("2026-11-30"),
    ),
    "message_sqs_requests": Figure(
        1.2,
        "requests of SQS for a message: one sends it, and a tenth each receives and deletes it",
        "assumed: full batches of ten, and messages of less than 64 KB",
        _parse_date("2026-11-25"),
    ),
}

#: Published prices, in dollars.
_PRICES = {
    "vcpu_hour": Figure(
        0.04048,
        "dollars for an hour of a vCPU, Fargate, Linux on x86",
        "https://www.vantage.sh/blog/fargate-pricing, https://www.wring.co/blog/aws-fargate-pricing-guide",
        _parse_date("2026-03-10"),
    ),
    "gigabyte_hour": Figure(
        0.004445,
        "dollars for an hour of a gigabyte of memory, Fargate",
        "https://www.wring.co/blog/aws-fargate-pricing-guide",
        _parse_date("2026-03-10"),
    ),
    "core_gigabytes": Figure(4, "gigabytes of memory for each core", "assumed", _parse_date("2026-11-25")),
    "utilization": Figure(
        0.6,
        "share of the cores that are paid for and used. The rest is for times with more load than the mean",
        "assumed",
        _parse_date("2026-11-25"),
    ),
    "s3_gigabyte_month": Figure(
        0.023,
        "dollars for a month of a gigabyte in S3 Standard, of the first 50 TB",
        "https://gist.github.com/EverettBerry/a37438006529a55f42da6fdbc44a505c",
        _parse_date("2022-07-07"),
    ),
    "s3_write": Figure(
        0.000005,
        "dollars for a PUT, COPY, POST or LIST of S3 Standard",
        "https://c3x.dev/blog/s3-request-fees-explained",
        _parse_date("2026-11-25"),
    ),
    "s3_read": Figure(
        0.0000004,
        "dollars for a GET or HEAD of S3 Standard",
        "https://c3x.dev/blog/s3-request-fees-explained",
        _parse_date("2026-11-25"),
    ),
    "sqs_request": Figure(
        0.0000004,
        "dollars for a request to a standard queue",
        "https://cloudburn.io/blog/amazon-sqs-pricing",
        _parse_date("2026-03-14"),
    ),
    "dynamodb_write": Figure(
        0.000000625,
        "dollars for a write request unit, on demand",
        "https://airbyte.com/data-engineering-resources/dynamodb-pricing",
        _parse_date("2025-07-21"),
    ),
    "dynamodb_read": Figure(
        0.000000125,
        "dollars for a read request unit, on demand",
        "https://airbyte.com/data-engineering-resources/dynamodb-pricing",
        _parse_date("2025-07-21"),
    ),
}

FIGURES = Figures({**_WORK, **_PRICES})
