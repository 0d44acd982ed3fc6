"""Doctor: checks the stack and names the remedy for each problem."""

from collections.abc import Iterator
from dataclasses import dataclass

from dayshift.calls import Call
from dayshift.connection import Connection
from dayshift.episode import Episode
from dayshift.errors import DayshiftError, Unreachable
from dayshift.replay import Difference, verify
from dayshift.trajectory import Trajectory, versions
from dayshift.wire import WIRE_VERSION, Health, OpenRequest

_LOGS = "the cause is in the terminal of `make up`, or in `docker compose logs`"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The result of one check, with the remedy for a problem."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""


def run_checks(connection: Connection) -> Iterator[Diagnosis]:
    """Runs the checks from control to a whole episode; what depends on a failed check is left out."""
    diagnosis, health = _check_control(connection)
    yield diagnosis
    if health is None:
        return
    yield _check_wire(health)
    token = _check_token(connection)
    yield token
    yield from _check_products(health)
    yield from _check_worlds(health)
    if token.ok:
        yield from _check_episode(connection, health)
    yield Diagnosis("client", ok=True, detail=", ".join(f"{name} {number}" for name, number in versions().items()))


def _check_control(connection: Connection) -> tuple[Diagnosis, Health | None]:
    try:
        health = connection.run(connection.address.control.health())
    except Unreachable as fault:
        remedy = "start it: `make up` in the clone, or `docker compose up`; a stack elsewhere: set DAYSHIFT_CONTROL_URL"
        return Diagnosis("control", ok=False, detail=str(fault), remedy=remedy), None
    except DayshiftError as fault:
        remedy = f"another program may listen at {connection.address.url}: set DAYSHIFT_CONTROL_URL, or stop it"
        return Diagnosis("control", ok=False, detail=str(fault), remedy=remedy), None
    state = f"{connection.address.url} answers; ledger {health.ledger}, registry {health.registry}"
    is_ok = health.ledger == "ok" and health.registry == "ok"
    return Diagnosis("control", ok=is_ok, detail=state, remedy=f"start that part again; {_LOGS}"), health


def _check_wire(health: Health) -> Diagnosis:
    detail = f"the stack speaks version {health.wire}, this client version {WIRE_VERSION}"
    remedy = "install the env_client that came with the stack"
    return Diagnosis("wire", ok=health.wire == WIRE_VERSION, detail=detail, remedy=remedy)


def _check_token(connection: Connection) -> Diagnosis:
    remedy = "set DAYSHIFT_CONTROL_TOKEN, or DAYSHIFT_VAR to the stack's own folder (it holds control.token)"
    control = connection.address.control
    try:
        families = connection.run(control.families()).families
    except DayshiftError as error:
        return Diagnosis("control token", ok=False, detail=str(error), remedy=remedy)
    detail = f"accepted, from {control.token_source}; {len(families)} task families"
    return Diagnosis("control token", ok=True, detail=detail)


def _check_products(health: Health) -> Iterator[Diagnosis]:
    for name, state in health.products.items():
        yield Diagnosis(name, ok=state == "ok", detail=state, remedy=f"start it again; {_LOGS}")


def _check_worlds(health: Health) -> Iterator[Diagnosis]:
    names = {world for worlds in health.worlds.values() for world in worlds}
    for world in sorted(names):
        missing = [product for product, worlds in health.worlds.items() if world not in worlds]
        detail = f"built for {', '.join(product for product in health.worlds if product not in missing)}"
        yield Diagnosis(
            f"world {world}",
            ok=not missing,
            detail=detail if not missing else f"{detail}; missing for {', '.join(missing)}",
            remedy="make worlds",
        )
    if not names:
        yield Diagnosis("worlds", ok=False, detail="no world is built", remedy="make worlds")


def _check_episode(connection: Connection, health: Health) -> Iterator[Diagnosis]:
    """Plays a free play twice: the clocks must agree, and the same calls must get the same bytes."""
    world = next(iter(sorted({world for worlds in health.worlds.values() for world in worlds})), "standard")
    try:
        trajectory, lagging = _play_briefly(connection, OpenRequest(task=None, world=world))
        yield Diagnosis(
            "clocks",
            ok=not lagging,
            detail="all products agree with control" if not lagging else f"{', '.join(lagging)} differ from control",
            remedy="restart the stack: its parts started from different worlds",
        )
        yield _check_determinism(verify(trajectory, connection).difference)
    except DayshiftError as error:
        yield Diagnosis("episode", ok=False, detail=str(error), remedy=_LOGS)


def _play_briefly(connection: Connection, request: OpenRequest) -> tuple[Trajectory, list[str]]:
    with Episode.open(request, connection=connection) as episode:
        lagging = []
        for product in episode.protocol.opened.products:
            clock = episode.clock
            call = _find_read(episode, product)
            if call is not None and episode.step(call).clock[:16] != clock[:16]:
                lagging.append(product)
        return episode.trajectory(), lagging


def _find_read(episode: Episode, product: str) -> Call | None:
    """Returns the first read of this product that needs no argument."""
    for operation in episode.operations.values():
        takes_no_arguments = not any(argument.required for argument in operation.arguments)
        if operation.product == product and operation.method == "GET" and takes_no_arguments:
            return Call(operation.name)
    return None


def _check_determinism(difference: Difference | None) -> Diagnosis:
    detail = "two free plays answered with the same bytes" if difference is None else str(difference)
    return Diagnosis(
        "determinism", ok=difference is None, detail=detail, remedy="report this: it is a bug of the stack"
    )
