"""Hypothesis profiles: quick and always the same by default, long and random for `make fuzz`."""

import os

from hypothesis import HealthCheck, settings

_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}

# A run that fails must fail again; what only a random run finds is for `make fuzz`.
settings.register_profile("quick", max_examples=200, derandomize=True, **_COMMON)  # type: ignore[arg-type]
settings.register_profile("fuzz", max_examples=5_000, **_COMMON)  # type: ignore[arg-type]
settings.load_profile(os.environ.get("BRENNER_HYPOTHESIS_PROFILE", "quick"))
