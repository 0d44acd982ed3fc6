"""What control sends to a product through the harness API."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Strict(BaseModel):
    """A message that refuses fields that it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PlantedRow(Strict):
    """One row of a task's setup; `row` is None where a row is removed."""

    table: str
    key: int | str
    row: dict[str, Any] | None


class PlannedEdit(Strict):
    """What a colleague writes into one row right after the agent's nth request."""

    after_steps: int = Field(ge=1)
    table: str
    key: int | str
    values: dict[str, Any]


class OpenMessage(Strict):
    """Opens an episode here and plants its task."""

    episode_id: str = Field(min_length=1, max_length=100)
    credential: str = Field(min_length=8, max_length=200, repr=False)
    further_credentials: list[str] = Field(default=[], repr=False)
    seed: int
    world: str
    faults: str = "none"
    steps: int | None = Field(default=None, ge=0)
    leased: bool = True
    # Free play of people, for which a product may make things easier than for agents.
    playground: bool = False
    planted: list[PlantedRow] = []
    counters: dict[str, int] = {}
    # Decides the ids of new rows; without it, `seed` does.
    ids_key: str | None = Field(default=None, min_length=1, max_length=100, repr=False)
    concurrent_edits: list[PlannedEdit] = []


class AdvanceMessage(Strict):
    """Moves the clock to this time and runs what falls due."""

    to_ms: int


class CheckMessage(Strict):
    """A check to run on this product's world."""

    name: str
    arguments: dict[str, Any] = {}


class VerifyMessage(Strict):
    """All checks of a task on this product; `close` ends the episode under the same lock."""

    checks: list[CheckMessage]
    close: bool = False


class ActorRequestMessage(Strict):
    """One request in the name of a user who is not the agent."""

    user: int
    actor: Literal["customer", "colleague"] = "customer"
    method: Literal["GET", "POST", "PUT", "DELETE"]
    path: str
    query: dict[str, str] = {}
    body: dict[str, Any] | None = None


class ActorRequestsMessage(Strict):
    """Several such requests, in order."""

    requests: list[ActorRequestMessage]


class HoldMessage(Strict):
    """Stops or releases the agent; a person who takes over gets a credential of their own."""

    held: bool
    credential: str | None = Field(default=None, min_length=8, max_length=200, repr=False)


class FindMessage(Strict):
    """Checks alone: the reply holds nothing but their findings."""

    checks: list[CheckMessage]
