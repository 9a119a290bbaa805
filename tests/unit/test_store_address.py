"""Addresses of stores: every form that there is, what is none, and what of them may be shown."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brenner.store_url import (
    AgentMailAddress,
    AgentMailSettings,
    PostgresAddress,
    SqliteAddress,
    StoreAddress,
    StoreAddressError,
    parse_store,
    parse_store_strict,
    redact_address,
)
from strategies import any_text

# What divides the parts of an address, in places where nobody expects it
_PIECES = st.sampled_from(
    [
        *("sqlite:///", "postgresql://", "postgres:", "agent-mail", "agent-mail+http://", "+", ":"),
        *("//", "/", "?", "&", "=", "#", "@", "%", "%00", "%ff", "%40", "[", "]", "::1", ",", " "),
        *("schema=", "project=", "host", "ada", "x", "5432", "\0", "\n", "\udce9", "é", "℀"),
    ]
)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("sqlite:///mail.sqlite3", SqliteAddress("mail.sqlite3")),
        ("sqlite:////srv/mail.sqlite3", SqliteAddress("/srv/mail.sqlite3")),
        ("sqlite:///a b?c#d@e%20", SqliteAddress("a b?c#d@e%20")),
        ("mail.sqlite3", SqliteAddress("mail.sqlite3")),
        ("lab/mail", SqliteAddress("lab/mail")),
        ("my lab/mail", SqliteAddress("my lab/mail")),
        ("./mail", SqliteAddress("./mail")),
        ("../a b?c#d@e", SqliteAddress("../a b?c#d@e")),
        ("/srv/mail", SqliteAddress("/srv/mail")),
        ("~/mail.db", SqliteAddress("~/mail.db")),
        ("postgresql://db/lab", PostgresAddress("postgresql://db/lab", "brenner")),
        ("postgres://db/lab", PostgresAddress("postgresql://db/lab", "brenner")),
        ("postgresql://", PostgresAddress("postgresql://", "brenner")),
        ("postgresql:///lab?host=/run", PostgresAddress("postgresql:///lab?host=/run")),
        ("postgresql://[::1]:5433/lab", PostgresAddress("postgresql://[::1]:5433/lab")),
        ("postgresql://a:1,b:2/lab", PostgresAddress("postgresql://a:1,b:2/lab")),
        ("postgresql://ada:s%40@db/lab", PostgresAddress("postgresql://ada:s%40@db/lab")),
        ("postgresql://db/lab?schema=cells", PostgresAddress("postgresql://db/lab", "cells")),
        (
            "postgresql://db/lab?sslmode=verify-full&schema=my%20cells&options=-c%20a%3Db+c",
            PostgresAddress(
                "postgresql://db/lab?sslmode=verify-full&options=-c%20a%3Db+c", "my cells"
            ),
        ),
        ("agent-mail", AgentMailAddress()),
        ("agent-mail:", AgentMailAddress()),
        ("agent-mail?project=cells", AgentMailAddress(None, "cells")),
        (
            "agent-mail+http://127.0.0.1:8765/mcp/",
            AgentMailAddress("http://127.0.0.1:8765/mcp/"),
        ),
        ("agent-mail+https://mail/api", AgentMailAddress("https://mail/api")),
        ("agent-mail+http://[::1]:8765", AgentMailAddress("http://[::1]:8765")),
        (
            "agent-mail+http://mail/mcp/?project=/srv/my%20cells",
            AgentMailAddress("http://mail/mcp/", "/srv/my cells"),
        ),
    ],
)
def test_every_form(text: str, address: StoreAddress) -> None:
    """What libpq knows is handed on to the letter; what is ours is taken out."""
    assert parse_store(text) == address


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "x",
            "mail",
            "mail.sqlite3/",
            "db:5432/lab",
            "ada@db/lab",
            "sqlite:mail",
            "sqlite://mail",
            "sqlite:///:memory:",
        ),
        *("postgresql:db/lab", "postgresql", "mysql://db/lab", "postgresql+psycopg://db/lab"),
        *("postgresql://ada:se@cret@db/lab", "postgresql://ada:se/cr@db/lab"),
        *("postgresql://ada:se?cr@db/lab", "postgresql://ada:se#cr@db/lab"),
        *("postgresql://db/la b", "postgresql://db/lab\n", "postgresql://db/lab#there"),
        *("postgresql://[::1/lab", "postgresql://db/\udce9"),
        *("postgresql://db/lab?schema=", "postgresql://db/lab?schema=a&schema=b"),
        *("postgresql://db/lab?schema=pg_mail", "postgresql://db/lab?schema=information_schema"),
        *("postgresql://db/lab?schema=a%00b", "postgresql://db/lab?schema=%ff"),
        "postgresql://db/lab?schema=" + "é" * 32,
        *("agent-mail://mail/mcp/", "agent-mail+ftp://mail/", "agent-mail+http:///mcp/"),
        *("agent-mail+http://mail:port/", "agent-mail+http://mail:99999/", "agent-mail+"),
        *("agent-mail+http://token@mail/mcp/", "agent-mail+http://ada:token@mail/mcp/"),
        *("agent-mail+http://mail/mcp/?token=x", "agent-mail+http://mail/?project=a&token=x"),
        *("agent-mail+http://mail/?project=", "agent-mail?project=a%0Ab", "agent-mail?project=%ff"),
        *("agent-mail/mcp/", "agent-mail?x", "Agent-Mail"),
        *("postgresql://ada:secret/lab", "postgresql://db:1,ada:secret/lab", "postgresql://db:²/x"),
        *("postgresql://db:1:secret/lab", "postgresql://ada:x@db:65536/lab", "postgresql://[a]b/x"),
    ],
)
def test_what_is_no_address(text: str) -> None:
    """Nothing is taken by half: not a password that hides a host, not an option of nobody."""
    assert parse_store(text) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mail", "`./PATH`"),
        ("my#lab/mail.db", "`./PATH`"),
        ("mail/x/", "names a folder"),
        ("agent-mail+http://mail/mcp/?foo=1", "unknown option `foo`"),
        ("agent-mail?project=a&foo=1", "unknown option `foo`"),
        ("agent-mail+http://mail/mcp/?secret==", "it contains an unknown option"),
        ("sqlite:mail.sqlite3", "`sqlite:///PATH`"),
        ("sqlite:///:memory:", "in memory"),
        ("http://mail/mcp/", "`agent-mail+http://…`"),
        ("https://mail/mcp/", "`agent-mail+https://…`"),
        ("agent-mail://mail/mcp/", "`agent-mail+http://…`"),
        ("mysql://db/lab", "kind of store"),
        ("postgresql://db/la b", "`%20`"),
        ("postgresql://ada:se#cr@db/lab", "`%23`"),
        ("postgresql://ada:se@cr@db/lab", "`%40`"),
        ("postgresql://ada:secret/lab", "the port must be a number"),
        ("postgresql://db/lab?schema=", "`schema=` is missing"),
        ("postgresql://db/lab?schema=" + "x" * 64, "63 bytes"),
        ("postgresql://db/lab?schema=pg_mail", "`pg_`"),
        ("postgresql://db/lab?schema=a&schema=b", "more than one"),
        ("agent-mail+http://token@mail/mcp/", "`AGENT_MAIL_BEARER_TOKEN`"),
        ("agent-mail+http://mail/mcp/?token=x", "`AGENT_MAIL_BEARER_TOKEN`"),
        ("agent-mail+http://mail:port/", "the port must be a number"),
        ("agent-mail+http:///mcp/", "the host is missing"),
        ("agent-mail?project=", "`project=` is missing"),
    ],
)
def test_why_it_is_none(text: str, words: str) -> None:
    """The reason says what to write instead, and nothing of what was written."""
    with pytest.raises(StoreAddressError) as caught:
        parse_store_strict(text)
    assert words in str(caught.value)
    assert "secret" not in str(caught.value)


def test_longest_schema() -> None:
    """As long as PostgreSQL keeps a name, counted in its bytes."""
    for name in ("x" * 63, "é" * 31):
        found = parse_store(f"postgresql://db/lab?schema={quote(name)}")
        assert found == PostgresAddress("postgresql://db/lab", name)


@pytest.mark.parametrize(
    ("url", "without"),
    [
        ("postgresql://db/lab", None),
        ("postgresql://ada@db:5432/lab?passfile=/x&sslmode=require", None),
        ("postgresql://db/lab?sslmode=require&schema=a%26b", None),
        ("postgresql://ada:x@db/lab", "postgresql://ada@db/lab"),
        ("postgresql://:x@db/lab", "postgresql://@db/lab"),
        ("postgresql://ada:x@db/lab?a=b&schema=c", "postgresql://ada@db/lab?a=b&schema=c"),
        ("postgresql://db/lab?password=x", "postgresql://db/lab"),
        ("postgresql://db/lab?sslpassword=x&schema=c", "postgresql://db/lab?schema=c"),
        ("postgresql://db/lab?p%61ssword=x&a=b", "postgresql://db/lab?a=b"),
    ],
)
def test_passwords_are_left_out(url: str, without: str | None) -> None:
    """An address with one belongs into no file; the rest of it is written as it was."""
    address = parse_store(url)
    assert isinstance(address, PostgresAddress)
    assert address.has_password is (without is not None)
    assert address.without_password.written == (without or url)
    assert parse_store(address.written) == address


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("postgresql://ada:secret@db/x", "postgresql://…@db/x"),
        ("postgresql://ada:se@cr/et@db/x?password=secret", "postgresql://…"),
        ("postgresql://db/x?sslmode=require&schema=a%20b", "postgresql://db/x?schema=a b"),
        ("postgresql://ada:se?cr@db/x", "postgresql://…"),
        ("postgresql://db/x?password=se@cret", "postgresql://…"),
        ("ada:secret@db/x", "…"),
        ("ada:secret@db://x", "…"),
        ("host=db password=secret", "…"),
        ("agent-mail+http://token@mail/mcp/", "agent-mail+http://…"),
        ("agent-mail+http://mail/?token=x&project=y", "agent-mail+http://…"),
        ("agent-mail+http://mail:1/?project=a%20b", "agent-mail+http://mail:1/?project=a b"),
        ("http://mail:1/mcp/", "http://mail:1/mcp/"),
        ("http://ada:secret@mail", "http://…"),
        ("postgresql://a:1,[::1]:2,c/x", "postgresql://a:1,[::1]:2,c/x"),
        ("postgresql://ada:secret/lab", "postgresql://…"),
        ("postgresql://ada:secret127.0.0.1:20752/lab", "postgresql://…"),
        ("postgresql://127.0.0.1:20752:secret/lab", "postgresql://…"),
        ("postgresql://ada:123456/lab", "postgresql://…"),
        ("agent-mail+http://secret:127.0.0.1/mcp/", "agent-mail+http://…"),
        ("ada:secret", "…"),
        ("agent-mail", "agent-mail"),
        ("postgresql://db/x", "postgresql://db/x"),
        ("sqlite://a@b", "sqlite://a@b"),
        ("mail.sqlite3", "mail.sqlite3"),
    ],
)
def test_what_is_shown(text: str, expected: str) -> None:
    """An address goes to logs and to other people."""
    assert redact_address(text) == expected


def test_secrets_are_not_in_a_log() -> None:
    """Whoever prints the values does not print what is secret in them."""
    address = PostgresAddress("postgresql://ada:secret@db/lab?password=secret")
    told = AgentMailSettings("http://ada:secret@mail", "/mcp/", "secret")
    assert "secret" not in f"{address!r} {told!r}"


@given(st.one_of(any_text, st.lists(_PIECES, max_size=9).map("".join)))
def test_any_text_is_an_address_or_none(text: str) -> None:
    """Nothing is raised, and what is taken can be taken again."""
    address = parse_store(text)
    redact_address(text)
    if isinstance(address, PostgresAddress):
        again = parse_store(f"{address.url}{'&' if '?' in address.url else '?'}schema=x")
        assert again == address._replace(schema="x")
    if isinstance(address, AgentMailAddress) and address.url:
        assert parse_store(f"agent-mail+{address.url}") == address._replace(project=None)


# Letters that nothing else in the address has, between all that could end a password too early
SECRET = (
    st.lists(
        st.sampled_from(["Q", "Z", *"@/?#:&=%+ ;,[]", "%40", "schema=", "project=", "://"]),
        max_size=8,
    )
    .map("".join)
    .map("Z{}Q".format)
)


@given(SECRET)
def test_a_password_is_never_shown(password: str) -> None:
    """However it is written, and wherever: as it must be, or as somebody might write it."""
    escaped = quote(password, safe="")
    for text in (
        f"postgresql://ada:{password}@db/lab?schema=x",
        f"postgres://ada:{escaped}@db/lab?schema=x",
        f"postgresql://{password}@db:5432/lab",
        f"postgresql://db/lab?password={escaped}&schema=x",
        f"agent-mail+http://{password}@mail:8765/mcp/?project=x",
        f"agent-mail+https://mail/mcp/?token={escaped}",
        f"ada:{password}@db",
    ):
        assert not {"Z", "Q"} & set(redact_address(text))
        address = parse_store(text)
        assert address is None or not {"Z", "Q"} & set(repr(address))


_AROUND = st.lists(
    st.sampled_from(
        [*"@/?#:&=%+ ;,[]", "ada", "db", ":5432", "127.0.0.1", "schema=", "project=", "password="]
    ),
    max_size=6,
).map("".join)


@given(st.sampled_from(["postgresql://", "agent-mail+http://", "mysql://", ""]), _AROUND, _AROUND)
def test_what_cannot_be_taken_apart_shows_nothing(scheme: str, before: str, after: str) -> None:
    """Wherever a password stands in it: only the scheme is left."""
    text = f"{scheme}{before}Z{after}"
    is_path = not set(text) & set("@:?#&=; ")  # nothing divides a password from a name
    if parse_store(text) is None and not is_path:
        assert redact_address(text) == f"{scheme}…"
