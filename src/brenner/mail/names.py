"""Agents' names: which may be registered, and what else to call oneself.

A name is kept as it is or refused, never changed. Two names that a reader takes for one cannot
both exist: that is decided by their skeletons, in which characters that look alike are the same.
"""

import re
import unicodedata
from collections.abc import Iterable
from itertools import count
from zlib import crc32

from brenner.diagnostics.codes import mail as codes
from brenner.diagnostics.model import Diagnostic
from brenner.protocol.grammar import AGENT_NAME
from brenner.protocol.message_types import UNFILLED_NAME

_MOST_CHARACTERS = 64
_MOST_READ = 256  # of a longer one; the normal form of a run of marks takes more than linear time
_FRESH = 2
# Small letters, because case does not count: with it `I`, `l` and `1` make `i` one of them.
# Each stands for what it looks like, so that `vvv`, `vw` and `wv` are one.
_SHAPES = str.maketrans(
    {"0": "o", "1": "l", "i": "l", "5": "s", "8": "b", "m": "rn", "w": "vv", "_": "", "-": ""},
)
# Letters of other alphabets that look like one of ours
_LOOKS_LIKE = dict(
    zip(
        "АВЕЅІЈКМНОРСТУХѴаеѕіјорсухѵһԁԛԝ" + "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαινορυχ" + "օսհո" + "ɑɡɩ",
        "ABESIJKMHOPCTYXVaesijopcyxvhdqw" + "ABEZHIKMNOPTYXaivopux" + "ouhn" + "agi",
        strict=True,
    )
)
# Letters that are written with others where a keyboard does not have them
_WRITTEN = dict(zip("øØłŁđĐıðÐ", "oOlLdDidD", strict=True)) | dict(
    zip("ßæÆœŒþÞ", ("ss", "ae", "Ae", "oe", "Oe", "th", "Th"), strict=True)
)
_QUOTES = "'\""
_JOINING = ("Pc", "Pd", "Po", "Sm")  # `opus-4.5` is `opus-4-5`, whereas `"Fox"` is `Fox`
_ADJECTIVES = (
    *("Amber", "Brave", "Bright", "Calm", "Clear", "Coral", "Crisp", "Gentle"),
    *("Golden", "Green", "Kind", "Lively", "Noble", "Quiet", "Silver", "Swift"),
)
_NOUNS = (
    *("Beacon", "Bridge", "Cedar", "Creek", "Falcon", "Field", "Forest", "Garden"),
    *("Harbour", "Heron", "Island", "Meadow", "River", "Stone", "Summit", "Valley"),
)
_PAIRS = tuple(adjective + noun for adjective in _ADJECTIVES for noun in _NOUNS)
_STRIDE = 101  # has no divisor in common with the number of pairs, so each comes once


def name_refusal(name: str, known: Iterable[str]) -> Diagnostic | None:
    """Why a name cannot be registered beside the known ones; None where it can, or is."""
    names = tuple(known)
    if not AGENT_NAME.fullmatch(name) or name == UNFILLED_NAME:
        return codes.INVALID_NAME.at(
            name=name, reason=_reason(name), suggestions=suggestions(name, names)
        )
    shape = skeleton(name)
    alike = [other for other in names if skeleton(other) == shape]
    if not alike or name in alike:
        return None
    return codes.NAME_LOOKS_LIKE.at(name=name, other=alike[0], suggestions=suggestions(name, names))


def suggestions(name: str, known: Iterable[str]) -> str:
    """Names that are valid, free and not to be mistaken for a known one, as a text.

    First the name itself, as it was probably meant, with a number where it is taken. One that only
    looks like a known name would with a number look like that one's.
    """
    names = set(known)
    taken = {skeleton(other) for other in (*names, UNFILLED_NAME)}
    meant = name if AGENT_NAME.fullmatch(name) else _meant(name)
    found = []
    if meant and skeleton(meant) not in taken:
        found.append(meant)
    elif meant in names:
        found.append(_numbered(meant, taken))
    taken.update(map(skeleton, found))
    return ", ".join(f"`{each}`" for each in (*found, *_fresh(name, taken)))


def fresh_name(known: Iterable[str], seed: str) -> str:
    """A name of ours that is free, for who asks for none; another seed gives another one."""
    return _fresh(seed, {skeleton(other) for other in (*known, UNFILLED_NAME)})[0]


def _fresh(name: str, taken: set[str]) -> list[str]:
    """Names of ours, always the same ones for a name, though others for another one."""
    start = crc32(name.encode("utf-8", "surrogatepass"))
    turns = (_PAIRS[(start + _STRIDE * turn) % len(_PAIRS)] for turn in range(len(_PAIRS)))
    free = [pair for pair in turns if skeleton(pair) not in taken][:_FRESH]
    while len(free) < _FRESH:
        used = taken | {skeleton(each) for each in free}
        free.append(_numbered(_PAIRS[start % len(_PAIRS)], used))
    return free


def skeleton(name: str) -> str:
    """What a reader sees of a name at a glance; equal for names that look alike."""
    return name.lower().translate(_SHAPES)


def _numbered(name: str, taken: set[str]) -> str:
    """The name with the first number that makes it free."""
    stem = name.rstrip("0123456789")
    numbered = (stem[: _MOST_CHARACTERS - len(str(n))] + str(n) for n in count(2))
    return next(each for each in numbered if skeleton(each) not in taken)


def _reason(name: str) -> str:
    """The first thing, in words, that keeps a name from being one."""
    if name == UNFILLED_NAME:
        return "it is what a template leaves to be filled in"
    if not name.strip():
        return "it is blank" if name else "it is empty"
    wrong = re.search(r"[^A-Za-z0-9_-]", name)
    if wrong:
        return _about(wrong[0])
    if len(name) > _MOST_CHARACTERS:
        return f"it has {len(name)} characters, and {_MOST_CHARACTERS} are the most"
    return f"it begins with `{name[0]}`, not with a letter"


def _about(character: str) -> str:
    """What is wrong with a character that no name may hold."""
    called = unicodedata.name(character, f"U+{ord(character):04X}")
    looks_like = _LOOKS_LIKE.get(character)
    is_mark = unicodedata.category(character).startswith("M")
    answers = (
        (character.isspace(), "it has a blank or a line break in it"),
        (looks_like, f"`{character}` only looks like `{looks_like}`; it is {called}"),
        (not character.isprintable(), f"it has a hidden character in it, {called}"),
        (is_mark, f"it has a mark in it that belongs to the letter before, {called}"),
        (character.isalpha(), f"`{character}` is not one of the letters A to Z"),
        (character.isnumeric(), f"`{character}` is not one of the digits 0 to 9"),
        (True, f"`{character}` is neither a letter nor a digit, `_` or `-`"),
    )
    return next(answer for holds, answer in answers if holds)


def _meant(name: str) -> str | None:
    """The valid name that an invalid one stands for, where one can see it."""
    read = name[:_MOST_READ]
    letters = [_letter(each) for each in unicodedata.normalize("NFKD", read)]
    if None in letters:
        return None
    joined = re.sub(r"-{2,}", "-", "".join(filter(None, letters)))
    rest = joined.lstrip("0123456789_-")
    lead = joined.removesuffix(rest).strip("_-")
    meant = (rest + lead)[:_MOST_CHARACTERS].rstrip("_-")
    return meant if AGENT_NAME.fullmatch(meant) else None


def _letter(character: str) -> str | None:
    """What to write for a character; None where that is anybody's guess."""
    if re.match(r"[A-Za-z0-9_-]", character):
        return character
    kind = unicodedata.category(character)
    known = _LOOKS_LIKE.get(character) or _WRITTEN.get(character)
    if known or character.isalnum() or (kind in ("Cc", "Cs") and not character.isspace()):
        return known
    return "-" if kind in _JOINING and character not in _QUOTES else ""
