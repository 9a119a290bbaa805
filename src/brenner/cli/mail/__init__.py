"""`brenner mail`: the group of commands for the mailbox."""

from __future__ import annotations

import click

from brenner.cli.options import LazyGroup, examples, group_options

COMMANDS = {
    "inbox": ("brenner.cli.mail.inbox", "inbox", "List what was sent to you."),
    "thread": ("brenner.cli.mail.thread", "thread", "Read a thread, or list them."),
    "show": ("brenner.cli.mail.show", "show", "Read one message whole."),
    "send": ("brenner.cli.mail.send", "send", "Check a message and send it."),
    "ack": ("brenner.cli.mail.ack", "ack", "Acknowledge messages."),
    "mark": ("brenner.cli.mail.ack", "mark", "Mark messages as read or unread."),
    "pending": ("brenner.cli.mail.pending", "command", "Say who owes an ACK for what."),
    "search": ("brenner.cli.mail.search", "search", "Find messages by words and filters."),
    "agents": ("brenner.cli.mail.agents", "agents", "List who is registered, or one."),
    "register": ("brenner.cli.mail.agents", "register", "Register a name for mail."),
    "export": ("brenner.cli.mail.archive", "export", "Write all mail to an archive."),
    "import": ("brenner.cli.mail.archive", "import_", "Take mail over from an archive."),
    "copy": ("brenner.cli.mail.copy", "copy", "Copy all mail to another home."),
}


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    epilog=examples(
        "brenner mail register BlueLake",
        "brenner new QUESTION --as Operator --to BlueLake > message.md",
        "# fill in what message.md leaves open, then",
        "brenner mail send message.md",
        "brenner mail inbox --as BlueLake",
    ),
)
@group_options
def command() -> None:
    """Send, read and acknowledge the mail of a project.

    The mail is in the project's own folder; the first command that writes creates it. You are
    the operator, unless --as NAME or AGENT_NAME says otherwise. Reading marks nothing as read. An
    ACK is an acknowledgement: some types of message ask for one from each recipient.
    """
