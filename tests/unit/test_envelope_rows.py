"""Envelopes as a database keeps them, also by earlier versions and by other programs."""

import pytest

from brenner.mail.sql.rows import COLUMN_COUNT, DamagedRowError, message_from_row
from brenner.protocol.messages import Envelope, Importance, Trust

_ROW = (1, 0, "T-1", "BlueLake", "RedCreek,Operator", "INFO: x", "y", None, b"h", 1, 1, None, "")


def row(
    *, is_local: bool, importance: str = "normal", cc: str = "", trust: str = "local"
) -> object:
    """What is read of a message."""
    columns = (*_ROW, is_local, importance, cc, trust, None)
    assert len(columns) == COLUMN_COUNT
    return message_from_row(columns).envelope


@pytest.mark.parametrize("trust", Trust)
def test_imported_mail_is_never_trusted(trust: Trust) -> None:
    """Rows from before trust was kept say `local`, as the column's default has it."""
    assert row(is_local=False, trust=trust) == Envelope(trust=Trust.UNVERIFIED)
    assert row(is_local=True, trust=trust) == Envelope(trust=trust)


def test_all_of_it() -> None:
    """The rest is as it was stored."""
    found = row(is_local=True, importance="high", cc="Operator,RedCreek", trust="verified")
    assert found == Envelope(Importance.HIGH, ("Operator", "RedCreek"), Trust.VERIFIED)


@pytest.mark.parametrize("wrong", [{"importance": "hugely"}, {"trust": "surely"}, {"trust": ""}])
def test_words_that_nobody_writes(wrong: dict[str, str]) -> None:
    """Another program has been at it: told as damage, not guessed at."""
    with pytest.raises(DamagedRowError):
        row(is_local=True, **wrong)
