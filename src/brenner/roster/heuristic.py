"""A role guessed from a name, for sessions without a roster. Deprecated by the document.

The substrings are the programs and models that the document names beside each role.
"""

from brenner.roster.model import Role

_WORDS: dict[Role, tuple[str, ...]] = {
    Role.HYPOTHESIS_GENERATOR: ("codex", "gpt"),
    Role.TEST_DESIGNER: ("opus", "claude"),
    Role.ADVERSARIAL_CRITIC: ("gemini",),
}


def role_of_name(name: str) -> Role | None:
    """The one role whose program or model the name holds; None where it tells none, or two."""
    folded = name.casefold()
    told = [role for role, words in _WORDS.items() if any(word in folded for word in words)]
    return told[0] if len(told) == 1 else None
