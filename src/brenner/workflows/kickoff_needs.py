"""What kickoffs need beside their words: somebody to ask, known to the store, and an excerpt."""

from brenner.diagnostics.codes.mail import SENT_TO_NOBODY
from brenner.diagnostics.codes.sessions import NO_SOURCE_TEXT, RECIPIENTS_NOT_REGISTERED
from brenner.diagnostics.model import Diagnostic, Refused
from brenner.mail.mailbox import Ability
from brenner.mail.model import Profile
from brenner.mail.rules import registration
from brenner.protocol.grammar import AGENT_NAME
from brenner.protocol.roster_resolve import Resolved
from brenner.session.kickoff_text import excerpt_of, within_limit
from brenner.workflows.desk import Desk
from brenner.workflows.source_text import source_of

_WHOM = "Name whom to ask: `--to NAME --role ROLE` for each, a roster, or a preset."


def about_roster(resolved: Resolved) -> list[Diagnostic]:
    """What is wrong or odd about the roster; also that it names nobody."""
    found = list(resolved.diagnostics)
    if not resolved.recipients and not resolved.errors:
        found.append(SENT_TO_NOBODY.at()._replace(fix=_WHOM))
    return found


def excerpt_for(desk: Desk, text: str, sections: str | None) -> tuple[str, list[Diagnostic]]:
    """The excerpt: a text, or sections of the project's source text.

    A source text that cannot be read stops everything.
    """
    if sections is None:
        excerpt = within_limit(text)
    else:
        source = source_of(desk.project)
        if isinstance(source, Diagnostic):
            raise Refused(source)
        path = desk.project.source_text or ""
        excerpt = NO_SOURCE_TEXT.at() if source is None else excerpt_of(source, path, sections)
    return ("", [excerpt]) if isinstance(excerpt, Diagnostic) else (excerpt, [])


def newcomers_among(
    desk: Desk, resolved: Resolved, *, register: bool
) -> tuple[list[Profile], list[Diagnostic]]:
    """Who is not known yet, and which of the names cannot be made known.

    A store that is written to knows the operator. A recipient whose name is none was told by the
    roster. Where a name may be another project's, only the sender's is taken without being asked.
    """
    known = {desk.project.operator, *(agent.name for agent in desk.mailbox.agents())}
    names = dict.fromkeys([desk.actor, *filter(AGENT_NAME.fullmatch, resolved.recipients)])
    missing = [name for name in names if name not in known]
    if Ability.OWN_NAMES in desk.mailbox.lacks and not register:
        strangers = [name for name in missing if name != desk.actor]
        if strangers:
            return [], [RECIPIENTS_NOT_REGISTERED.at(names=", ".join(strangers))]
    newcomers, found = [], []
    for name in missing:
        entry = resolved.roster.entry(name)
        program, model = (entry.program, entry.model) if entry else (None, None)
        try:
            newcomers.append(registration(Profile(name, program or "", model or ""), None, known))
        except Refused as refused:
            found.append(refused.diagnostic)
        known.add(name)
    return newcomers, found
