"""What an error says, in one line."""


def first_line(said: Exception | str) -> str:
    """The first line of an error, or of its text; of an error without any, the name of its class."""
    lines = str(said).strip().splitlines()
    if lines:
        return lines[0]
    return type(said).__name__ if isinstance(said, Exception) else ""
