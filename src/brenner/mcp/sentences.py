"""Our own sentences without what others have put into them.

A sentence of the catalogue is filled in with IDs and numbers, but also with titles and claims. In a
frame all of it would look like somebody's opinion. So it is said outside with every word of others
left out; the place of a word is found by the words of ours around it. Should others have imitated
those, a place is found wrongly, and still nothing stands there that is not a number, an ID or ours.
"""

import re
from string import Formatter

from brenner.diagnostics.catalogue import CATALOGUE
from brenner.diagnostics.model import Code, Diagnostic
from brenner.protocol.delta.schema import SECTIONS, Operation
from brenner.protocol.grammar import AGENT_NAME, ITEM_ID, VERSION
from brenner.protocol.thread_ids import is_valid

_LEFT_OUT = "…"
_KNOWN = frozenset(
    (
        *Operation,
        *SECTIONS,
        *(name for section in SECTIONS.values() for name in section.fields),
        *("target_id", "section", "operation", "payload", "rationale", "local_id"),
        "is not in the artifact that the message goes by",
    )
)
# What we say of numbers, where a message is filled in with a whole sentence
_SAID = re.compile(
    r"""(?x)
    [0-9]{1,18}
  | the\ operator\ declared\ v[0-9]+\ void
  | it\ is\ built\ on\ message\ [0-9]+,\ which\ is\ void
  | it\ adopts\ another\ message,\ and\ only\ the\ operator\ can\ do\ that
  | message\ [0-9]+\ is\ v[0-9]+\ already
  | it\ says\ v[0-9]+,\ and\ the\ next\ version\ is\ v[0-9]+
    """,
    re.ASCII,
)
_PERHAPS = re.compile(r" Perhaps `([^`]*+)`\.")
_WHERE = re.compile(r"Delta [0-9]+(?: \(`[a-z_]+`\))?: ")


def our_message(found: Diagnostic) -> str:
    """What is wrong, in our words alone."""
    where = _WHERE.match(found.message)
    start = where[0] if where else ""
    return start + _ours(found.code.message, found.message[len(start) :], _cause(found, "message"))


def our_fix(found: Diagnostic) -> str:
    """How to mend it, in our words alone."""
    return _ours(found.code.fix, found.fix, _cause(found, "fix"))


def _cause(found: Diagnostic, part: str) -> str | None:
    """The template of the sentence that is told within another one, if there is one."""
    cause: Code | None = CATALOGUE.get(found.also[0]) if len(found.also) == 1 else None
    return None if cause is None else cause.message if part == "message" else cause.fix


def _ours(template: str, text: str, cause: str | None = None) -> str:
    """The text as the template has it, with what was filled in where that is ours."""
    parts = list(Formatter().parse(template))
    shown, rest = [parts[0][0]] if parts else [], text
    if parts and not rest.startswith(parts[0][0]):
        return ""
    rest = rest[len(shown[0]) :] if shown else rest
    for number, (_, name, _, _) in enumerate(parts):
        if name is None:
            break
        following = parts[number + 1][0] if number + 1 < len(parts) else ""
        is_last = number + 1 == len(parts) or parts[number + 1][1] is None
        at = len(rest) - len(following) if is_last else rest.find(following)
        if at < 0 or not rest.startswith(following, at):
            return ""
        shown += [_word(name, rest[:at], cause), following]
        rest = rest[at + len(following) :]
    return "".join(shown)


def _word(name: str, word: str, cause: str | None) -> str:
    """What fills a place, if it can be nothing but ours."""
    if cause and name in ("reason", "fix"):
        return _ours(cause, word) or _LEFT_OUT
    if name == "suggestion":
        meant = _PERHAPS.fullmatch(word)
        return word if not word or (meant and _is_plain(meant[1])) else ""
    is_name = name == "name" and AGENT_NAME.fullmatch(word)
    return word if is_name or _is_plain(word) else _LEFT_OUT


def _is_plain(word: str) -> bool:
    forms = (ITEM_ID, VERSION, _SAID)
    return word in _KNOWN or any(form.fullmatch(word) for form in forms) or is_valid(word)
