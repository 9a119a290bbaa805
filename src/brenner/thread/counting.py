"""A number with the word for what was counted."""


def counted(number: int, one: str, many: str = "") -> str:
    """`1 hypothesis`, `3 hypotheses`; without `many` the plural has an `s`."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def grouped(number: int, one: str) -> str:
    """`1 message`, `12,000 messages`: of what there may be very many."""
    return f"{number:,} {one if number == 1 else one + 's'}"
