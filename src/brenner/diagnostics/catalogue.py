"""The catalogue of all codes, put together from one file per document."""

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

# In the order in which a message goes through the program: file, thread, body, block, mail, …
CHAPTERS: dict[str, tuple[Code, ...]] = {
    "Input and message files": messages.INPUT_CODES,
    "Thread IDs and subjects": messages.THREAD_SUBJECT_CODES,
    "Message bodies": messages.MESSAGE_BODY_CODES,
    "Delta blocks": deltas.DELTA_BLOCKS_CODES,
    "JSON in delta blocks": deltas.JSON_TEXT_CODES,
    "Delta format": deltas.DELTA_FORMAT_CODES,
    "Mail": (*mail.MAIL_CODES, *mail.RESERVING_CODES),
    "Search": mail.SEARCH_CODES,
    "Archives of mail": stores.ARCHIVE_CODES,
    "Merging": merging.MERGE_CODES,
    "Artifact files": artifacts.ARTIFACT_TEXT_CODES,
    "Linting the artifact": (
        *lint_structure.METADATA_CODES,
        *lint_structure.STRUCTURE_CODES,
        *lint_structure.RESEARCH_THREAD_CODES,
        *lint_sections.HYPOTHESES_CODES,
        *lint_sections.PREDICTIONS_CODES,
        *lint_sections.TESTS_CODES,
        *lint_sections.ASSUMPTIONS_CODES,
        *lint_sections.ANOMALIES_CODES,
        *lint_sections.CRITIQUES_CODES,
        *lint_structure.ACROSS_CODES,
    ),
    "Rosters": sessions.ROSTER_CODES,
    "Kickoffs": sessions.KICKOFF_CODES,
    "Publishing": publishing.PUBLISH_CODES,
    "Versions": (*artifacts.VERSIONS_CODES, *artifacts.ARTIFACT_COMMANDS_CODES),
    "References between sessions": merging.REFERENCES_CODES,
    "Following sessions": (*sessions.FOLLOWING_CODES, *sessions.WATCHING_CODES),
    "Persisting": publishing.PERSISTING_CODES,
    "Git": publishing.GIT_CODES,
    "Stores and settings": stores.STORE_CODES,
    "Servers": stores.SERVERS_CODES,
    "Neighbours": sessions.NEIGHBOURS_CODES,
    "Serving agents": (
        *serving.SERVING_CODES,
        *serving.IDENTITY_CODES,
        *serving.SECRETS_CODES,
        *serving.TOOL_ARGUMENTS_CODES,
        *serving.TOOLS_CODES,
        *serving.CONTRIBUTING_CODES,
    ),
    "The web page": (
        *web.WEB_CODES,
        *web.LAB_CODES,
        *web.LAB_FORMS_CODES,
        *publishing.PREVIEWS_CODES,
    ),
}
LINT_CODES = CHAPTERS["Linting the artifact"]
CATALOGUE = {code.id: code for chapter in CHAPTERS.values() for code in chapter}


def find_code(written: str) -> Code | None:
    """The code of that id; case, and `_` for `-`, do not matter."""
    wanted = written.strip().upper()
    return CATALOGUE.get(wanted) or _FOLDED.get(wanted.replace("-", "_"))


def nearest_code(written: str) -> str | None:
    """The id that a misspelt one probably stands for."""
    wanted = written.strip().upper()
    number = re.fullmatch(r"([A-Z]+)[-_ ]?0*([0-9]{1,3})", wanted)
    padded = f"{number[1]}-{int(number[2]):03}" if number else ""
    return padded if padded in CATALOGUE else closest(wanted, CATALOGUE)


_FOLDED = {code_id.replace("-", "_"): code for code_id, code in CATALOGUE.items()}
