"""What all pages have in common: whose project it is, and how it is served."""

from typing import TYPE_CHECKING, NamedTuple

from brenner.services.workspace import Desk
from brenner.web.reading import Reading

if TYPE_CHECKING:
    from brenner.web.entrance import Entrance
    from brenner.web.lab.door import Door


class Client(NamedTuple):
    """The program of an agent, and the command that prints what belongs into its settings."""

    name: str
    command: str


class About(NamedTuple):
    """What the pages say of the server. Nothing of it is secret."""

    name: str
    folder: str
    store: str
    endpoint: str
    is_strict: bool
    wants_token: bool = False
    clients: tuple[Client, ...] = ()
    remark: str = ""


class Site(NamedTuple):
    """The pages of one project.

    Where the operator can act on them, there is a door to the lab; where the server wants a token,
    there is an entrance for browsers.
    """

    desk: Desk
    about: About
    reading: Reading
    is_lab: bool = False
    door: "Door | None" = None
    entrance: "Entrance | None" = None
