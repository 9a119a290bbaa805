"""Start an agent's program with our server's address replaced by one where nothing listens."""

import os
import re
import sys
from pathlib import Path


def moved(text: str) -> str:
    """Return the text with another port."""
    return re.sub(r"http://127\.0\.0\.1:\d+/mcp", "http://127.0.0.1:9/mcp", text)


def main() -> None:
    """Change the settings in files and arguments, and become the program."""
    program, *arguments = sys.argv[1:]
    files = [Path(".gemini/settings.json"), *(Path(e) for e in arguments if e.startswith("/"))]
    for file in (each for each in files if each.suffix == ".json" and each.is_file()):
        file.write_text(moved(file.read_text("utf-8")), "utf-8")
    os.execvp(program, [program, *map(moved, arguments)])  # noqa: S606  (a test's own)


if __name__ == "__main__":
    main()
