"""Colour roles in the terminal: of message types and of agents, each always beside its word."""

from types import MappingProxyType
from zlib import crc32

from brenner.cli.folding import PLAIN, Piece, Style
from brenner.protocol.message_types import TYPES, ColourRole
from brenner.protocol.subjects import parse_subject
from brenner.text import visible

QUIET: Style = MappingProxyType({"dim": True})
STRONG: Style = MappingProxyType({"bold": True})
_ACCENT: Style = MappingProxyType({"fg": "cyan", "bold": True})
_POSITIVE: Style = MappingProxyType({"fg": "green", "bold": True})
ATTENTION: Style = MappingProxyType({"fg": "magenta", "bold": True})
_NOTICE: Style = MappingProxyType({"fg": "yellow"})

# Green and yellow look alike to some: they differ in weight as well.
_STYLES: dict[ColourRole, Style] = {
    "accent": _ACCENT,
    "strong": STRONG,
    "positive": _POSITIVE,
    "attention": ATTENTION,
    "notice": _NOTICE,
    "quiet": QUIET,
}
STYLE_OF_TYPE: dict[str, Style] = {row.name: _STYLES[row.colour] for row in TYPES.values()}
# Of the 256 colours some that have a contrast of at least 4 on black and on white
_TINTS = (30, 31, 62, 97, 130, 132)


def subject_pieces(subject: str) -> tuple[Piece, ...]:
    """A subject with its type's word in the role's style; a quiet one is quiet all through.

    It is one line, whatever somebody has imported.
    """
    subject = visible(subject, len(subject) + 1)
    parsed = parse_subject(subject)
    if parsed is None:
        return (Piece(subject),)
    style = STYLE_OF_TYPE[parsed.type]
    word, rest = parsed.prefix, subject[len(parsed.prefix) :]
    return (Piece(word, style), Piece(rest, QUIET if style is QUIET else PLAIN))


def agent_piece(name: str) -> Piece:
    """An agent's name in the tint that is always hers."""
    tint = _TINTS[crc32(name.encode(errors="replace")) % len(_TINTS)]
    return Piece(visible(name), MappingProxyType({"fg": tint}))
