"""`brenner new`: print a message of a type as a template to fill in."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from brenner.cli.options import Command, Settings, common_options, examples, operator_of
from brenner.cli.output import write_json
from brenner.diagnostics.codes import messages as codes
from brenner.diagnostics.model import BrennerError
from brenner.protocol.delta.schema import SECTIONS, Operation
from brenner.protocol.delta.validate import section_meant
from brenner.protocol.grammar import AGENT_NAME
from brenner.protocol.message_types import DELTA, KICKOFF, TYPES
from brenner.protocol.messages import render_message_file
from brenner.protocol.subjects import ROLE_SHORTHANDS
from brenner.protocol.templates import allowed_operations, delta_template, new_message
from brenner.protocol.thread_ids import check_thread_id, is_valid_thread_id
from brenner.text import did_you_mean, escape_control

if TYPE_CHECKING:
    from brenner.protocol.message_types import MessageType
    from brenner.services.new_message import ThreadDefaults


class _SectionName(click.Choice[str]):
    """The ID of a section. For another name, the error suggests the one that `check` would."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        meant = None if value in SECTIONS else section_meant(str(value))
        if meant:
            self.fail(
                f"`{escape_control(str(value))}` is not a section.{did_you_mean(meant)}", param, ctx
            )
        return super().convert(value, param, ctx)


@click.command(
    cls=Command,
    epilog=examples(
        "brenner new DELTA --thread RS-20251230-cell-fate --as BlueLake > message.md",
        "brenner new QUESTION --to BlueLake > question.md",
    ),
)
@click.argument("type_name", metavar="TYPE")
@click.option("--thread", "thread_id", metavar="ID", help="Thread of the message.")
@click.option("--to", "recipients", metavar="NAME", multiple=True, help="Recipient; repeatable.")
@click.option("--model", type=click.Choice(list(ROLE_SHORTHANDS)), help="Your model, for a DELTA.")
@click.option("--role", type=click.Choice(list(ROLE_SHORTHANDS)), hidden=True)  # its old name
@click.option("--question", help="Research question, for a KICKOFF; also names the thread.")
@click.option(
    "--operation",
    type=click.Choice([operation.value for operation in Operation]),
    default=None,
    help="What a DELTA does (default: ADD).",
)
@click.option(
    "--section",
    type=_SectionName(list(SECTIONS)),
    metavar="SECTION",
    help=f"Section of a DELTA (default: hypothesis_slate): {', '.join(SECTIONS)}.",
)
@common_options
def command(  # noqa: PLR0913  (one parameter per option)
    settings: Settings,
    *,
    type_name: str,
    thread_id: str | None,
    recipients: tuple[str, ...],
    model: str | None,
    role: str | None,
    question: str | None,
    operation: str | None,
    section: str | None,
) -> int:
    """Print a message of TYPE to fill in.

    Redirect it to a file and fill it in. `brenner check` lists what is still to fill in, and
    `brenner mail send` refuses the message until all is filled in. With --thread, a DELTA goes to
    all agents of the session and is based on its latest version.

    TYPE is KICKOFF, DELTA, CRITIQUE, QUESTION, INFO, CLAIM, HANDOFF, BLOCKED, ACK or COMPILED.
    """
    message_type = TYPES.get(type_name.upper())
    if message_type is None:
        message = f"Unknown message type `{type_name}`. Types: {', '.join(TYPES)}."
        raise click.UsageError(message)
    model = model or role
    is_of_delta = bool(model or operation or section)
    _check_usage(message_type, question=bool(question), is_of_delta=is_of_delta)
    _check_names(settings, recipients, thread_id)
    where = SECTIONS[section or "hypothesis_slate"]
    possible = allowed_operations(where)
    if operation and operation not in possible:
        message = f"{operation} cannot be used on {where.id}. Use {possible[0].value}."
        raise click.UsageError(message)
    known = _thread_defaults(settings, thread_id) if message_type is DELTA else None
    recipients = recipients or (known.recipients if known else ())
    template = new_message(
        message_type,
        datetime.now(UTC).date(),
        thread_id=thread_id,
        sender=settings.actor,
        recipients=recipients,
        role=model or (known.shorthand if known else None),
        base=known.base if known else 0,
        question=question,
        delta=delta_template(Operation(operation) if operation else possible[0], where),
    )
    if not recipients:
        template = template._replace(recipients=(operator_of(settings),))
    message_file = render_message_file(template)
    if settings.as_json:
        write_json({"message": message_file})
    else:
        sys.stdout.write(message_file)
    return 0


def _thread_defaults(settings: Settings, thread_id: str | None) -> ThreadDefaults | None:
    """Return what the thread says about a new message. A template needs no project and no mail."""
    if thread_id is None:
        return None
    from brenner.config import inspect_project
    from brenner.mail.open import open_mailbox
    from brenner.services.new_message import thread_defaults
    from brenner.services.workspace import mailbox_for

    try:
        project = inspect_project(settings.project, os.environ, settings.store)
        opened = mailbox_for(open_mailbox(project, create=False), project, settings.actor)
        with opened as mailbox:
            return thread_defaults(mailbox, thread_id, settings.actor, project.operator)
    except BrennerError:
        return None


def _check_usage(message_type: MessageType, *, question: bool, is_of_delta: bool) -> None:
    if question and message_type is not KICKOFF:
        message = "--question can be used with KICKOFF only."
        raise click.UsageError(message)
    if message_type is not DELTA and is_of_delta:
        message = "--model, --operation and --section can be used with DELTA only."
        raise click.UsageError(message)


def _check_names(settings: Settings, recipients: tuple[str, ...], thread_id: str | None) -> None:
    """Refuse names of agents and threads that no message can contain."""
    for name in (*recipients, *([settings.actor] if settings.actor else [])):
        if not AGENT_NAME.fullmatch(name):
            found = codes.INVALID_AGENT_NAME.at(name=name)
            message = f"{found.message} {found.fix}"
            raise click.UsageError(message)
    if thread_id is not None and not is_valid_thread_id(thread_id):
        wrong = check_thread_id(thread_id)[0]
        message = f"{wrong.message} {wrong.fix}"
        raise click.UsageError(message)
