"""mypy knows the columns of every table and the ids of every noun."""

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
