"""Compare hypotheses with those that were killed, in this and in other sessions (R30).

What is found depends on other sessions, so it is a warning beside a result and never a part of it.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from brenner.artifact.merge.draft import SessionItem
from brenner.diagnostics.codes.merging import RESEMBLES_KILLED
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.schema import HYPOTHESIS_SLATE
from brenner.session.overview import LONGEST_CLAIM
from brenner.text import escape_control

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from brenner.artifact.model import Artifact, Item, KillRecord
    from brenner.diagnostics.model import Diagnostic
    from brenner.session.overview import Overview

# The cosines that divide rewordings from rival hypotheses best, in tests/similarity
CLOSE_WORDS, CLOSE_MEANING = 0.58, 0.72
# With lower ones a hypothesis is only on the same subject
SOME_WORDS, SOME_MEANING = 0.3, 0.55
_MOST_WARNINGS = 3  # for one hypothesis
_MOST_SHOWN = 300  # characters of a claim, and of a reason
_MOST_WORDS = 8
_FIELD = "claim"

# Compare a text with others by their meaning: a number up to 1 for each
CompareMeaning: TypeAlias = "Callable[[str, Sequence[str]], Sequence[float]]"


class KilledHypothesis(NamedTuple):
    """A killed hypothesis of a session, and who killed it, when and why."""

    item: SessionItem
    name: str
    claim: str
    killed: KillRecord

    @property
    def text(self) -> str:
        """The text that hypotheses are compared by."""
        return f"{self.name}\n{self.claim}"

    @property
    def title(self) -> str:
        """The name and the claim on one line."""
        return ": ".join(filter(None, (self.name.strip(), self.claim.strip())))


class Resemblance(NamedTuple):
    """A killed hypothesis that resembles a text.

    `score` compares the words; `meaning` compares the vectors, None if there are none. `words` are
    those of the text that both have.
    """

    hypothesis: KilledHypothesis
    score: float
    meaning: float | None
    words: tuple[str, ...]

    @property
    def is_close(self) -> bool:
        """Whether a hypothesis with the text would get a warning."""
        return self.score >= CLOSE_WORDS or (self.meaning or 0) >= CLOSE_MEANING

    @property
    def best(self) -> float:
        """The larger of the two scores."""
        return max(self.score, self.meaning or 0)


class AddedHypothesis(NamedTuple):
    """A hypothesis that is added. `label` names it in a warning, `line` is that of its claim.

    `how` says how its author refers to another item. `known` are the killed items that it refers
    to, and those that its own message kills to replace them.
    """

    label: str
    how: str
    text: str
    known: frozenset[SessionItem]
    item: str | None = None
    block: int | None = None
    line: int | None = None


def killed_in_overview(overview: Overview) -> Iterator[KilledHypothesis]:
    """Yield the killed hypotheses of the latest version of a session."""
    kills = dict(overview.killed)
    for item, name, claim in overview.killed_hypotheses:
        yield KilledHypothesis(SessionItem(overview.thread_id, item), name, claim, kills[item])


def killed_in_artifact(session: str, artifact: Artifact) -> Iterator[KilledHypothesis]:
    """Yield the killed hypotheses of an artifact."""
    for item in artifact.sections[HYPOTHESIS_SLATE.id]:
        if item.killed:
            node = SessionItem(session, item.id)
            claim = item.text("claim")[:LONGEST_CLAIM]
            yield KilledHypothesis(node, item.text("name"), claim, item.killed)


def hypothesis_text(item: Item) -> str:
    """Return the text that a hypothesis is compared by."""
    return f"{item.text('name')}\n{item.text('claim')}"


class KilledIndex:
    """The killed hypotheses of a project. `others` only show which words are common."""

    def __init__(
        self,
        killed: Sequence[KilledHypothesis],
        others: Iterable[str] = (),
        compare: CompareMeaning | None = None,
    ) -> None:
        from brenner.session.similarity import WordIndex  # most projects have no killed ones

        self._killed = killed
        self._texts = [each.text for each in killed]
        self._words = WordIndex(self._texts, others)
        self._compare = compare

    def resembling(self, text: str) -> list[Resemblance]:
        """Return the killed hypotheses on the same subject, the most similar first."""
        found = {each.place: each for each in self._words.matches(text, SOME_WORDS)}
        meanings = self._compare(text, self._texts) if self._compare else ()
        near = {index for index, meaning in enumerate(meanings) if meaning >= SOME_MEANING}
        resembling = []
        for index in sorted(found.keys() | near):
            match = found.get(index)
            score, words = (match.score, match.words) if match else (0.0, ())
            meaning = meanings[index] if meanings else None
            resembling.append(Resemblance(self._killed[index], score, meaning, words))
        return sorted(resembling, key=lambda each: (not each.is_close, -each.best))

    def warnings(self, added: Iterable[AddedHypothesis]) -> Iterator[Diagnostic]:
        """Yield a warning for each close match of which its author may not know."""
        for each in added:
            close = (
                match
                for match in self.resembling(each.text)
                if match.is_close and match.hypothesis.item not in each.known
            )
            for match in islice(close, _MOST_WARNINGS):
                yield resemblance_diagnostic(each, match)


def resemblance_diagnostic(added: AddedHypothesis, match: Resemblance) -> Diagnostic:
    """Return the warning that a hypothesis resembles a killed one."""
    hypothesis = match.hypothesis
    session, item = hypothesis.item
    found = RESEMBLES_KILLED.at(
        added.line,
        what=added.label,
        session=session,
        item=item,
        agent=hypothesis.killed.agent or "an unknown agent",
        reason="",
        how=added.how,
    )
    # A parameter would be cut, and a reason or a claim must be long enough to judge by it.
    end = _sentence(hypothesis.killed.reason or "no reason given")
    told = f'{end} Its text: "{_shown(hypothesis.title).rstrip(".")}".{_words_in_both(match.words)}'
    return found._replace(
        message=f"{found.message}{told}", block=added.block, item=added.item, field=_FIELD
    )


def _words_in_both(words: Sequence[str]) -> str:
    if not words:
        return " It says something similar in other words."
    return f" Words in both: {escape_control(', '.join(words[:_MOST_WORDS]), _MOST_SHOWN)}."


def _sentence(text: str) -> str:
    shown = _shown(text)
    return shown if shown.endswith((".", "!", "?", "…")) else f"{shown}."


def _shown(text: str) -> str:
    return escape_control(" ".join(text.split()), _MOST_SHOWN)
