"""Codes of the programs beside ours: ntm, tmux, and those of the agents."""

from brenner.diagnostics.model import ERROR, WARNING, Code, Example

_SPEC = "thread_subject_conventions_v0.1, ntm session naming"
_START = "brenner session start --thread-id RS-20251230-cell-fate …"

NO_TERMINAL_PROGRAM = Code(
    id="NO_TERMINAL_PROGRAM",
    severity=ERROR,
    title="Neither ntm nor tmux is installed",
    message="{option} needs ntm or tmux, and neither is on PATH. Nothing was sent.",
    fix="Install tmux (`apt install tmux`, `brew install tmux`) or ntm, or leave {option} out.",
    why="What is known to fail is not begun: agents would have mail, and nobody would run them.",
    spec=_SPEC,
    example=Example("text", f"{_START} --spawn    (without tmux)", _START),
)
NOBODY_TO_OPEN = Code(
    id="NOBODY_TO_OPEN",
    severity=ERROR,
    title="No recipient has a program that can be opened",
    message="`--spawn` has nothing to open: {reasons}. Nothing was sent.",
    fix="Name the programs in a roster or preset, or register the agents with `brenner mail "
    "register NAME --program PROGRAM`. Known are {known}; others get a command under `[programs]` "
    "in `brenner.toml`.",
    why="A session without agents in it would look as if somebody were at work.",
    spec=f"{_SPEC}; agent_roster_schema_v0.1, Roster Entry",
    example=Example(
        "text",
        "brenner session start --to BlueLake --role test_designer --spawn …",
        "brenner mail register BlueLake --program claude-code\n"
        "brenner session start --to BlueLake --role test_designer --spawn …",
    ),
)
AGENT_NOT_OPENED = Code(
    id="AGENT_NOT_OPENED",
    severity=WARNING,
    title="An agent's program was not opened",
    message="{agent} was not opened in a terminal: {reason}.",
    fix="Open it yourself, or mend that and run the same command again: who is there already is "
    "left alone.",
    why="Only commands that the operator has configured are run: those of the table, and those "
    "under `[programs]` in `brenner.toml`. Nothing that stands in mail is ever run.",
    spec=_SPEC,
    example=Example(
        "text",
        '{"agentName": "BlueLake", "role": "test_designer", "program": "my-agent"}',
        '[programs]\nmy-agent = "my-agent --interactive"',
    ),
)
PROGRAM_NOT_FOUND = Code(
    id="PROGRAM_NOT_FOUND",
    severity=WARNING,
    title="The command of an agent's program is not on PATH",
    message="`{command}`, the command of {program}, is not on PATH: the window of {agent} has a "
    "shell in it.",
    fix="Install the program, or name its command under `[programs]` in `brenner.toml`; then start "
    "it in that window.",
    why="The window is there, but nobody reads the mail in it.",
    spec=_SPEC,
    example=Example(
        "text", '[programs]\nclaude-code = "cluade"', '[programs]\nclaude-code = "claude"'
    ),
)
SPAWN_FAILED = Code(
    id="SPAWN_FAILED",
    severity=ERROR,
    title="The session could not be opened in a terminal",
    message="{mail}{program} could not open `{session}` for {agents}: {reason}",
    fix="Mend that and run the same command again: it sends only what is missing, and opens who is "
    "not there. Agents can also be started by hand.",
    why="The mail waits for the agents, whoever starts them. Sending it again would not help.",
    spec=_SPEC,
    example=Example("text", f"{_START} --spawn    (tmux fails)", f"{_START} --spawn    (again)"),
)
OTHER_TERMINAL_SESSION = Code(
    id="OTHER_TERMINAL_SESSION",
    severity=ERROR,
    title="The terminal session of that name is another one",
    message="{mail}The tmux session `{session}` was opened for {owner}; it was left alone.",
    fix="Close it with `tmux kill-session -t '={session}'` if it is not needed, or start the "
    "agents by hand.",
    why="tmux stores `.` as `_`, so two threads can have one name there, and two projects can have "
    "a thread of the same ID. Agents that are told of mail which is not theirs work on the wrong "
    "session.",
    spec=_SPEC,
    example=Example("text", "bot-5so.1 while bot-5so_1 runs", "bot-5so.1 once it has ended"),
)
NO_TERMINAL_SESSION = Code(
    id="NO_TERMINAL_SESSION",
    severity=ERROR,
    title="There is no terminal session to tell",
    message="{mail}Nobody was told of it: no session `{session}` runs in {program}.",
    fix="Open it with `--spawn`, or start the agents by hand: their mail waits for them.",
    why="The words are typed only into panes of the thread's own session.",
    spec=_SPEC,
    example=Example("text", f"{_START} --broadcast", f"{_START} --spawn --broadcast"),
)
BROADCAST_INCOMPLETE = Code(
    id="BROADCAST_INCOMPLETE",
    severity=ERROR,
    title="Not everybody was told to read the mail",
    message="{mail}Not told in `{session}`: {missed}.",
    fix="Mend that and run the same command again, or tell them yourself: their mail waits for "
    "them.",
    why="An agent that nobody wakes does not know that it has mail.",
    spec=_SPEC,
    example=Example(
        "text", f"{_START} --broadcast    (a pane is in copy mode)", "the same once one has left it"
    ),
)

CODES = (
    NO_TERMINAL_PROGRAM,
    NOBODY_TO_OPEN,
    AGENT_NOT_OPENED,
    PROGRAM_NOT_FOUND,
    SPAWN_FAILED,
    OTHER_TERMINAL_SESSION,
    NO_TERMINAL_SESSION,
    BROADCAST_INCOMPLETE,
)
