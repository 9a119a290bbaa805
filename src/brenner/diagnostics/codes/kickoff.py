"""Codes of kickoffs: what keeps a session or a round from being started (R15)."""

from brenner.diagnostics.model import ERROR, INFO, WARNING, Code, Example

_EXCERPT = "message_body_schema_v0.1, KICKOFF Messages; companion, Anchors"
_START = "rulings, Small decisions: `session start` on an existing thread"
_ROUND = "artifact_publish_spec_v0.1, KICKOFF Messages (Round 2+)"

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
    message="Message {id}, with which the {what} began, has other words under {sections}. {effect}",
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
LEFT_OUT_OF_ROSTER = Code(
    id="LEFT_OUT_OF_ROSTER",
    severity=WARNING,
    title="Somebody who was asked is not in the roster any more",
    message="This session has asked {names} before, and the roster of these kickoffs does not name "
    "them. The latest roster counts: later rounds will not ask them.",
    fix="Name them as well, each with the role that it had. Nobody gets a second kickoff.",
    why="A kickoff tells the whole roster, so the one that is sent last is the session's own.",
    spec="R15",
    example=Example(
        "text",
        "brenner session start --to RedSky --role test_designer …\n(BlueLake was asked before)",
        "brenner session start --to BlueLake --role hypothesis_generator "
        "--to RedSky --role test_designer …",
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
ROUND_WITHOUT_VERSION = Code(
    id="ROUND_WITHOUT_VERSION",
    severity=ERROR,
    title="There is no version to start a round from",
    message="`{thread_id}` has no version yet: it is still in its first round.",
    fix="To ask more agents in that round, use `brenner session start --thread-id={thread_id}` "
    "with the session's question. Once deltas have come in, `brenner compile` publishes v1; start "
    "the next round then.",
    why="The kickoff of a later round names the version that everybody builds on, and the "
    "critiques that are open in it.",
    spec=_ROUND,
    example=Example(
        "text",
        "brenner session round RS-20251230-cell-fate    (nothing is compiled yet)",
        "brenner compile RS-20251230-cell-fate\nbrenner session round RS-20251230-cell-fate",
    ),
)
ROUND_WITHOUT_QUESTION = Code(
    id="ROUND_WITHOUT_QUESTION",
    severity=ERROR,
    title="The session has no question yet",
    message="v{version} of `{thread_id}` has no research question, and none is given.",
    fix="Give it with `--question`: the next version takes it from the kickoff.",
    why="Agents work on a question. Without one the title of the kickoff would be taken for it.",
    spec=f"{_ROUND}; R15",
    example=Example(
        "text",
        "brenner session round RS-20251230-cell-fate    (no kickoff has asked anything)",
        "brenner session round RS-20251230-cell-fate --question 'How do cells know their fate?'",
    ),
)
ROUND_OF_CLOSED_SESSION = Code(
    id="ROUND_OF_CLOSED_SESSION",
    severity=WARNING,
    title="The round goes on with a session that is closed",
    message="`{thread_id}` was closed with v{version}; this round goes on with it. The session "
    "stays closed until a later version is published.",
    fix="Once deltas have come in, compile with `--reopen`, too: `brenner compile --reopen "
    "{argument}`.",
    why="The last version of a closed session is what others rely on. That it is overtaken must be "
    "meant both times: when agents are asked, and when their work is compiled.",
    spec="R18",
    example=Example(
        "text",
        "brenner session round RS-20251230-cell-fate --reopen\n"
        "brenner compile RS-20251230-cell-fate",
        "brenner session round RS-20251230-cell-fate --reopen\n"
        "brenner compile RS-20251230-cell-fate --reopen",
    ),
)
ROUND_BEFORE_COMPILE = Code(
    id="ROUND_BEFORE_COMPILE",
    severity=WARNING,
    title="Deltas wait that no version has read",
    message="{unread} since v{version} that no version has read; of their blocks {applies} would "
    "be applied. They become part of this round, which builds on v{version} without them.",
    fix="To start the round from a version that has them, run `brenner compile {argument}` first.",
    why="Agents of this round read the version that the kickoff names. What is not in it they are "
    "likely to write a second time, or to contradict.",
    spec=f"{_ROUND}; R10",
    example=Example(
        "text",
        "brenner session round RS-20251230-cell-fate    (deltas have come in since v1)",
        "brenner compile RS-20251230-cell-fate\nbrenner session round RS-20251230-cell-fate",
    ),
)
ROUND_OVERTAKEN = Code(
    id="ROUND_OVERTAKEN",
    severity=ERROR,
    title="The round has ended before its kickoffs were out",
    message="The kickoffs of round {round} build on v{version} of `{thread_id}`, and meanwhile "
    "{now}.",
    fix="Look at the new state, then run the same command again: it starts the round that comes "
    "next.",
    why="A kickoff that names an older version would set its reader to work on what has changed.",
    spec=f"{_ROUND}; R17",
    example=Example(
        "text",
        "brenner session round RS-20251230-cell-fate    (somebody compiles in the same moment)",
        "brenner session round RS-20251230-cell-fate    (again)",
    ),
)
LEFT_OUT_OF_ROUND = Code(
    id="LEFT_OUT_OF_ROUND",
    severity=INFO,
    title="Somebody of the roster is not asked",
    message="The roster also names {names}, whom no kickoff of this session has asked; this round "
    "does not ask them, either.",
    fix="To ask them as well, name them: `--to NAME`.",
    why="A roster may name more agents than take part. Whoever was not asked before is asked only "
    "if somebody means it.",
    spec=f"{_ROUND}; R15",
    example=Example(
        "text",
        "brenner session round RS-20251230-cell-fate",
        "brenner session round RS-20251230-cell-fate --to BlueLake --to RedSky",
    ),
)
ROSTER_PASSED_OVER = Code(
    id="ROSTER_PASSED_OVER",
    severity=WARNING,
    title="The roster of a later kickoff cannot be used",
    message="The roster of message {id} cannot be used ({reason}). The round goes by the roster of "
    "an earlier kickoff, or by none.",
    fix="Look whether the recipients and their roles are the right ones; if not, give them with "
    "`--to NAME --role ROLE`. The kickoffs of this round tell the roster to everybody.",
    why="The latest roster is the session's. One that is faulty must not keep a session from going "
    "on, whoever sent it.",
    spec="R15; agent_roster_schema_v0.1, Validation Rules",
    example=Example(
        "text",
        "| Agent | Role |\n|---|---|\n| RedSky | researcher |",
        "| Agent | Role |\n|---|---|\n| RedSky | test_designer |",
    ),
)

CODES = (
    OTHER_QUESTION,
    QUESTION_RESPELT,
    CONTEXT_DIFFERS,
    KICKOFF_INCOMPLETE,
    RECIPIENTS_NOT_REGISTERED,
    ROLE_CHANGED,
    LEFT_OUT_OF_ROSTER,
    INVALID_SECTIONS,
    UNKNOWN_SECTION_NUMBER,
    EXCERPT_TOO_LONG,
    NO_SOURCE_TEXT,
    ROUND_WITHOUT_VERSION,
    ROUND_WITHOUT_QUESTION,
    ROUND_OF_CLOSED_SESSION,
    ROUND_BEFORE_COMPILE,
    ROUND_OVERTAKEN,
    LEFT_OUT_OF_ROUND,
    ROSTER_PASSED_OVER,
)
