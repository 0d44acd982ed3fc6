"""How a test solves the trivial family: read on, compare with the brief, correct."""

import re
from typing import Any

import dayshift
from dayshift.rollout import Situation

_PHONE = re.compile(r"\+[\d ]+\d")
_EMAIL = re.compile(r"[\w.]+@[\w.-]+\w")


def solution(env: Any) -> list[dayshift.Call]:
    """The calls that solve the environment's present episode, found with an episode of its own."""
    return correction(env.episode.dialogue.request)


def correction(request: dayshift.OpenRequest) -> list[dayshift.Call]:
    with dayshift.Episode.open(request) as scout:
        wanted = found_in(scout.brief)
        after = 0
        while True:
            page = scout.step("crm.contacts.list", limit=100, after=after).json()
            for record in page["results"]:
                if record["properties"].get("email") == wanted["email"]:
                    change = {"phone": wanted["phone"]}
                    return [dayshift.call("crm.contacts.update", contactId=record["id"], properties=change)]
            after = int(page["paging"]["next"]["after"])


def found_in(brief: str) -> dict[str, str]:
    phone, email = _PHONE.search(brief), _EMAIL.search(brief)
    assert phone is not None
    assert email is not None
    return {"phone": phone[0], "email": email[0]}


def diligent(situation: Situation) -> dayshift.Call:
    """A policy that solves the family with nothing but what it reads."""
    wanted, last = found_in(situation.brief), situation.last
    if last is None:
        return dayshift.call("crm.contacts.list", limit=100)
    if last.method == "PATCH":
        return dayshift.call("submit")
    page = last.json()
    for record in page["results"]:
        if record["properties"].get("email") == wanted["email"]:
            change = {"phone": wanted["phone"]}
            return dayshift.call("crm.contacts.update", contactId=record["id"], properties=change)
    return dayshift.call("crm.contacts.list", limit=100, after=int(page["paging"]["next"]["after"]))
