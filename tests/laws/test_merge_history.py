"""Random histories: after every published version the merge agrees with the reference model.

Agents send, send again, and answer each other late and with skewed clocks; the operator kicks off
and publishes. See `reference_merge` for the model, `histories` for the small world. What was found
stands as a permanent case in `test_merge_found`.
"""

import pytest
from hypothesis import event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from brenner.artifact.merge.engine import Merge, merge
from brenner.artifact.state import empty_state
from brenner.protocol.messages import StoredMessage
from histories import (
    contexts,
    drafts,
    kickoff,
    moment,
    offsets,
    openings,
    quarrels,
    questions,
    remark,
    skews,
)
from laws.agreement import assert_same
from laws.reference_merge import Paradox, replay
from laws.reference_model import Compiled
from sample_messages import ROLES, THREAD_ID, Draft

pytestmark = pytest.mark.fuzz


class Histories(RuleBasedStateMachine):
    """A thread as it grows. `rounds` is what each version read; the last is not published yet."""

    def __init__(self) -> None:
        super().__init__()
        self.state = empty_state(THREAD_ID)
        self.rounds: list[list[StoredMessage]] = [[]]
        self.held: list[StoredMessage] = []
        self.compiled: list[Compiled] = []
        self.sent: list[Draft] = []
        self.clock = 0
        self.is_over = False

    def _store(self, draft: Draft, skew: int, offset: int, held: bool) -> None:
        """What the store does: a number and a time. A message that is held comes to light later."""
        self.clock += 1
        self.sent.append(draft)
        posted = draft.posted(self.clock, moment(self.clock + skew, offset))
        (self.held if held else self.rounds[-1]).append(posted)

    @initialize(draft=openings, with_items=st.booleans())
    def open(self, draft: Draft, with_items: bool) -> None:
        """Most threads begin with items to work on."""
        if with_items:
            self.clock += 1
            self.rounds[-1].append(draft.posted(self.clock, moment(self.clock)))

    @rule(draft=drafts, skew=skews, offset=offsets, held=st.integers(0, 5))
    def send(self, draft: Draft, skew: int, offset: int, held: int) -> None:
        """An agent sends a message; one in six is not seen at once."""
        self._store(draft, skew, offset, held == 0)

    @rule(data=st.data(), skew=skews)
    def send_again(self, data: st.DataObject, skew: int) -> None:
        """A message comes again, whole or with one block changed, from her or from another."""
        if not self.sent:
            return
        draft = data.draw(st.sampled_from(self.sent))
        change = data.draw(st.integers(0, 3))
        if change == 0:
            other = data.draw(drafts).blocks[0]
            index = data.draw(st.integers(0, len(draft.blocks) - 1))
            draft = draft._replace(
                blocks=(*draft.blocks[:index], other, *draft.blocks[index + 1 :])
            )
        if change == 1:
            draft = draft._replace(sender=data.draw(st.sampled_from(tuple(ROLES))))
        self._store(draft, skew, 0, held=False)

    @rule(about=quarrels, skew=skews)
    def quarrel(self, about: list[Draft], skew: int) -> None:
        """Several agents edit one field at about the same time."""
        for draft in about:
            self._store(draft, skew, 0, held=False)

    @rule(question=questions, context=contexts, skew=skews)
    def kick_off(self, question: str, context: str, skew: int) -> None:
        """The operator sends a kickoff."""
        self.clock += 1
        self.rounds[-1].append(kickoff(self.clock, moment(self.clock + skew), question, context))

    @rule(draft=drafts, subject=st.sampled_from(("CRITIQUE: x", "Re: DELTA[opus]: x", "INFO: x")))
    def remark(self, draft: Draft, subject: str) -> None:
        """A message of another type does not contribute, whatever blocks it holds (R4)."""
        self.clock += 1
        self.rounds[-1].append(remark(draft, subject, self.clock, moment(self.clock)))

    @rule()
    def come_to_light(self) -> None:
        """Messages that nobody had seen turn up, with their old numbers and times."""
        self.rounds[-1] += self.held
        self.held = []

    @rule(skew=skews, data=st.data(), roster=st.sampled_from((None, {"BlueLake", "RedSky"})))
    def publish(self, skew: int, data: st.DataObject, roster: set[str] | None) -> None:
        """A version is compiled, from messages in any order, and published."""
        if self.is_over or not self.rounds[-1]:
            return
        result = self._compile(data.draw(st.permutations(self.rounds[-1])), roster)
        if result is None:
            return
        self.clock += 1
        at = moment(self.clock + skew)
        self.state = result.publish(message_id=self.clock, at=at)
        self.compiled.append(Compiled(self.clock, at))
        self.rounds.append([])

    def _compile(self, order: list[StoredMessage], roster: set[str] | None) -> Merge | None:
        try:
            model = replay(THREAD_ID, self.rounds, self.compiled, roster)
        except Paradox:  # no outcome is right; the laws still hold, see test_merge_laws
            event("paradox")
            self.is_over = True
            return None
        result = merge(self.state, order, roster=roster)
        assert result.artifact.metadata.version == len(self.rounds)
        assert_same(result, model)
        return result

    def teardown(self) -> None:
        """What was sent last is compiled, too."""
        if self.rounds[-1] and not self.is_over:
            self._compile(self.rounds[-1], None)


TestHistories = Histories.TestCase
TestHistories.settings = settings(
    max_examples=settings().max_examples, stateful_step_count=20, print_blob=True
)
