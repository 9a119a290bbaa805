"""Codes of watching sessions live."""

from brenner.diagnostics.model import ERROR, Code, Example

STORE_REPLACED = Code(
    id="STORE_REPLACED",
    severity=ERROR,
    title="Another store has taken the place of the one that was watched",
    message="`{where}` is not the store that was watched any more: what had come in there is gone, "
    "or has become something else.",
    fix="Find out who put another store there, and whether the mail before it is kept somewhere. "
    "`brenner session watch` again follows what is there now.",
    why="News is what came in after a certain message. Where that message is gone, nobody can say "
    "what is new, and something could be left out in silence.",
    spec="design, Store",
    example=Example(
        "text",
        "brenner session watch    (meanwhile: cp old-mail.sqlite3 .brenner/mail.sqlite3)",
        "brenner session watch    (again, after the copy)",
    ),
)

CODES: tuple[Code, ...] = (STORE_REPLACED,)
