"""Random sequences of create, update, archive, merge and associate against a small model of the documented semantics."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from services.crm.errors import CrmRefusal
from services.crm.kinds import BY_NAME
from services.crm.operations import associations, batches, merging, records, search, showing
from services.crm.operations.search import Filter, Search
from services.crm.product import product
from services.kernel.forks import Forks
from services.kernel.template import Template
from services.kernel.world import World

STAGES = ("subscriber", "lead", "opportunity", "customer")
EMAILS = tuple(f"{name}@hollispine.com" for name in ("ana", "ben", "cleo", "dov"))
CITIES = ("Leeds", "LEEDS", "Ålesund", "ålesund", "")
KINDS = ("contacts", "companies")
SEQUENCES = 300


class Model:
    """The documented semantics, in dicts."""

    def __init__(self) -> None:
        self.values: dict[int, dict[str, str]] = {}
        self.kinds: dict[int, str] = {}
        self.archived: set[int] = set()
        self.merged: dict[int, int] = {}
        self.ties: set[tuple[int, int]] = set()
        self.further: dict[int, list[str]] = {}

    def live(self, record: int) -> int | None:
        """The record that answers for this id."""
        while record in self.merged:
            record = self.merged[record]
        return None if record in self.archived or record not in self.values else record

    def holder(self, email: str) -> int | None:
        for record in sorted(self.values):
            if record in self.archived or self.kinds[record] != "contacts":
                continue
            if email == self.values[record].get("email") or email in self.further.get(record, []):
                return record
        return None

    def may_take(self, email: str | None, own: int | None) -> bool:
        return not email or self.holder(email) in (None, own)

    def write(self, record: int, given: dict[str, str]) -> None:
        values = dict(self.values.get(record, {}))
        for name, value in given.items():
            if name == "lifecyclestage" and value and name in values:
                value = max(value, values[name], key=STAGES.index)
            values[name] = value
        self.values[record] = {name: value for name, value in values.items() if value}

    def merge(self, winner: int, loser: int) -> None:
        mine, theirs = self.values[winner], self.values[loser]
        self.values[winner] = {**theirs, **mine}
        if self.kinds[winner] == "contacts":
            addresses = [*self.further.get(winner, []), *self.further.get(loser, []), theirs.get("email", "")]
            kept = self.values[winner].get("email")
            self.further[winner] = list(dict.fromkeys(one for one in addresses if one and one != kept))
        moved = {one for one in self.ties if loser in one}
        self.ties -= moved
        for one, other in moved:
            pair = (winner if one == loser else one, winner if other == loser else other)
            if pair[0] != pair[1]:
                self.ties.add(pair)
        self.archived.add(loser)
        self.merged[loser] = winner


class Account(RuleBasedStateMachine):
    """One world and its model, moved in step."""

    folder: Path
    known = Bundle("known")

    def __init__(self) -> None:
        super().__init__()
        self.template = Template(self.folder / "worlds" / "crm-standard.sqlite", product.schema)
        self.forks = Forks(self.template)
        self.world = World(self.forks.take(), seed=1)
        self.world.actor = "agent"
        self.model = Model()

    def teardown(self) -> None:
        self.forks.close()
        self.template.close()

    @initialize(target=known)
    def begin(self) -> Any:
        """Four people at two companies, so that a merge has something to move from the start."""
        people = [self._created("contacts", {"city": city}) for city in ("Leeds", "Ålesund", "LEEDS", "Ulm")]
        firms = [self._created("companies", {"name": name}) for name in ("Hollis & Pine", "Pine & Hollis")]
        for person, firm in ((people[0], firms[0]), (people[1], firms[1])):
            self.associate(person, firm, tied=True)
        return multiple(*people, *firms)

    @rule(
        target=known, email=st.sampled_from((*EMAILS, "")), stage=st.sampled_from(STAGES), city=st.sampled_from(CITIES)
    )
    def create_contact(self, email: str, stage: str, city: str) -> Any:
        given = {"email": email, "lifecyclestage": stage, "city": city}
        if not self.model.may_take(email, None):
            self._refused(lambda: records.create(self.world, BY_NAME["contacts"], given))
            return multiple()
        return self._created("contacts", given)

    @rule(record=known, email=st.sampled_from((*EMAILS, "", None)), stage=st.sampled_from((*STAGES, "", None)), city=st.sampled_from(CITIES))  # fmt: skip
    def update(self, record: int, email: str | None, stage: str | None, city: str) -> None:
        kind = self.model.kinds[record]
        given = {"city": city}
        if kind == "contacts":
            given |= {"email": email} if email is not None else {}
        given |= {"lifecyclestage": stage} if stage is not None else {}
        target = self.model.live(record)

        def write() -> None:
            row = records.read(self.world, BY_NAME[kind], str(record))
            records.update(self.world, BY_NAME[kind], row, given)

        if target is None or (kind == "contacts" and not self.model.may_take(given.get("email"), target)):
            self._refused(write)
            return
        self._request(write)
        self.model.write(target, given)

    @rule(record=known, really=st.sampled_from((False, False, True)))
    def archive(self, record: int, really: bool) -> None:
        if not really:
            return
        kind = BY_NAME[self.model.kinds[record]]
        target = self.model.live(record)
        self._request(lambda: batches.archive(self.world, kind, [str(record)]))
        if target is not None:
            self.model.archived.add(target)

    @rule(winner=known, loser=known)
    def merge(self, winner: int, loser: int) -> None:
        kind = self.model.kinds[winner]
        one, other = self.model.live(winner), self.model.live(loser)

        def merge() -> None:
            merging.merge(self.world, BY_NAME[kind], str(winner), str(loser))

        if one is None or other is None or one == other or self.model.kinds[other] != kind:
            self._refused(merge)
            return
        self._request(merge)
        self.model.merge(one, other)

    @rule(one=known, other=known, tied=st.booleans())
    def associate(self, one: int, other: int, tied: bool) -> None:
        kinds = [self.model.kinds[record] for record in (one, other)]
        possible = one != other and all(self.model.live(record) == record for record in (one, other))

        def change() -> None:
            here, there = (
                associations.live(self.world, BY_NAME[kind], str(record))
                for record, kind in zip((one, other), kinds, strict=True)
            )
            if tied:
                associations.tie(self.world, here, there, [])
            else:
                associations.untie(self.world, here["id"], BY_NAME[kinds[1]], there["id"])

        if not possible and (tied or one != other or self.model.live(one) != one):
            self._refused(change)
            return
        self._request(change)
        pairs = {(one, other), (other, one)}
        self.model.ties = self.model.ties | pairs if tied else self.model.ties - pairs

    @invariant()
    def every_record_reads_as_the_model_says(self) -> None:
        for record, kind in self.model.kinds.items():
            row = records.find(self.world, BY_NAME[kind], str(record))
            target = self.model.live(record)
            assert (None if row is None else row["id"]) == target
            if row is not None and target is not None:
                held = {
                    name: row["properties"][name]
                    for name in ("email", "lifecyclestage", "city")
                    if name in row["properties"]
                }
                wanted = {
                    name: self.model.values[target][name]
                    for name in ("email", "lifecyclestage", "city")
                    if name in self.model.values[target]
                }
                assert held == wanted

    @invariant()
    def ties_go_both_ways_and_lead_where_the_model_says(self) -> None:
        for record, kind in self.model.kinds.items():
            if self.model.live(record) != record:
                continue
            wanted = {other for one, other in self.model.ties if one == record and other not in self.model.archived}
            found: set[int] = set()
            for to_kind in KINDS:
                ends = associations.ends(self.world, [record], to_kind).get(record, [])
                found |= {end.to_id for end in ends}
            assert found == wanted, (record, kind)

    @invariant()
    def a_search_finds_what_reading_shows(self) -> None:
        for city in ("leeds", "ålesund"):
            asked = Search(groups=((Filter("city", "EQ", city),),), limit=200)
            found = {int(row["id"]) for row in search.search(self.world, BY_NAME["contacts"], asked).results}
            wanted = {
                record
                for record, values in self.model.values.items()
                if self.model.kinds[record] == "contacts"
                and record not in self.model.archived
                and values.get("city", "").casefold() == city
            }
            assert found == wanted

    @invariant()
    def what_is_shown_is_what_is_held(self) -> None:
        for record in sorted(self.model.values)[-1:]:
            kind = BY_NAME[self.model.kinds[record]]
            row = records.find(self.world, kind, str(record))
            if row is not None:
                shown = showing.show_whole(self.world, kind, row)
                assert shown["properties"].get("hs_object_id") == str(row["id"])

    def _created(self, kind: str, given: dict[str, str]) -> int:
        made: list[int] = []
        self._request(lambda: made.append(records.create(self.world, BY_NAME[kind], given)["id"]))
        self.model.kinds[made[0]] = kind
        self.model.write(made[0], given)
        return made[0]

    def _request(self, act: Callable[[], Any]) -> None:
        self.world.clock.tick()
        self.world.begin()
        act()
        self.world.keep()

    def _refused(self, act: Callable[[], Any]) -> None:
        self.world.clock.tick()
        self.world.begin()
        with pytest.raises(CrmRefusal):
            act()
        self.world.undo()


@pytest.mark.slow
def test_three_hundred_sequences_agree_with_the_model(folder: Path) -> None:
    Account.folder = folder
    run_state_machine_as_test(
        Account,
        settings=settings(
            max_examples=SEQUENCES,
            stateful_step_count=25,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
