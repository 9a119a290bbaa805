"""All benchmarks, each figure beside a lower bound that was measured in the same run."""

import platform

import artifact
import cold_start
import compile_loop
import delta_blocks
import hostile
import mail_store
import merges
import session_loop


def main() -> None:
    """Run them all."""
    print(f"Python {platform.python_version()} on {platform.machine()}")
    in_memory = (cold_start, delta_blocks, artifact, hostile, merges, session_loop)
    for benchmark in (*in_memory, mail_store, compile_loop):
        benchmark.run()


if __name__ == "__main__":
    main()
