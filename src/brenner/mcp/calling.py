"""One call from its raw arguments to its answer. Whatever happens, there is an answer.

A wrong call, a refusal and a broken store are answers that the agent can act on. What nobody
expected is a fault of ours: the agent learns that it is not hers, and the log where it happened.
"""

import secrets
import sys
import traceback
from collections.abc import Mapping, Sequence
from typing import NoReturn

from brenner.diagnostics.codes import serving as codes
from brenner.diagnostics.model import BrennerError, Diagnostic, Refused, Unavailable
from brenner.mcp import told
from brenner.mcp.arguments import read_arguments
from brenner.mcp.templates import find, unknown
from brenner.mcp.tool import Answer, Call, Resource, Tool
from brenner.text import nearest, perhaps

_NOT_YOURS = "It is an internal error of the server or of its store; your call is not wrong."
_FAULT = "brenner: {reference}: {kind} in `{where}`, a fault of the program\n{frames}"


class Failed(Exception):
    """A resource that could not be read; `is_ours` if nothing is wrong with the address."""

    def __init__(self, faults: Sequence[Diagnostic], *, is_ours: bool = False) -> None:
        super().__init__(faults[0].message)
        self.faults = tuple(map(told.in_tools, faults))
        self.is_ours = is_ours


def call_tool(tools: Mapping[str, Tool], name: str, call: Call) -> Answer:
    """What the tool answers; the arguments of the call are as they were given."""
    tool = tools.get(name)
    if tool is None:
        suggestion = perhaps(nearest(name, tools))
        found = codes.UNKNOWN_TOOL.at(tool=name, suggestion=suggestion)
        return told.refused([found])._replace(text=f"{found.message}\n{found.fix}")
    try:
        reading = read_arguments(name, tool.arguments, call.arguments)
        if reading.faults:
            return told.refused(reading.faults)
        return tool.run(call._replace(arguments=reading.arguments))
    except BrennerError as error:
        answer = told.failed(error)
        is_ours = isinstance(error, Unavailable)
        return answer._replace(text=f"{answer.text}\n{_NOT_YOURS}") if is_ours else answer
    except Exception as exception:  # noqa: BLE001  (a fault of one call is not the end of all)
        return told.refused([fault(name, exception)])


def read_resource(resources: Sequence[Resource], uri: str, call: Call) -> object:
    """What stands at the address; `Failed` if there is nothing to read."""
    found = find(resources, uri)
    if found is None:
        raise Failed([unknown(resources, uri)])
    if found.faults:
        raise Failed(found.faults)
    try:
        return found.resource.read(call._replace(arguments=found.arguments))
    except Refused as refused:
        raise Failed([refused.diagnostic]) from None
    except BrennerError as error:
        raise Failed([error.diagnostic], is_ours=True) from None
    except Exception as exception:  # noqa: BLE001  (as above)
        _raise_fault(found.resource.template, exception)


def _raise_fault(where: str, exception: Exception) -> NoReturn:
    raise Failed([fault(where, exception)], is_ours=True) from None


def fault(where: str, exception: Exception) -> Diagnostic:
    """What nobody expected; where it happened is written to the standard error.

    Only places in the program are: what an exception says may quote a message, or a secret.
    """
    reference = f"fault-{secrets.token_hex(4)}"
    kind = type(exception).__name__
    frames = "".join(traceback.format_tb(exception.__traceback__))
    sys.stderr.write(_FAULT.format(reference=reference, kind=kind, where=where, frames=frames))
    sys.stderr.flush()
    return codes.TOOL_FAILED.at(where=where, kind=kind, reference=reference)
