"""A delta as the text of a delta block; `read_blocks` reads the same delta back."""

import json

from brenner.delta.model import Delta
from brenner.markdown.escape import fenced


def render_delta(delta: Delta) -> str:
    """The fenced block. The order of the keys is the document's."""
    value: dict[str, object] = {
        "operation": delta.operation.value,
        "section": delta.section,
        "target_id": delta.target_id,
    }
    if delta.local_id is not None:
        value["local_id"] = delta.local_id
    value["payload"] = dict(delta.payload)
    if delta.rationale:
        value["rationale"] = delta.rationale
    return fenced(json.dumps(value, ensure_ascii=False, indent=2), "delta")
