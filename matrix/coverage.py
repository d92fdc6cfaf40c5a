"""What the table promises and does not keep: gaps, strays, and prose that says no fact. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from matrix import decide
from matrix.errors import Problem
from matrix.model import Backend, Case, Mechanism, Rule, Source, Table, Untestable
from matrix.proxied import words
from matrix.scene import Scene, Step, scene
from matrix.shape import near
from matrix.steps import FILL_IN, Attack

TITLE = 70  # characters
NO_FACT = re.compile(
    r"\b(should|shall|must|would|will|test that|tests that|check that|verify|ensure)\b", re.IGNORECASE
)

SYMBOL = re.compile(r"\$([A-Z0-9][A-Z0-9_]*)")
ATTACKS_OWN = frozenset({"MARKER", "PORT", "PROXY"})
"""What looks like an address's name in a request, and is filled in by the attack itself."""

Row = Case | Untestable


@dataclass(frozen=True, kw_only=True)
class Shipped:
    """The files that rows refer to, by the names that rows use."""

    attacks: Mapping[str, Attack]
    witnesses: frozenset[str]
    symbols: frozenset[str] = frozenset()  # names of addresses
    rules: tuple[Rule, ...] = ()
    complete: bool  # the table is the built-in one, so every attack needs a row in it


def broken(table: Table, shipped: Shipped) -> tuple[Problem, ...]:
    """What is repeated, unknown or unfinished in a table of the right shape: a run of it would lie."""
    rows: tuple[Row, ...] = (*table.cases, *table.untestable)
    return (
        *_repeated(table),
        *(problem for row in rows for problem in _mechanisms(row, table)),
        *(problem for case in table.cases for problem in _refers(case, shipped)),
        *(problem for case in table.cases for problem in _means(case)),
        *(problem for row in rows for problem in _unfilled(row)),
    )


def gaps(table: Table, shipped: Shipped) -> tuple[Problem, ...]:
    """What a table that is not broken leaves out, and titles that say no fact."""
    rows: tuple[Row, ...] = (*table.cases, *table.untestable)
    return (
        *(problem for row in rows for problem in _title(row)),
        *(problem for mechanism in table.mechanisms for problem in _platforms(mechanism, table)),
        *((*_attacks(table, shipped), *_rules(table, shipped)) if shipped.complete else ()),
    )


def column_gaps(table: Table, backends: Iterable[Backend]) -> tuple[Problem, ...]:
    """Columns of several files that share an id, and words that no row or mechanism has."""
    found: list[Problem] = []
    first: dict[str, Backend] = {}
    cases = {case.id for case in table.cases}
    known = cases | {mechanism.id for mechanism in table.mechanisms}
    for backend in backends:
        if (earlier := first.setdefault(backend.id, backend)) is not backend:
            found.append(_twice(backend.id, earlier.source, backend.source))
        found += _unfilled(backend)
        for word in (*backend.claims.closes, *backend.claims.but) if backend.claims else ():
            if word not in known:
                what = f"claims {word!r}, which is no mechanism and no case"
                found.append(_problem("unknown-claim", backend, what, near(word, known)))
        for word in backend.listed:
            if word not in cases:
                what = f"lists {word!r}, which is no case"
                found.append(_problem("unknown-listed", backend, what, near(word, cases)))
        if backend.listed and not backend.wide_open:
            do = "add wide_open = true, or remove listed"
            found.append(_problem("stray-list", backend, "only a wide-open column lists what it holds", do))
    return tuple(found)


def _repeated(table: Table) -> Iterator[Problem]:
    """Claims name rows and mechanisms alike, so all their ids are of one kind."""
    first: dict[str, Source] = {mechanism.id: mechanism.source for mechanism in table.mechanisms}
    titles: dict[str, Row] = {}
    for name, count in _counted(mechanism.id for mechanism in table.mechanisms):
        if count > 1:
            yield _twice(name, first[name], first[name])
    for row in (*table.cases, *table.untestable):
        if row.id in first:
            yield _twice(row.id, first[row.id], row.source)
        first.setdefault(row.id, row.source)
        other = titles.setdefault(row.title, row)
        if other is not row:
            what = f"has the title of {other.id} ({other.source})"
            yield _problem("repeated-title", row, what, "say what is different about this one")


def _twice(name: str, first: Source, second: Source) -> Problem:
    what = f"the id is taken by {first}"
    return Problem(kind="repeated-id", where=second, id=name, what=what, do="give this one another id")


def _title(row: Row) -> Iterator[Problem]:
    title = row.title
    if FILL_IN in title:
        return
    if len(title) > TITLE:
        yield _problem("long-title", row, f"the title has {len(title)} characters", f"keep to {TITLE}")
    if found := NO_FACT.search(title):
        what = f"the title says {found[0]!r}"
        yield _problem("no-fact", row, what, "state in the present tense what is so when the attack gets out")
    if title[0].islower() or (title.endswith(".") and not title.endswith("..")):
        what = "the title is no headline"
        yield _problem("bad-title", row, what, "begin with a capital and end without a full stop")


def _mechanisms(row: Row, table: Table) -> Iterator[Problem]:
    known = {mechanism.id: mechanism for mechanism in table.mechanisms}
    for name in (row.mechanism,) if isinstance(row, Case) else row.mechanisms:
        if name not in known:
            yield _problem("unknown-mechanism", row, f"there is no mechanism {name!r}", near(name, known))
            continue
        for platform in set(row.platforms) - set(known[name].platforms) - {"kubernetes"}:
            what = f"names {platform}, which the mechanism {name} does not"
            do = f"add {platform} to the mechanism's platforms, or remove it here"
            yield _problem("stray-platform", row, what, do)


def _refers(case: Case, shipped: Shipped) -> Iterator[Problem]:
    """What a row names that is nowhere: rules, addresses, and, if it starts something, files."""
    for rule in case.rules:
        if rule not in (known := {each.id for each in shipped.rules}):
            yield _problem("unknown-rule", case, f"there is no rule {rule!r}", near(rule, known))
    named = {name for text in words(case.plant) for name in SYMBOL.findall(text)}
    for name in sorted(named - shipped.symbols - ATTACKS_OWN):
        what = f"there is no address {'$' + name!r} in addresses.json"
        yield _problem("unknown-symbol", case, what, near(name, shipped.symbols))
    if case.subject != "decision":
        yield from _files(case, shipped)


def _means(case: Case) -> Iterator[Problem]:
    """A row about lists that could not fail, or says two things at once."""
    if case.subject == "decision":
        if why := decide.blind(case.plant):
            do = "ask something beside it that must be answered the other way"
            yield _problem("no-contrast", case, f"it tells nobody apart: {why}", do)
    elif case.proxied:
        staged = scene(case.plant)
        for step in staged.steps:
            yield from _says_one_thing(case, step)
        yield from _can_cross(case, staged)


def _says_one_thing(case: Case, step: Step) -> Iterator[Problem]:
    expect = step.expect
    said = [word for word in sorted({"allow", "deny", "error"}) if getattr(expect, word)]
    if not said and not step.change_refused:
        do = "add one of allow, deny, error"
        yield _problem("no-expectation", case, "expect does not say what comes of it", do)
    if len(said) > 1:
        yield _problem("contradiction", case, f"expect says {' and '.join(said)}", "keep one of them")
    if expect.allow in step.never_dial:
        what = f"{expect.allow} is to be reached, and never to be dialled"
        yield _problem("contradiction", case, what, "name another address in one of them")


def _can_cross(case: Case, staged: Scene) -> Iterator[Problem]:
    refused = any(step.expect.deny or step.expect.error for step in staged.steps)
    if refused and not (staged.never_dial or staged.never_send or staged.never_ask):
        what = "nothing shows that what is refused has not happened"
        yield _problem("no-oracle", case, what, "add never_dial, never_send or never_ask")


def _files(case: Case, shipped: Shipped) -> Iterator[Problem]:
    if case.witness not in shipped.witnesses:
        what = f"there is no witness {case.witness!r} in matrix/witnesses/"
        yield _problem("missing-witness", case, what, near(case.witness, shipped.witnesses))
    attack = shipped.attacks.get(case.attack)
    if attack is None:
        what = f"there is no attack {case.attack!r} in attacks/"
        yield _problem("missing-attack", case, what, near(case.attack, shipped.attacks))
    elif not attack.problem and not attack.names(case.decisive, case.args):
        what = f"attacks/{case.attack}.py never names the step {case.decisive!r}"
        yield _problem("unknown-step", case, what, near(case.decisive, attack.steps))


def _unfilled(row: Row | Backend) -> Iterator[Problem]:
    """Places that a scaffold marked and nobody has written."""
    if FILL_IN in repr(row):
        what = f"a place marked {FILL_IN} is still there"
        yield _problem("not-filled-in", row, what, "write what belongs there")


def _platforms(mechanism: Mechanism, table: Table) -> Iterator[Problem]:
    covered: set[str] = set()
    for case in table.cases:
        if case.mechanism == mechanism.id:
            covered |= {*case.platforms} | ({"kubernetes"} if "linux" in case.platforms else set())
    for row in table.untestable:
        if mechanism.id in row.mechanisms:
            covered |= {*row.platforms}
    for platform in mechanism.platforms:
        if platform not in covered:
            what = f"no row on {platform}"
            do = "write one, or an untestable one that says why nothing can run there"
            yield _problem("platform-without-row", mechanism, what, do)
    if "windows" not in mechanism.platforms:
        what, do = "windows is left out in silence", "add windows here and to the rows that say untested"
        yield _problem("no-windows", mechanism, what, do)


def _attacks(table: Table, shipped: Shipped) -> Iterator[Problem]:
    used = {case.attack for case in table.cases}
    for name, attack in shipped.attacks.items():
        where = Source(file=f"attacks/{name}.py", line=1)
        if attack.problem:
            do = "see CONTRIBUTING.md, Add a row"
            yield Problem(kind="bad-attack", where=where, id=name, what=attack.problem, do=do)
        if name not in used:
            do = f"write one with: escape-matrix new case ID --attack {name}"
            yield Problem(
                kind="attack-without-row", where=where, id=name, what="no row uses this attack", do=do
            )


def _rules(table: Table, shipped: Shipped) -> Iterator[Problem]:
    named = {rule for case in table.cases for rule in case.rules}
    for rule in shipped.rules:
        if rule.id not in named and not rule.unproved:
            what, do = "no row proves this rule", f'name it in a row: "rules": ["{rule.id}"]'
            yield _problem("rule-without-row", rule, what, do)
        elif rule.id in named and rule.unproved:
            what = "it says why no row proves it, and one does"
            yield _problem("stray-unproved", rule, what, "remove unproved")


def _counted(names: Iterable[str]) -> Iterator[tuple[str, int]]:
    found = [*names]
    return ((name, found.count(name)) for name in dict.fromkeys(found))


def _problem(kind: str, at: Row | Mechanism | Backend | Rule, what: str, do: str) -> Problem:
    return Problem(kind=kind, where=at.source, id=at.id, what=what, do=do)
