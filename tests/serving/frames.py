"""Take the frames around foreign texts in an answer apart."""


def split_frames(text: str, token: str) -> tuple[str, tuple[str, ...]]:
    """Return the text outside the frames, and the exact text inside each of them."""
    outside: list[str] = []
    inside: list[str] = []
    rest = text
    while True:
        before, opening, after = rest.partition(f"===== {token} by ")
        outside.append(before)
        if not opening:
            return "".join(outside), tuple(inside)
        _, _, body = after.partition("\n")
        content, _, rest = body.partition(f"\n===== {token} end")
        inside.append(content)
