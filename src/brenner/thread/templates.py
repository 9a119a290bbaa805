"""Messages composed from the table of types: valid, and where nothing is known yet, to fill in."""

from collections.abc import Mapping

from brenner.markdown.escape import one_paragraph
from brenner.thread.types import MessageType, placeholder


def compose_body(
    message_type: MessageType, values: Mapping[str, str] | None = None, title: str | None = None
) -> str:
    """A body with all sections of the type, each with its value or a placeholder.

    Values are taken as one paragraph each, so that none can bring a section of its own.
    """
    given = values or {}
    parts = [f"# {one_paragraph(title) if title else message_type.title}\n"]
    for rule in message_type.sections:
        text = one_paragraph(given[rule.name]) if rule.name in given else rule.placeholder
        parts.append(f"## {rule.name}\n{text}\n")
    if not message_type.sections:
        parts.append(placeholder("what there is to tell") + "\n")
    return "\n".join(parts)
