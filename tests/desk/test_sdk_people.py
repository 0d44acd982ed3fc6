"""Users, organizations and groups through the vendor's clients, unmodified."""

import pytest
from zdesk import Zendesk
from zenpy import Zenpy
from zenpy.lib.api_objects import Organization, User
from zenpy.lib.exception import APIException, RecordNotFoundException

from tests.desk.conftest import Account
from tests.desk.office import (
    BILLING_GROUP,
    CORVANE,
    CUSTOMERS,
    HALDEN,
    INES,
    JONAS,
    LENA,
    MARA,
    NEW,
    OLEG,
    OPEN,
    PRIYA,
    PROBLEM,
    STAFF,
    TECH_GROUP,
    TOMAS,
)


def test_one_knows_oneself(zenpy: Zenpy, zdesk: Zendesk) -> None:
    assert zenpy.users.me().id == MARA
    assert zdesk.users_me()["user"]["role"] == "agent"


def test_users_are_listed_by_role(zenpy: Zenpy, account: Account) -> None:
    assert {user.id for user in zenpy.users()} == {*STAFF, *CUSTOMERS}
    assert {user.id for user in zenpy.users(role="agent")} == {MARA, JONAS}
    several = account.http.get("/api/v2/users?role[]=agent&role[]=admin").json()["users"]
    assert {user["id"] for user in several} == set(STAFF)
    assert account.get("users/count")["count"]["value"] == len(STAFF) + len(CUSTOMERS)


def test_several_users_are_shown(zenpy: Zenpy) -> None:
    assert [user.name for user in zenpy.users(ids=[TOMAS, LENA])] == ["Tomas Halvorsen", "Lena Brandt"]


def test_users_are_found_by_address_word_and_beginning(zenpy: Zenpy, account: Account) -> None:
    assert [user.id for user in zenpy.users.search(query="lena.brandt@corvane.eu")] == [LENA]
    assert [user.id for user in zenpy.users.search(query="Halvorsen")] == [TOMAS]
    assert [user["id"] for user in account.get("users/autocomplete", name="pri")["users"]] == [PRIYA]
    assert account.get("users/autocomplete", name="riya")["users"] == []
    assert account.http.get("/api/v2/users/search").status_code == 400


def test_a_user_is_made_changed_and_let_go(zenpy: Zenpy, account: Account) -> None:
    made = zenpy.users.create(User(name="Nils Aas", email="Nils.Aas@halden-marine.no", organization_id=HALDEN))
    made.notes = "Prefers the phone"
    changed = zenpy.users.update(made)
    gone = account.http.delete(f"/api/v2/users/{made.id}.json")

    assert (made.email, made.role, made.organization_id) == ("nils.aas@halden-marine.no", "end-user", HALDEN)
    assert changed.notes == "Prefers the phone"
    assert (gone.status_code, gone.json()["user"]["active"]) == (200, False)
    assert account.get("users/search", query="nils.aas@halden-marine.no")["count"] == 0
    assert account.get(f"users/{made.id}")["user"]["active"] is False


def test_an_address_belongs_to_one_person(zenpy: Zenpy) -> None:
    with pytest.raises(APIException) as refused:
        zenpy.users.create(User(name="Another Lena", email="lena.brandt@corvane.eu"))

    assert refused.value.response.status_code == 422
    assert refused.value.response.json()["details"]["email"][0]["error"] == "DuplicateValue"


def test_create_or_update_knows_whom_it_met(zenpy: Zenpy, account: Account) -> None:
    known = zenpy.users.create_or_update(User(name="Lena M. Brandt", email="lena.brandt@corvane.eu"))
    made = account.post("users/create_or_update", user={"name": "Eva Lund", "email": "eva@corvane.eu"})
    again = account.post("users/create_or_update", user={"name": "Eva L.", "email": "eva@corvane.eu"})

    assert (known.id, known.name) == (LENA, "Lena M. Brandt")
    assert (made.status_code, again.status_code) == (201, 200)


def test_a_new_address_is_primary_and_the_old_one_still_leads_there(account: Account) -> None:
    account.put(f"users/{LENA}", user={"email": "lena@corvane.eu"})

    addresses = account.get(f"users/{LENA}/identities")["identities"]
    assert {one["value"]: one["primary"] for one in addresses} == {
        "lena.brandt@corvane.eu": False,
        "lena@corvane.eu": True,
    }
    made = account.post("tickets", ticket={"requester": "lena.brandt@corvane.eu", "comment": {"body": "Hi"}}).json()
    assert made["ticket"]["requester_id"] == LENA


def test_whoever_has_open_tickets_stays(account: Account) -> None:
    answer = account.http.delete(f"/api/v2/users/{LENA}")
    oneself = account.http.delete(f"/api/v2/users/{MARA}")

    assert (answer.status_code, oneself.status_code) == (422, 422)


def test_two_accounts_of_one_person_become_one(zenpy: Zenpy, account: Account) -> None:
    zenpy.users.merge(zenpy.users(id=OLEG), zenpy.users(id=TOMAS))

    assert account.get(f"users/{OLEG}")["user"]["active"] is False
    assert 9 in [ticket["id"] for ticket in account.get(f"users/{TOMAS}/tickets/requested")["tickets"]]
    assert [user["id"] for user in account.get("users/search", query="oleg.winters@postbox.pl")["users"]] == [TOMAS]
    assert account.put(f"users/{LENA}/merge", user={"id": MARA}).status_code == 422


def test_a_users_tickets_are_counted_and_listed(zenpy: Zenpy, account: Account) -> None:
    requested = [ticket.id for ticket in zenpy.users.requested(LENA)]
    assigned = [ticket.id for ticket in zenpy.users.assigned(MARA)]
    related = zenpy.users.related(LENA)

    assert requested == [NEW, OPEN, PROBLEM]
    assert OPEN in assigned
    assert related.requested_tickets == 3
    assert list(zenpy.users.cced(LENA)) == []
    assert account.get(f"users/{JONAS}/tickets/followed")["tickets"] == []


def test_organizations_are_listed_found_and_opened(zenpy: Zenpy, account: Account) -> None:
    assert [one.name for one in zenpy.organizations()] == ["Corvane", "Halden Marine"]
    assert zenpy.organizations(id=CORVANE).domain_names == ["corvane.eu"]
    assert [one["id"] for one in account.get("organizations/search", external_id="acc-702")["organizations"]] == [
        HALDEN
    ]
    odd = account.http.get("/api/v2/organizations/search.json?external_id=acc-701?page%5Bsize%5D=100&include=None")
    assert [one["id"] for one in odd.json()["organizations"]] == [CORVANE]
    assert [one["id"] for one in account.get("organizations/autocomplete", name="hal")["organizations"]] == [HALDEN]
    assert account.get("organizations/count")["count"]["value"] == 2
    assert [one["id"] for one in account.get("organizations/show_many", ids=f"{HALDEN}")["organizations"]] == [HALDEN]


def test_an_organizations_people_and_tickets_are_listed(zenpy: Zenpy, account: Account) -> None:
    assert {user.id for user in zenpy.organizations.users(CORVANE)} == {LENA, PRIYA}
    assert {ticket.id for ticket in zenpy.tickets.organizations(CORVANE)} >= {NEW, OPEN}
    members = zenpy.organizations.organization_memberships(CORVANE)
    assert {member.user_id for member in members} == {LENA, PRIYA}
    assert len(account.get("organization_memberships")["organization_memberships"]) == 3
    own = account.get(f"users/{LENA}/organization_memberships")["organization_memberships"]
    assert [one["organization_id"] for one in own] == [CORVANE]


def test_an_organization_is_made_changed_and_removed(zenpy: Zenpy, account: Account) -> None:
    made = zenpy.organizations.create(Organization(name="Brightwell", tags=["Trial"]))
    made.notes = "Renewal in May"
    changed = zenpy.organizations.update(made)
    again = account.post("organizations/create_or_update", organization={"name": "brightwell", "details": "SME"})
    taken = account.post("organizations", organization={"name": "BRIGHTWELL"})
    account.put(f"users/{OLEG}", user={"organization_id": made.id})
    zenpy.organizations.delete(changed)

    assert (changed.notes, changed.tags) == ("Renewal in May", ["trial"])
    assert (again.status_code, again.json()["organization"]["id"], taken.status_code) == (200, made.id, 422)
    with pytest.raises(RecordNotFoundException):
        zenpy.organizations(id=made.id)
    assert account.get(f"users/{OLEG}")["user"]["organization_id"] is None


def test_groups_and_who_works_in_them(zenpy: Zenpy, account: Account) -> None:
    assert [group.name for group in zenpy.groups()] == ["Billing", "Technical", "Sales"]
    assert zenpy.groups(id=TECH_GROUP).name == "Technical"
    assert {user.id for user in zenpy.groups.users(TECH_GROUP)} == {JONAS, INES}
    assert {one.user_id for one in zenpy.group_memberships()} == set(STAFF)
    narrowed = account.get("group_memberships", group_id=BILLING_GROUP)["group_memberships"]
    assert [one["user_id"] for one in narrowed] == [MARA]


def test_fields_forms_statuses_and_brands_are_listed(zenpy: Zenpy, account: Account) -> None:
    assert [field.title for field in zenpy.ticket_fields()] == ["Product", "Order number", "VIP"]
    assert zenpy.ticket_fields(id=3001).custom_field_options[0].value == "product_portal"
    assert [form.name for form in zenpy.ticket_forms()] == ["Default"]
    assert [status.agent_label for status in zenpy.custom_statuses()] == ["With engineering"]
    assert [field.key for field in zenpy.user_fields()] == ["plan"]
    assert [brand.name for brand in zenpy.brands()] == ["Tessavik"]
    assert account.get("organization_fields")["organization_fields"] == []


def test_a_field_of_users_takes_values_by_its_key(account: Account) -> None:
    answer = account.put(f"users/{LENA}", user={"user_fields": {"plan": "Scale", "shoe": "9"}}).json()

    assert answer["user"]["user_fields"] == {"plan": "Scale"}
