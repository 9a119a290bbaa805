"""Brenner's own tools, in the order in which an agent needs them."""

from collections.abc import Callable

from brenner.diagnostics.errors import Refused
from brenner.mcp import artifact_tool, check_tool, explain_tool, post_tool, task_tool
from brenner.mcp.framing import answered
from brenner.mcp.tool import Answer, Call, Tool
from brenner.mcp.violations import thread_json, thread_lines


def _guarded(tool: Tool) -> Tool:
    """The tool with its refusals framed where they are about mail of others, which they quote."""
    return tool._replace(run=_framing(tool.run))


def _framing(run: Callable[[Call], Answer]) -> Callable[[Call], Answer]:
    def guarded(call: Call) -> Answer:
        try:
            return run(call)
        except Refused as refused:
            found = refused.diagnostic
            if found.message_id is None:
                raise
            value = {"error": thread_json(found), "violations": [thread_json(found)]}
            return answered(value, thread_lines([found]), is_error=True)

    return guarded


TOOLS: tuple[Tool, ...] = (
    _guarded(task_tool.TOOL),
    _guarded(artifact_tool.TOOL),
    _guarded(post_tool.TOOL),
    _guarded(check_tool.TOOL),
    explain_tool.TOOL,
)
