"""What control says to a product through the harness's door."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Strict(BaseModel):
    """A message that takes no field it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PlantedRow(Strict):
    """One row of the trouble; `row` is None where a row must go."""

    table: str
    key: int | str
    row: dict[str, Any] | None


class PlannedEdit(Strict):
    """What a colleague will write into one row right after the agent's nth request."""

    after_steps: int = Field(ge=1)
    table: str
    key: int | str
    values: dict[str, Any]


class OpenMessage(Strict):
    """Open an episode here, with its trouble planted."""

    episode_id: str = Field(min_length=1, max_length=100)
    credential: str = Field(min_length=8, max_length=200, repr=False)
    seed: int
    world: str
    faults: str = "none"
    steps: int | None = Field(default=None, ge=0)
    leased: bool = True
    planted: list[PlantedRow] = []
    counters: dict[str, int] = {}
    meanwhile: list[PlannedEdit] = []


class AdvanceMessage(Strict):
    """Move the clock to this time and let fall due what does."""

    to_ms: int


class AskedCheck(Strict):
    """A question for this product's world."""

    name: str
    arguments: dict[str, Any] = {}


class VerifyMessage(Strict):
    """All questions of a task to this product; `close` ends the episode under the same lock as the last look."""

    checks: list[AskedCheck]
    close: bool = False


class VisitMessage(Strict):
    """One request in the name of somebody who is not the agent."""

    user: int
    actor: Literal["customer", "colleague"] = "customer"
    method: Literal["GET", "POST", "PUT", "DELETE"]
    path: str
    query: dict[str, str] = {}
    body: dict[str, Any] | None = None


class VisitsMessage(Strict):
    """Several such requests, one after the other."""

    visits: list[VisitMessage]


class AskMessage(Strict):
    """Questions alone: nothing but their answers comes back."""

    checks: list[AskedCheck]
