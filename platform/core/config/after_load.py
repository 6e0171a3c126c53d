"""What happens to a source object after its rows are in the table."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, StringConstraints, Tag, model_validator

from tidegate.platform.core.config.fields import Folder, Model
from tidegate.platform.core.errors import BadSetting

#: S3's limit.
_MAX_TAGS = 10

TagName = Annotated[str, StringConstraints(min_length=1, max_length=128)]
TagValue = Annotated[str, StringConstraints(max_length=256)]


class MoveOrTag(Model):
    """Exactly one of `move` and `tag`."""

    move: Folder | None = None
    """`s3://bucket/folder/` that the object is moved to. It keeps its key below the prefix."""
    tag: Annotated[dict[TagName, TagValue], Field(min_length=1, max_length=_MAX_TAGS)] | None = None
    """S3 object tags that are added to the object's own tags."""

    @model_validator(mode="after")
    def _require_one(self) -> Self:
        if (self.move is None) == (self.tag is None):
            raise BadSetting("give exactly one of move (s3://bucket/folder/) and tag (names with values)")
        return self


def _shape(value: Any) -> str:
    return "[word]" if isinstance(value, str) else "[mapping]"


#: `keep`, `delete`, `{move: …}` or `{tag: …}`. Error messages leave out the names of the two shapes.
AfterLoad = Annotated[
    Annotated[Literal["keep", "delete"], Tag("[word]")] | Annotated[MoveOrTag, Tag("[mapping]")],
    Discriminator(_shape),
]


def removes_source(after_load: Literal["keep", "delete"] | MoveOrTag) -> bool:
    """Return whether objects leave their original place."""
    return after_load == "delete" or move_target(after_load) is not None


def move_target(after_load: Literal["keep", "delete"] | MoveOrTag) -> str | None:
    """Return the `s3://` folder that objects are moved to; None if they are not moved."""
    return after_load.move if isinstance(after_load, MoveOrTag) else None


def moved_key(folder: str, relative: str, etag: str = "") -> str:
    """Return the key of an object after its move.

    Args:
        folder: key prefix of the destination.
        relative: its key below the table's prefix.
        etag: added to the name if another object has the plain name, so that both stay.
    """
    path, slash, name = relative.rpartition("/")
    stem, dot, ending = name.partition(".")
    return f"{folder}{path}{slash}{f'{stem}.{etag}{dot}{ending}' if etag else name}"
