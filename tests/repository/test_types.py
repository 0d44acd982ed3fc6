"""mypy knows the columns of every table and the ids of every noun."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RIGHT = """
from services.billing import tables as billing
from services.billing.rows import CustomerId
from services.crm import tables as crm
from services.crm.rows import RecordId
from services.desk import tables as desk
from services.desk.rows import TicketId
from services.ide import tables as ide
from services.ide.rows import IssueId
from services.kernel.world import World


def read(world: World) -> None:
    record = world.get(crm.objects, RecordId(1))
    ticket = world.get(desk.tickets, TicketId(1))
    customer = world.get(billing.customers, CustomerId("cus_1"))
    issue = world.get(ide.issues, IssueId(1))
    assert record is not None and ticket is not None and customer is not None and issue is not None
    print(record["properties"], ticket["body"]["status"], customer["body"]["email"], issue["title"])
"""
WRONG = {
    "column": ('record["properties"]', 'record["propertys"]', 'has no key "propertys"'),
    "ticket": ('ticket["body"]["status"]', 'ticket["body"]["statu"]', 'has no key "statu"'),
    "customer": ('customer["body"]["email"]', 'customer["body"]["emial"]', 'has no key "emial"'),
    "issue": ('issue["title"]', 'issue["titel"]', 'has no key "titel"'),
    "foreign_id": ("world.get(desk.tickets, TicketId(1))", "world.get(desk.tickets, RecordId(1))", '"KeyT"'),
}


def check(folder: Path, texts: dict[str, str]) -> dict[str, list[str]]:
    """Returns the errors that mypy reports for each text, in strict mode and with the project's settings.

    Each text is a module of its own and all are checked in one run: mypy's cache takes a file that is rewritten with the
    same length within a second for unchanged.
    """
    for name, text in texts.items():
        (folder / f"scratch_{name}.py").write_text(text)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file",
        str(ROOT / "pyproject.toml"),
        *map(str, sorted(folder.glob("*.py"))),
    ]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    assert "checked" in output, output
    return {
        name: [line for line in output.splitlines() if f"scratch_{name}.py" in line and " error: " in line]
        for name in texts
    }


@pytest.mark.slow
def test_a_misspelt_column_is_a_type_error(tmp_path: Path) -> None:
    misspelt = {name: RIGHT.replace(right, wrong) for name, (right, wrong, _) in WRONG.items()}

    errors = check(tmp_path, {"right": RIGHT, **misspelt})

    assert errors.pop("right") == []
    for name, (_, _, message) in WRONG.items():
        assert any(message in line for line in errors[name]), (name, errors[name])


# Rooms whose business is JSON that others define: bodies of requests and answers, and programs of the guest.
WIRE = re.compile(r"/(schemas|routes|guest|programs)/|^services/(console|mcp|docs_site)/|/errors\.py$")
# Beside them, for each reason the files that may speak of objects without a type.
UNTYPED = {
    "OpenAPI documents and JSON Schemas": """
        services/kernel/app.py services/kernel/description.py services/kernel/operations.py
        services/desk/rules/definitions.py
    """,
    "arguments of a route or of a statement, by name": """
        services/kernel/binding.py services/kernel/documents.py services/kernel/statements.py
        services/billing/operations/search.py services/ide/operations/sessions.py
    """,
    "messages and images of rows of any product": """
        services/kernel/actor_requests.py services/kernel/conversation.py services/kernel/encoding.py
        services/kernel/harness_messages.py services/kernel/harness_replies.py services/kernel/logs.py
        services/kernel/template.py services/kernel/world.py services/control/open_episode.py
        services/control/opening.py services/control/recorded_change.py services/control/relay.py
        services/control/relay_process.py services/control/replicas.py services/control/task_setup.py
        services/desk/judging.py services/desk/news.py services/validate/know_nothing.py services/validate/plays.py
        services/validate/run.py services/validate/sample_calls/billing.py services/validate/sample_calls/crm.py
        services/validate/sample_calls/desk.py services/validate/sample_calls/ide.py
    """,
    "bodies on the wire": """
        services/billing/operations/params.py services/billing/operations/records.py
        services/billing/operations/rendering.py services/crm/checks.py services/desk/records/payload.py
        services/desk/operations/ticket_values.py services/desk/shapes/base.py services/ide/sandbox/sandbox.py
        services/ide/grading/tree_process.py
    """,
    "metadata and fields that users define, objects that the vendor leaves open": """
        services/billing/objects/customers.py services/billing/objects/events.py services/billing/objects/payments.py
        services/crm/rows.py
        services/crm/defaults/__init__.py services/desk/defaults/__init__.py services/desk/rows/people.py
        services/desk/rows/tickets.py
    """,
    "objects of a layer above, which this one only keeps": "services/ide/workspace/workspace.py",
}


def test_objects_without_a_type_stay_where_there_is_a_reason_for_them() -> None:
    paths = [path for path in (ROOT / "services").rglob("*.py") if "dict[str, Any]" in path.read_text()]
    untyped = {str(path.relative_to(ROOT)) for path in paths}

    assert {path for path in untyped if not WIRE.search(path)} == set(" ".join(UNTYPED.values()).split())
