"""Each check holds where it should, fails where it should, and says why."""

from fractions import Fraction

import pytest

from services.crm.checks import checks
from services.crm.object_types import BY_NAME
from services.crm.operations import associations, merges, records
from services.kernel.checks import Finding, parse
from services.kernel.world import World
from tests.crm.account import COMPANIES, CONTACTS, DEALS, NOTES, TICKETS

CONTACT, COMPANY, DEAL = BY_NAME["contacts"], BY_NAME["companies"], BY_NAME["deals"]


@pytest.fixture(autouse=True)
def the_agent_works(world: World) -> None:
    world.actor = "agent"


def ask(world: World, name: str, **arguments: object) -> Finding:
    return parse(checks, name, arguments).run(world)


def update(world: World, record_id: int, **properties: str) -> None:
    row = records.read(world, CONTACT, str(record_id))
    records.update(world, CONTACT, row, properties)


def test_a_record_has_values_in_part(world: World) -> None:
    update(world, CONTACTS, phone="+49 30 1", jobtitle="")

    finding = ask(
        world, "RecordHasValues", record_id=CONTACTS, values={"phone": "+49 30 1", "jobtitle": "", "city": "Ulm"}
    )

    assert finding.score == Fraction(2, 3)
    assert "'city': None" in finding.because


def test_an_archived_record_has_no_values(world: World) -> None:
    records.archive(world, records.read(world, CONTACT, str(CONTACTS)))

    finding = ask(world, "RecordHasValues", record_id=CONTACTS, values={"firstname": "Marta"})

    assert (finding.score, finding.because) == (0, f"record {CONTACTS} is gone")


def test_a_record_exists_by_its_values(world: World) -> None:
    assert ask(world, "RecordExists", kind="contacts", values={"lastname": "brandt", "jobtitle": ""}).held
    assert not ask(world, "RecordExists", kind="contacts", values={"lastname": "Nobody"}).held


def test_a_new_record_is_one_that_the_agent_made(world: World) -> None:
    arguments = {"kind": "contacts", "values": {"lastname": "Brandt", "city": "Ulm"}, "new": True}
    update(world, CONTACTS, city="Ulm")
    before = ask(world, "RecordExists", **arguments)

    made = records.create(world, CONTACT, {"email": "b@corvane.eu", "lastname": "Brandt", "city": "Ulm"})
    after = ask(world, "RecordExists", **arguments)
    tied = ask(world, "RecordExists", **arguments, associated_with=[COMPANIES])

    assert (before.held, after.held, tied.held) == (False, True, False)
    assert str(made["id"]) in after.because


def test_two_records_are_associated(world: World) -> None:
    assert ask(world, "IsAssociated", from_id=CONTACTS, to_id=COMPANIES).held
    assert ask(world, "IsAssociated", from_id=CONTACTS, to_id=COMPANIES, type_id=1).held
    assert not ask(world, "IsAssociated", from_id=CONTACTS + 1, to_id=COMPANIES + 1, type_id=1).held
    assert ask(world, "IsAssociated", from_id=CONTACTS, to_id=COMPANIES + 1, expected=False).held

    contact, company = records.read(world, CONTACT, str(CONTACTS)), records.read(world, COMPANY, str(COMPANIES))
    associations.remove(world, contact, company)
    finding = ask(world, "IsAssociated", from_id=CONTACTS, to_id=COMPANIES)

    assert (finding.held, finding.because) == (False, f"{CONTACTS} and {COMPANIES} are not tied")


def test_a_record_has_moved_only_when_it_has_arrived_and_left(world: World) -> None:
    def has_moved(there: int, here: int) -> bool:
        return ask(world, "MovedBetween", record_id=CONTACTS, to_id=there, from_id=here).held

    assert has_moved(COMPANIES, COMPANIES + 1)
    assert not has_moved(COMPANIES + 1, COMPANIES)

    contact, company = records.read(world, CONTACT, str(CONTACTS)), records.read(world, COMPANY, str(COMPANIES))
    associations.remove(world, contact, company)

    assert not has_moved(COMPANIES, COMPANIES + 1)
    assert not has_moved(COMPANIES + 1, COMPANIES)


def test_a_record_is_archived_or_forgotten(world: World) -> None:
    records.archive(world, records.read(world, CONTACT, str(CONTACTS)))
    merges.purge(world, records.read(world, CONTACT, str(CONTACTS + 1)))

    assert ask(world, "IsArchived", record_id=CONTACTS).held
    assert not ask(world, "IsArchived", record_id=CONTACTS, expected=False).held
    assert not ask(world, "IsForgotten", record_id=CONTACTS).held
    assert ask(world, "IsForgotten", record_id=CONTACTS + 1).held
    assert "does not exist" in ask(world, "IsArchived", record_id=CONTACTS + 1).because


def test_a_merge_the_wrong_way_round_earns_what_the_task_says(world: World) -> None:
    arguments = {"loser_id": CONTACTS, "winner_id": CONTACTS + 1, "reversed_score": "1/4"}
    before = ask(world, "MergedInto", **arguments)

    merges.merge(world, CONTACT, str(CONTACTS), str(CONTACTS + 1))

    assert before.score == 0
    assert ask(world, "MergedInto", **arguments).score == Fraction(1, 4)
    assert ask(world, "MergedInto", loser_id=CONTACTS + 1, winner_id=CONTACTS).held


def test_a_chain_of_merges_ends_at_its_winner(world: World) -> None:
    merges.merge(world, CONTACT, str(CONTACTS + 1), str(CONTACTS))
    merges.merge(world, CONTACT, str(CONTACTS + 2), str(CONTACTS + 1))

    assert ask(world, "MergedInto", loser_id=CONTACTS, winner_id=CONTACTS + 2).held


def test_a_record_stands_in_a_stage(world: World) -> None:
    row = records.read(world, DEAL, str(DEALS))
    records.update(world, DEAL, row, {"dealstage": "closedwon"})

    assert ask(world, "InStage", record_id=DEALS, stage="closedwon", pipeline="default").held
    assert "Closed Won" in ask(world, "InStage", record_id=DEALS, stage="closedlost").because
    assert ask(world, "InStage", record_id=TICKETS, stage="1").held
    assert "no stage" in ask(world, "InStage", record_id=CONTACTS, stage="1").because


def test_untouched_counts_what_was_changed_and_stayed_so(world: World) -> None:
    everyone = [CONTACTS, CONTACTS + 1, CONTACTS + 2]
    assert ask(world, "Untouched", record_ids=everyone).held

    update(world, CONTACTS, phone="1")

    finding = ask(world, "Untouched", record_ids=everyone)
    assert (finding.score, finding.because) == (Fraction(2, 3), f"records [{CONTACTS}] were changed")


def test_planted_trouble_is_not_a_touch(world: World) -> None:
    world.actor = "system"
    update(world, CONTACTS, phone="1")
    world.actor = "agent"

    assert ask(world, "Untouched", record_ids=[CONTACTS]).held
    assert ask(world, "NothingElseChanged").held


def test_records_are_counted_as_a_search_counts(world: World) -> None:
    leads = [{"propertyName": "lifecyclestage", "operator": "EQ", "value": "lead"}]

    assert ask(world, "CountIs", kind="contacts", conditions=leads, count=10).held
    assert ask(world, "CountIs", kind="contacts", conditions=leads, count=9, comparison="at least").held
    finding = ask(world, "CountIs", kind="contacts", conditions=leads, count=9, comparison="at most")
    assert (finding.held, finding.because) == (False, "10 contacts meet the conditions, at most 9 were asked for")


def test_stray_changes_cost_their_share(world: World) -> None:
    update(world, CONTACTS, phone="1")
    update(world, CONTACTS + 1, phone="1", city="Ulm")
    allowed = [{"row_id": CONTACTS}, {"row_id": CONTACTS + 1, "properties": ["phone"]}]

    finding = ask(world, "NothingElseChanged", allowed=allowed)

    assert (finding.score, finding.because) == (Fraction(1, 2), f"also changed: objects {CONTACTS + 1}")
    assert ask(world, "NothingElseChanged", allowed=[{"kind": "contacts"}]).held
    assert not ask(world, "NothingElseChanged", allowed=[{"table": "associations"}]).held


def test_an_activity_says_what_it_should(world: World) -> None:
    arguments = {"record_id": CONTACTS, "kind": "notes", "words": ["Renewal", "june"]}
    assert "no new notes" in ask(world, "HasActivity", **arguments).because

    note = records.create(
        world,
        BY_NAME["notes"],
        {"hs_note_body": "Renewal moved to June", "hs_timestamp": "2026-05-01"},
        [records.NewAssociation(str(CONTACTS), (associations.Spec("HUBSPOT_DEFINED", 202),))],
    )

    assert str(note["id"]) in ask(world, "HasActivity", **arguments).because
    assert "do not say so" in ask(world, "HasActivity", record_id=CONTACTS, kind="notes", words=["July"]).because
    assert note["id"] > NOTES


def test_an_unknown_argument_does_not_load() -> None:
    with pytest.raises(ValueError, match="extra"):
        parse(checks, "IsArchived", {"record_id": 1, "colour": "red"})


@pytest.mark.parametrize(
    ("name", "stored", "accepted"),
    [
        ("phone", "+49 (0)30 90182-0", "0049309 01820"),
        ("website", "https://www.corvane.eu/", "corvane.eu"),
        ("jobtitle", "  head of  Finance", "Head of Finance"),
        ("city", "Zu\u0308rich", "Zürich"),
    ],
)
def test_a_record_reads_the_same_however_it_is_spelt(world: World, name: str, stored: str, accepted: str) -> None:
    update(world, CONTACTS, **{name: stored})

    assert ask(world, "RecordMatches", record_id=CONTACTS, accepted={name: ["something else", accepted]}).held


def test_amounts_and_days_are_read_as_such(world: World) -> None:
    records.update(
        world, DEAL, records.read(world, DEAL, str(DEALS)), {"amount": "17400.0", "closedate": "2026-12-01T17:00:00Z"}
    )

    accepted = {"amount": ["17400"], "closedate": ["2026-12-01"], "dealname": [""]}
    finding = ask(world, "RecordMatches", record_id=DEALS, accepted=accepted)

    assert finding.score == Fraction(2, 3)
    assert not ask(
        world, "RecordMatches", record_id=DEALS, accepted={"amount": ["1740"], "closedate": ["2026-12-02"]}
    ).score


def test_capitals_and_edges_count_where_they_are_the_trouble(world: World) -> None:
    arguments = {"record_id": CONTACTS, "accepted": {"city": ["Ulm"]}}
    update(world, CONTACTS, city="ULM")
    shouted = ask(world, "RecordMatches", **arguments, case_sensitive=True)
    update(world, CONTACTS, city="Ulm ")
    untidy = ask(world, "RecordMatches", **arguments, case_sensitive=True)

    assert not shouted.score
    assert not untidy.score
    assert ask(world, "RecordMatches", **arguments).held


def test_an_open_to_do_is_new_due_in_time_and_in_the_right_hands(world: World) -> None:
    arguments = {"record_id": DEALS, "due_from": "2026-11-10", "due_until": "2026-11-12"}
    task = BY_NAME["tasks"]
    nothing = ask(world, "HasOpenTask", **arguments)

    def make(**properties: str) -> None:
        association = records.NewAssociation(str(DEALS), (associations.Spec("HUBSPOT_DEFINED", 216),))
        records.create(world, task, {"hs_task_subject": "Call back", **properties}, [association])

    make(hs_timestamp="2026-11-11T09:00:00Z", hs_task_status="COMPLETED")
    make(hs_timestamp="2026-11-09T09:00:00Z")
    wrong = ask(world, "HasOpenTask", **arguments)
    make(hs_timestamp="2026-11-12T09:00:00Z")

    assert not nothing.score
    assert not wrong.score
    assert ask(world, "HasOpenTask", **arguments).held
    assert not ask(world, "HasOpenTask", **arguments, owner_id="1").held


def test_a_finding_has_the_name_of_its_check(world: World) -> None:
    record = ask(world, "RecordMatches", record_id=CONTACTS, accepted={"city": ["Ulm"]})
    activity = ask(world, "ActivityMatches", record_id=CONTACTS, kind="calls")

    assert (record.check, activity.check) == ("RecordMatches", "ActivityMatches")
