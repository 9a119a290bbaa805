"""Every address that a reader can go to, of one session."""

from brenner.web.app import PAGES


def addresses(thread_id: str, item: str, message: int) -> tuple[str, ...]:
    """Each page once, and those that look different when they are asked for something."""
    named = {"thread": thread_id, "item": item, "message:int": str(message), "form": "html"}
    plain = []
    for path in PAGES:
        if path.endswith("/{log}"):  # only for the operator; see test_runs_page.py
            continue
        filled = path
        for name, value in named.items():
            filled = filled.replace(f"{{{name}}}", value)
        plain.append(filled)
    session = f"/sessions/{thread_id}"
    return (
        *plain,
        "/search?q=phage",
        f"{session}/artifact?provenance=1",
        f"{session}/artifact?version=1",
        f"{session}/artifact?draft=1",
        f"{session}/thread?order=tree",
        f"{session}/diff?from=1&to=2&form=text",
        f"{session}/diff?from=1&to=2&form=plain",
        f"{session}/export/md",
        f"{session}/export/json",
    )


def shown(paths: tuple[str, ...]) -> list[str]:
    """Those of them that are pages, not files."""
    return [path for path in paths if "/export/" not in path and not path.endswith("/raw")]
