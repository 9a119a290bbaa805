"""Every formatting mistake that `delta_output_format_v0.1.md` knows.

Its five failure modes, the fields, the schemas of the payloads, the rules of parsing, and the
alternatives that it rejects.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from serving.scripted.contributions import add, body, critique, edit, fenced, kill, proper, written
from serving.scripted.mistake import (
    ADVISED,
    Mistake,
    corrected,
    in_block,
    meant_otherwise,
    replaced,
)


# Failure mode 2, first: later rows name the hypotheses of these as H1 and H2 (R11).
def _sections() -> Iterator[Mistake]:
    names = {
        "hypotheses": "hypothesis_slate",
        "hypothesis": "hypothesis_slate",
        "predictions": "predictions_table",
        "tests": "discriminative_tests",
        "assumptions": "assumption_ledger",
        "anomalies": "anomaly_register",
        "critiques": "adversarial_critique",
    }
    for wrong, section in names.items():
        meant = add(section, f"Section called {wrong}")
        sent = proper({**meant, "section": wrong}, base=0)
        name = f"failure mode 2: {wrong}"
        yield Mistake(name, "INVALID_SECTION", (meant,), sent, has_correction=True, base=0)


def _inline() -> Iterator[Mistake]:
    """Failure mode 1: the `delta` fence is missing."""
    spoilt: dict[str, Callable[[str], str]] = {
        "in prose": lambda text: f"Here is my critique:\n\n{text}",
        "fence of json": lambda text: fenced(text, "json"),
        "fence without a tag": lambda text: fenced(text, ""),
        "tag in capitals": lambda text: fenced(text, "DELTA"),
        "indented": lambda text: "\n".join(f"    {line}" for line in text.splitlines()),
    }
    for name, spoil in spoilt.items():
        delta = critique(f"Inline, {name}")
        mistake = corrected(f"failure mode 1: {name}", "MB-004", spoil, delta)
        yield mistake._replace(has_correction=name != "indented")


def _targets() -> Iterator[Mistake]:
    """Failure mode 3, and what else a target can be. C1 is the first critique of this author."""
    on_c1 = edit("C1", evidence="Edited without a target first")
    yield meant_otherwise(
        "failure mode 3: EDIT", "MISSING_TARGET", {**on_c1, "target_id": None}, on_c1, base=0
    )
    killed = kill("C2", "Killed without a target first")
    without = {key: value for key, value in killed.items() if key != "target_id"}
    yield meant_otherwise("failure mode 3: KILL", "MISSING_TARGET", without, killed, base=0)
    other = edit("C1", current_status="Edited as T1 first")
    wrong = {**other, "target_id": "T1"}
    yield meant_otherwise(
        "target of another section", "TARGET_SECTION_MISMATCH", wrong, other, base=0
    )
    nowhere = edit("C1", attack="Edited as C99 first")
    wrong = {**nowhere, "target_id": "C99"}
    mistake = meant_otherwise("target that is not there", "INVALID_TARGET", wrong, nowhere, base=0)
    yield mistake._replace(outcome=ADVISED, more={"anyway": True})
    named = critique("Added with a target")
    yield meant_otherwise(
        "ADD with a target", "UNEXPECTED_TARGET", {**named, "target_id": "C7"}, named
    )


_JSON: dict[str, tuple[str, Callable[[str], str]]] = {
    "failure mode 4: trailing comma": ("JSON_TRAILING_COMMA", replaced("\n}", ",\n}")),
    "failure mode 4: unquoted key": (
        "JSON_UNQUOTED_KEY",
        replaced('"operation"', "operation"),
    ),
    "failure mode 4: comment": (
        "JSON_COMMENT",
        replaced('"ADD",', '"ADD", // or EDIT'),
    ),
    "failure mode 4: single quotes": (
        "JSON_SINGLE_QUOTES",
        in_block(lambda text: text.replace('"', "'")),
    ),
    "curly quotes": (
        "JSON_CURLY_QUOTES",
        replaced('"operation": "ADD"', "“operation”: “ADD”"),
    ),
    "missing comma": ("JSON_MISSING_COMMA", replaced('"ADD",', '"ADD"')),
    "None for null": ("JSON_PYTHON_WORD", replaced("null", "None")),
    "line break in a string": ("JSON_CONTROL_CHARACTER", replaced("yet", "\nyet")),
}


def _json() -> Iterator[Mistake]:
    """Failure mode 4, and what else is no JSON."""
    for name, (code, spoil) in _JSON.items():
        yield corrected(name, code, spoil, critique(name.capitalize()))
    unsure: dict[str, tuple[str, Callable[[str], str]]] = {
        "cut off": ("INVALID_JSON", lambda text: text[: len(text) // 2]),
        "key twice": (
            "JSON_DUPLICATE_KEY",
            lambda text: text.replace('"ADD",', '"ADD",\n  "operation": "KILL",'),
        ),
    }
    for name, (code, cut) in unsure.items():
        meant = critique(f"JSON, {name}")
        yield Mistake(name, code, (meant,), body(fenced(cut(written(meant)))))


def _payloads() -> Iterator[Mistake]:
    """Failure mode 5 for each section; then no payload at all, and the other operations."""
    for section in (
        "hypothesis_slate",
        "predictions_table",
        "discriminative_tests",
        "assumption_ledger",
        "anomaly_register",
        "adversarial_critique",
    ):
        meant = add(section, f"Empty payload of {section}")
        name = f"failure mode 5: {section}"
        yield meant_otherwise(
            name, "MISSING_REQUIRED_FIELD", {**meant, "payload": {}}, meant, base=0
        )
    meant = critique("Payload left out")
    without = {key: value for key, value in meant.items() if key != "payload"}
    yield meant_otherwise("ADD without a payload", "MISSING_REQUIRED_FIELD", without, meant)
    meant = critique("Attack left blank")
    blank = {**meant, "payload": {**meant["payload"], "attack": "  "}}
    yield meant_otherwise("blank field", "MISSING_REQUIRED_FIELD", blank, meant)
    meant = edit("C1", real_third_alternative=True)
    yield meant_otherwise("EDIT of nothing", "EMPTY_EDIT", {**meant, "payload": {}}, meant, base=0)
    meant = kill("C3", "Killed without a reason first")
    wrong = {**meant, "payload": {}, "rationale": ""}
    yield meant_otherwise("KILL without a reason", "MISSING_REQUIRED_FIELD", wrong, meant, base=0)


def _fields() -> Iterator[Mistake]:
    """The fields of a delta, and the sections that there are."""
    meant = critique("Operation left out")
    without = {key: value for key, value in meant.items() if key != "operation"}
    yield meant_otherwise("no operation", "MISSING_REQUIRED_FIELD", without, meant)
    meant = critique("Operation called CREATE")
    yield meant_otherwise("CREATE", "INVALID_OPERATION", {**meant, "operation": "CREATE"}, meant)
    delta = critique("Operation in small letters")
    yield corrected("add", "INVALID_OPERATION", replaced('"ADD"', '"add"'), delta)
    meant = critique("Section left out")
    without = {key: value for key, value in meant.items() if key != "section"}
    yield meant_otherwise("no section", "MISSING_REQUIRED_FIELD", without, meant)
    meant = critique("Section that is none")
    yield meant_otherwise(
        "conclusions", "INVALID_SECTION", {**meant, "section": "conclusions"}, meant
    )
    meant = edit("RT", "research_thread", why_it_matters="Asked as an ADD first")
    wrong = {**meant, "operation": "ADD", "target_id": None}
    yield meant_otherwise("ADD of a research thread", "OPERATION_NOT_ALLOWED", wrong, meant)
    meant = edit("RT", "research_thread", context="Killed at first")
    wrong = {**meant, "operation": "KILL", "payload": {"reason": "Ill posed"}}
    yield meant_otherwise("KILL of the research thread", "OPERATION_NOT_ALLOWED", wrong, meant)


def _values() -> Iterator[Mistake]:
    """What the schemas of the payloads allow."""
    spoilt: dict[str, tuple[str, str, str, Any, Any]] = {
        "status of an assumption": (
            "INVALID_VALUE",
            "assumption_ledger",
            "status",
            "plausible",
            "unchecked",
        ),
        "status of an anomaly": ("INVALID_VALUE", "anomaly_register", "status", "open", "active"),
        "score above three": (
            "INVALID_VALUE",
            "discriminative_tests",
            "score",
            {"cost": 5},
            {"cost": 3},
        ),
        "flag as a number": (
            "WRONG_TYPE",
            "adversarial_critique",
            "real_third_alternative",
            1,
            True,
        ),
        "unknown relation": (
            "INVALID_RELATION",
            "adversarial_critique",
            "references",
            [{"session": "RS-20251228-initial", "item": "C2", "relation": "likes"}],
            [{"session": "RS-20251228-initial", "item": "C2", "relation": "extends"}],
        ),
        "score as a text": (
            "WRONG_TYPE",
            "discriminative_tests",
            "score",
            {"speed": "two"},
            {"speed": 2},
        ),
        "conflicts with prose": (
            "INVALID_ITEM_ID",
            "anomaly_register",
            "conflicts_with",
            ["the gradient"],
            ["H1"],
        ),
    }
    for name, (code, section, field, wrong, right) in spoilt.items():
        meant = add(section, name.capitalize(), **{field: right})
        sent = {**meant, "payload": {**meant["payload"], field: wrong}}
        yield meant_otherwise(name, code, sent, meant, base=0)
    meant = edit("H1", "hypothesis_slate", anchors=["§43"])
    wrong_type = {**meant, "payload": {"anchors": "§43"}}
    alone = meant_otherwise("anchor without a list", "WRONG_TYPE", wrong_type, meant, base=0)
    yield alone._replace(has_correction=True)


def _blocks() -> Iterator[Mistake]:
    """What is a block, and how many deltas it holds."""
    delta = critique("Several in a list")
    as_list = body(fenced(json.dumps([delta, critique("Second of a list")])))
    both = (delta, critique("Second of a list"))
    yield Mistake("list in a block", "DELTA_NOT_AN_OBJECT", both, as_list, has_correction=True)
    both = (critique("First of two"), critique("Second of two"))
    in_one = body(fenced("\n".join(map(written, both))))
    yield Mistake("two in a block", "SEVERAL_DELTAS_IN_BLOCK", both, in_one, has_correction=True)
    meant = critique("Never closed")
    sent = body(f"```delta\n{written(meant)}")
    yield Mistake("fence left open", "UNCLOSED_FENCE", (meant,), sent, has_correction=True)
    delta = critique("In another fence")
    yield corrected("fence in a fence", "MB-004", lambda t: fenced(fenced(t), "", "````"), delta)
    meant = critique("In a quotation")
    quoted = "\n".join(f"> {line}" for line in fenced(written(meant)).splitlines())
    yield Mistake("quoted block", "MB-004", (meant,), body(quoted))


def _rejected() -> Iterator[Mistake]:
    """The alternatives that the document rejects, and its template, not filled in."""
    meant = critique("As Markdown sections")
    text = "### DELTA: ADD adversarial_critique\n\n**Name**: As Markdown sections\n**Attack**: All"
    yield Mistake("option A: sections", "MB-004", (meant,), body(text))
    meant = critique("As JSON Patch")
    patch = [{"op": "add", "path": "/adversarial_critique/-", "value": meant["payload"]}]
    wrong = body(fenced(json.dumps(patch)))
    yield Mistake("option B: JSON Patch", "DELTA_NOT_AN_OBJECT", (meant,), wrong)
    meant = critique("As YAML")
    text = "operation: ADD\nsection: adversarial_critique\npayload:\n  name: As YAML"
    yield Mistake("option C: YAML", "INVALID_JSON", (meant,), body(fenced(text)))
    meant = critique("Template filled in")
    form = written(critique("[[fill in: critique name]]"))
    yield Mistake("template", "TEMPLATE_NOT_FILLED_IN", (meant,), body(fenced(form)))


DELTA_MISTAKES: tuple[Mistake, ...] = (
    *_sections(),
    *_inline(),
    *_json(),
    *_payloads(),
    *_targets(),
    *_fields(),
    *_values(),
    *_blocks(),
    *_rejected(),
)
