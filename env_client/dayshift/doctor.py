"""doctor: is the stack there, is it the one we think, and what to do if not."""

from collections.abc import Iterator
from dataclasses import dataclass

from dayshift.calls import Call
from dayshift.connection import Connection
from dayshift.episode import Episode
from dayshift.errors import DayshiftError, HarnessFault
from dayshift.replay import Difference, verify
from dayshift.trajectory import Trajectory, versions
from dayshift.wire import WIRE_VERSION, Health, OpenRequest


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One thing looked at: how it is, and the remedy if it is not well."""

    what: str
    well: bool
    found: str
    remedy: str = ""


def examine(connection: Connection) -> Iterator[Diagnosis]:
    """From the outside in; what depends on an ill part is not looked at."""
    health = _health(connection)
    yield health[0]
    if health[1] is None:
        return
    yield _wire(health[1])
    token = _token(connection)
    yield token
    yield from _products(health[1])
    yield from _worlds(health[1])
    if token.well:
        yield from _episode(connection, health[1])
    yield Diagnosis("client", well=True, found=", ".join(f"{name} {number}" for name, number in versions().items()))


def _health(connection: Connection) -> tuple[Diagnosis, Health | None]:
    url = connection.address.url
    remedy = "start it (python -m services up) or set DAYSHIFT_CONTROL_URL"
    try:
        health = connection.run(connection.address.control.health())
    except HarnessFault as fault:
        return Diagnosis("control", well=False, found=str(fault), remedy=remedy), None
    state = f"{url} is {health.status}; ledger {health.ledger}, registry {health.registry}"
    well = health.ledger == "ok" and health.registry == "ok"
    return Diagnosis("control", well=well, found=state, remedy="see what /health says is down"), health


def _wire(health: Health) -> Diagnosis:
    found = f"the stack speaks version {health.wire}, this client version {WIRE_VERSION}"
    remedy = "install the env_client that came with the stack"
    return Diagnosis("wire", well=health.wire == WIRE_VERSION, found=found, remedy=remedy)


def _token(connection: Connection) -> Diagnosis:
    remedy = "set DAYSHIFT_CONTROL_TOKEN, or DAYSHIFT_VAR to the stack's own folder (it holds control.token)"
    try:
        families = connection.run(connection.address.control.families()).families
    except DayshiftError as error:
        return Diagnosis("control token", well=False, found=str(error), remedy=remedy)
    return Diagnosis("control token", well=True, found=f"accepted; {len(families)} task families")


def _products(health: Health) -> Iterator[Diagnosis]:
    for name, state in health.products.items():
        yield Diagnosis(name, well=state == "ok", found=state, remedy="start it again; its log says why it stopped")


def _worlds(health: Health) -> Iterator[Diagnosis]:
    names = {world for worlds in health.worlds.values() for world in worlds}
    for world in sorted(names):
        missing = [product for product, worlds in health.worlds.items() if world not in worlds]
        found = f"built for {', '.join(product for product in health.worlds if product not in missing)}"
        yield Diagnosis(
            f"world {world}",
            well=not missing,
            found=found if not missing else f"{found}; missing for {', '.join(missing)}",
            remedy="make worlds",
        )
    if not names:
        yield Diagnosis("worlds", well=False, found="none was built", remedy="make worlds")


def _episode(connection: Connection, health: Health) -> Iterator[Diagnosis]:
    """A free play, twice: clocks must start together, and the same call must answer with the same bytes."""
    world = next(iter(sorted({world for worlds in health.worlds.values() for world in worlds})), "standard")
    try:
        recorded, lagging = _short_play(connection, OpenRequest(task=None, world=world))
        yield Diagnosis(
            "clocks",
            well=not lagging,
            found="all products agree with control" if not lagging else f"{', '.join(lagging)} differ from control",
            remedy="restart the stack: its parts were started from different worlds",
        )
        proof = verify(recorded, connection)
        yield _determinism(proof.difference)
    except DayshiftError as error:
        yield Diagnosis("episode", well=False, found=str(error), remedy="read the stack's log")


def _short_play(connection: Connection, request: OpenRequest) -> tuple[Trajectory, list[str]]:
    with Episode.open(request, connection=connection) as episode:
        lagging = []
        for product in episode.dialogue.opened.products:
            started = episode.clock
            call = _harmless(episode, product)
            if call is not None and episode.step(call).clock[:16] != started[:16]:
                lagging.append(product)
        return episode.trajectory(), lagging


def _harmless(episode: Episode, product: str) -> Call | None:
    """The first read of this product that needs no argument."""
    for operation in episode.operations.values():
        needs_nothing = not any(argument.required for argument in operation.arguments)
        if operation.product == product and operation.method == "GET" and needs_nothing:
            return Call(operation.name)
    return None


def _determinism(difference: Difference | None) -> Diagnosis:
    found = "two free plays answered with the same bytes" if difference is None else str(difference)
    return Diagnosis(
        "determinism", well=difference is None, found=found, remedy="report this: it is a bug of the stack"
    )
