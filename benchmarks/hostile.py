"""Hostile bodies: time per byte must not grow with the length."""

from collections.abc import Callable
from functools import partial

from brenner import check_message
from measure import best_of, heading, row
from messages import HEADERS

BODIES: dict[str, Callable[[int], str]] = {
    "plain prose": lambda size: "All cells are equal, some more.\n" * (size // 32),
    "backticks in one line": lambda size: "`" * size,
    "fences, one per line": lambda size: "```\n" * (size // 4),
    "fences of falling length": lambda size: "\n".join(
        "`" * length for length in range(int((2 * size) ** 0.5), 2, -1)
    ),
    "quotation marks": lambda size: "> " * (size // 2),
    "nested lists, blank lines": lambda size: "- " * 90 + "x\n" + "\n" * size,
    "open braces": lambda size: "{" * size,
    "half a delta, again and again": lambda size: '{"operation":' * (size // 13),
    "open comments": lambda size: "{/*" * (size // 3),
    "anchors like §1-999999999": lambda size: (
        '```delta\n{"a": ["§1-999999999"]}\n```\n' * (size // 38)
    ),
    "unclosed link definitions": lambda size: "[a\n" * (size // 3),
    "many small blocks": lambda size: "```delta\n{}\n```\n" * (size // 16),
    "unknown names in a block": lambda size: (
        '```delta\n{"operation": "EDIT", "section": "predictions_table", "target_id": "P1", '
        '"payload": {"predictions": {'
        + ", ".join(f'"@n{number}": "x"' for number in range(min(size, 250_000) // 20))
        + "}}}\n```\n"
    ),
    "deltas in a json fence": lambda size: (
        "```json\n" + '{"operation":1,"section":2}\n' * (size // 28) + "```\n"
    ),
    "fences in an HTML block": lambda size: "<div>\n" + "```delta\n" * (size // 9),
    "comments and nothing else": lambda size: "<!-- -->" * (size // 8),
    "headings": lambda size: "## a\n### b\n#### c\n" * (size // 18),
    "one long broken block": lambda size: "```delta\n{" + "a:1," * (size // 4) + "\n```\n",
}
SIZES = (10_000, 100_000, 1_000_000)


def run() -> None:
    """Three sizes of each; the last column is the growth of the time per byte."""
    sizes = [f"{size:,} bytes" for size in SIZES]
    heading("Hostile bodies: check, µs per kilobyte", "", *sizes, "growth")
    for name, make in BODIES.items():
        per_kilobyte = []
        for size in SIZES:
            text = HEADERS + make(size)
            taken = best_of(partial(check_message, text), least_runs=2)
            per_kilobyte.append(taken / len(text) * 1e9)
        figures = [f"{figure:.1f}" for figure in per_kilobyte]
        row(name, *figures, f"{per_kilobyte[-1] / per_kilobyte[0]:.2f} ×")
