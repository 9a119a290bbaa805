"""The tools that move code: modules are merged, imports follow, and nothing else changes."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).parents[2] / "tools"
OLD = {
    "words.py": """
        "Words."
        import re

        _PATTERN = re.compile("[a-z]+")

        def count(text):
            "Count words."
            return len(_PATTERN.findall(text))
        """,
    "numbers.py": """
        "Numbers."
        import re
        from brenner import words
        from brenner.words import count as words_in

        _PATTERN = re.compile("[0-9]+")

        def count(text, _PATTERN=None):
            "Count numbers; the parameter is no name of the module."
            return len(re.findall("[0-9]+", text)) if _PATTERN is None else 0

        def both(text):
            from brenner.words import count
            return [words_in(text), words.count(text), count(text), len(_PATTERN.findall(text))]
        """,
    "user.py": """
        from brenner.numbers import both, count

        TABLE = {"both": "brenner.numbers.both"}
        """,
}


@pytest.fixture
def tool() -> ModuleType:
    found = importlib.util.spec_from_file_location("move_modules", TOOLS / "move_modules.py")
    assert found
    assert found.loader
    module = importlib.util.module_from_spec(found)
    sys.modules["move_modules"] = module
    found.loader.exec_module(module)
    return module


def test_two_modules_become_one(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names that clash get another one, in the new file and for who imports them."""
    package = tmp_path / "src" / "brenner"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("", "utf-8")
    for name, text in OLD.items():
        lines = text.strip("\n").split("\n")
        (package / name).write_text("\n".join(line[8:] for line in lines), "utf-8")
    moves = tmp_path / "moves.txt"
    moves.write_text("text/counts.py ← words 8, numbers 12\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    assert tool.main([str(moves)]) == 0
    assert not (package / "words.py").exists()
    asked = (
        "from brenner.user import TABLE, both, count; print(both('a 1 b 22'), count('3 4'), TABLE)"
    )
    done = subprocess.run(
        [sys.executable, "-c", asked],
        env={"PYTHONPATH": str(tmp_path / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[2, 2, 2, 2] 2 {'both': 'brenner.text.counts.both'}\n"
