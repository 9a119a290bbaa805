"""Every test of the contract runs in every home that is able to."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from brenner.mail.mailbox import Mailbox
from mail.backends import ALL_HOMES, Backend, Place
from mail.sample_mail import introduce


@pytest.fixture(params=ALL_HOMES, ids=lambda home: home.name)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A fresh home with nobody in it."""
    home: Backend = request.param
    with Place(home, tmp_path) as place:
        yield place


@pytest.fixture
def mailbox(place: Place) -> Mailbox:
    """Its mailbox, where the usual agents are known."""
    introduce(place.mailbox)
    return place.mailbox
