"""Who is believed to be whom: every combination, in one table."""

from types import MappingProxyType
from typing import NamedTuple

import pytest

from brenner.diagnostics.model import RequestError
from brenner.mail.mailbox import NOTHING_MISSING, MissingCapabilities
from brenner.mcp.identity import authenticate
from brenner.protocol.messages import Trust
from brenner.services.identity import (
    claim_name,
    has_secret,
    new_secret,
    renew_secret,
    secret_digest,
)
from serving.calls import NO_SECRETS, OPERATOR, Place, place

OWN, OTHERS, NOBODYS = "brs_own", "brs_others", "brs_nobodys"
HERE = "connection-1"
UNSET = "${BRENNER_SECRET}"  # as some clients send it where the variable is not set
SHOWN = MappingProxyType(
    {"none": "", "own": OWN, "others": OTHERS, "nobodys": NOBODYS, "unset": UNSET}
)

# What the caller shows with the call and with the connection, and whether that was bound before.
# Then what comes of it for an agent and for the operator, on a loose server and on a strict one.
CLAIMED = """
token    header   bound   agent         agent strict   operator               operator strict
none     none     no      unverified    SECRET_NEEDED  OPERATOR_NEEDS_SECRET  OPERATOR_NEEDS_SECRET
none     none     yes     verified      verified       verified               verified
none     own      no      verified      verified       verified               verified
none     own      yes     verified      verified       verified               verified
none     others   no      unverified    SECRET_NEEDED  OPERATOR_NEEDS_SECRET  OPERATOR_NEEDS_SECRET
none     others   yes     verified      verified       verified               verified
none     nobodys  no      WRONG_SECRET  WRONG_SECRET   WRONG_SECRET           WRONG_SECRET
none     nobodys  yes     verified      verified       verified               verified
none     unset    no      unverified    SECRET_NEEDED  OPERATOR_NEEDS_SECRET  OPERATOR_NEEDS_SECRET
own      nobodys  no      verified      verified       verified               verified
own      none     no      verified      verified       verified               verified
own      none     yes     verified      verified       verified               verified
own      others   no      verified      verified       verified               verified
others   none     no      WRONG_SECRET  WRONG_SECRET   WRONG_SECRET           WRONG_SECRET
others   none     yes     WRONG_SECRET  WRONG_SECRET   WRONG_SECRET           WRONG_SECRET
others   own      no      WRONG_SECRET  WRONG_SECRET   WRONG_SECRET           WRONG_SECRET
nobodys  none     no      WRONG_SECRET  WRONG_SECRET   WRONG_SECRET           WRONG_SECRET
nobodys  none     yes     WRONG_SECRET  WRONG_SECRET   WRONG_SECRET           WRONG_SECRET
nobodys  own      yes     WRONG_SECRET  WRONG_SECRET   WRONG_SECRET           WRONG_SECRET
"""
# Nobody has claimed the name, or nobody can: then no secret is right, and none was ever bound.
UNCLAIMED = """
token    header   bound   agent         agent strict   operator               operator strict
none     none     no      unverified    SECRET_NEEDED  OPERATOR_NEEDS_SECRET  OPERATOR_NEEDS_SECRET
none     unset    no      unverified    SECRET_NEEDED  OPERATOR_NEEDS_SECRET  OPERATOR_NEEDS_SECRET
none     others   no      unverified    SECRET_NEEDED  OPERATOR_NEEDS_SECRET  OPERATOR_NEEDS_SECRET
own      none     no      WRONG_SECRET  WRONG_SECRET   WRONG_SECRET           WRONG_SECRET
own      own      no      WRONG_SECRET  WRONG_SECRET   WRONG_SECRET           WRONG_SECRET
others   none     no      WRONG_SECRET  WRONG_SECRET   WRONG_SECRET           WRONG_SECRET
nobodys  others   no      WRONG_SECRET  WRONG_SECRET   WRONG_SECRET           WRONG_SECRET
"""
# A secret of nobody's may come with the connection; where nobody has one, that says nothing.
REFUSED = "none own no WRONG_SECRET WRONG_SECRET WRONG_SECRET WRONG_SECRET"
IGNORED = "none own no unverified SECRET_NEEDED OPERATOR_NEEDS_SECRET OPERATOR_NEEDS_SECRET"
TABLES = (
    ("claimed", CLAIMED, NOTHING_MISSING, True),
    ("unclaimed", UNCLAIMED + REFUSED, NOTHING_MISSING, False),
    ("home without secrets", UNCLAIMED + IGNORED, NO_SECRETS, False),
)
COLUMNS = (("BlueLake", False), ("BlueLake", True), (OPERATOR, False), (OPERATOR, True))


class Cell(NamedTuple):
    """One cell of a table: the project, what is shown there, and what must come of it."""

    lacks: MissingCapabilities
    is_claimed: bool
    shown: list[str]
    name: str
    is_strict: bool
    wanted: str


CELLS = [
    pytest.param(Cell(lacks, is_claimed, row[:3], *column, wanted), id=f"{what}: {line}: {column}")
    for what, table, lacks, is_claimed in TABLES
    for line, row in ((line, line.split()) for line in table.strip().splitlines()[1:])
    for column, wanted in zip(COLUMNS, row[3:], strict=True)
]


def outcome(scene: Place, name: str, token: str, secret: str | None, *, is_strict: bool) -> str:
    """What comes of acting: how far one is believed, or the code of the refusal."""
    caller = scene.caller(HERE, secret, is_strict=is_strict)
    try:
        return str(authenticate(scene.call(caller), name, token))
    except RequestError as refused:
        return refused.diagnostic.id


@pytest.mark.parametrize("cell", CELLS)
def test_matrix(cell: Cell) -> None:
    """Each cell, in a project of its own."""
    scene, name = place(cell.lacks), cell.name
    if name != OPERATOR:
        scene.knows(name)
    if not cell.lacks:
        scene.knows("RedStone", OTHERS)
    if cell.is_claimed:
        scene.mailbox.claim(name, secret_digest(OWN))
    token, header, bound = cell.shown
    if bound == "yes":
        assert outcome(scene, name, OWN, None, is_strict=True) == "verified"
    secret = SHOWN[header] or None
    assert outcome(scene, name, SHOWN[token], secret, is_strict=cell.is_strict) == cell.wanted


def test_binding_is_the_connections() -> None:
    """Who comes in by another connection, or with a request that stands alone, is not bound."""
    scene = place()
    scene.knows("BlueLake", OWN)
    for connection in (HERE, None):
        assert authenticate(scene.call(scene.caller(connection)), "BlueLake", OWN) is Trust.VERIFIED
    assert authenticate(scene.call(scene.caller(HERE)), "BlueLake") is Trust.VERIFIED
    for other in ("connection-2", None):
        assert authenticate(scene.call(scene.caller(other)), "BlueLake") is Trust.UNVERIFIED
    assert not scene.bindings.bind(None, "BlueLake", secret_digest(OWN))
    assert scene.bindings.names(None) == frozenset()


def test_binding_is_the_names() -> None:
    """A connection that speaks for one name speaks for no other, and may speak for several."""
    scene = place()
    scene.knows("BlueLake", OWN)
    scene.knows("RedStone", OTHERS)
    call = scene.call(scene.caller(HERE))
    authenticate(call, "BlueLake", OWN)
    assert authenticate(call, "RedStone") is Trust.UNVERIFIED
    authenticate(call, "RedStone", OTHERS)
    assert [authenticate(call, name) for name in ("BlueLake", "RedStone")] == [Trust.VERIFIED] * 2
    assert scene.bindings.names(HERE) == {"BlueLake", "RedStone"}


def test_wrong_secret_binds_nobody() -> None:
    """Nor does it end what was bound before."""
    scene = place()
    scene.knows("BlueLake", OWN)
    for _ in range(2):
        assert outcome(scene, "BlueLake", OTHERS, None, is_strict=False) == "WRONG_SECRET"
        assert outcome(scene, "BlueLake", "", None, is_strict=False) == "unverified"
    assert outcome(scene, "BlueLake", OWN, None, is_strict=False) == "verified"
    assert outcome(scene, "BlueLake", OTHERS, None, is_strict=False) == "WRONG_SECRET"
    assert outcome(scene, "BlueLake", "", None, is_strict=False) == "verified"


def test_new_secret_ends_what_the_old_one_began() -> None:
    """Whoever gave it: bindings remember which secret they were made with."""
    scene = place()
    scene.knows("BlueLake", OWN)
    call = scene.call(scene.caller(HERE))
    authenticate(call, "BlueLake", OWN)
    secret = renew_secret(scene.mailbox, "BlueLake")
    assert authenticate(call, "BlueLake") is Trust.UNVERIFIED
    assert outcome(scene, "BlueLake", OWN, None, is_strict=False) == "WRONG_SECRET"
    for is_strict in (False, True):
        assert outcome(scene, "BlueLake", "", OWN, is_strict=is_strict) == "WRONG_SECRET"
    assert authenticate(call, "BlueLake", secret) is Trust.VERIFIED


def test_names_are_compared_exactly() -> None:
    """`bluelake` is not `BlueLake`: it is nobody."""
    scene = place()
    scene.knows("BlueLake", OWN)
    for name in ("bluelake", "BlueLake ", ""):
        assert outcome(scene, name, OWN, None, is_strict=False) == "NO_SUCH_AGENT"


def test_operator_is_guarded_before_a_store_knows_her() -> None:
    """A project whose operator has not written yet has one all the same."""
    scene = place()
    project = scene.workspace.project._replace(operator="Sydney")
    scene = scene._replace(workspace=scene.workspace._replace(project=project))
    assert outcome(scene, "Sydney", "", None, is_strict=False) == "OPERATOR_NEEDS_SECRET"
    assert outcome(scene, "Sydney", OWN, None, is_strict=False) == "WRONG_SECRET"


def test_secrets_are_made_and_kept_as_digests() -> None:
    """A secret is claimed once, renewed at will, and never the same."""
    scene = place()
    scene.knows("BlueLake")
    first = claim_name(scene.mailbox, "BlueLake")
    assert first is not None
    assert first.startswith("brs_")
    assert claim_name(scene.mailbox, "BlueLake") is None
    assert has_secret(scene.mailbox, "BlueLake", first)
    second = renew_secret(scene.mailbox, "BlueLake")
    assert not has_secret(scene.mailbox, "BlueLake", first)
    assert has_secret(scene.mailbox, "BlueLake", second)
    assert not has_secret(scene.mailbox, OPERATOR, second)
    assert first not in str(vars(scene.mailbox))
    assert len({new_secret() for _ in range(100)}) == 100


def test_home_without_secrets_gives_none() -> None:
    """Nobody has one there, and nobody gets one."""
    scene = place(NO_SECRETS)
    assert claim_name(scene.mailbox, OPERATOR) is None
    assert not has_secret(scene.mailbox, OPERATOR, OWN)
    refusal = refusal_of(scene, OPERATOR, "", is_strict=False)
    assert "it has no place for them" in refusal.diagnostic.fix


def test_any_text_can_be_shown() -> None:
    """What is no secret is a wrong one, half characters too."""
    scene = place()
    scene.knows("BlueLake", OWN)
    for shown in ("\ud800", "\0", " " + OWN, OWN + "\n", secret_digest(OWN), "x" * 1_000_000):
        assert outcome(scene, "BlueLake", shown, None, is_strict=False) == "WRONG_SECRET"


def refusal_of(scene: Place, name: str, token: str, *, is_strict: bool) -> RequestError:
    """The refusal that must come."""
    with pytest.raises(RequestError) as raised:
        authenticate(scene.call(scene.caller(HERE, is_strict=is_strict)), name, token)
    return raised.value


def test_no_secret_is_told() -> None:
    """Neither in a refusal nor in what a log would show of a call; nor whose it is."""
    scene = place()
    scene.knows("BlueLake", OWN)
    scene.knows("GreenHill", OTHERS)
    refusal = refusal_of(scene, "BlueLake", OTHERS, is_strict=False)
    words = f"{refusal!r} {refusal} {refusal.diagnostic} {refusal.diagnostic.to_json()}"
    assert OTHERS not in words
    assert "GreenHill" not in words
    call = scene.call(scene.caller(HERE, OWN), sender_token=OTHERS)
    assert OWN not in f"{call!r} {call.caller!r} {[call]}"
    assert OTHERS not in f"{call!r} {call.caller!r} {[call]}"
