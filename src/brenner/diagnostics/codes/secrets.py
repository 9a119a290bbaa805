"""Codes of `brenner agent secret`."""

from brenner.diagnostics.model import ERROR, Code, Example

SECRET_GIVEN = Code(
    id="SECRET_GIVEN",
    severity=ERROR,
    title="The name has a secret already",
    message="`{name}` has a secret already, and only its owner can know it. Nothing was done.",
    fix="Use that one. If it is lost, or somebody else knows it, `brenner agent secret {name} "
    "--new` gives it another one, and the old one is worth nothing from then on.",
    why="A store keeps a digest, from which no secret can be had back. To replace one in passing "
    "would lock out whoever works with it.",
    spec="design, Identity",
    example=Example("text", "brenner agent secret BlueLake", "brenner agent secret BlueLake --new"),
)

CODES: tuple[Code, ...] = (SECRET_GIVEN,)
