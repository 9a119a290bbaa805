"""The words of the catalogue before they are filled in, for who reads about a code."""

from string import Formatter

_LEFT_OUT = ("suggestion", "hint")


def template_text(template: str) -> str:
    """A message's template with its open places shown as <name>."""
    parts = []
    for literal, name, _, _ in Formatter().parse(template):
        parts.append(literal)
        if name and name not in _LEFT_OUT:
            parts.append(f"<{name}>")
    return "".join(parts)
