"""Eight compilers on one thread, and agents who write meanwhile: gapless, unique, nothing lost."""

import json
from collections import Counter
from pathlib import Path

from brenner.artifact.ledger import Outcome
from brenner.mail.open import open_mailbox
from brenner.project import Project
from brenner.session.chain_messages import candidate_of
from brenner.session.rebuild import Candidate
from brenner.workflows.chains import filed
from brenner.workflows.desk import desk_in
from brenner.workflows.ledgers import ledger_of
from brenner.workflows.versions import verify
from mail.processes import ended, release, start
from session.compile_work import THREAD, compile_until, contribute

COMPILERS = ("Operator", "Ann", "Bea", "Cyd", "Dan", "Eve", "Fay", "Gus")
AUTHORS = ("BlueLake", "RedSky", "GreenHill")
EACH = 12


def test_eight_compilers_at_once(tmp_path: Path) -> None:
    project = Project(tmp_path)
    open_mailbox(project, create=True).close()
    total = len(AUTHORS) * EACH
    authors = [start(contribute, tmp_path, name, EACH) for name in AUTHORS]
    compilers = [start(compile_until, tmp_path, name, total) for name in COMPILERS]
    release([*authors, *compilers])
    sent = [int(line) for child in authors for line in ended(child)]
    published = [json.loads(line) for child in compilers for line in ended(child)]
    assert len(sent) == total

    numbers = sorted(number for number, _ in published)
    assert numbers == list(range(1, len(published) + 1))
    with desk_in(project, None, create=False) as desk:
        messages = desk.mailbox.thread(THREAD).messages
        compiled = [candidate_of(filed(each)) for each in messages if each.type == "COMPILED"]
        found = [each.record for each in compiled if isinstance(each, Candidate)]
        records = [record for record in found if record]
        assert [record.version for record in records] == numbers
        read = Counter(entry.id for record in records for entry in record.messages)
        assert read == Counter(sent)  # each once, none left out
        verification = verify(desk, THREAD)
        assert verification.ok
        assert [each.number for each in verification.versions] == numbers
        assert verification.notes == ()
        entries = [each for number in numbers for each in ledger_of(desk, THREAD, number)]
        outcomes = Counter(entry.state for entry in entries)
        assert outcomes == {Outcome.APPLIED: total, Outcome.REFUSED: total}
        replies = [each.reply_to for each in messages if "Validation error" in each.message.subject]
        assert Counter(replies) == Counter(sent)
