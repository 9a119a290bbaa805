"""Answers as the protocol has them.

A tool's answer has its value twice, as the real Agent Mail server gives it: as JSON text for those
who read, and as structured content for programs. What must not be missed is a text behind it. A
resource is one JSON text.
"""

import json
from collections.abc import Mapping, Sequence

import mcp_types as types
from mcp.shared.exceptions import MCPError

from brenner.diagnostics.codes.serving import UNKNOWN_RESOURCE
from brenner.diagnostics.model import Diagnostic
from brenner.mcp import told
from brenner.mcp.calling import Failed, call_tool, fault, read_resource
from brenner.mcp.tool import Answer, Call, Resource, Tool

JSON = "application/json"


def called(tools: Mapping[str, Tool], name: str, call: Call) -> types.CallToolResult:
    """Call a tool; what comes of it. An answer that cannot be written down is a fault of ours."""
    answer = call_tool(tools, name, call)
    try:
        return result_of(answer)
    except (TypeError, ValueError, RecursionError) as exception:
        return result_of(told.refused([fault(name, exception)]))


def result_of(answer: Answer) -> types.CallToolResult:
    """An answer; a list is wrapped, and an empty one has no text."""
    value = answer.value
    is_list = isinstance(value, list | tuple)
    text = _written(value)
    wrapped = {"result": list(value)} if isinstance(value, list | tuple) else value
    shown = text if answer.text is None else _whole(answer.text)
    is_empty = is_list and not value and answer.text is None
    notes = _whole("\n".join(answer.notes))
    texts = [*([] if is_empty else [shown]), *([notes] if notes else [])]
    return types.CallToolResult(
        content=[types.TextContent(text=each) for each in texts],
        structured_content=wrapped,
        is_error=answer.is_error,
    )


def read(resources: Sequence[Resource], uri: str, call: Call) -> types.ReadResourceResult:
    """Read a resource; what cannot be read is an error of the protocol, in our words."""
    try:
        text = _written(read_resource(resources, uri, call))
    except Failed as failed:
        raise _error(failed) from None
    except (TypeError, ValueError, RecursionError) as exception:
        raise _error(Failed([fault(uri, exception)], is_ours=True)) from None
    contents = types.TextResourceContents(uri=uri, mime_type=JSON, text=text)
    return types.ReadResourceResult(contents=[contents])


def _error(failed: Failed) -> MCPError:
    code = types.INTERNAL_ERROR if failed.is_ours else types.INVALID_PARAMS
    message = "\n".join(map(_said, failed.faults))
    return MCPError(code=code, message=message, data=told.document(failed.faults))


def _said(found: Diagnostic) -> str:
    """In our words; that there is no such resource in those of Agent Mail, which clients know."""
    if found.code is UNKNOWN_RESOURCE:
        return f"{found.message} {found.fix}"
    return told.line_of(found)


def _written(value: object) -> str:
    return _whole(json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")))


def _whole(text: str) -> str:
    """The text, if it can be sent at all: half a character would take the connection down."""
    text.encode()
    return text
