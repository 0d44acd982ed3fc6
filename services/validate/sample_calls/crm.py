"""Moves in the CRM."""

from typing import Any

from fixtures.tasks.family import Call
from services.validate.attempt import Attempt, Stuck


class CrmSampleCalls:
    """Contacts that the task does not speak of bear the mistakes."""

    def read_call(self) -> Call:
        return Call("crm.contacts.list", {"limit": 5})

    def mistake_and_repair(self, attempt: Attempt) -> tuple[Call, Call]:
        bystander = self._bystanders(attempt)[0]
        right = bystander["properties"]["lastname"]
        return _rename(bystander["id"], f"{right}-Ortega"), _rename(bystander["id"], right)

    def harmful_calls(self, attempt: Attempt, count: int) -> list[Call]:
        return [
            Call("crm.contacts.archive", {"contactId": bystander["id"]})
            for bystander in self._bystanders(attempt)[1 : count + 1]
        ]

    def combine(self, calls: tuple[Call, ...]) -> Call | None:
        if len(calls) < 2 or len({call.operation for call in calls}) > 1:
            return None
        _, kind, verb = calls[0].operation.split(".")
        if verb == "archive" and all(len(call.arguments) == 1 for call in calls):
            inputs: list[Any] = [{"id": next(iter(call.arguments.values()))} for call in calls]
        elif verb == "create" and all(set(call.arguments) <= {"properties", "associations"} for call in calls):
            inputs = [dict(call.arguments) for call in calls]
        elif verb == "update" and all(_is_plain_update(call) for call in calls):
            inputs = [{"id": _id(call), "properties": call.arguments["properties"]} for call in calls]
        else:
            return None
        return None if kind == "objects" else Call(f"crm.{kind}.batch_{verb}", {"inputs": inputs})

    def _bystanders(self, attempt: Attempt) -> list[dict[str, Any]]:
        listed = attempt.do(Call("crm.contacts.list", {"limit": 100, "properties": ["lastname", "email"]}))
        bystanders = [
            one
            for one in listed["results"]
            if one["properties"].get("lastname") and int(one["id"]) not in attempt.concerned
        ]
        if len(bystanders) < 5:
            raise Stuck("too few contacts stand by")
        return bystanders


def _rename(contact: str, lastname: str) -> Call:
    return Call("crm.contacts.update", {"contactId": contact, "properties": {"lastname": lastname}})


def _is_plain_update(call: Call) -> bool:
    return "properties" in call.arguments and len(call.arguments) == 2 and not call.arguments.get("idProperty")


def _id(call: Call) -> Any:
    return next(value for name, value in call.arguments.items() if name != "properties")


sample_calls = CrmSampleCalls()
