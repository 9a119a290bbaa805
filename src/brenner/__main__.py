"""The `brenner` command. It imports only what the first word needs."""

import sys

_ALLOCATIONS_PER_COLLECTION = 100_000  # a short command never reaches it
_EXIT_INTERRUPTED = 130


def main() -> None:
    """Run the command line and exit with its code."""
    if sys.argv[1:] in (["--version"], ["-V"]) and sys.stdout:
        from brenner import __version__  # no other import needed

        sys.stdout.write(f"brenner {__version__}\n")
        return
    import gc

    gc.set_threshold(_ALLOCATIONS_PER_COLLECTION)  # imports make thousands of objects, no garbage
    try:
        from brenner.cli.main import run  # four times as expensive to import

        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # while importing, or after the command
        code = _EXIT_INTERRUPTED
    _exit_at_once(code)
    sys.exit(code)


def _exit_at_once(code: int) -> None:
    """Exit without dismantling the interpreter, unless a thread is still at work.

    `run` has flushed the output, and every command closes what it opened. Dismantling modules and
    classes one by one would take as long as an empty interpreter.
    """
    import atexit
    import os

    threading = sys.modules.get("threading")
    if threading is None or threading.active_count() == 1:
        atexit._run_exitfuncs()  # noqa: SLF001 (what the interpreter calls at its end)
        os._exit(code)


if __name__ == "__main__":
    main()
