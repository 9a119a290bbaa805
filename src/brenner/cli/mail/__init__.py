"""`brenner mail`: the mailbox, each command imported when it is called."""

import click

from brenner.cli.options import Command, Commands, examples, group_options

COMMANDS = {
    "inbox": Command("brenner.cli.mail.inbox", "inbox", "List what was sent to you."),
    "thread": Command("brenner.cli.mail.thread", "thread", "Read a thread, or list them."),
    "show": Command("brenner.cli.mail.show", "show", "Read one message whole."),
    "send": Command("brenner.cli.mail.send", "send", "Check a message and send it."),
    "ack": Command("brenner.cli.mail.ack", "ack", "Acknowledge messages."),
    "mark": Command("brenner.cli.mail.ack", "mark", "Mark messages as read or unread."),
    "pending": Command("brenner.cli.mail.pending", "command", "Say who owes an ACK for what."),
    "search": Command("brenner.cli.mail.search", "search", "Find messages by words and filters."),
    "agents": Command("brenner.cli.mail.agents", "agents", "List who is registered, or one."),
    "register": Command("brenner.cli.mail.agents", "register", "Register a name for mail."),
    "export": Command("brenner.cli.mail.archive", "export", "Write all mail to an archive."),
    "import": Command("brenner.cli.mail.archive", "import_", "Take mail over from an archive."),
    "copy": Command("brenner.cli.mail.copy", "copy", "Copy all mail to another home."),
}


@click.group(
    cls=Commands,
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
