"""The asset that says which objects would cost less in another storage class."""

from collections.abc import Sequence
from typing import Any

import dagster as dg

from tidegate.assets.inventory.report_asset import report_asset, report_command
from tidegate.assets.keys import LakeNames
from tidegate.assets.presentation.markdown import markdown, shown_lines
from tidegate.assets.presentation.plot import bars
from tidegate.platform.core.config.inventories import StorageReportsSpec
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.storage.advice import OF, Advice, advice_for, describe_missing_prices, without_price
from tidegate.platform.core.storage.cost import COMBINED_PREFIXES
from tidegate.platform.inventory.stored_objects import folder_of, read_prices, stored_objects, sums_of_all
from tidegate.platform.lake.inventory.sums import with_ends
from tidegate.resources.lake_resource import LakeResource

#: Bars of the plot.
_MAX_BARS = 12


def build_advice(names: LakeNames, spec: TableSpec, reports: StorageReportsSpec) -> dg.AssetsDefinition:
    """Build the advice on the objects in a table of inventories."""

    @report_asset(
        names,
        spec,
        "advice",
        "Which objects would cost less in another storage class, with the requests of the transition, "
        "minimum sizes and durations, and monitoring. Each line is a lifecycle rule, with all objects that it moves.",
    )
    def advice(lake: LakeResource) -> dg.MaterializeResult[Any]:
        prices = read_prices(folder_of(lake.lake_yaml) / path for path in reports.prices)
        objects = stored_objects(
            lake.open(spec.table_key.encode()), spec.table_key.encode(), reports.configuration or ""
        )
        sums, whole = sums_of_all(with_ends(objects, reports.months), OF, reports.depth)
        found = advice_for(sums, prices, reports.months, reports.classes)
        options = {"months": reports.months, "to": ",".join(reports.classes)}
        command = report_command("advice", spec, reports, **options, depth=reports.depth)
        missing = describe_missing_prices(without_price(sums, prices, reports.classes))
        return dg.MaterializeResult(
            metadata={
                **advice_metadata(found, prices.currency, reports.months, command),
                **({} if whole else {"prefixes": COMBINED_PREFIXES}),
                **({"without_price": missing} if missing else {}),
            }
        )

    return advice


def advice_metadata(found: Sequence[Advice], currency: str, months: int, command: str) -> dict[str, Any]:
    """Return advice as metadata.

    Args:
        found: the advice, the largest saving first.
        currency: of its amounts.
        months: for which it holds.
        command: prints it.
    """
    title = f"{currency} saved in {months} months, after the cost of the transition"
    bar = [
        (f"{advice.bucket}/{advice.prefix} → {advice.to}", advice.net, f"{advice.net:,.2f}")
        for advice in found[:_MAX_BARS]
    ]
    return {
        "advice": len(found),
        "net_saving": round(sum(advice.net for advice in found), 4),
        "saving_a_month": round(sum(advice.saving for advice in found), 4),
        "cost_once": round(sum(advice.once for advice in found), 4),
        "months": months,
        "currency": currency,
        **({"plot": markdown(bars(title, bar))} if found else {}),
        **shown_lines("transitions", found, lambda advice: _record(advice, currency), command),
    }


def _record(advice: Advice, currency: str) -> dict[str, Any]:
    # The UI shows the first columns only, until a person scrolls: where, what, and what it is worth.
    return {
        "objects of": f"{advice.bucket}/{advice.prefix}",
        "transition": f"{advice.storage_class} → {advice.to}",
        f"{currency} saved a month": round(advice.saving, 4),
        f"{currency} once": round(advice.once, 4),
        "break-even, months": advice.break_even,
        "objects": advice.objects,
        "days": advice.days,
        "size": advice.size,
        "versions": advice.version,
        "readable a month": "any" if advice.readable is None else f"{min(advice.readable, 99):.0%}",
    }
