"""All benchmarks, each figure beside a lower bound that was measured in the same run."""

import platform

import artifact
import cold_start
import delta_blocks
import hostile
import mail_store
import merges


def main() -> None:
    """Run them all."""
    print(f"Python {platform.python_version()} on {platform.machine()}")
    for benchmark in (cold_start, delta_blocks, artifact, hostile, merges, mail_store):
        benchmark.run()


if __name__ == "__main__":
    main()
