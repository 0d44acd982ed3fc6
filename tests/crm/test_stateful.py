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
from services.crm.object_types import BY_NAME
from services.crm.operations import associations, batches, merges, records, search, serialization
from services.crm.operations.search import Filter, SearchRequest
from services.crm.product import product
from services.crm.rows import ObjectTypeName, RecordId
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
        self.associated: set[tuple[int, int]] = set()
        self.additional_emails: dict[int, list[str]] = {}

    def live(self, record: int) -> int | None:
        """The record that answers for this id."""
        while record in self.merged:
            record = self.merged[record]
        return None if record in self.archived or record not in self.values else record

    def find_by_email(self, email: str) -> int | None:
        for record in sorted(self.values):
            if record in self.archived or self.kinds[record] != "contacts":
                continue
            if email == self.values[record].get("email") or email in self.additional_emails.get(record, []):
                return record
        return None

    def may_take(self, email: str | None, own: int | None) -> bool:
        return not email or self.find_by_email(email) in (None, own)

    def write(self, record: int, properties: dict[str, str]) -> None:
        values = dict(self.values.get(record, {}))
        for name, value in properties.items():
            if name == "lifecyclestage" and value and name in values:
                value = max(value, values[name], key=STAGES.index)
            values[name] = value
        self.values[record] = {name: value for name, value in values.items() if value}

    def merge(self, winner: int, loser: int) -> None:
        kept_values, added_values = self.values[winner], self.values[loser]
        self.values[winner] = {**added_values, **kept_values}
        if self.kinds[winner] == "contacts":
            addresses = [
                *self.additional_emails.get(winner, []),
                *self.additional_emails.get(loser, []),
                added_values.get("email", ""),
            ]
            kept = self.values[winner].get("email")
            self.additional_emails[winner] = list(dict.fromkeys(one for one in addresses if one and one != kept))
        moved = {one for one in self.associated if loser in one}
        self.associated -= moved
        for one, other in moved:
            pair = (winner if one == loser else one, winner if other == loser else other)
            if pair[0] != pair[1]:
                self.associated.add(pair)
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
        people = [self._create("contacts", {"city": city}) for city in ("Leeds", "Ålesund", "LEEDS", "Ulm")]
        firms = [self._create("companies", {"name": name}) for name in ("Hollis & Pine", "Pine & Hollis")]
        for person, firm in ((people[0], firms[0]), (people[1], firms[1])):
            self.associate(person, firm, tied=True)
        return multiple(*people, *firms)

    @rule(
        target=known, email=st.sampled_from((*EMAILS, "")), stage=st.sampled_from(STAGES), city=st.sampled_from(CITIES)
    )
    def create_contact(self, email: str, stage: str, city: str) -> Any:
        properties = {"email": email, "lifecyclestage": stage, "city": city}
        if not self.model.may_take(email, None):
            self._expect_refusal(lambda: records.create(self.world, BY_NAME["contacts"], properties))
            return multiple()
        return self._create("contacts", properties)

    @rule(record=known, email=st.sampled_from((*EMAILS, "", None)), stage=st.sampled_from((*STAGES, "", None)), city=st.sampled_from(CITIES))  # fmt: skip
    def update(self, record: int, email: str | None, stage: str | None, city: str) -> None:
        kind = self.model.kinds[record]
        properties = {"city": city}
        if kind == "contacts":
            properties |= {"email": email} if email is not None else {}
        properties |= {"lifecyclestage": stage} if stage is not None else {}
        target = self.model.live(record)

        def write() -> None:
            row = records.read(self.world, BY_NAME[kind], str(record))
            records.update(self.world, BY_NAME[kind], row, properties)

        if target is None or (kind == "contacts" and not self.model.may_take(properties.get("email"), target)):
            self._expect_refusal(write)
            return
        self._request(write)
        self.model.write(target, properties)

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
            merges.merge(self.world, BY_NAME[kind], str(winner), str(loser))

        if one is None or other is None or one == other or self.model.kinds[other] != kind:
            self._expect_refusal(merge)
            return
        self._request(merge)
        self.model.merge(one, other)

    @rule(one=known, other=known, tied=st.booleans())
    def associate(self, one: int, other: int, tied: bool) -> None:
        kinds = [self.model.kinds[record] for record in (one, other)]
        possible = one != other and all(self.model.live(record) == record for record in (one, other))

        def change() -> None:
            source, target = (
                associations.require_record(self.world, BY_NAME[kind], str(record))
                for record, kind in zip((one, other), kinds, strict=True)
            )
            if tied:
                associations.add(self.world, source, target, [])
            else:
                associations.remove(self.world, source, target)

        if not possible and (tied or one != other or self.model.live(one) != one):
            self._expect_refusal(change)
            return
        self._request(change)
        pairs = {(one, other), (other, one)}
        self.model.associated = self.model.associated | pairs if tied else self.model.associated - pairs

    @invariant()
    def every_record_reads_as_the_model_says(self) -> None:
        for record, kind in self.model.kinds.items():
            row = records.find(self.world, BY_NAME[kind], str(record))
            target = self.model.live(record)
            assert (None if row is None else row["id"]) == target
            if row is not None and target is not None:
                stored = {
                    name: row["properties"][name]
                    for name in ("email", "lifecyclestage", "city")
                    if name in row["properties"]
                }
                wanted = {
                    name: self.model.values[target][name]
                    for name in ("email", "lifecyclestage", "city")
                    if name in self.model.values[target]
                }
                assert stored == wanted

    @invariant()
    def associations_go_both_ways_and_lead_where_the_model_says(self) -> None:
        for record, kind in self.model.kinds.items():
            if self.model.live(record) != record:
                continue
            wanted = {
                other for one, other in self.model.associated if one == record and other not in self.model.archived
            }
            found: set[int] = set()
            for to_kind in KINDS:
                targets = associations.list_targets(self.world, RecordId(record), ObjectTypeName(to_kind))
                found |= {target.to_id for target in targets}
            assert found == wanted, (record, kind)

    @invariant()
    def a_search_finds_what_reading_shows(self) -> None:
        for city in ("leeds", "ålesund"):
            request = SearchRequest(groups=((Filter("city", "EQ", city),),), limit=200)
            found = {int(row["id"]) for row in search.search(self.world, BY_NAME["contacts"], request).results}
            wanted = {
                record
                for record, values in self.model.values.items()
                if self.model.kinds[record] == "contacts"
                and record not in self.model.archived
                and values.get("city", "").casefold() == city
            }
            assert found == wanted

    @invariant()
    def an_answer_has_the_id_of_its_row(self) -> None:
        for record in sorted(self.model.values)[-1:]:
            kind = BY_NAME[self.model.kinds[record]]
            row = records.find(self.world, kind, str(record))
            if row is not None:
                body = serialization.serialize_whole(self.world, kind, row)
                assert body["properties"].get("hs_object_id") == str(row["id"])

    def _create(self, kind: str, properties: dict[str, str]) -> int:
        created_ids: list[int] = []
        self._request(lambda: created_ids.append(records.create(self.world, BY_NAME[kind], properties)["id"]))
        self.model.kinds[created_ids[0]] = kind
        self.model.write(created_ids[0], properties)
        return created_ids[0]

    def _request(self, act: Callable[[], Any]) -> None:
        self.world.clock.tick()
        self.world.begin()
        act()
        self.world.keep()

    def _expect_refusal(self, act: Callable[[], Any]) -> None:
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
