"""Brenner's own tools, in the order in which an agent needs them."""

from collections.abc import Callable

from brenner.diagnostics.model import Refused
from brenner.mcp import artifact_tool, check_tool, explain_tool, post_tool, task_tool
from brenner.mcp.framing import Foreign, answered
from brenner.mcp.tool import Answer, Call, Tool
from brenner.mcp.violations import is_own, refusal, told_lines


def _guarded(tool: Tool) -> Tool:
    """The tool with its refusals framed where they may quote what others wrote."""
    return tool._replace(run=_framing(tool.run))


def _framing(run: Callable[[Call], Answer]) -> Callable[[Call], Answer]:
    def guarded(call: Call) -> Answer:
        try:
            return run(call)
        except Refused as refused:
            found = refused.diagnostic
            if is_own(found) and not refused.details:
                raise
            lines = (*told_lines([found]), *map(Foreign, refused.details))
            return answered(refusal([found]), lines, is_error=True)

    return guarded


TOOLS: tuple[Tool, ...] = (
    _guarded(task_tool.TOOL),
    _guarded(artifact_tool.TOOL),
    _guarded(post_tool.TOOL),
    _guarded(check_tool.TOOL),
    explain_tool.TOOL,
)
