"""What the processes do that start the same round at once. An error ends them, and is seen."""

from brenner.mail.model import Profile
from brenner.services.next_round import RoundOptions, start_round
from brenner.services.start_session import KickoffState
from brenner.services.workspace import workspace_in
from mail.processes import say, wait_for_release
from session.round_play import THREAD
from session.workspaces import project_in


def ask(folder: str, name: str) -> None:
    """Start the next round; say whom this one has reached."""
    with workspace_in(project_in(folder), name, create=True) as workspace:
        workspace.mailbox.register(Profile(name))
        wait_for_release()
        done = start_round(workspace, THREAD, RoundOptions())
        for each in done.kickoffs:
            if each.state is KickoffState.SENT:
                for recipient in each.message.recipients:
                    say(recipient)
