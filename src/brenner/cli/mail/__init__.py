"""`brenner mail`: the group of commands for the mailbox."""

from __future__ import annotations

import click

from brenner.cli.options import LazyGroup, examples, group_options

_WRITE, _READ, _ANSWER, _MOVE = "Write", "Read", "Acknowledge", "Export and move"
COMMANDS = {
    "register": (_WRITE, "brenner.cli.mail.agents", "register", "Register a name for mail."),
    "send": (_WRITE, "brenner.cli.mail.send", "send", "Check a message and send it."),
    "inbox": (_READ, "brenner.cli.mail.inbox", "inbox", "List messages that you received."),
    "show": (_READ, "brenner.cli.mail.show", "show", "Show one message."),
    "thread": (_READ, "brenner.cli.mail.thread", "thread", "Show a thread, or list threads."),
    "search": (_READ, "brenner.cli.mail.search", "search", "Find messages by words and filters."),
    "agents": (_READ, "brenner.cli.mail.agents", "agents", "List registered agents."),
    "ack": (_ANSWER, "brenner.cli.mail.ack", "ack", "Acknowledge messages."),
    "mark": (_ANSWER, "brenner.cli.mail.ack", "mark", "Mark messages as read or unread."),
    "pending": (_ANSWER, "brenner.cli.mail.pending", "command", "List owed acknowledgements."),
    "export": (_MOVE, "brenner.cli.mail.archive", "export", "Write all mail to an archive file."),
    "import": (_MOVE, "brenner.cli.mail.archive", "import_", "Read mail from an archive file."),
    "copy": (_MOVE, "brenner.cli.mail.copy", "copy", "Copy all mail to another store."),
}


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    epilog=examples(
        "brenner mail register BlueLake",
        "brenner new QUESTION --as Operator --to BlueLake > message.md",
        "# fill in message.md, then",
        "brenner mail send message.md",
        "brenner mail inbox --as BlueLake",
    ),
)
@group_options
def command() -> None:
    """Send, read and acknowledge messages.

    You are the operator, or the agent of --as NAME or AGENT_NAME. Reading does not mark a message
    as read. Some message types ask each recipient for an ACK, an acknowledgement. The first command
    that writes creates the store.
    """
