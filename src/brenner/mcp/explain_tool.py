"""`brenner_explain`: what a code means, why it exists, how to mend it."""

from brenner.diagnostics.catalogue import find_code, nearest_code
from brenner.diagnostics.codes.messages import UNKNOWN_CODE
from brenner.diagnostics.model import Code, Refused
from brenner.mcp.fixes import in_words_of_tools
from brenner.mcp.tool import Answer, Argument, Call, Tool
from brenner.text import perhaps, template_text


def run(call: Call) -> Answer:
    """Explain it; all words are ours."""
    written = call.text("code")
    found = find_code(written)
    if found is None:
        near = nearest_code(written)
        unknown = UNKNOWN_CODE.at(code=written, suggestion=perhaps(near))
        fix = f"Give a code as a violation has it under `id`.{perhaps(near)}"
        raise Refused(unknown._replace(fix=fix))
    return Answer(explained(found), _text(found))


def explained(code: Code) -> dict[str, object]:
    """The entry of the catalogue; open places are shown as <name>."""
    return {
        "id": code.id,
        "severity": code.severity.value,
        "title": code.title,
        "message": template_text(code.message),
        "fix": _fix(code),
        "why": code.why,
        "spec": code.spec,
        "also": list(code.also),
        "example": {"wrong": code.example.wrong, "right": code.example.right},
    }


def _fix(code: Code) -> str:
    """How to mend it. Addresses of resources have places of their own, which stay."""
    fix = in_words_of_tools(code, code.fix)
    return template_text(fix) if fix == code.fix else fix.replace(code.fix, template_text(code.fix))


def _text(code: Code) -> str:
    parts = (
        f"{code.id} ({code.severity.value}): {code.title}.",
        f"Says: {template_text(code.message)}",
        f"Fix: {_fix(code)}",
        f"Why: {code.why}",
        f"Wrong:\n{code.example.wrong}",
        f"Right:\n{code.example.right}",
    )
    return "\n".join(parts)


TOOL = Tool(
    "brenner_explain",
    "What a code of a violation means, why, and how to fix it, with an example.",
    (Argument("code", required=True),),
    run,
    is_read_only=True,
)
