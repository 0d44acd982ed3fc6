"""A machine that cannot isolate runs everything but the IDE, and is told what to install."""

import os
import subprocess
import sys

_ASKED = """
from services import supervisor
from services.kernel import catalog
from services.kernel.config import Settings
supervisor._leave_out_products_that_cannot_run(Settings.from_environment())
from fixtures.tasks.registry import families
print(*catalog.names())
print(any(name.startswith("ide/") for name in families()))
print(sum(name.startswith("office/") for name in families()), "office/fix-for-customer" in families())
"""


def test_without_bubblewrap_the_others_are_served_and_what_is_missing_is_named() -> None:
    env = {**os.environ, "PATH": "/nonexistent"}
    result = subprocess.run([sys.executable, "-c", _ASKED], env=env, capture_output=True, text=True, check=True)
    names, has_families, of_the_office = result.stdout.splitlines()

    assert "dayshift: ide is left out: bwrap is not installed: apt-get install bubblewrap" in result.stderr
    assert "crm" in names.split()
    assert "ide" not in names.split()
    assert has_families == "False"
    # What spans products goes with the one it needs; the rest of the office stays.
    assert of_the_office == "7 False"
