"""A `status` that is one of the listed words, in the two sections that have one."""

from collections.abc import Iterator

from brenner.diagnostics.model import Code, Diagnostic
from brenner.lint.context import Context
from brenner.lint.fixes import with_edit
from brenner.protocol.delta.schema import Section
from brenner.text import surely


def not_a_choice(on: Context, code: Code, section: Section) -> Iterator[Diagnostic]:
    """The active items whose status is missing or another word."""
    choices = section.fields["status"].choices
    for item in on.active[section.id]:
        status = item.text("status")
        if status in choices:
            continue
        reason = f"it is `{status}`" if status else "it is missing"
        found = on.of_item(code, item, "status", reason=reason)
        meant = surely(status, choices) if status else None
        yield from with_edit([found], on, section, item, {"status": meant} if meant else None)
