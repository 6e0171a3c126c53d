"""A number with its noun, as a text for people has it."""


def number_of(count: int, noun: str) -> str:
    """Returns a number and its noun: `1 row`, `0 rows`, `1,200 rows`.

    Args:
        count: the number.
        noun: in the singular. Its plural has an `s`.
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
