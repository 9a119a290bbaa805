"""The merge once more: small, slow, written from the specification alone (companion 2, R4 to R21).

Nothing is kept between versions. Each time the whole thread is played from the beginning, block by
block, on plain dicts. Where the specification leaves something open, a comment that begins with
"Reading:" says what is taken here.
"""

from copy import deepcopy
from typing import cast

from brenner.markdown.blocks import parse_blocks
from brenner.markdown.escape import read_fields
from brenner.protocol.body import find_section, find_title, normalise_heading, parse_sections
from brenner.protocol.delta.parse import attach_repairs, read_deltas
from brenner.protocol.delta.schema import SECTIONS, Delta, DeltaBlock
from brenner.protocol.grammar import VERSION
from brenner.protocol.messages import StoredMessage, iso, thread_order_key
from brenner.protocol.subjects import parse_subject
from laws.reference_fields import NOT_APPLICABLE, disagree, kill, write
from laws.reference_ids import REFUSED, Meaning, translate
from laws.reference_model import Applied, Compiled, Item, Letter, Line, Model, Source
from laws.reference_views import one_each, views_of

MOST_ACTIVE = 6
LEAST = {"H": 3, "P": 3, "T": 2, "A": 3, "C": 2}


def replay(
    thread_id: str,
    rounds: list[list[StoredMessage]],
    published: list[Compiled],
    roster: set[str] | None = None,
) -> Model:
    """The whole thread: the messages of each round, and the COMPILED messages between them."""
    model = Model(thread_id)
    for version, messages in enumerate(rounds, 1):
        model.counts.append({prefix: model.count(prefix) for prefix in "HPTAXC"})
        model.ledger, model.warnings = [], set()
        for posted in sorted(messages, key=thread_order_key):
            subject = parse_subject(posted.message.subject)
            if subject and subject.type == "KICKOFF":
                _kickoff(model, posted, version)
            elif subject and subject.type == "DELTA":
                model = _play(model, posted, version, published[: version - 1])
                _note(model, posted, str(subject.role))
                if roster is not None and posted.message.sender not in roster:
                    model.warnings.add("UNKNOWN_AGENT")
            if subject and subject.type in ("KICKOFF", "DELTA") and not model.created_at:
                model.created_at = iso(posted.at)
        _warn(model)
    return model


def _note(model: Model, posted: StoredMessage, role: str) -> None:
    """Who contributed, and when last: a message of which at least one block was applied.

    Reading: a late message does not set the clock back.
    """
    if any(line.message_id == posted.id and line.state == "applied" for line in model.ledger):
        model.contributors.add(role)
        model.updated_at = max(model.updated_at or "", iso(posted.at))


def _warn(model: Model) -> None:
    """The warnings after a merge."""
    if not any(("third_alternative",) in item.leaves for item in model.active("H")):
        model.warnings.add("NO_THIRD_ALTERNATIVE")
    if not any(("scale_check",) in item.leaves for item in model.active("A")):
        model.warnings.add("NO_SCALE_CHECK")
    if any(len(model.active(prefix)) < least for prefix, least in LEAST.items()):
        model.warnings.add("BELOW_MINIMUM")
    # Reading: where an EDIT has given the question, nothing is missing.
    if ("statement",) not in model.items["RT"].leaves:
        model.warnings.add("NO_KICKOFF")


def _kickoff(model: Model, posted: StoredMessage, version: int) -> None:
    """R15: the first one with a question fills what is empty; a different question is told."""
    found = parse_blocks(posted.message.body)
    asked, context = (
        find_section(parse_sections(found), name) for name in ("Research Question", "Context")
    )
    heading = find_title(found)
    if asked is None and heading is None:
        return
    question = asked.first_line if asked else heading.text.strip() if heading else ""
    rt = model.items["RT"].leaves
    is_first, model.asked = not model.asked, True
    if is_first:
        model.step += 1
        source = Source(posted.id, posted.message.sender, 0, version, "KICKOFF")
        filled = {"statement": question, "context": context.first_line if context else None}
        for name, text in filled.items():
            if (name,) not in rt:
                model.put("RT", (name,), text, source)
                if (dispute := model.conflicts.get(("RT", (name,)))) and text:
                    dispute.value, dispute.source = text, source  # it is no edit: it closes nothing
    if rt.get(("statement",)) != question:
        model.warnings.add("QUESTION_DIFFERS")


def _play(model: Model, posted: StoredMessage, version: int, published: list[Compiled]) -> Model:
    """One DELTA message. What its blocks name may be added by a later block, so what becomes of
    the ADDs is guessed, the message is played, and where it came otherwise, played again.
    """
    stated = _stated(posted.message.body)
    latest = version - 1
    if stated is not None and stated > latest:
        model.warnings.add("AP-009")
        stated = None
    before = [
        number
        for number, compiled in enumerate(published, 1)
        if (compiled.at, compiled.id) < (posted.at, posted.id)
    ]
    base = max(before, default=0) if stated is None else stated
    read = read_deltas(posted.message.body, model.thread_id)
    # Reading: what stood before her message, and which of hers are earlier, go by the order of the
    # thread and by what was published: a late message knows nothing of what was sent after it.
    seen = max([base, *before])
    standing = [
        done
        for done in model.adds()
        if done.place < thread_order_key(posted) or done.version <= seen
    ]
    views = views_of(model, posted, read, standing, (base, stated is not None))
    letter = Letter(posted, read, base, version, views)
    guess = _guesses(model, letter)
    for _ in range(20):
        played, outcome = _attempt(model, letter, guess)
        if outcome == guess:
            return played
        guess = outcome
    raise Paradox(posted)


class Paradox(Exception):
    """An ADD that can be applied only if it is refused: no outcome agrees with itself.

    One way: five hypotheses are active, and a message adds two, the first with a reference to the
    second. If the first is applied there is no room for the second, so the first is refused.
    """


def _stated(body: str) -> int | None:
    """R11: the base that the message states, the first that is a version."""
    for each in read_fields(parse_blocks(body)):
        if normalise_heading(each.name) == "base version" and (
            match := VERSION.fullmatch(each.value)
        ):
            return int(match[1])
    return None


def _guesses(model: Model, letter: Letter) -> dict[int, str]:
    """A first guess of what each ADD becomes: the item of an equal one of hers, or a new item.

    Any guess would do but for ADDs that name each other: guessed new, they would seem new.
    """
    guesses: dict[int, str] = {}
    for block in letter.read:
        delta = block.delta
        guesses[block.number] = REFUSED
        if delta is not None and delta.operation == "ADD":
            equal = [
                done
                for done in model.adds()
                if (done.written.section, done.written.payload) == (delta.section, delta.payload)
                and done.sender == letter.sender
                and model.items[done.item].killed is None
            ]
            first = one_each(equal, list(guesses.values()))
            guesses[block.number] = first.item if first else f"new {block.number}"
    return guesses


def _attempt(model: Model, letter: Letter, guess: dict[int, str]) -> tuple[Model, dict[int, str]]:
    """Play the message on a copy; what a later block becomes is guessed. And what became of all."""
    played = deepcopy(model)
    lines: dict[int, Line] = {}
    for block in _in_turn(letter):
        played.step += 1
        known = {number: line.assigned or REFUSED for number, line in lines.items()}
        taken = [line.item for line in lines.values() if line.state == "duplicate"]
        lines[block.number] = _block(played, letter, block, guess | known, taken)
    played.ledger += [lines[block.number] for block in letter.read]
    return played, {number: line.assigned or REFUSED for number, line in lines.items()}


def _in_turn(letter: Letter) -> list[DeltaBlock]:
    """Block by block; but an EDIT or KILL of an item that a later block adds waits for that ADD."""
    ordered: list[DeltaBlock] = []
    waiting: dict[Meaning, list[DeltaBlock]] = {}
    for block in letter.read:
        target = block.delta.target_id if block.delta else None
        meant = letter.views.meaning(target) if target else None
        if isinstance(meant, int) and meant > block.number:
            waiting.setdefault(meant, []).append(block)
        else:
            ordered += [block, *waiting.pop(block.number, [])]
    return ordered


def _block(
    model: Model,
    letter: Letter,
    block: DeltaBlock,
    guess: dict[int, str],
    taken: list[str | None],
) -> Line:
    """One block ends applied, refused or duplicate (R7)."""
    codes = {found.id for found in block.diagnostics}
    state, item, rewrites, mentions = "refused", None, [], (False, False)
    if block.delta is not None:
        meant = translate(block.number, block.delta, letter.views, guess)
        codes |= meant.warnings | meant.errors
        delta, mentions = meant.delta, meant.mentions
        if not meant.errors:
            first = _first(model, letter, delta, taken)
            errors = set() if first else _refusals(model, letter, delta)
            codes |= errors
            if first:
                state, item = "duplicate", first.item
                codes.add("DUPLICATE_BLOCK")
            elif not errors:
                state, rewrites = "applied", meant.rewrites
                item, told = _apply(model, letter, block, delta)
                codes |= told
    is_add = block.delta is not None and block.delta.operation == "ADD"
    # Of a refused block with a certain repair, the ledger shows what the author meant to write.
    (tried,) = attach_repairs([block])
    repaired = next((each.repaired for each in tried.diagnostics if each.repaired), None)
    shown = read_deltas(repaired)[0] if repaired else block
    return Line(
        letter.posted.id,
        block.number,
        letter.sender,
        shown.written("operation"),
        shown.written("section"),
        shown.written("target_id"),
        state,
        item if is_add else None,
        item,
        tuple(rewrites),
        frozenset(codes),
        mentions,
    )


def _first(model: Model, letter: Letter, delta: Delta, taken: list[str | None]) -> Applied | None:
    """R8: the applied block of an earlier message of hers that this one repeats."""
    equal = [
        done
        for done in model.applied
        if (done.sender, done.delta._replace(rationale="", local_id=None))
        == (letter.sender, delta._replace(rationale="", local_id=None))
        and done.place[1] != letter.posted.id
    ]
    if delta.operation == "ADD":
        active = [done for done in equal if model.items[done.item].killed is None]
        return one_each(active, taken)
    still = [done for done in equal if not _changed_by_her(model, done, delta)]
    return next((done for done in still if done.base == letter.base), None)


def _changed_by_her(model: Model, first: Applied, delta: Delta) -> bool:
    """Whether she has said something else since, of anything that the EDIT is about.

    Reading: to say the same again is no change, whatever others have said meanwhile.
    """
    return any(
        done.step > first.step
        and (done.sender, done.item, done.delta.operation) == (first.sender, first.item, "EDIT")
        and disagree(done.delta, delta)
        for done in model.applied
    )


def _refusals(model: Model, letter: Letter, delta: Delta) -> set[str]:
    """Why a block whose IDs are all known cannot be applied to the artifact as it stands."""
    if "conclusion" in delta.payload and letter.sender != "Operator":
        return {"OPERATOR_ONLY_FIELD"}
    if delta.operation == "ADD":
        if delta.section == "hypothesis_slate" and len(model.active("H")) >= MOST_ACTIVE:
            return {"SECTION_LIMIT_EXCEEDED"}
    elif delta.operation == "EDIT" and model.items[str(delta.target_id)].killed:
        return {"TARGET_KILLED"}
    killed = model.killed_hypotheses()
    cells = cast("dict[str, str]", delta.payload.get("predictions", {}))
    if any(key in killed and text != NOT_APPLICABLE for key, text in cells.items()):
        return {"TARGET_KILLED"}
    return set()


def _apply(model: Model, letter: Letter, block: DeltaBlock, delta: Delta) -> tuple[str, set[str]]:
    """Change the artifact; the item, and what is to be told of it."""
    source = letter.source(block, delta)
    name = delta.target_id
    if name is None:
        prefix = SECTIONS[delta.section].prefix
        name = f"{prefix}{model.count(prefix) + 1}"
        model.items[name] = Item(delta.section)
    model.applied.append(
        Applied(
            model.step,
            thread_order_key(letter.posted),
            letter.sender,
            letter.base,
            letter.version,
            cast("Delta", block.delta),
            delta,
            name,
        )
    )
    if delta.operation == "KILL":
        return name, kill(model, letter, name, str(delta.payload["reason"]), source)
    return name, write(model, letter, name, delta, source)
