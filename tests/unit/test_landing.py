"""Which id a message of an archive gets here."""

import pytest

from archive_samples import record
from brenner.mail.rules import HIGHEST_PRESERVED_ID, ImportIdMap


@pytest.mark.parametrize(
    ("ids", "landed"),
    [
        ([3, HIGHEST_PRESERVED_ID], [3, HIGHEST_PRESERVED_ID]),
        ([3, HIGHEST_PRESERVED_ID + 1], [3, 8]),
        ([2**53 - 1, 9], [8, 9]),
        ([2**53 - 1, 8], [8, 9]),
        ([2**53 - 2, 2**53 - 1], [8, 9]),
    ],
)
def test_a_record_cannot_use_up_the_ids(ids: list[int], landed: list[int]) -> None:
    """One that is far beyond all others gets the next id, like one that is taken."""
    landing, taken = ImportIdMap(7), {7}
    for number in ids:
        stored = landing.assign(record(number).stored, 1, number in taken)
        assert stored.origin_id == number
        taken.add(stored.id)
    assert taken == {7, *landed}
    renumbered = [(old, new) for old, new in zip(ids, landed, strict=True) if old != new]
    assert list(landing.result([]).renumbered) == renumbered


def test_links_follow_a_far_id() -> None:
    """To the id that the message has here."""
    landing = ImportIdMap(7)
    landing.assign(record(2**53 - 1).stored, 1, is_taken=False)
    answer = record(9).stored._replace(reply_to=2**53 - 1, acknowledges=(2**53 - 1,))
    landed = landing.assign(answer, 2, is_taken=False)
    assert (landed.id, landed.reply_to, landed.acknowledges) == (9, 8, (8,))
