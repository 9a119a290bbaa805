"""`brenner completion`: the script for a shell, and the values that it completes.

The shell runs `brenner` with `_BRENNER_COMPLETE` at each press of the Tab key. So completion must
be quick, must never create or change anything, and must never print an error.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    _resolve_context,
    _resolve_incomplete,
    split_arg_string,
)

from brenner.cli.options import (
    COMPLETION_VARIABLE,
    EXIT_OK,
    Command,
    LazyGroup,
    Settings,
    common_options,
    examples,
)
from brenner.cli.output import write_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from brenner.config import Project
    from brenner.mail.mailbox import Mailbox
    from brenner.mail.open import PostgresStore, SqliteStore
    from brenner.protocol.messages import StoredMessage

    _Values = Callable[[click.Context, str], Iterable[str | CompletionItem[str]]]

_MAX_SECONDS = 1.5  # how long the shell waits for a server
_MAX_VALUES = 200
_WORDS = "brenner.words"  # the words before the one that is completed
_PROGRAM = "brenner"


# The command


@click.command(
    "completion",
    cls=Command,
    epilog=examples(
        "# bash, in ~/.bashrc",
        'eval "$(brenner completion bash)"',
        "# zsh, in ~/.zshrc after compinit",
        'eval "$(brenner completion zsh)"',
        "# fish",
        "brenner completion fish > ~/.config/fish/completions/brenner.fish",
    ),
)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@common_options
def command(settings: Settings, shell: str) -> int:
    """Print the script that completes commands, options and values in a shell.

    The Tab key then completes thread IDs, versions, items, agents, roles, message types, codes
    and pages, too. It reads the project's SQLite or PostgreSQL store and never changes it.
    """
    script = _SHELLS[shell](
        click.get_current_context().find_root().command, {}, _PROGRAM, COMPLETION_VARIABLE
    )
    text = script.source()
    if settings.as_json:
        write_json({"shell": shell, "script": text})
    else:
        sys.stdout.write(text)
    return EXIT_OK


# Requests of a shell


def complete(cli: click.Command, environ: Mapping[str, str]) -> int:
    """Write the completions that a shell asks for; write nothing on any failure."""
    shell = environ[COMPLETION_VARIABLE].removesuffix("_complete")
    found = ""
    with suppress(Exception):
        found = _SHELLS[shell](cli, {}, _PROGRAM, COMPLETION_VARIABLE).complete()
    sys.stdout.write(f"{found}\n" if found else "")
    sys.stdout.flush()
    return EXIT_OK


class _WithValues(ShellComplete):
    """Completion that also knows the values of parameters."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[str]]:
        context = _resolve_context(self.cli, self.ctx_args, self.prog_name, args)
        context.meta[_WORDS] = list(args)
        found, incomplete = _resolve_incomplete(context, args, incomplete)
        values = _values_of(found)
        if values is None:
            return found.shell_complete(context, incomplete)
        start = incomplete.casefold()
        items = (
            each if isinstance(each, CompletionItem) else CompletionItem(each)
            for each in values(context, incomplete)
        )
        return [each for each in items if each.value.casefold().startswith(start)][:_MAX_VALUES]


class _Bash(_WithValues, BashComplete):
    """Completion for bash.

    Bash divides words at `@`, `=` and `:` as well. It replaces only the last part, which includes
    the `@`. So the words are taken from the line, and completions are cut to that part.
    """

    source_template = """\
%(complete_func)s() {
    local IFS=$'\\n' completion kind value
    COMPREPLY=()
    for completion in $(env _BRENNER_LINE="${COMP_LINE:0:COMP_POINT}" \\
        _BRENNER_BREAKS="$COMP_WORDBREAKS" %(complete_var)s=bash_complete "$1" 2>/dev/null); do
        IFS=',' read -r kind value <<< "$completion"
        case $kind in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ["_BRENNER_LINE"]
        words = split_arg_string(line)
        incomplete = words.pop() if line[-1:].strip() else ""
        value = incomplete.partition("=")[2] if incomplete.startswith("-") else incomplete
        breaks = os.environ.get("_BRENNER_BREAKS", "")
        starts = {"@": value.rfind("@"), "=": value.rfind("=") + 1, ":": value.rfind(":") + 1}
        self.part = max([0, *(starts[each] for each in starts if each in breaks)])
        return words[1:], incomplete

    def format_completion(self, item: CompletionItem[Any]) -> str:
        return f"{item.type},{item.value[self.part :]}"


class _Zsh(_WithValues, ZshComplete):
    """Completion for zsh."""


class _Fish(_WithValues, FishComplete):
    """Completion for fish. Only the first comma of a line ends the kind of the completion."""

    source_template = FishComplete.source_template.replace(
        'string split ","', 'string split --max 1 ","'
    )


_SHELLS: dict[str, type[ShellComplete]] = {"bash": _Bash, "zsh": _Zsh, "fish": _Fish}


# Values from the project


def _project(context: click.Context) -> Project:
    """Return the project of the command line so far."""
    from brenner.config import find_project

    return find_project(_typed(context, "project"), os.environ, _typed(context, "store"))


def _typed(context: click.Context | None, name: str) -> str | None:
    """Return the value of a common option. That of a command overrides that of its group."""
    while context is not None:
        if context.params.get(name) is not None:
            return str(context.params[name])
        context = context.parent
    return None


@contextmanager
def _open_mailbox(context: click.Context) -> Iterator[Mailbox]:
    """Open the project's store for reading. Raise if that is not possible."""
    from brenner.mail.open import PostgresStore, SqliteStore, store_of

    store = store_of(_project(context))
    if isinstance(store, SqliteStore):
        with _sqlite_mailbox(store) as mailbox:
            yield mailbox
    elif isinstance(store, PostgresStore):
        with _time_limit(), _postgres_mailbox(store) as mailbox:
            yield mailbox
    else:
        raise LookupError  # an Agent Mail server has no quick list of threads


@contextmanager
def _time_limit() -> Iterator[None]:
    """Raise TimeoutError when a server takes too long."""
    import signal

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, _MAX_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _sqlite_mailbox(store: SqliteStore) -> Mailbox:
    """Open the file read-only. Without a log it is opened as immutable: no lock file is created."""
    import apsw

    from brenner.mail.sqlite.mailbox import SqliteDatabase, SqliteMailbox, migrations

    log = store.path.with_name(f"{store.path.name}-wal")
    is_complete = not log.exists() or not log.stat().st_size
    address = f"{store.path.absolute().as_uri()}?{'immutable=1' if is_complete else 'mode=ro'}"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    database = SqliteDatabase.connect(store.path, address, flags, migrations())
    return SqliteMailbox(database)


def _postgres_mailbox(store: PostgresStore) -> Mailbox:
    """Connect without creating or updating the schema."""
    from brenner.mail.postgres.connection import Server, migrations
    from brenner.mail.postgres.mailbox import PostgresDatabase, PostgresMailbox

    return PostgresMailbox(PostgresDatabase(Server(store.address), len(migrations())))


def _threads(context: click.Context, incomplete: str) -> Iterable[str]:  # noqa: ARG001
    with _open_mailbox(context) as mailbox:
        return [each.thread_id for each in mailbox.threads(_MAX_VALUES)]


def _agents(context: click.Context, incomplete: str) -> Iterable[str]:  # noqa: ARG001
    with _open_mailbox(context) as mailbox:
        return [each.name for each in mailbox.agents()]


def _recipients(context: click.Context, incomplete: str) -> Iterable[str]:
    """Complete the last name of `A,B`."""
    before = incomplete[: incomplete.rfind(",") + 1]
    return [f"{before}{name}" for name in _agents(context, incomplete)]


def _compiled_messages(mailbox: Mailbox, thread_id: str) -> dict[int, StoredMessage]:
    """Return the COMPILED messages of a thread by their version, the newest version first."""
    from brenner.mail.search import Query
    from brenner.protocol.grammar import COMPILED_DESCRIPTION
    from brenner.protocol.subjects import parse_subject

    found: dict[int, StoredMessage] = {}
    query = Query(types=("COMPILED",), threads=(thread_id,))
    for each in mailbox.search(query, limit=_MAX_VALUES).messages:
        subject = parse_subject(each.message.subject)
        version = COMPILED_DESCRIPTION.match(subject.description) if subject else None
        if version:
            found.setdefault(int(version[1]), each)
    return dict(sorted(found.items(), reverse=True))


def _versions(context: click.Context, incomplete: str) -> Iterable[str]:
    """Complete THREAD@vN: first the thread, then its versions."""
    thread_id, at, _ = incomplete.rpartition("@")
    with _open_mailbox(context) as mailbox:
        if not at:
            return [each.thread_id for each in mailbox.threads(_MAX_VALUES)]
        return [f"{thread_id}@v{number}" for number in _compiled_messages(mailbox, thread_id)]


def _targets(context: click.Context, incomplete: str) -> Iterable[str | CompletionItem[str]]:
    """Complete a thread, a version or a file."""
    found: list[str | CompletionItem[str]] = []
    with suppress(Exception):  # a file does not need a store
        found += _versions(context, incomplete)
    return found or _files(context, incomplete)


def _version_words(context: click.Context, incomplete: str) -> Iterable[str]:
    """Complete a version as an argument of its own, or an item where the command takes one."""
    words: list[str] = []
    with suppress(Exception):
        if any(each.name == "place" for each in context.command.params):
            words += _items(context, incomplete)
    typed = (
        context.params.get("target") or context.params.get("thread") or context.params.get("old")
    )
    with suppress(Exception), _open_mailbox(context) as mailbox:
        thread_id = str(typed or "").partition("@")[0]
        words += [f"v{number}" for number in _compiled_messages(mailbox, thread_id)]
    return words


def _new_targets(context: click.Context, incomplete: str) -> Iterable[str | CompletionItem[str]]:
    """Complete the second artifact of a comparison, also as `v2` alone."""
    thread_id = str(context.params.get("old") or "").partition("@")[0]
    with suppress(Exception), _open_mailbox(context) as mailbox:  # a file needs no store
        short = [f"v{number}" for number in _compiled_messages(mailbox, thread_id)]
        if any(each.startswith(incomplete) for each in short):
            return short
    return _targets(context, incomplete)


def _items(context: click.Context, incomplete: str) -> Iterable[str]:  # noqa: ARG001
    """Complete the IDs of the items in the version, or the thread, that was typed before."""
    from brenner.protocol.grammar import ITEM_ID_IN_MAIL

    with _open_mailbox(context) as mailbox:
        for word in context.meta[_WORDS]:
            thread_id, _, version = word.partition("@v")
            if not mailbox.thread(thread_id, limit=1).messages:
                continue
            compiled = _compiled_messages(mailbox, thread_id)
            body = compiled[int(version) if version else max(compiled)].message.body
            headings = [line for line in body.split("\n") if line.startswith(("###", "| P"))]
            return list(dict.fromkeys(ITEM_ID_IN_MAIL.findall("\n".join(headings))))
    return ()


def _tests(context: click.Context, incomplete: str) -> Iterable[str]:
    return [each for each in _items(context, incomplete) if each.startswith("T")]


def _hypotheses(context: click.Context, incomplete: str) -> Iterable[str]:
    """Complete the last ID of `H1,H2`."""
    before = incomplete[: incomplete.rfind(",") + 1]
    return [f"{before}{each}" for each in _items(context, incomplete) if each.startswith("H")]


def _evidence(context: click.Context, incomplete: str) -> Iterable[str]:  # noqa: ARG001
    """Complete an anchor of the evidence pack."""
    from brenner.services.evidence import readable_pack

    pack = readable_pack(_project(context))
    return [anchor for each in pack.records.values() for anchor in each.anchors()] if pack else ()


# Values of the program


def _files(context: click.Context, incomplete: str) -> Iterable[CompletionItem[str]]:  # noqa: ARG001
    return [CompletionItem(incomplete, type="file")]


def _folders(context: click.Context, incomplete: str) -> Iterable[CompletionItem[str]]:  # noqa: ARG001
    return [CompletionItem(incomplete, type="dir")]


def _types(context: click.Context, incomplete: str) -> Iterable[str]:  # noqa: ARG001
    from brenner.protocol.grammar import MESSAGE_TYPES

    return MESSAGE_TYPES


def _codes(context: click.Context, incomplete: str) -> Iterable[str]:  # noqa: ARG001
    from brenner.diagnostics.catalogue import CATALOGUE

    return sorted(each for code in CATALOGUE.values() for each in (code.id, *code.also))


def _roles(context: click.Context, incomplete: str) -> Iterable[str]:  # noqa: ARG001
    from brenner.protocol.roster import Role

    return [each.value for each in Role]


def _agent_roles(context: click.Context, incomplete: str) -> Iterable[str]:
    """Complete NAME=ROLE: first the name, then the role."""
    name, equals, _ = incomplete.partition("=")
    if not equals:
        return [f"{each}=" for each in _agents(context, incomplete)]
    return [f"{name}={each}" for each in _roles(context, incomplete)]


def _presets(context: click.Context, incomplete: str) -> Iterable[str]:  # noqa: ARG001
    from brenner.services.rosters import list_presets

    return [preset.id for preset, *_ in list_presets(_project(context))[0]]


def _clients(context: click.Context, incomplete: str) -> Iterable[str]:  # noqa: ARG001
    from brenner.services.client_settings import CLIENTS

    return [*CLIENTS, *(name for name, _ in _project(context).programs if name not in CLIENTS)]


def _pages(context: click.Context, incomplete: str) -> Iterable[str]:  # noqa: ARG001
    from brenner.cli.docs import docs_folder, page_names

    return page_names(docs_folder())


def _commands(context: click.Context, incomplete: str) -> Iterable[str | CompletionItem[str]]:
    """Complete the words after `brenner help`."""
    found: click.Command | None = context.find_root().command
    for name in context.params.get("names") or ():
        found = found.get_command(context, name) if isinstance(found, click.Group) else None
    return _commands_of(found)(context, incomplete) if isinstance(found, LazyGroup) else ()


def _commands_of(group: LazyGroup) -> _Values:
    """Return the completion of the commands of a group, from its table: click imports them all."""

    def values(context: click.Context, incomplete: str) -> Iterable[CompletionItem[str]]:
        if incomplete.startswith("-"):
            return click.Command.shell_complete(group, context, incomplete)
        names = group.list_commands(context)
        return [CompletionItem(name, help=group.table[name][3]) for name in names]

    return values


# How the value of a parameter is completed, by its metavar or its name
VALUES: dict[str, _Values] = {
    "THREAD": _threads,
    "thread_id": _threads,
    "THREAD@vN": _versions,
    "TARGET": _targets,
    "OLD": _targets,
    "NEW": _new_targets,
    "vN": _version_words,
    "ITEM": _items,
    "TEST": _tests,
    "H1,H2": _hypotheses,
    "H3": _hypotheses,
    "ITEM[.FIELD]": _items,
    "item_id": _items,
    "actor": _agents,
    "agent": _agents,
    "name": _agents,
    "to": _agents,
    "recipients": _recipients,
    "NAME=ROLE": _agent_roles,
    "ROLE": _roles,
    "preset": _presets,
    "TYPE": _types,
    "code": _codes,
    "EV-001#E1": _evidence,
    "client": _clients,
    "PAGE": _pages,
    "COMMAND": _commands,
    "FILE": _files,
    "FILE|-": _files,
    "DIR": _folders,
}


def _values_of(found: click.Command | click.Parameter) -> _Values | None:
    """Return how to complete a parameter or a command; None if click knows better."""
    if isinstance(found, LazyGroup):
        return _commands_of(found)
    if not isinstance(found, click.Parameter):
        return None
    metavar = (found.metavar or "").removesuffix("...")
    metavar = metavar[1:-1] if metavar.startswith("[") else metavar
    if metavar in VALUES:
        return VALUES[metavar]
    return None if isinstance(found.type, click.Choice) else VALUES.get(found.name or "")
