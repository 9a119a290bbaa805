"""Codes of the files that agents reserve."""

from brenner.diagnostics.model import ERROR, Code, Example

_SPEC = "agent_mail, The subset that agents use"

INVALID_PATTERN = Code(
    id="INVALID_PATTERN",
    severity=ERROR,
    title="The pattern of files cannot be reserved",
    message="`{pattern}` cannot be reserved: {reason}. Nothing was reserved.",
    fix="Write paths relative to the project's folder, with `/` between folders and few "
    "wildcards: `src/main.py`, `src/*.py`, `docs/**`; `.` is all of it.",
    why="Others compare their patterns with this one. One that means a file outside of the "
    "project, or none at all, would never show a conflict.",
    spec=_SPEC,
    example=Example(
        "text",
        'file_reservation_paths(paths=["/home/me/project/src/main.py"], …)',
        'file_reservation_paths(paths=["src/main.py"], …)',
    ),
)
INVALID_RESERVED_TIME = Code(
    id="INVALID_RESERVED_TIME",
    severity=ERROR,
    title="Files cannot be reserved for that long",
    message="Files cannot be reserved for {seconds} seconds: at least 1, at most {most}. Nothing "
    "was reserved.",
    fix="Say for how many seconds you need them, as 3600 for an hour. Reserve them again before "
    "the time is up if you need them longer, and release them when you are done.",
    why="An agent that is gone cannot release its files. They are free again when the time is up, "
    "so that it must be up some day.",
    spec=_SPEC,
    example=Example(
        "text",
        'file_reservation_paths(paths=["src/main.py"], ttl_seconds=0, …)',
        'file_reservation_paths(paths=["src/main.py"], ttl_seconds=3600, …)',
    ),
)
TOO_MANY_RESERVATIONS = Code(
    id="TOO_MANY_RESERVATIONS",
    severity=ERROR,
    title="Too many files are reserved",
    message="That would be {count} {what}, and {most} is the most. Nothing was reserved.",
    fix="Reserve folders or patterns instead of single files: `src/parser/**`. Release what you no "
    "longer need: `release_file_reservations`.",
    why="Each new reservation is compared with all others. Who reserves everything tells the "
    "others nothing.",
    spec=_SPEC,
    example=Example(
        "text",
        'file_reservation_paths(paths=["src/parser/a.py", "src/parser/b.py", …], …)',
        'file_reservation_paths(paths=["src/parser/**"], …)',
    ),
)

CODES = (
    INVALID_PATTERN,
    INVALID_RESERVED_TIME,
    TOO_MANY_RESERVATIONS,
)
