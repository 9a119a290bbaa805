"""What everybody is told in a session without roles."""

from brenner.protocol.delta.schema import RESEARCH_THREAD, SECTIONS
from brenner.session.prompts import hypothesis_generator, test_designer
from brenner.session.prompts.model import Prompt, flowing
from brenner.session.prompts.test_designer import score_table

_ROLE = f"""\
There are no roles in this session: each of you does all three lines of work. Do them one after the
other, and change sides on purpose: what you have just proposed is what you attack next.

**Generate.** Say what could be true.

- Hunt the paradox: two statements in the material that cannot both hold as they stand.
- Import the mechanism, not the metaphor, from a field that has solved a problem of this shape.
- Keep levels apart: two hypotheses on different levels are no rivals.
- Always a third alternative in which the question is cut in the wrong place, with a mechanism of
  its own. "Both" or "something else" is none.
- Anchor every claim: cite, add `[inference]` where you reason from it, or write `inference`.

**Test.** Find the experiment after which at least one hypothesis is dead.

- Write the outcomes first, one for each active hypothesis, as one would see them in the notebook.
- Change the system before you improve the instrument.
- Give each test a potency check: what shows that the assay could have given the other answer?
- Say what it takes, and score honestly; the sum ranks the tests:

{score_table()}

**Attack.** Find out where all of us are wrong together.

- Attack the framing first: which word of the question already holds the answer?
- Calculate: sizes, rates, energies, counts, with units, to an order of magnitude.
- Quarantine anomalies: a fact that fits no hypothesis is neither explained away nor allowed to
  bring everything down.
- Attack the best version of an idea, and say what would show that your attack is wrong.
- Kill with a reason that can be checked. What is only weak gets a critique."""

_OUTPUTS = """\
- Hypotheses that exclude each other, at least three in the session and six active ones at most,
  one of them a third alternative, marked as such; rows of predictions in which they differ.
- At least two discriminative tests, each with expected outcomes for every active hypothesis, a
  potency check and a score in four parts.
- The assumptions that carry the most, one of them a scale check with numbers and units.
- At least two critiques, one of them a real third alternative; anomalies in quarantine.
- Before you add: read what the others have sent. Sharpen or kill rather than repeat."""

PROMPT = Prompt(
    role=flowing(_ROLE),
    outputs=flowing(_OUTPUTS),
    sections=tuple(section for section in SECTIONS.values() if section is not RESEARCH_THREAD),
    subject="Odour map, a row that separates it, a test",
    examples=(*hypothesis_generator.PROMPT.examples, test_designer.PROMPT.examples[0]),
)
