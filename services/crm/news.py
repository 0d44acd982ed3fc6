"""What the CRM tells its users about what happened by itself: imports that ended."""

from collections.abc import Sequence

from services.crm.tables import imports
from services.kernel.changes import Change
from services.kernel.world import World

_ENDINGS = {"DONE": "is done", "FAILED": "failed", "CANCELED": "was canceled"}


def tell_news(_: World, changes: Sequence[Change]) -> list[str]:
    return [
        f"Import {change.row_id} ({change.after['name']}) {_ENDINGS[change.after['state']]}"
        for change in changes
        if change.table == imports.name and change.after is not None and change.after["state"] in _ENDINGS
    ]
