"""Runs on the agents' page, and the log of a turn for the operator."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from brenner.diagnostics.codes.serving import NO_SUCH_PAGE
from brenner.diagnostics.model import RequestError
from brenner.lazy_pattern import lazy_pattern
from brenner.services.run_summary import (
    Activity,
    RunState,
    compiled_text,
    describe_stop,
    run_json,
    run_text,
    state_text,
    summarize_runs,
    weight_of,
)
from brenner.text import thread_argument
from brenner.web import links
from brenner.web.request import Download, PageResult

if TYPE_CHECKING:
    from datetime import datetime

    from brenner.services.run_summary import AgentRound, RunSummary
    from brenner.web.request import Document, RequestContext

_MOST_RUNS = 10
_MOST_LOG_BYTES = 2 * 1024 * 1024
_LOG_NAME = lazy_pattern(r"[A-Za-z0-9_.-]{1,200}")


def runs_document(context: RequestContext) -> Document:
    """Return the newest runs of the session, each with its words.

    Guests get no logs and no reasons, which may name files of this machine.
    """
    thread_id = context.thread_id
    found = summarize_runs(context.site.workspace.project, thread_id, _MOST_RUNS)
    is_over = context.session.status.is_over
    return {
        "runs": [_run_document(each, context) for each in found],
        "is_running": any(each.state is RunState.RUNNING for each in found),
        "more": len(found) == _MOST_RUNS,
        "start": "" if is_over else f"brenner session run {thread_argument(thread_id)}",
    }


def _run_document(run: RunSummary, context: RequestContext) -> Document:
    document: dict[str, Any] = run_json(run, context.now)
    is_guest = context.guest_of is not None
    for shown, each in zip(document["rounds"], run.rounds, strict=True):
        shown["words"] = compiled_text(each.compiled) if each.compiled else None
        for agent, found in zip(shown["agents"], each.agents, strict=True):
            agent.update(_agent_words(found, run, context.now))
            if is_guest:
                agent.update({"reason": None, "logs": []})
            if context.login is None:
                agent["log_pages"] = []
    if is_guest:
        run = run._replace(message=None)
        document |= {"message": None, "folder": None}
        document["agents"] = [{**each, "reason": None} for each in document["agents"]]
    return {**document, "figures": run_text(run, context.now), "words": describe_stop(run)}


def _agent_words(each: AgentRound, run: RunSummary, now: datetime) -> Document:
    """Return the state in words, and the pages of the logs."""
    is_working = each.activity is Activity.WORKING
    left = (each.hold.until - now).total_seconds() if each.hold and each.hold.until else 0.0
    return {
        "words": state_text(each, ()),
        "weight": weight_of(each),
        "tool": each.last.tool if is_working and each.last else "",
        "left": max(0.0, left) if each.activity is Activity.WAITING else 0.0,
        "is_fault": bool(each.hold or each.fault),
        "log_pages": [
            links.run_log(run.thread_id, run.id, turn.log.rpartition("/")[2])
            for turn in each.turns
            if turn.log
        ],
    }


def log_page(context: RequestContext) -> PageResult:
    """Return the log of a turn as text, for the operator who is logged in."""
    project, name = context.site.workspace.project, context.parameters["log"]
    known = summarize_runs(project, context.thread_id) if context.login else ()
    for run in known:
        is_log = any(turn.log == f"{run.folder}/{name}" for turn in run.turns)
        if run.id == context.parameters["run"] and is_log and _LOG_NAME.fullmatch(name):
            with suppress(OSError), (project.folder / str(run.folder) / name).open("rb") as file:
                text = file.read(_MOST_LOG_BYTES).decode("utf-8", "replace")
                return Download(text, "text/plain", name, is_inline=True)
    raise RequestError(NO_SUCH_PAGE.at(path=context.path))
