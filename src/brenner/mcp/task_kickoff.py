"""What a kickoff says besides the question, for `brenner_task`: in short, and as text of others."""

from brenner.mail.mailbox import Mailbox
from brenner.markdown.blocks import blocks
from brenner.mcp.artifact_tool import author_of
from brenner.mcp.framing import Foreign
from brenner.protocol.body import find_section, sections
from brenner.services.agent_task import Task
from brenner.session.model import AWAITED

_SECTIONS = ("Current State", "Context", "Excerpt", "Initial Hypotheses", "Constraints")
_MOST = 4_000  # characters


def kickoff_says(mailbox: Mailbox, task: Task) -> Foreign | None:
    """Its sections that stand nowhere else, as long as something is asked of her."""
    kickoff = task.kickoff
    if kickoff is None or task.me is None or task.me.turn not in AWAITED:
        return None
    body = kickoff.message.body
    there, lines = sections(blocks(body)), body.split("\n")
    found = [find_section(there, name) for name in _SECTIONS]
    texts = ["\n".join(lines[each.line - 1 : each.contents[-1].end]) for each in found if each]
    said = "\n\n".join(texts)
    if len(said) > _MOST:
        said = f"{said[:_MOST]}…\n(cut: {len(said)} characters in all)"
    author = author_of(mailbox, kickoff.message.sender, kickoff.id)
    return Foreign(said, (author,)) if said else None
