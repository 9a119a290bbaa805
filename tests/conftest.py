"""Hypothesis profiles: quick and always the same by default, long and random for `make fuzz`.

And Ctrl-C and the end of a terminal are heard, whoever started the tests.
"""

import os
import signal
import threading

from hypothesis import HealthCheck, settings

_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}

# A run that fails must fail again; what only a random run finds is for `make fuzz`.
settings.register_profile("quick", max_examples=100, derandomize=True, **_COMMON)  # type: ignore[arg-type]
settings.register_profile("fuzz", max_examples=5_000, **_COMMON)  # type: ignore[arg-type]
settings.load_profile(os.environ.get("BRENNER_HYPOTHESIS_PROFILE", "quick"))

# What a shell starts in the background ignores Ctrl-C, what `nohup` starts the end of its terminal,
# and so does all that they start in turn. Some tests send both.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
