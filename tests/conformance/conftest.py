"""Failed comparisons in the kinds of cases are shown in full, as those in tests are."""

import pytest

pytest.register_assert_rewrite(
    "conformance.artifact_kind",
    "conformance.lint_kind",
    "conformance.mail_expectations",
    "conformance.mail_kind",
    "conformance.mail_scene",
    "conformance.roster_kind",
    "conformance.server_actions",
    "conformance.server_kind",
    "conformance.server_scene",
    "conformance.server_backends",
    "conformance.server_expectations",
    "conformance.session_actions",
    "conformance.session_compile",
    "conformance.session_expectations",
    "conformance.session_kind",
    "conformance.session_scene",
    "conformance.session_shorthand",
    "conformance.store_kind",
    "conformance.thread_kind",
    "conformance.web_kind",
    "conformance.scene_stores",
)
