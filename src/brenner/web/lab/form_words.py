"""What to do about a fault, where it is said beside a form: which box or field is meant.

The words of a code speak to everybody, and often name the flag of a command. The operator has a
form before her.
"""

from collections.abc import Mapping
from types import MappingProxyType

_REOPEN, _FORCE = "“Reopen”", "“Write over changes made by hand in the file”"
_NO_COMMIT = "untick “Commit that file” and “Push the branch”"
_ROLE = "Choose a role in the row of that agent, or remove the row."
_COMPILE_FIRST = "Once deltas have come in that apply, compile: that publishes the first version."

_FIXES: Mapping[str, str] = MappingProxyType(
    {
        "SESSION_CLOSED": f"To go on with it, tick {_REOPEN}. For a new question start a new "
        "session, whose items can name this one’s under `references`.",
        "ROUND_OF_CLOSED_SESSION": f"Once deltas have come in, tick {_REOPEN} when you compile, "
        "too.",
        "AFTER_THE_END": f"If it matters, compile it with {_REOPEN} ticked.",
        "MISSING_ROSTER_ENTRY": _ROLE,
        "HEURISTIC_NAME_UNMATCHED": _ROLE,
        "NO_ROSTER": "Choose a role in each row.",
        "UNIFIED_WITHOUT_ROLES": "Nothing needs to be done. Choose the roles in the rows if the "
        "roster shall show them all the same.",
        "PRESET_RECIPIENT_COUNT": "Name as many agents as the preset has places, or choose the "
        "roles row by row.",
        "UNKNOWN_PRESET": "Choose one of the menu “Preset”.",
        "LEFT_OUT_OF_ROSTER": "Add a row for each, with the role that it had. Nobody gets a second "
        "kickoff.",
        "LEFT_OUT_OF_ROUND": "To ask them as well, add a row for each.",
        "ROSTER_PASSED_OVER": "Look whether the rows name the right agents and roles. The kickoffs "
        "of this round tell the roster to everybody.",
        "OTHER_QUESTION": "For a session of its own leave “Thread ID” empty. To finish that "
        "kickoff, ask its question, word for word. To change the question of that session, send a "
        "DELTA that edits `RT`.",
        "QUESTION_RESPELT": "Nothing has to be done: the words of that message stand. For a "
        "session of its own fill in “Thread ID”.",
        "RECIPIENTS_NOT_REGISTERED": "Let the agents register themselves first. If the names are "
        "yours to give, tick “Register names that are new”.",
        "UNKNOWN_SECTION_NUMBER": "Ask for sections that it has, or write into “Passages”.",
        "NO_SOURCE_TEXT": "Write into “Passages”. Or name a source text: a Markdown file whose "
        'headings carry the numbers, as `source_text = "FILE.md"` in `brenner.toml`.',
        "ROUND_WITHOUT_VERSION": "Once deltas have come in, compile: that publishes v1. To ask "
        "more agents in its first round, start a session with the same “Thread ID” and question "
        "and a row for everybody: nobody gets a second kickoff.",
        "ROUND_WITHOUT_QUESTION": "Fill in “Question”, under “More”: the next version takes it "
        "from the kickoff.",
        "ROUND_BEFORE_COMPILE": "To start the round from a version that has them, compile first.",
        "NO_VERSION_YET": _COMPILE_FIRST,
        "NO_VERSION_TO_CLOSE": f"{_COMPILE_FIRST} Then complete it.",
        "NOT_A_REPOSITORY": f"Run `git init` in the project, or {_NO_COMMIT}.",
        "GIT_MISSING": f"Install git, or {_NO_COMMIT}: the file is written without it.",
        "ARTIFACT_FILE_FOREIGN": f"Move it to another place. To give it up, tick {_FORCE}.",
        "ARCHIVE_FILE_FOREIGN": "If it is an archive of mail that is missing here, import it with "
        f"`brenner mail import`. Else move it to another place. To give it up, tick {_FORCE}.",
        "TEMPLATE_NOT_FILLED_IN": "Replace each with your own words, or remove its section if it "
        "is optional.",
    }
)
# Parts of sentences, where the rest of them says what is particular to the case
_PARTS = (
    ("Name at least one, as in `To: BlueLake, RedSky`.", "Tick somebody, or write a name there."),
    ("leave out `--commit` and `--push`", _NO_COMMIT),
    ("leave out `--push`", "untick “Push the branch”"),
    ("`--push` has nowhere", "The push has nowhere"),
    ("use `--force`", f"tick {_FORCE}"),
    ("run the command again with `--force`", f"do it again with {_FORCE} ticked"),
    ("run the same command again", "do the same again"),
)
_EDITED = "ARTIFACT_FILE_EDITED"
_BRINGS_IN = (
    "To keep them, send the message below, compile, and persist then. To drop them, tick " + _FORCE
)


def form_fix(found: Mapping[str, object]) -> str:
    """What to do, in the words of the form where it has its own. `found` is its JSON."""
    if found["id"] == _EDITED and found.get("repaired"):
        return f"{_BRINGS_IN}."
    own = _FIXES.get(str(found["id"]))
    return own if own is not None else in_form(str(found["fix"]))


def in_form(text: str) -> str:
    """A sentence in which flags of commands are called as the form calls them."""
    for said, called in _PARTS:
        text = text.replace(said, called)
    return text
