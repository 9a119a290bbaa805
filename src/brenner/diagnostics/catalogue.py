"""The catalogue of all codes, collected from the modules in `codes/`."""

import re

from brenner.diagnostics.codes import (
    artifacts,
    deltas,
    lint_sections,
    lint_structure,
    mail,
    merging,
    messages,
    publishing,
    serving,
    sessions,
    stores,
    web,
)
from brenner.diagnostics.model import Code
from brenner.text import closest

# In the order in which the program processes a message: file, thread, body, block, mail, …
CHAPTERS: dict[str, tuple[Code, ...]] = {
    "Input and message files": messages.INPUT_CODES,
    "Thread IDs and subjects": messages.THREAD_SUBJECT_CODES,
    "Message bodies": messages.MESSAGE_BODY_CODES,
    "Delta blocks": deltas.DELTA_BLOCK_CODES,
    "JSON in delta blocks": deltas.JSON_CODES,
    "Delta format": deltas.DELTA_FORMAT_CODES,
    "Mail": (*mail.MAIL_CODES, *mail.RESERVATION_CODES),
    "Search": mail.SEARCH_CODES,
    "Archives of mail": stores.ARCHIVE_CODES,
    "Merging": merging.MERGE_CODES,
    "Artifact files": artifacts.ARTIFACT_TEXT_CODES,
    "Linting the artifact": (
        *lint_structure.METADATA_CODES,
        *lint_structure.STRUCTURE_CODES,
        *lint_structure.RESEARCH_THREAD_CODES,
        *lint_sections.HYPOTHESIS_CODES,
        *lint_sections.PREDICTION_CODES,
        *lint_sections.TEST_CODES,
        *lint_sections.ASSUMPTION_CODES,
        *lint_sections.ANOMALY_CODES,
        *lint_sections.CRITIQUE_CODES,
        *lint_structure.CROSS_SECTION_CODES,
    ),
    "Rosters": sessions.ROSTER_CODES,
    "Kickoffs": sessions.KICKOFF_CODES,
    "Publishing": publishing.PUBLISH_CODES,
    "Versions": (*artifacts.VERSION_CODES, *artifacts.ARTIFACT_COMMAND_CODES),
    "References between sessions": merging.REFERENCE_CODES,
    "Following sessions": (*sessions.DISMISSAL_CODES, *sessions.WATCH_CODES),
    "Persisting": publishing.PERSIST_CODES,
    "Git": publishing.GIT_CODES,
    "Stores and settings": stores.STORE_CODES,
    "Servers": stores.REMOTE_STORE_CODES,
    "Neighbours": sessions.INTEGRATION_CODES,
    "Serving agents": (
        *serving.SERVER_CODES,
        *serving.IDENTITY_CODES,
        *serving.SECRET_CODES,
        *serving.TOOL_ARGUMENT_CODES,
        *serving.MAIL_TOOL_CODES,
        *serving.CONTRIBUTION_CODES,
    ),
    "The web page": (
        *web.WEB_CODES,
        *web.LAB_CODES,
        *web.LAB_FORM_CODES,
        *publishing.PREVIEW_CODES,
    ),
}
LINT_CODES = CHAPTERS["Linting the artifact"]
CATALOGUE = {code.id: code for chapter in CHAPTERS.values() for code in chapter}


def find_code(written: str) -> Code | None:
    """Return the code with that ID, ignoring case and `_` for `-`."""
    wanted = written.strip().upper()
    return CATALOGUE.get(wanted) or _CODES_BY_FOLDED_ID.get(wanted.replace("-", "_"))


def closest_code(written: str) -> str | None:
    """Return the ID that a misspelt one probably means."""
    wanted = written.strip().upper()
    number = re.fullmatch(r"([A-Z]+)[-_ ]?0*([0-9]{1,3})", wanted)
    padded = f"{number[1]}-{int(number[2]):03}" if number else ""
    return padded if padded in CATALOGUE else closest(wanted, CATALOGUE)


_CODES_BY_FOLDED_ID = {code_id.replace("-", "_"): code for code_id, code in CATALOGUE.items()}
