"""The catalogue of all codes, put together from one file per document."""

import re

from brenner.diagnostics.codes import (
    archive,
    artifact_commands,
    artifact_text,
    contributing,
    delta_blocks,
    delta_format,
    following,
    git,
    identity,
    input,  # noqa: A004  (the file's subject)
    json_text,
    kickoff,
    lab,
    lab_forms,
    lint,
    mail,
    merge,
    message_body,
    neighbours,
    persisting,
    previews,
    publish,
    references,
    reserving,
    roster,
    search,
    secrets,
    servers,
    serving,
    store,
    thread_subject,
    tool_arguments,
    tools,
    versions,
    watching,
    web,
)
from brenner.diagnostics.model import Code
from brenner.text import nearest

# In the order in which a message goes through the program: file, thread, body, block, mail, …
CHAPTERS: dict[str, tuple[Code, ...]] = {
    "Input and message files": input.CODES,
    "Thread IDs and subjects": thread_subject.CODES,
    "Message bodies": message_body.CODES,
    "Delta blocks": delta_blocks.CODES,
    "JSON in delta blocks": json_text.CODES,
    "Delta format": delta_format.CODES,
    "Mail": (*mail.CODES, *reserving.CODES),
    "Search": search.CODES,
    "Archives of mail": archive.CODES,
    "Merging": merge.CODES,
    "Artifact files": artifact_text.CODES,
    "Linting the artifact": lint.CODES,
    "Rosters": roster.CODES,
    "Kickoffs": kickoff.CODES,
    "Publishing": publish.CODES,
    "Versions": (*versions.CODES, *artifact_commands.CODES),
    "References between sessions": references.CODES,
    "Following sessions": (*following.CODES, *watching.CODES),
    "Persisting": persisting.CODES,
    "Git": git.CODES,
    "Stores and settings": store.CODES,
    "Servers": servers.CODES,
    "Neighbours": neighbours.CODES,
    "Serving agents": (
        *serving.CODES,
        *identity.CODES,
        *secrets.CODES,
        *tool_arguments.CODES,
        *tools.CODES,
        *contributing.CODES,
    ),
    "The web page": (*web.CODES, *lab.CODES, *lab_forms.CODES, *previews.CODES),
}
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
    return padded if padded in CATALOGUE else nearest(wanted, CATALOGUE)


_FOLDED = {code_id.replace("-", "_"): code for code_id, code in CATALOGUE.items()}
