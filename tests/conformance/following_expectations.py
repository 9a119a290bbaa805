"""What a `following` case may say that it sees: where a session stands, where messages go, and how
items of sessions hang together.
"""

import io
import re
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from datetime import timedelta

from brenner.artifact.merge.draft import SessionItem
from brenner.cli.main import run
from brenner.services.genealogy import SessionLookup, trace_genealogy
from brenner.services.references import check_references
from brenner.services.session_status import load_status
from brenner.services.sessions import overviews
from brenner.services.watch import WatchedThreads
from brenner.session.genealogy import Genealogy
from brenner.session.model import SessionStatus
from brenner.session.overview import urgency_key
from brenner.session.routing import Route
from conformance.mail_shorthand import THREAD_ID, duration, listed
from conformance.session_scene import SessionScene

Found = re.Match[str]


def _status(scene: SessionScene, line: Found) -> SessionStatus:
    return load_status(scene.workspace(), line.groupdict().get("thread") or THREAD_ID).status


# Where a session stands


def _phase(scene: SessionScene, line: Found) -> None:
    phase = _status(scene, line).phase
    assert (phase.value if phase else "none") == line["rest"]


def _round(scene: SessionScene, line: Found) -> None:
    assert str(_status(scene, line).round) == line["rest"]


def _turns(scene: SessionScene, line: Found) -> None:
    """`Ann owes_ack, Bob contributed (stranger)`: who is not in the roster is a stranger to it."""
    found = [
        f"{each.name} {each.turn.value}{'' if each.is_in_roster else ' (stranger)'}"
        for each in _status(scene, line).participants
    ]
    assert found == listed(line["rest"])


def _awaited(scene: SessionScene, line: Found) -> None:
    assert [each.name for each in _status(scene, line).awaited] == listed(line["rest"])


def _critiques(scene: SessionScene, line: Found) -> None:
    """`C1, message 5`: items first, then messages."""
    status = _status(scene, line)
    messages = [f"message {scene.number_of(m.message_id)}" for m in status.of_type("CRITIQUE")]
    assert [*(each.item for each in status.critiques), *messages] == listed(line["rest"])


def _open(scene: SessionScene, line: Found) -> None:
    """`open questions: 4`, `open blockers: nothing`, `open handoffs: 5`."""
    types = {"questions": "QUESTION", "blockers": "BLOCKED", "handoffs": "HANDOFF"}
    found = _status(scene, line).of_type(types[line["what"]])
    assert [str(scene.number_of(each.message_id)) for each in found] == listed(line["rest"])


def _overdue(scene: SessionScene, line: Found) -> None:
    """`overdue in the session after 25h: Ann 1`, counted from the clock of the scene."""
    now = scene.clock.now + duration(line["after"])
    found = _status(scene, line).overdue(now, scene.project.ack_deadline)
    shown = [f"{each.debtor} {scene.number_of(each.message_id)}" for each in found]
    assert sorted(shown) == sorted(listed(line["rest"]))


def _refused(scene: SessionScene, line: Found) -> None:
    found = _status(scene, line).refusals
    shown = [f"{scene.number_of(each.message_id)}.{each.block}" for each in found]
    assert shown == listed(line["rest"])


def _misplaced(scene: SessionScene, line: Found) -> None:
    """`5.1 Bob`: the delta blocks in messages that are no DELTA."""
    found = _status(scene, line).misplaced
    blocks = [f"{scene.number_of(each.message_id)}.{each.block} {each.agent}" for each in found]
    assert blocks == listed(line["rest"])


def _unanswered(scene: SessionScene, line: Found) -> None:
    """`H1/T1 contradicted 4 Dan`: what asks since which message, and who can answer."""
    found = [
        f"{each.address} {each.kind.value} {scene.number_of(each.message_id)} {each.agent or '-'}"
        for each in _status(scene, line).unanswered
    ]
    assert found == listed(line["rest"])


def _settled(scene: SessionScene, line: Found) -> None:
    """`Ann 1 contributed 5`: whose ACK of which message was settled how, and by which message."""
    found = [
        f"{each.debtor} {scene.number_of(each.message_id)} {each.how} {scene.number_of(each.by)}"
        for each in _status(scene, line).settled
    ]
    assert found == listed(line["rest"])


def _stopped(scene: SessionScene, line: Found) -> None:
    stopped = _status(scene, line).compile_blocker
    assert (stopped.id if stopped else "nothing") == line["rest"]


def _sessions(scene: SessionScene, line: Found) -> None:
    """All threads that are listed as sessions or conversations, in any order."""
    assert sorted(overviews(scene.workspace())) == sorted(listed(line["rest"]))


def _list(scene: SessionScene, line: Found) -> None:
    """The order in which a list of sessions shows them."""
    listing = overviews(scene.workspace()).values()
    now = scene.clock.now + timedelta(minutes=1)
    deadline = scene.project.ack_deadline
    found = sorted(listing, key=lambda each: urgency_key(each, now, deadline))
    assert [each.thread_id for each in found] == listed(line["rest"])


def _table(scene: SessionScene, line: Found) -> None:
    """The rows of an inbox as a person reads them: sender, subject, thread."""
    said = io.StringIO()
    words = ["--project", str(scene.folder), *scene.options(), "mail", "inbox"]
    with redirect_stdout(said):
        assert run([*words, "--as", line["name"]]) == 0
    table, _, _ = said.getvalue().partition("\n\n•")
    head, _, *rows = table.partition("\n\n")[2].splitlines()
    columns = [head.index(name) for name in ("From", "Subject", "Thread")]
    assert columns == sorted(columns)
    wanted = line["rest"].split("; ")
    assert len(rows) == len(wanted)
    shown = [" ".join(row[columns[0] :].split()) for row in rows]
    assert [row[: len(text)] for row, text in zip(shown, wanted, strict=True)] == wanted


# Where messages go


def _routed(scene: SessionScene, line: Found) -> Route:
    """What is said of a message in the moment in which it comes in."""
    return WatchedThreads(scene.workspace()).take(scene.message(int(line["number"])))[0]


def _route(scene: SessionScene, line: Found) -> None:
    """`route of 5: merge, model opus, items H4, codes INVALID_TARGET, to Ann`."""
    found = _routed(scene, line)
    shown = [found.step.value]
    shown += [f"model {found.model}"] if found.model else []
    shown += [f"items {' '.join(found.items)}"] if found.items else []
    shown += [f"codes {' '.join(found.codes)}"] if found.codes else []
    shown += [f"waits for {' '.join(found.waiting_for)}"] if found.waiting_for else []
    assert line["rest"] == ", ".join(shown)


def _route_words(scene: SessionScene, line: Found) -> None:
    words = _routed(scene, line).words
    assert line["rest"] in words, words


# References


def _refs(scene: SessionScene, line: Found) -> None:
    """`refs: UNKNOWN_REFERENCED_SESSION of THREAD`: what the check finds, and in which session."""
    found = check_references(scene.workspace()).found
    shown = [f"{each.id} of {session}" for session, some in found.items() for each in some]
    assert sorted(shown) == sorted(listed(line["rest"]))


def _followed(scene: SessionScene, line: Found) -> tuple[Genealogy, SessionLookup]:
    return trace_genealogy(scene.workspace(), (line["thread"], line["item"]))


def _reached(scene: SessionScene, line: Found) -> None:
    """`ancestors of THREAD H4: refines RS-20251228-initial H2, …`: each step with its relation."""
    found, _ = _followed(scene, line)
    is_up = line["which"] == "ancestors"
    reach = found.ancestors if is_up else found.descendants
    assert reach
    shown = [f"{each.relation} {each.target if is_up else each.origin}" for each in reach.edges]
    assert sorted(shown) == sorted(listed(line["rest"]))


def _fate(scene: SessionScene, line: Found) -> None:
    """`fate of THREAD H4: active, by Ann`, `killed by Bob: reason, by Ann`."""
    _, lookup = _followed(scene, line)
    found = lookup.item(SessionItem(line["thread"], line["item"]))
    fate = (
        f"killed by {found.killed.agent}: {found.killed.reason}"
        if found.killed
        else found.status.value
    )
    by = found.proposal.agent if found.proposal else "nobody known"
    assert f"{fate}, by {by}" == line["rest"]


def _first(scene: SessionScene, line: Found) -> None:
    """`first proposed of THREAD H4: RS-20251228-initial H2 by Bob`."""
    whole, lookup = _followed(scene, line)
    (found,) = whole.first_proposals(lookup.item)
    shown = [f"{each.node} by {each.proposal.agent}" for each in found.earliest if each.proposal]
    assert shown == listed(line["rest"])


Look = Callable[[SessionScene, Found], None]
_TH = r"(?: in (?P<thread>\S+))?"
_NODE = r"(?P<thread>\S+) (?P<item>[A-Z]\d+)"


def _lines(rows: Iterable[tuple[str, Look]]) -> tuple[tuple[re.Pattern[str], Look], ...]:
    return tuple((re.compile(rf"{shape}: (?P<rest>.*)"), look) for shape, look in rows)


FOLLOWING = _lines(
    (
        (rf"phase{_TH}", _phase),
        (rf"round{_TH}", _round),
        (rf"turns{_TH}", _turns),
        (rf"awaited{_TH}", _awaited),
        (rf"open critiques{_TH}", _critiques),
        (rf"open (?P<what>questions|blockers|handoffs){_TH}", _open),
        (r"overdue in the session after (?P<after>\S+)", _overdue),
        (rf"refused and open{_TH}", _refused),
        (rf"misplaced{_TH}", _misplaced),
        (rf"unanswered{_TH}", _unanswered),
        (rf"settled{_TH}", _settled),
        (rf"stopped{_TH}", _stopped),
        ("sessions", _sessions),
        ("list", _list),
        (r"table of (?P<name>\w+)", _table),
        (r"route of (?P<number>\d+)", _route),
        (r"route of (?P<number>\d+) says", _route_words),
        ("refs", _refs),
        (rf"(?P<which>ancestors|descendants) of {_NODE}", _reached),
        (rf"fate of {_NODE}", _fate),
        (rf"first proposed of {_NODE}", _first),
    )
)
