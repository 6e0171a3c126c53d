"""How the assets of a lake look in Dagster, where a shop has rules of its own."""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg

from tidegate.platform.core.errors import BadSetting

Assets = Sequence[dg.AssetsDefinition | dg.AssetSpec]


class LakeTranslator:
    """Gives the assets of a lake other groups, owners, tags, kinds, descriptions and metadata.

    Override `get_asset_spec`, as with the translators of Dagster's own integrations. Keys stay: sensors and commands
    find an asset by its key, so `lake.name` in lake.yaml gives them a prefix.
    """

    def get_asset_spec(self, spec: dg.AssetSpec) -> dg.AssetSpec:
        """Return the spec of an asset.

        Args:
            spec: as Tidegate builds it. The tag `tidegate/layer` is `bronze` or `silver` for tables.
        """
        return spec


def apply_translator(assets: Assets, translator: LakeTranslator) -> Assets:
    """Return assets as a translator wants them.

    Raises:
        ValueError: the translator changes a key. The message names it.
    """

    def translate(spec: dg.AssetSpec) -> dg.AssetSpec:
        wanted = translator.get_asset_spec(spec)
        if wanted.key != spec.key:
            raise BadSetting(
                f"the translator changes the key {spec.key.to_user_string()} to {wanted.key.to_user_string()}; keys "
                "stay, because sensors and commands find assets by them: `lake.name` in lake.yaml gives them a prefix"
            )
        return wanted

    return dg.map_asset_specs(translate, assets)
