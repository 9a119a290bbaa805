"""Two messages and an agent, and the archives that hold them, as they must look."""

import io
from datetime import UTC, datetime

from brenner.diagnostics.codes.stores import INVALID_RECORD
from brenner.diagnostics.model import Diagnostic
from brenner.mail.archive import jsonl
from brenner.mail.archive.jsonl import ArchiveEntry
from brenner.mail.model import Agent, MessageRecord
from brenner.protocol.messages import (
    Envelope,
    Importance,
    Message,
    StoredMessage,
    Trust,
    content_hash,
)

THREAD = "RS-20251230-cell-fate"
AT = datetime(2025, 12, 30, 14, 22, 5, tzinfo=UTC)
AGENT = Agent("BlueLake", "codex-cli", "gpt-5", "tests", AT)


def record(number: int = 1, subject: str = "INFO: Hello", body: str = "Hello.\n") -> MessageRecord:
    """A message as it comes out of an archive that holds nothing else."""
    message = Message(THREAD, "BlueLake", ("RedCreek", "Operator"), subject, body)
    stored = StoredMessage(number, AT, message, content_hash(message), 1, number)
    return MessageRecord(stored._replace(is_local=False, envelope=Envelope(trust=Trust.UNVERIFIED)))


ANSWER = record(2, "QUESTION: Wie süß?", "No end")
ANSWER = ANSWER._replace(
    stored=ANSWER.stored._replace(
        at=AT.replace(microsecond=120),
        message=ANSWER.stored.message._replace(ack_required=False),
        arrival=2,
        origin_id=7,
        reply_to=1,
        acknowledges=(1, 5),
        envelope=Envelope(Importance.HIGH, ("Operator",), Trust.UNVERIFIED),
    ),
    read_at=(("RedCreek", AT), ("Operator", AT)),
)
BOTH = (record(), ANSWER)

LINES = r"""
{"format":"brenner-mail","version":1}
{"agent":"BlueLake","program":"codex-cli","model":"gpt-5","task":"tests","registered_at":"2025-12-30T14:22:05Z"}
{"id":1,"origin_id":1,"at":"2025-12-30T14:22:05Z","hash":"HASH 1","thread_id":"RS-20251230-cell-fate","from":"BlueLake","to":["RedCreek","Operator"],"subject":"INFO: Hello","body":"Hello.\n","ack_required":null,"reply_to":null,"acknowledges":[],"read":{},"local":false,"trust":"unverified"}
{"id":2,"origin_id":7,"at":"2025-12-30T14:22:05.000120Z","hash":"HASH 2","thread_id":"RS-20251230-cell-fate","from":"BlueLake","to":["RedCreek","Operator"],"subject":"QUESTION: Wie süß?","body":"No end","ack_required":false,"reply_to":1,"acknowledges":[1,5],"read":{"RedCreek":"2025-12-30T14:22:05Z","Operator":"2025-12-30T14:22:05Z"},"local":false,"importance":"high","cc":["Operator"],"trust":"unverified"}
{"end":2}
"""  # noqa: E501  (a line is a line)
MAILS = """
From BlueLake@brenner.invalid Tue Dec 30 14:22:05 2025
Content-Type: text/plain; charset="utf-8"
MIME-Version: 1.0
Content-Transfer-Encoding: 7bit
From: BlueLake <BlueLake@brenner.invalid>
To: RedCreek <RedCreek@brenner.invalid>, Operator <Operator@brenner.invalid>
Subject: INFO: Hello
Date: Tue, 30 Dec 2025 14:22:05 +0000
Message-ID: <1.7f456d99935e1c41@brenner.invalid>
X-Brenner-Id: 1
X-Brenner-Origin-Id: 1
X-Brenner-At: 2025-12-30T14:22:05Z
X-Brenner-Hash: HASH 1
X-Brenner-Thread-Id: RS-20251230-cell-fate
X-Brenner-Trust: unverified

Hello.

From BlueLake@brenner.invalid Tue Dec 30 14:22:05 2025
Content-Type: text/plain; charset="utf-8"
MIME-Version: 1.0
Content-Transfer-Encoding: 7bit
From: BlueLake <BlueLake@brenner.invalid>
To: RedCreek <RedCreek@brenner.invalid>, Operator <Operator@brenner.invalid>
Subject: =?utf-8?b?UVVFU1RJT046IFdpZSBzw7zDnz8=?=
Date: Tue, 30 Dec 2025 14:22:05 +0000
Message-ID: <2.7f456d99935e1c41@brenner.invalid>
In-Reply-To: <1.7f456d99935e1c41@brenner.invalid>
References: <1.7f456d99935e1c41@brenner.invalid>
X-Brenner-Id: 2
X-Brenner-Origin-Id: 7
X-Brenner-At: 2025-12-30T14:22:05.000120Z
X-Brenner-Hash: HASH 2
X-Brenner-Thread-Id: RS-20251230-cell-fate
X-Brenner-Ack-Required: false
X-Brenner-Reply-To: 1
X-Brenner-Acknowledges: 1, 5
X-Brenner-Read: RedCreek 2025-12-30T14:22:05Z, Operator 2025-12-30T14:22:05Z
X-Brenner-Importance: high
X-Brenner-Cc: Operator
X-Brenner-Trust: unverified

No end

"""


def filled(text: str) -> str:
    """The text with the hashes in it."""
    first, second = (each.stored.content_hash for each in BOTH)
    return text.removeprefix("\n").replace("HASH 1", first).replace("HASH 2", second)


def from_lines(content: bytes) -> list[ArchiveEntry]:
    """What JSON lines hold."""
    return list(jsonl.decode(io.BytesIO(content), "mail.jsonl"))


def told(items: list[ArchiveEntry]) -> list[tuple[str, int | None, str]]:
    """The diagnostics: code, line, words."""
    return [(each.id, each.line, each.message) for each in items if isinstance(each, Diagnostic)]


def words(reason: str) -> str:
    """What INVALID_RECORD says for a reason."""
    return INVALID_RECORD.at(reason=reason).message
