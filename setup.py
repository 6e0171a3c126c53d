"""The packages of the wheel; everything else is in pyproject.toml.

The top-level folders are the architecture, and `tidegate` is a namespace over them: setuptools' own discovery knows no
such layout. platform/ has no __init__.py: with one it would shadow the standard library's platform module.
"""

from setuptools import find_packages, setup

LAYERS = ("platform", "assets", "sensors", "resources")

setup(
    packages=[
        name
        for layer in LAYERS
        for name in (f"tidegate.{layer}", *(f"tidegate.{layer}.{below}" for below in find_packages(layer)))
    ],
    package_dir={f"tidegate.{layer}": layer for layer in LAYERS},
)
