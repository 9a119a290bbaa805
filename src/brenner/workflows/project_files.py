"""What the settings of a project lead to, for `brenner doctor`: roster, source text, repository."""

from brenner.config import SETTINGS_FILE, Project
from brenner.diagnostics.codes.publishing import GIT_MISSING, NOT_A_REPOSITORY
from brenner.diagnostics.model import BrennerError, Diagnostic, worst_first
from brenner.lint.context import read_source_text
from brenner.persist.git import Repository
from brenner.text import grouped
from brenner.workflows.rosters import look_at_project_roster
from brenner.workflows.source_text import source_of
from brenner.workflows.surroundings import OK, WARNING, Check

_NO_SECTIONS = (
    "Give its headings numbers, as in `# §42 Counting`, or name another file as `source_text`."
)


def roster_check(project: Project) -> Check:
    """The roster and the presets of the project's file; who takes part is said elsewhere."""
    said = look_at_project_roster(project)
    if said.label is None:
        return Check("roster", OK, "none in the project's files; flags can give the roles")
    if not said.found:
        words = f"{grouped(said.agents, 'agent')}, {grouped(said.presets, 'preset')} of its own"
        return Check("roster", OK, f"{said.label}: {words}")
    worst, *others = sorted(said.found, key=worst_first)
    check = Check.of("roster", worst)
    if not others:
        return check
    more = f" There is more: `brenner roster validate` lists {len(said.found)} in all."
    return check._replace(detail=check.detail.removesuffix(".") + "." + more)


def source_text_check(project: Project) -> Check:
    """Whether the source text can be read, and has sections that one can cite."""
    name = project.source_text
    text = source_of(project)
    if text is None:
        return Check("source_text", OK, f"`{SETTINGS_FILE}` names none; anchors are not looked up")
    if isinstance(text, Diagnostic):
        fix = f"Bring `{name}` back, or correct `source_text` in `{SETTINGS_FILE}`."
        return Check.of("source_text", text)._replace(fix=fix)
    source = read_source_text(text, name or "")
    if source.is_empty:
        words = f"`{name}` has no section with a number: no anchor can be looked up in it."
        return Check("source_text", WARNING, words, _NO_SECTIONS)
    pairs = zip(source.firsts, source.lasts, strict=True)
    count = sum(last - first + 1 for first, last in pairs)
    return Check("source_text", OK, f"`{name}`, {grouped(count, 'section')}")


def persisting_check(project: Project) -> Check:
    """Whether versions can be committed here; a problem only where the settings ask for it."""
    wanted = project.persist.commit or project.persist.push
    try:
        repository = Repository.find(project.folder)
        repository.check(())
    except BrennerError as error:
        found = error.diagnostic
        if wanted:
            return Check.of("persisting", found)
        if found.code in (NOT_A_REPOSITORY, GIT_MISSING):  # of git itself another check tells
            words = "no git repository: versions can be written to files, not committed"
            return Check("persisting", OK, words)
        return Check.of("persisting", found)._replace(status=WARNING)
    return Check("persisting", OK, f"versions can be committed in {repository.top}")
