"""`artifact export`: the three forms, to the standard output and to a file."""

import json
from pathlib import Path

from brenner.artifact.html import artifact_html
from brenner.artifact.parse import parse_artifact
from brenner.artifact.render import render_artifact
from mail_shell import Shell
from replayed_histories import Played, on


def test_markdown_is_the_version(shell: Shell, conflict: Played) -> None:
    """Every byte; it is what one gets without saying which form."""
    here, version = on(shell, conflict), f"{conflict.thread_id}@v2"
    for options in ([], ["--format", "markdown"]):
        done = here("artifact", "export", version, *options)
        assert (done.code, done.err) == (0, "")
        assert done.raw == conflict.versions[1].text.encode()


def test_json_is_what_show_prints(shell: Shell, conflict: Played) -> None:
    """The same document, with or without --json."""
    here, version = on(shell, conflict), f"{conflict.thread_id}@v2"
    expected = here("artifact", "show", version, "--json").json
    assert here("artifact", "export", version, "--format", "json").json == expected
    assert here("artifact", "export", version, "--format", "json", "--json").json == expected


def test_html_is_the_page(shell: Shell, conflict: Played) -> None:
    """With the open conflicts and what the linter says."""
    done = on(shell, conflict)("artifact", "export", f"{conflict.thread_id}@v2", "--format", "html")
    compiled = conflict.versions[1]
    verdict = "not valid: 6 errors, 4 warnings, 1 info"
    assert done.out == artifact_html(compiled.artifact, compiled.conflicts, verdict)
    assert "BlueLake, message 4" in done.out


def test_a_file_is_written_whole(shell: Shell, conflict: Played) -> None:
    """The form follows the ending; an existing file is replaced only with --force."""
    here, thread = on(shell, conflict), conflict.thread_id
    page = Path("page.html")
    done = here("artifact", "export", thread, "--output", str(page))
    assert (done.code, done.err) == (0, "")
    size = f"{page.stat().st_size:,}"
    assert done.out.startswith(f"Wrote page.html: {thread}@v4 as html, {size} bytes.\n")
    assert page.read_text("utf-8").startswith("<!DOCTYPE html>")
    again = here("artifact", "export", f"{thread}@v1", "--output", str(page))
    assert again.code == 2
    assert "Use --force to replace it" in again.err
    forced = here("artifact", "export", f"{thread}@v1", "--output", str(page), "--force", "--json")
    document = forced.json
    assert (document["version"], document["output"], document["format"]) == (1, "page.html", "html")
    assert document["bytes"] == page.stat().st_size
    here("artifact", "export", thread, "--output", "data.json")
    assert json.loads(Path("data.json").read_text("utf-8"))["version"] == 4
    here("artifact", "export", thread, "--output", "copy.md")
    assert Path("copy.md").read_bytes() == conflict.versions[3].text.encode()
    assert sorted(path.name for path in Path().glob(".*")) == []


def test_what_cannot_be_exported_writes_nothing(shell: Shell, conflict: Played) -> None:
    """An unknown version, a folder that is not there, JSON about a page on the same output."""
    here, thread = on(shell, conflict), conflict.thread_id
    assert here("artifact", "export", f"{thread}@v9", "--output", "x.html").code == 1
    assert here("artifact", "export", thread, "--output", "none/x.html").code == 3
    assert here("artifact", "export", thread, "--format", "html", "--json").code == 2
    assert list(Path().glob("*.html")) == []


def test_a_file_is_exported_too(shell: Shell, conflict: Played, tmp_path: Path) -> None:
    """One that another program wrote becomes ours; what departs from the format is told."""
    path = tmp_path / "odd.md"
    text = conflict.versions[3].text
    path.write_text(text.replace("## 6. Anomaly Register", "## 6. Anomalies"), "utf-8")
    done = shell("artifact", "export", str(path))
    assert done.out == render_artifact(parse_artifact(text).artifact) == text
    assert "HEADING_FORM" in done.err
    done = shell("artifact", "export", "-", "--format", "html", stdin=text.encode())
    assert (done.code, 'id="H2"' in done.out) == (0, True)
