"""Codes of ours for what is handed in: files, message headers, usage."""

from brenner.diagnostics.model import ERROR, INFO, WARNING, Code, Example

_FILE = "rulings, Small decisions: a message file"

UNREADABLE_INPUT = Code(
    id="UNREADABLE_INPUT",
    severity=ERROR,
    title="The input cannot be read",
    message="`{path}` cannot be read: {reason}.",
    fix="Give a file that exists and that you may read, or `-` for the standard input.",
    why="Nothing was checked; saying nothing would look like success.",
    spec="design, Exit codes",
    example=Example("text", "brenner check no-such-file.md", "brenner check message.md"),
)
NOT_UTF8 = Code(
    id="NOT_UTF8",
    severity=ERROR,
    title="The input is not UTF-8",
    message="The input is not UTF-8: {reason}.",
    fix="Save the file as UTF-8 and try again.",
    why="Guessing an encoding would alter what the author wrote: `§42` turns into `¬ß42`.",
    spec=_FILE,
    example=Example("text", "a file saved as Latin-1", "the same file saved as UTF-8"),
)
MESSAGE_TOO_LARGE = Code(
    id="MESSAGE_TOO_LARGE",
    severity=ERROR,
    title="The message is too large",
    message="The message is larger than {most} bytes; nothing in it was read.",
    fix="Send the contribution in several messages, and point to large material by path.{setting}",
    why="The limit holds before anything is parsed, so that no message can exhaust the machine.",
    spec="R5",
    example=Example("text", "a message of 50 MB", "a message that names the file of 50 MB"),
)
MORE_DIAGNOSTICS = Code(
    id="MORE_DIAGNOSTICS",
    severity=INFO,
    title="More diagnostics than are shown",
    message="This {of} has more diagnostics than are shown. Left out: {what}.",
    fix="Fix what is shown, then check again.",
    why="A list of thousands hides the first errors, and makes every page and answer that shows "
    "it slow. Errors are shown before warnings, and warnings before infos.",
    spec="R5; R7",
    example=Example(
        "text",
        "a text in a delta block with 60 commands of LaTeX such as `\\tau`",
        "the same text with `\\\\tau`",
    ),
)
FILE_TOO_LARGE = Code(
    id="FILE_TOO_LARGE",
    severity=ERROR,
    title="The file is too large",
    message="`{path}` is larger than {most} bytes; nothing in it was read.",
    fix="Point to large material by path, and keep in the file what people are to read.",
    why="The limit holds before anything is parsed, so that no file can exhaust the machine.",
    spec="R5; design, Exit codes",
    example=Example("text", "an artifact of 50 MB", "an artifact that names the file of 50 MB"),
)
NO_ARTIFACT = Code(
    id="NO_ARTIFACT",
    severity=ERROR,
    title="There is no artifact in the file",
    message="`{path}` holds no artifact: {reason}.",
    fix="Give the Markdown file of an artifact: front matter between two lines `---`, a title, "
    "and seven sections, `## 1. Research Thread` the first.",
    why="To show or lint nothing would look like success. An empty file is most often a failed "
    "redirection.",
    spec="companion, The artifact; companion, Lint",
    example=Example(
        "text",
        "# Shopping list",
        '---\nsession_id: "RS-20251230-cell-fate"\n---\n\n'
        "# Brenner Protocol Artifact: RS-20251230-cell-fate\n\n## 1. Research Thread\n…",
    ),
)
NO_SECTION_NUMBERS = Code(
    id="NO_SECTION_NUMBERS",
    severity=ERROR,
    title="The source text has no section numbers",
    message="None of the headings of `{path}` has a section number.",
    fix="Give the Markdown file whose headings carry the numbers, as in `## §42 Title` or "
    "`## 42. Title`.",
    why="Every `§n` would count as missing, though the file is at fault and not the artifact.",
    spec="companion, Anchors",
    example=Example("text", "## On counting", "## §42 On counting"),
)
EMPTY_MESSAGE = Code(
    id="EMPTY_MESSAGE",
    severity=ERROR,
    title="The message is empty",
    message="There is no message: the input is empty.",
    fix="Write headers, a blank line and the body; `brenner new TYPE` prints one to fill in.",
    why="An empty file is most often a failed redirection, not a message.",
    spec=_FILE,
    example=Example(
        "message", "", "Subject: INFO: Server restarts at 02:00\n\n# Information\n\nAs said.\n"
    ),
)
NUL_CHARACTER = Code(
    id="NUL_CHARACTER",
    severity=ERROR,
    title="The message holds a NUL character",
    message="There is a NUL character (U+0000) in the message.",
    fix="Remove it; inside a JSON string write `\\u0000` if you mean it.",
    why="Several stores and most tools end a text at a NUL: what follows would be lost in silence.",
    spec=_FILE,
    example=Example(
        "message",
        "Subject: INFO: cut here\n\nbefore\x00after\n",
        "Subject: INFO: not cut\n\nbefore after\n",
    ),
)
INVALID_HEADER = Code(
    id="INVALID_HEADER",
    severity=ERROR,
    title="A line among the headers is not a header",
    message="`{line_text}` is not a header: {reason}.",
    fix="Write each header as `Name: value` on one line, then a blank line, then the body.",
    why="Without the blank line nobody can say where the body begins.",
    spec=_FILE,
    example=Example(
        "message",
        "Subject: INFO: no blank line\n# Information\n",
        "Subject: INFO: with a blank line\n\n# Information\n",
    ),
)
UNKNOWN_HEADER = Code(
    id="UNKNOWN_HEADER",
    severity=WARNING,
    title="An unknown header",
    message="The header `{name}` is not known and is not kept.",
    fix="Use `Thread`, `From`, `To`, `Subject` or `Ack-Required`; put anything else into the "
    "body.{suggestion}",
    why="A header that nobody reads looks as if it had an effect.",
    spec=_FILE,
    example=Example(
        "message",
        "Subject: INFO: a note\nPriority: high\n\nText.\n",
        "Subject: INFO: a note\n\nThis is urgent. Text.\n",
    ),
)
REPEATED_HEADER = Code(
    id="REPEATED_HEADER",
    severity=ERROR,
    title="A header stands twice",
    message="The header `{name}` stands twice; the first is on line {first}.",
    fix="Keep one of them. Several recipients go into one `To`, separated by commas.",
    why="Taking the first or the last would be a guess.",
    spec=_FILE,
    example=Example(
        "message",
        "Subject: INFO: one\nSubject: INFO: two\n\nText.\n",
        "Subject: INFO: one and two\n\nText.\n",
    ),
)
MISSING_HEADER = Code(
    id="MISSING_HEADER",
    severity=ERROR,
    title="A required header is missing",
    message="The header `{name}` is missing.",
    fix="Begin the file with `Thread:`, `From:`, `To:` and `Subject:`, then a blank line.",
    why="Without thread, sender and subject a message cannot be filed, answered or compiled.",
    spec=_FILE,
    example=Example("message", "To: Operator\n\nText.\n", "Subject: INFO: a note\n\nText.\n"),
)
NO_RECIPIENT = Code(
    id="NO_RECIPIENT",
    severity=WARNING,
    title="The message has no recipient yet",
    message="The message names no recipient (`To`).",
    fix="Add `To: NAME, NAME` before sending.",
    why="A message can be checked without recipients, but not sent.",
    spec=_FILE,
    example=Example(
        "message",
        "Subject: INFO: a note\nTo:\n\nText.\n",
        "Subject: INFO: a note\nTo: Operator\n\nText.\n",
    ),
)
INVALID_AGENT_NAME = Code(
    id="INVALID_AGENT_NAME",
    severity=ERROR,
    title="Not an agent's name",
    message="`{name}` is not an agent's name.",
    fix="Use the registered name: ASCII letters, digits, `_` and `-`, a letter first, at most 64 "
    "(`BlueLake`).",
    why="Names are keys. Look-alike letters or blanks in one would make two agents of one.",
    spec="agent_roster_schema_v0.1, RosterEntry; " + _FILE,
    example=Example(
        "message",
        "To: Blue Lake\nSubject: INFO: a note\n\nText.\n",
        "To: BlueLake\nSubject: INFO: a note\n\nText.\n",
    ),
)
INVALID_ACK_REQUIRED = Code(
    id="INVALID_ACK_REQUIRED",
    severity=ERROR,
    title="Ack-Required is neither true nor false",
    message="`Ack-Required: {value}` says neither yes nor no.",
    fix="Write `Ack-Required: true` or `Ack-Required: false`, or leave it out to get what the "
    "type asks for.",
    why="Whether recipients owe an answer must not depend on a guess.",
    spec="message_body_schema_v0.1, ACK Semantics Summary; R3",
    example=Example(
        "message",
        "Ack-Required: maybe\nSubject: INFO: a note\n\nText.\n",
        "Ack-Required: false\nSubject: INFO: a note\n\nText.\n",
    ),
)
SENDER_MISMATCH = Code(
    id="SENDER_MISMATCH",
    severity=ERROR,
    title="The sender is somebody else",
    message="The message is from `{sender}`, but you act as `{actor}`.",
    fix="Write `From: {actor}`, or act as the sender with `--as {sender}`.",
    why="A message under another's name would be counted as her contribution.",
    spec=_FILE,
    example=Example(
        "text",
        "brenner check --as RedCreek message.md    (From: BlueLake)",
        "brenner check --as BlueLake message.md",
    ),
)
WRONG_USAGE = Code(
    id="WRONG_USAGE",
    severity=ERROR,
    title="The command was not understood",
    message="{reason}",
    fix="See `{command} --help`.",
    why="A command that is only half understood does nothing.",
    spec="design, Exit codes",
    example=Example("text", "brenner chek message.md", "brenner check message.md"),
)
UNKNOWN_CODE = Code(
    id="UNKNOWN_CODE",
    severity=ERROR,
    title="No such code",
    message="`{code}` is not in the catalogue.",
    fix="`brenner explain` without a code lists them all.{suggestion}",
    why="Codes are never reused or renamed, so an unknown one is a misspelling.",
    spec="design, Diagnostics",
    example=Example("text", "brenner explain MB-04", "brenner explain MB-004"),
)
OUTPUT_CLOSED = Code(
    id="OUTPUT_CLOSED",
    severity=ERROR,
    title="The output could not be written",
    message="The output could not be written: {reason}.",
    fix="Run the command again with an output that stays open and has room.",
    why="A result that nobody received must not count as delivered.",
    spec="design, Exit codes",
    example=Example("text", "brenner check message.md > /dev/full", "brenner check message.md"),
)
REPORT_LOST = Code(
    id="REPORT_LOST",
    severity=ERROR,
    title="The command was done, and its report could not be written",
    message="The command was done; only its report could not be written: {reason}.",
    fix="Do not run it again. `brenner mail thread` and `brenner mail agents` show what there is.",
    why="Who repeats a send that has been stored sends it twice.",
    spec="design, Exit codes",
    example=Example(
        "text", "brenner mail send message.md > /dev/full", "brenner mail send message.md"
    ),
)

CODES = (
    UNREADABLE_INPUT,
    NOT_UTF8,
    MESSAGE_TOO_LARGE,
    MORE_DIAGNOSTICS,
    FILE_TOO_LARGE,
    NO_ARTIFACT,
    NO_SECTION_NUMBERS,
    EMPTY_MESSAGE,
    NUL_CHARACTER,
    INVALID_HEADER,
    UNKNOWN_HEADER,
    REPEATED_HEADER,
    MISSING_HEADER,
    NO_RECIPIENT,
    INVALID_AGENT_NAME,
    INVALID_ACK_REQUIRED,
    SENDER_MISMATCH,
    WRONG_USAGE,
    UNKNOWN_CODE,
    OUTPUT_CLOSED,
    REPORT_LOST,
)
