"""The IDE's world of a small company, without the rest of the company."""

from dataclasses import dataclass
from pathlib import Path

from fixtures.profiles import PROFILES
from fixtures.projections import ide


@dataclass(frozen=True)
class Engineer:
    """What the projection wants to know of an employee."""

    id: str
    name: str
    email: str
    created_at: int
    team: str = "Engineering"
    left_at: int | None = None


_PEOPLE = [
    Engineer("1", "Stephanie Fox", "stephanie.fox@tallyport.io", 1),
    Engineer("2", "Julien Masson", "julien.masson@tallyport.io", 2),
    Engineer("3", "Raúl Martínez", "raul.martinez@tallyport.io", 3),
    Engineer("4", "Xia Huang", "xia.huang@tallyport.io", 4),
    Engineer("5", "Imogen Jordan", "imogen.jordan@tallyport.io", 0, left_at=9),
]


def build_small_world(var: Path) -> str:
    """Its fingerprint."""
    (var / "worlds").mkdir(parents=True, exist_ok=True)
    return ide.project(var / "worlds" / "ide-small.sqlite", PROFILES["small"], {"employees": list(_PEOPLE)})[0]
