"""Everything that the server offers to agents, put together from one table per subject."""

from typing import NamedTuple

from brenner.mcp import agent_tools, mail_tools, own_tools, reservation_tools, resources
from brenner.mcp.tool import Resource, Tool


class Offers(NamedTuple):
    """The tools in the order in which they are listed, and the resources."""

    tools: tuple[Tool, ...]
    resources: tuple[Resource, ...]


OFFERS = Offers(
    (
        *own_tools.TOOLS,
        *agent_tools.TOOLS,
        *mail_tools.TOOLS,
        *reservation_tools.TOOLS,
    ),
    resources.RESOURCES,
)
