"""S3 event notifications become Delta tables, as Dagster assets.

These names are public (docs/reference/python.md); those of the packages below may change with any version. Each is
imported at its first use, so that `import tidegate` costs nothing and needs no lake.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidegate.assets.keys import bronze_key, silver_key
    from tidegate.assets.translator import LakeTranslator
    from tidegate.platform.component import LakeComponent
    from tidegate.platform.core.config.lake import LakeConfig
    from tidegate.platform.core.config.load import LakeConfigError, load_lake
    from tidegate.platform.core.errors import ConfigurationError, DataError, TidegateError, UnavailableError
    from tidegate.platform.definitions import build_definitions
    from tidegate.platform.intake.lambda_function import lambda_handler
    from tidegate.platform.inventory.entered_inventories import inventory_as_of
    from tidegate.resources.lake_resource import LakeResource

__version__ = "0.1.0"

__all__ = [
    "ConfigurationError",
    "DataError",
    "LakeComponent",
    "LakeConfig",
    "LakeConfigError",
    "LakeResource",
    "LakeTranslator",
    "TidegateError",
    "UnavailableError",
    "__version__",
    "bronze_key",
    "build_definitions",
    "inventory_as_of",
    "lambda_handler",
    "load_lake",
    "silver_key",
]

_MODULES = {
    "assets.keys": ("bronze_key", "silver_key"),
    "assets.translator": ("LakeTranslator",),
    "platform.component": ("LakeComponent",),
    "platform.core.config.lake": ("LakeConfig",),
    "platform.core.config.load": ("LakeConfigError", "load_lake"),
    "platform.core.errors": ("ConfigurationError", "DataError", "TidegateError", "UnavailableError"),
    "platform.definitions": ("build_definitions",),
    "platform.intake.lambda_function": ("lambda_handler",),
    "platform.inventory.entered_inventories": ("inventory_as_of",),
    "resources.lake_resource": ("LakeResource",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'tidegate' has no attribute {name!r}")
    value = getattr(import_module(f"tidegate.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
