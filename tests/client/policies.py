"""Policies that solve crm/correct-contact: they read pages, compare with the brief, and correct the phone number."""

import re
from typing import Any

import dayshift
from dayshift.rollout import PolicyInput

_PHONE = re.compile(r"\+[\d ]+\d")
_EMAIL = re.compile(r"[\w.]+@[\w.-]+\w")


def solve(env: Any) -> list[dayshift.Call]:
    """The calls that solve the environment's present episode, found with an episode of its own."""
    return find_correction(env.episode.protocol.request)


def find_correction(request: dayshift.OpenRequest) -> list[dayshift.Call]:
    with dayshift.Episode.open(request) as scout:
        correct = parse_brief(scout.brief)
        after = 0
        while True:
            page = scout.step("crm.contacts.list", limit=100, after=after).json()
            for record in page["results"]:
                if record["properties"].get("email") == correct["email"]:
                    change = {"phone": correct["phone"]}
                    return [dayshift.call("crm.contacts.update", contactId=record["id"], properties=change)]
            after = int(page["paging"]["next"]["after"])


def parse_brief(brief: str) -> dict[str, str]:
    phone, email = _PHONE.search(brief), _EMAIL.search(brief)
    assert phone is not None
    assert email is not None
    return {"phone": phone[0], "email": email[0]}


def diligent(policy_input: PolicyInput) -> dayshift.Call:
    """A policy that solves the family with nothing but what it reads."""
    correct, last = parse_brief(policy_input.brief), policy_input.last
    if last is None:
        return dayshift.call("crm.contacts.list", limit=100)
    if last.method == "PATCH":
        return dayshift.call("submit")
    page = last.json()
    for record in page["results"]:
        if record["properties"].get("email") == correct["email"]:
            change = {"phone": correct["phone"]}
            return dayshift.call("crm.contacts.update", contactId=record["id"], properties=change)
    return dayshift.call("crm.contacts.list", limit=100, after=int(page["paging"]["next"]["after"]))
