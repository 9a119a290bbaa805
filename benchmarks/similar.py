"""Finding similar texts among many, and checking an ADD in a project with many sessions (R30).

The bound of an index is splitting its texts into words. That of a search is
looking up each word of the query, and sorting what it finds. That of a check in a project is
listing all sessions.
"""

import tempfile
from collections import Counter
from functools import partial
from pathlib import Path
from random import Random

from brenner.config import OPERATOR, Project
from brenner.integrations.text_vectors import load_text_vectors
from brenner.mail.sqlite.mailbox import SqliteMailbox
from brenner.protocol.delta.parse import render_delta
from brenner.protocol.delta.schema import HYPOTHESIS_SLATE, Delta, Operation
from brenner.protocol.messages import Message
from brenner.services.compile import CompileOptions, compile_thread
from brenner.services.killed_hypotheses import load_killed, message_warnings
from brenner.services.sessions import overviews
from brenner.services.workspace import Workspace
from brenner.session.killed_hypotheses import CLOSE_WORDS
from brenner.session.model import Phase
from brenner.session.similarity import WordIndex, content_words
from many_sessions import fill, thread_of
from measure import best_of, heading, milliseconds, row

_SIZES = (1_000, 100_000)
_SESSIONS = (50, 1_000)
_KILLS = 20
_VOCABULARY = 20_000
_WORDS = 14  # of a text, half of them among the most common
_COMPARED_BY_VECTORS = 1_000


def _texts(count: int) -> list[str]:
    """Texts whose words are as rare or common as those of a language."""
    chance = Random(30)  # noqa: S311
    words = [f"{chance.choice('bcdfglmnprst')}{number:x}ation" for number in range(_VOCABULARY)]
    weights = [1 / (place + 10) for place in range(_VOCABULARY)]
    return [" ".join(chance.choices(words, weights, k=_WORDS)) for _ in range(count)]


def run() -> None:
    """Print all tables."""
    heading(
        "Similar texts", "", "index", "to splitting", "search", "to looking up", "vectors of 1,000"
    )
    for size in _SIZES:
        _measure_index(size)
    heading("Check of an ADD", "", "taken", "to listing them")
    for count in _SESSIONS:
        _measure_project(count)


def _measure_index(size: int) -> None:
    texts = _texts(size)
    query = " ".join(texts[size // 2].split()[:-3])
    built = best_of(lambda: WordIndex(texts), least_runs=2)
    split = best_of(lambda: _split(texts), least_runs=2)
    index = WordIndex(texts)
    places: dict[str, list[int]] = {}
    for place, text in enumerate(texts):
        for word in set(content_words(text)):
            places.setdefault(word, []).append(place)
    searched = best_of(partial(index.matches, query, CLOSE_WORDS))
    looked_up = best_of(lambda: _looked_up(places, query))
    vectors = load_text_vectors()
    some = texts[:_COMPARED_BY_VECTORS]
    compared = best_of(partial(vectors.compare, query, some)) if vectors else None
    row(
        f"{size:,} texts",
        milliseconds(built),
        f"{built / split:.1f}x",
        milliseconds(searched),
        f"{searched / looked_up:.1f}x",
        milliseconds(compared) if compared else "not installed",
    )


def _split(texts: list[str]) -> int:
    return sum(len(content_words(text)) for text in texts)


def _looked_up(places: dict[str, list[int]], query: str) -> list[tuple[int, int]]:
    """Return how many words of the query each text has, the most first."""
    found: Counter[int] = Counter()
    for word in set(content_words(query)):
        found.update(places.get(word, ()))
    return found.most_common(1)


def _measure_project(count: int) -> None:
    payload: dict[str, object] = {
        "name": "Gradient",
        "claim": "Cells read a gradient",
        "mechanism": "It binds",
    }
    payload |= {"anchors": ["inference"]}
    delta = Delta(Operation.ADD, HYPOTHESIS_SLATE.id, None, payload, "It explains more")
    body = render_delta(delta)
    with (
        tempfile.TemporaryDirectory() as folder,
        SqliteMailbox.create(Path(folder, "mail.sqlite3")) as mailbox,
    ):
        fill(mailbox, 0, count)
        here = Workspace(mailbox, Project(Path(folder)), OPERATOR)
        _kill_some(here)
        taken = best_of(lambda: message_warnings(here, body, thread_of(1)))
        read = best_of(lambda: overviews(here))
    row(f"{count:,} sessions", milliseconds(taken), f"{taken / read:.1f}x")


def _kill_some(here: Workspace) -> None:
    """Kill a hypothesis in the first sessions that have one, and publish it."""
    kill = Delta(Operation.KILL, HYPOTHESIS_SLATE.id, "H1", {"reason": "Too slow"}, "T1 failed")
    rows = overviews(here).values()
    sessions = [row.thread_id for row in rows if row.phase is Phase.IN_CRITIQUE]
    for name in sessions[:_KILLS]:
        message = Message(name, OPERATOR, (OPERATOR,), "DELTA[opus]: Kill", render_delta(kill))
        here.mailbox.send(message)
        compile_thread(here, name, CompileOptions())
    assert load_killed(here)[0]


if __name__ == "__main__":
    run()
