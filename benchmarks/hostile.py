"""Hostile bodies: time per byte must not grow with the length.

Many of them are only checked. The sixteen worst go all the way: they are checked and corrected,
merged, and shown on the page of their message, at lengths up to what is stored.
"""

import re
import time
from collections.abc import Callable
from functools import partial

from brenner import check_message, merge
from brenner.artifact.state import empty_state
from brenner.protocol.messages import Message, StoredMessage
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
KIB = 1024
WORST_SIZES = (64 * KIB, 256 * KIB, 1024 * KIB, 4096 * KIB - 1024)
_TOKEN = re.compile(r"\w+|\W")


def run() -> None:
    """Print both tables."""
    checked()
    worst()


def checked() -> None:
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


def worst() -> None:
    """Four sizes of the sixteen worst: the time of all steps, as a ratio to a pass over the tokens
    of the same text in a regular expression. The last columns are the growth of each step per
    fourfold length, on average: 4 is linear.
    """
    from hostile_bodies import HOSTILE_BODIES

    sizes = [f"{round(size / KIB):,} KiB" for size in WORST_SIZES]
    steps = ("check, ×4", "merge, ×4", "show, ×4")
    heading("The sixteen worst bodies: check, correct, merge, show", "", *sizes, *steps)
    for step in _steps("x", "DELTA[gpt]: x"):
        step()  # so that imports and templates are not measured
    for name, body in HOSTILE_BODIES.items():
        ratios, taken = [], []
        for size in WORST_SIZES:
            text = body.make(size)
            bound = _seconds(partial(_TOKEN.findall, text), runs=3)
            taken.append([_seconds(step) for step in _steps(text, body.subject)])
            ratios.append(f"{sum(taken[-1]) / bound:.0f} ×")
        fourfold = len(WORST_SIZES) - 1
        growth = [
            (last / first) ** (1 / fourfold)
            for first, last in zip(taken[0], taken[-1], strict=True)
        ]
        row(name, *ratios, *(f"{each:.1f}" for each in growth))


def _steps(text: str, subject: str) -> tuple[Callable[[], object], ...]:
    """What is done with a message: check it, merge it, show its page."""
    from brenner.web.views import thread as message
    from web.mail_scene import ANN, START, THREAD, Scene

    headers = f"Thread: {THREAD}\nFrom: {ANN}\nTo: Operator\nSubject: {subject}\n\n"
    posted = StoredMessage(9, START, Message(THREAD, ANN, ("Operator",), subject, text))
    scene = Scene()
    scene.kickoff(ANN)
    number = scene.send(ANN, subject, text)
    return (
        partial(check_message, headers + text),
        lambda: merge(empty_state(THREAD), [posted]),
        lambda: scene.look(message.message_page, {"message": str(number)}),
    )


def _seconds(work: Callable[[], object], runs: int = 1) -> float:
    """The processor's seconds of the fastest run; the machine may do other things meanwhile.

    A page is shown once: the second time much of it is remembered.
    """
    best = float("inf")
    for _ in range(runs):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best
