"""Shorten the output of pip, given on the standard input, to its progress.

In a terminal it is one line that changes; elsewhere there is a line for every ten packages.
"""

import re
import sys

_EVERY = 10
_PACKAGE = re.compile(r"(?:Collecting|Processing) (?:\S*/)?([A-Za-z0-9_.]+(?:-[A-Za-z_]+)*)")


def _show(text: str) -> None:
    is_terminal = sys.stdout.isatty()
    sys.stdout.write(f"\r\033[K  {text}" if is_terminal else f"  {text}\n")
    sys.stdout.flush()


def main() -> None:
    """Show how many packages pip has found, then that it installs them."""
    count = 0
    for line in sys.stdin:
        package = _PACKAGE.match(line)
        if package:
            count += 1
            if sys.stdout.isatty():
                _show(f"package {count}: {package[1]}")
            elif count % _EVERY == 0:
                _show(f"{count} packages …")
        elif line.startswith("Installing collected packages"):
            _show(f"installing {line.count(',') + 1} packages …")
        elif line.startswith("Successfully installed") and sys.stdout.isatty():
            _show("done\n")


if __name__ == "__main__":
    main()
