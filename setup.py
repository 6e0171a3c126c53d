"""The packages of the wheel; everything else is in pyproject.toml.

The top-level folders are the architecture, and `tidegate` has a link to each. setuptools' own discovery passes over
`tidegate.platform`, which has no __init__.py: with one, platform/ would shadow the standard library's module.
"""

from setuptools import find_packages, setup

FOLDERS = ("platform", "assets", "sensors", "resources")

setup(
    packages=[
        "tidegate",
        *(f"tidegate.{folder}" for folder in FOLDERS),
        *(f"tidegate.{folder}.{below}" for folder in FOLDERS for below in find_packages(f"tidegate/{folder}")),
    ],
    # Named, so that an editable install makes this package importable, and not each folder of the root.
    package_dir={"tidegate": "tidegate"},
)
