"""The end of a command's help: how one calls it."""


def examples(*commands: str) -> str:
    """Commands as they are typed, one on a line; click must not fold them."""
    return "\b\n" + "\n".join(["Examples:", *(f"  {command}" for command in commands)])
