"""The `brenner` command. It imports only what the first word needs."""

import sys


def main() -> None:
    """Run the command line and exit with its code."""
    if sys.argv[1:] == ["--version"] and sys.stdout:
        from brenner import __version__  # no other import needed

        sys.stdout.write(f"brenner {__version__}\n")
        return
    from brenner.cli.main import run  # four times as expensive to import

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
