"""Codes of kickoffs: what keeps a session from being started (message document; ruling R15)."""

from brenner.diagnostics.model import ERROR, INFO, WARNING, Code, Example

_EXCERPT = "message_body_schema_v0.1, KICKOFF Messages; companion, Anchors"
_START = "rulings, Small decisions: `session start` on an existing thread"

OTHER_QUESTION = Code(
    id="OTHER_QUESTION",
    severity=ERROR,
    title="The thread has another question already",
    message="`{thread_id}` is about another question already, asked in message {id}: “{question}”",
    fix="For a session of its own leave `--thread-id` out. To finish that kickoff, ask its "
    "question, word for word. To change the question of that session, send a DELTA that edits "
    "`RT`.",
    why="A thread has one artifact, and the artifact one question. Agents that were asked two "
    "different ones would work on different things in one document.",
    spec=f"{_START}; R15",
    example=Example(
        "text",
        "brenner session start --thread-id RS-20251230-cell-fate --question 'Do cells forget?'\n"
        "(the thread asks how cells decide their fate)",
        "brenner session start --question 'Do cells forget?'",
    ),
)
QUESTION_RESPELT = Code(
    id="QUESTION_RESPELT",
    severity=INFO,
    title="The question is that of a session, written otherwise",
    message="The question is taken for that of `{thread_id}`, asked in message {id}: “{question}”",
    fix="Nothing has to be done: the words of that message stand. For a session of its own name "
    "its thread with `--thread-id`.",
    why="Two questions that differ only in case, blanks or the marks at their end are one. A "
    "second session would ask everybody twice.",
    spec=f"{_START}; R15",
    example=Example(
        "text",
        "brenner session start --question 'how do cells know their fate' …\n"
        "(a session of today asks: How do cells know their fate?)",
        "brenner session start --question 'How do cells know their fate?' …",
    ),
)
CONTEXT_DIFFERS = Code(
    id="CONTEXT_DIFFERS",
    severity=WARNING,
    title="The kickoff says something else than the thread's first one",
    message="Message {id}, with which the session began, has other words under {sections}. "
    "{effect}",
    fix="For the same kickoff give the same texts. If something has changed, tell everybody: send "
    "an INFO message in the thread; the artifact's context is changed by a DELTA that edits `RT`.",
    why="What was sent stays as it is, and the artifact takes its context from the first kickoff. "
    "Agents that were told different things work on different things.",
    spec=f"{_START}; R15",
    example=Example(
        "text",
        "brenner session start --question 'How do cells know their fate?' --context 'More.' …\n"
        "(the session began with another context)",
        "brenner session start --question 'How do cells know their fate?' --context @file.md …",
    ),
)
KICKOFF_INCOMPLETE = Code(
    id="KICKOFF_INCOMPLETE",
    severity=ERROR,
    title="The kickoff has reached only some recipients",
    message="The kickoff has reached {reached}, but not {missed}: {reason}",
    fix="Run the same command again: it sends only what is missing. {hint}",
    why="Those who got it begin to work. The others do not know that there is a session.",
    spec=_START,
    example=Example(
        "text",
        "brenner session start --to BlueLake --role test_designer "
        "--to RedSky --role adversarial_critic …\n(the disk is full after the first message)",
        "the same command, once there is room on the disk",
    ),
)
RECIPIENTS_NOT_REGISTERED = Code(
    id="RECIPIENTS_NOT_REGISTERED",
    severity=ERROR,
    title="Recipients are not known on the server",
    message="The server does not know {names}. A name may belong to its other projects, so nobody "
    "but the sender is registered there without being asked.",
    fix="Let the agents register themselves first. If the names are yours to give, repeat the "
    "command with `--register`.",
    why="Some Agent Mail servers keep names for all projects: to register one for this project can "
    "take it away from another. A kickoff to a name that nobody answers to is lost.",
    spec="design, Commands",
    example=Example(
        "text",
        "brenner session start --store agent-mail --to BlueLake …    (nobody is called that there)",
        "brenner session start --store agent-mail --to BlueLake … --register",
    ),
)
ROLE_CHANGED = Code(
    id="ROLE_CHANGED",
    severity=WARNING,
    title="A recipient has a kickoff with another role",
    message="{name} has got its kickoff already, as {before} (message {id}); the roster says "
    "{role} now. No second one is sent.",
    fix="If the role has changed, tell {name}: send an INFO message in the thread. Otherwise give "
    "the role that it had.",
    why="Nobody is asked twice. An agent goes on with the prompt that it has, whatever a later "
    "roster says of it.",
    spec=_START,
    example=Example(
        "text",
        "brenner session start --to BlueLake --role adversarial_critic …\n"
        "(BlueLake was asked as test_designer)",
        "brenner session start --to BlueLake --role test_designer …",
    ),
)
INVALID_SECTIONS = Code(
    id="INVALID_SECTIONS",
    severity=ERROR,
    title="The list of sections cannot be read",
    message="`{value}` is not a list of sections: {reason}.",
    fix="Write numbers and ascending ranges with commas between them, such as `42,45-47`.",
    why="A passage that is guessed at is not the one that was meant, and agents will cite it.",
    spec=_EXCERPT,
    example=Example("text", "--excerpt 47-45", "--excerpt 45-47"),
)
UNKNOWN_SECTION_NUMBER = Code(
    id="UNKNOWN_SECTION_NUMBER",
    severity=ERROR,
    title="The source text does not have that section",
    message="`{path}` does not have {missing}. It has {known}.",
    fix="Ask for sections that it has, or give the passages yourself with `--excerpt-file FILE`.",
    why="Agents can only cite what they were given. A passage that is left out in silence would be "
    "missed by everybody.",
    spec=_EXCERPT,
    example=Example("text", "--excerpt 42,999", "--excerpt 42"),
)
EXCERPT_TOO_LONG = Code(
    id="EXCERPT_TOO_LONG",
    severity=ERROR,
    title="The excerpt is too long",
    message="The excerpt has {length} characters, and {most} are the most.",
    fix="Choose fewer sections, and name the source in the context: agents can look up the rest.",
    why="Every recipient gets the whole excerpt and is meant to read it.",
    spec=f"{_EXCERPT}; R5",
    example=Example("text", "--excerpt 1-2000", "--excerpt 42,45-47"),
)
NO_SOURCE_TEXT = Code(
    id="NO_SOURCE_TEXT",
    severity=ERROR,
    title="The project names no source text",
    message="An excerpt by section numbers needs a source text, and the project names none.",
    fix='Write `source_text = "FILE.md"` into `brenner.toml` (a Markdown file whose headings carry '
    "the numbers), or give the passages with `--excerpt-file FILE`.",
    why="A number means a section only in a text that everybody agrees on.",
    spec="companion, Anchors",
    example=Example("text", 'operator = "Ada"', 'operator = "Ada"\nsource_text = "interviews.md"'),
)

CODES = (
    OTHER_QUESTION,
    QUESTION_RESPELT,
    CONTEXT_DIFFERS,
    KICKOFF_INCOMPLETE,
    RECIPIENTS_NOT_REGISTERED,
    ROLE_CHANGED,
    INVALID_SECTIONS,
    UNKNOWN_SECTION_NUMBER,
    EXCERPT_TOO_LONG,
    NO_SOURCE_TEXT,
)
