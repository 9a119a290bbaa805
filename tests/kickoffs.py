"""A session to start, as the tests of kickoffs have it."""

from brenner.markdown.blocks import BlockKind, parse_blocks
from brenner.protocol.messages import Message
from brenner.protocol.roster import Roster, RosterEntry
from brenner.session.kickoff import KickoffPlan

THREAD = "RS-20251230-cell-fate-dichotomy"
QUESTION = "How do cells know their fate?"
CONTEXT = "Cells that look alike become different.\nTransplants behave in two ways."
EXCERPT = '§42: "The cells count."'
# agent_roster_schema, Config File Example
ROSTER = Roster(
    (
        RosterEntry("BlueLake", "hypothesis_generator", "codex-cli", "GPT-5.2"),
        RosterEntry("PurpleMountain", "test_designer", "claude-code", "Opus 4.5"),
        RosterEntry("GreenValley", "adversarial_critic", "gemini-cli", "Gemini 3"),
    ),
    name="Default 3-Agent Setup",
)
PLAN = KickoffPlan(THREAD, "Operator", ROSTER, ROSTER.names, QUESTION, CONTEXT, excerpt=EXCERPT)
SECTIONS = [
    *("Research Question", "Context", "Excerpt", "Initial Hypotheses", "Constraints"),
    *("Requested Outputs", "Session Configuration", "Your Role", "How to Contribute"),
]


def section(message: Message, name: str) -> str:
    """What stands under a heading of level 2, to the next one."""
    return message.body.split(f"\n## {name}\n\n")[1].split("\n\n## ")[0]


def headings(message: Message) -> list[str]:
    """The sections of a body."""
    found = parse_blocks(message.body)
    return [b.text for b in found if b.kind is BlockKind.HEADING and b.level == 2 and not b.quoted]


def shown(message: Message) -> tuple[str, list[str]]:
    """The examples in a kickoff: the head of a message, and the delta blocks."""
    head, *deltas = [
        block.text
        for block in parse_blocks(message.body)
        if block.kind is BlockKind.FENCE and block.info == "markdown"
    ]
    return head, deltas
