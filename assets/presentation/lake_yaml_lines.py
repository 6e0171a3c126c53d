"""Where `lake.yaml` says what an asset is: the file and the line."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import dagster as dg

from tidegate.platform.core.config.load import read_lake_yaml
from tidegate.platform.core.config.yaml_document import Location

Asset = dg.AssetsDefinition | dg.AssetSpec


def with_lake_yaml_lines(
    assets: Sequence[Asset], lake_yaml: str, places: Mapping[dg.AssetKey, Location]
) -> list[Asset]:
    """Return the assets with references to their lines in `lake.yaml`, which Dagster's UI opens in an editor.

    Args:
        lake_yaml: path of the file. If it cannot be read, the assets have no references.
        places: the place of each asset in the file.
    """
    path = Path(lake_yaml).absolute()
    try:
        document = read_lake_yaml(path.read_text(encoding="utf-8"), {})
    except (OSError, UnicodeDecodeError):
        return list(assets)

    def add_reference(spec: dg.AssetSpec) -> dg.AssetSpec:
        if spec.key not in places:
            return spec
        line = document.line_of(places[spec.key])
        with warnings.catch_warnings():
            # References are in beta in Dagster 1.13. Otherwise each load of the code location would log a warning.
            warnings.simplefilter("ignore", dg.BetaWarning)
            reference = dg.LocalFileCodeReference(file_path=str(path), line_number=line, label=path.name)
            value = dg.CodeReferencesMetadataValue(code_references=[reference])
        return spec.merge_attributes(metadata={"dagster/code_references": value})

    return [
        asset.map_asset_specs(add_reference) if isinstance(asset, dg.AssetsDefinition) else add_reference(asset)
        for asset in assets
    ]
