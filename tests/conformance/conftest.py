"""Failed comparisons in the kinds of cases are shown in full, as those in tests are."""

import pytest

pytest.register_assert_rewrite(
    "conformance.artifact_kind",
    "conformance.lint_kind",
    "conformance.mail_expectations",
    "conformance.mail_kind",
    "conformance.mail_scene",
    "conformance.thread_kind",
)
