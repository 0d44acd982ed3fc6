"""`make bench`: what a request, a fork and an opening cost; requests are compared with an empty endpoint in one run."""

import argparse
import asyncio
import itertools
import json
import os
import random  # noqa: TID251 - a load generator, not a world; seeded
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import httpx
import uvloop
from fastapi import FastAPI, Response
from rich.console import Console
from rich.table import Table
from starlette.types import Receive, Scope, Send

from services.bench_openings import USUAL_FAMILIES, run_openings
from services.bench_verdicts import run_verdicts
from services.kernel import catalog
from services.kernel.config import Settings
from services.kernel.encoding import JSON, Encoding
from services.kernel.forks import Forks
from services.kernel.product import BenchCall, Product
from services.kernel.serve import listener, run_product, serve_all
from services.kernel.statements import Row
from services.kernel.template import Template
from services.kernel.world import World

_HARNESS_TOKEN = "bench-harness"  # noqa: S105 - a loopback process that lives for a minute
_CREDENTIAL = "bench-credential"
_CONNECTIONS = 8
_USUAL_OPENINGS = 1000
Requests = Iterator[bytes]
_EMPTY = b'{"status":"ok"}'


@dataclass(frozen=True, slots=True)
class Measurement:
    """One row of the table."""

    name: str
    per_second: float
    cpu_us: float
    bar: float | None = None


# --- subjects -------------------------------------------------------------------------------------------------------


async def bare(_scope: Scope, _receive: Receive, send: Send) -> None:
    """(a) as little as ASGI allows."""
    headers = [(b"content-type", b"application/json"), (b"content-length", b"15")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": _EMPTY})


def empty_fastapi() -> FastAPI:
    """(b) FastAPI with nothing to do."""
    api = FastAPI(docs_url=None, redoc_url=None)

    @api.get("/")
    async def empty() -> Response:
        return Response(_EMPTY, media_type="application/json")

    return api


def serve_empty(port: int) -> None:
    uvloop.run(serve_all(listener(bare, "127.0.0.1", port), listener(empty_fastapi(), "127.0.0.1", port + 1)))


def serve_product(name: str, port: int, var: Path) -> None:
    settings = Settings(var=var, harness_token=_HARNESS_TOKEN, log_level="info")
    run_product(replace(catalog.product(name), port=port), settings)


# --- measuring ------------------------------------------------------------------------------------------------------


@contextmanager
def process(*arguments: str, ports: tuple[int, ...]) -> Iterator[int]:
    """A subject in a process of its own; its log goes where a log would, into a file."""
    with tempfile.TemporaryFile("w+") as log:
        started = subprocess.Popen([sys.executable, "-m", "services.bench", *arguments], stderr=log)  # noqa: S603 - our own module
        try:
            for port in ports:
                _await_port(port, started, log)
            yield started.pid
        finally:
            started.terminate()
            started.wait(10)


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def proportional_mb(pid: int) -> float:
    """Resident memory that counts a page once however often it is mapped: all forks map the same world file."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(rollup.split("Pss:")[1].split()[0]) / 1e3


async def measure(name: str, port: int, pid: int, requests: Requests, seconds: float, bar: float | None) -> Measurement:
    await _drive(port, requests, seconds / 4)
    cpu, began = cpu_seconds(pid), time.perf_counter()
    done = await _drive(port, requests, seconds)
    spent = time.perf_counter() - began
    return Measurement(name, done / spent, (cpu_seconds(pid) - cpu) / done * 1e6, bar)


async def _drive(port: int, requests: Requests, seconds: float) -> int:
    until = time.perf_counter() + seconds
    counts = await asyncio.gather(*(_connection(port, requests, until) for _ in range(_CONNECTIONS)))
    return sum(counts)


async def _connection(port: int, requests: Requests, until: float) -> int:
    """Raw sockets, so that the generator is not what is measured."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    count = 0
    while time.perf_counter() < until:
        writer.write(next(requests))
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 2"):
            raise RuntimeError(f"the subject answered {head[:60]!r}")
        _, has_body, rest = head.lower().partition(b"content-length: ")
        if has_body:
            await reader.readexactly(int(rest.split(b"\r\n")[0]))
        count += 1
    writer.close()
    return count


def wire(method: str, path: str, body: object = None, encoding: Encoding = JSON) -> bytes:
    content = b"" if body is None else encoding.write(body)
    head = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {_CREDENTIAL}\r\n"
    if content:
        head += f"content-type: {encoding.media}\r\ncontent-length: {len(content)}\r\n"
    return head.encode() + b"\r\n" + content


def requests_of(call: BenchCall, world: World, encoding: Encoding) -> Requests:
    """Without end and without a repetition of `{n}`: what may exist only once is created only once."""
    ids = [row[0] for row in world.rows(call.ids)] if call.ids else [0]
    if not ids:
        raise RuntimeError(f"the world has no row for {call.ids}")
    random.Random(7).shuffle(ids)  # noqa: S311 - a load generator
    for n in itertools.count():
        path = call.path.replace("{id}", str(ids[n % len(ids)])).replace("{n}", str(n))
        yield wire(call.method, path, _fill(call.body, call.many, ids, n), encoding)


def _fill(body: Any, many: int, ids: list[Any], n: int) -> Any:
    match body:
        case str():
            return body.replace("{id}", str(ids[n % len(ids)])).replace("{n}", str(n))
        case Mapping():
            return {key: _fill(value, many, ids, n) for key, value in body.items()}
        case [only] if many > 1 and "{id}" in json.dumps(only):
            return [_fill(only, 1, ids, n + offset) for offset in range(many)]
        case list():
            return [_fill(value, many, ids, n) for value in body]
    return body


# --- forks ----------------------------------------------------------------------------------------------------------


def measure_forks(product: Product, var: Path, world: str, count: int) -> tuple[float, float, float]:
    """(fork ms, reset ms, MB per fork after 20 writes), in this process, which should be a fresh one."""
    template = Template(var / "worlds" / f"{product.name}-{world}.sqlite", product.schema)
    forks = Forks(template, keep=count)
    warm = forks.take()
    _work(World(warm, 0), product)
    before = proportional_mb(os.getpid())
    began = time.perf_counter()
    worlds = [forks.take() for _ in range(count)]
    fork_ms = (time.perf_counter() - began) / count * 1000
    for seed, fork in enumerate(worlds):
        _work(World(fork, seed), product)
    each_mb = (proportional_mb(os.getpid()) - before) / count
    began = time.perf_counter()
    for fork in worlds:
        forks.give_back(fork)
    return fork_ms, (time.perf_counter() - began) / count * 1000, each_mb


def _work(world: World, product: Product) -> None:
    """Twenty operations on the largest table: ten rows read, ten of them written back with one value changed."""
    tables = product.schema.list_recorded_tables()
    table = max(tables, key=lambda t: world.rows(f'SELECT count(*) FROM "{t.name}"')[0][0])  # noqa: S608 - a table's own name
    table = product.table(table.name)
    key = next(iter(table.primary_key.columns)).name
    keys = [row[0] for row in world.rows(f'SELECT "{key}" FROM "{table.name}" LIMIT 400')][::37][:10]  # noqa: S608
    for row_id in keys:
        world.get(table, row_id)
    for row_id in keys:
        row = world.get(table, row_id)
        if row is not None:
            world.save(table, _change_one_value(row), "bench")


def _change_one_value(row: Row) -> Row:
    """One value of a document differs, as after an update by an agent; without a document, one number."""
    for column, value in row.items():
        if isinstance(value, dict) and (texts := [name for name in value if isinstance(value[name], str)]):
            return {**row, column: {**value, texts[-1]: value[texts[-1]] + "7"}}
    number = next(column for column, value in list(row.items())[1:] if isinstance(value, int))
    return {**row, number: row[number] + 1}


# --- the run --------------------------------------------------------------------------------------------------------


def run(products: list[Product], var: Path, world: str, seconds: float) -> None:
    console = Console()
    measured = list(_empty_rows(seconds))
    base = measured[1].cpu_us
    for product in products:
        measured += _product_rows(product, var, world, seconds)
    _print_requests(console, measured, base, world)
    _print_forks(console, products, var, world)


def _empty_rows(seconds: float) -> Iterator[Measurement]:
    port = _free_ports()
    with process("empty", str(port), ports=(port, port + 1)) as pid:
        for name, subject_port in (("(a) bare ASGI", port), ("(b) empty FastAPI", port + 1)):
            yield uvloop.run(measure(name, subject_port, pid, itertools.repeat(wire("GET", "/")), seconds, None))


def _product_rows(product: Product, var: Path, world: str, seconds: float) -> Iterator[Measurement]:
    port = _free_ports()
    template = Template(var / "worlds" / f"{product.name}-{world}.sqlite", product.schema)
    fork = Forks(template).take()
    look = World(fork, 0)
    with process("product", product.name, str(port), str(var), ports=(port, port + 10)) as pid:
        for number, (name, call) in enumerate(product.bench.items()):
            _reopen(port + 10, world, number)
            requests = requests_of(call, look, product.encoding)
            yield uvloop.run(measure(f"{product.name}: {name}", port, pid, requests, seconds, call.bar))
    fork.close()
    template.close()


def _reopen(harness_port: int, world: str, number: int) -> None:
    """Each operation starts from the template, as an episode would."""
    headers = {"authorization": f"Bearer {_HARNESS_TOKEN}"}
    with httpx.Client(base_url=f"http://127.0.0.1:{harness_port}", headers=headers) as control:
        if number:
            control.post(f"/control/episodes/b{number - 1}/close", timeout=30).raise_for_status()
        opening = {"episode_id": f"b{number}", "credential": _CREDENTIAL, "seed": 1, "world": world}
        control.post("/control/episodes", json=opening).raise_for_status()


def _print_requests(console: Console, measured: list[Measurement], base: float, world: str) -> None:
    table = Table(title=f"one process, {_CONNECTIONS} connections, world {world!r}")
    for heading in ("subject", "requests/s", "CPU µs/request", "× empty FastAPI", "bar"):
        table.add_column(heading, justify="left" if heading == "subject" else "right")
    for row in measured:
        ratio = row.cpu_us / base
        bar = "" if row.bar is None else f"≤ {row.bar} {'ok' if ratio <= row.bar else 'MISSED'}"
        table.add_row(row.name, f"{row.per_second:,.0f}", f"{row.cpu_us:.0f}", f"{ratio:.2f}", bar)
    console.print(table)


def _print_forks(console: Console, products: list[Product], var: Path, world: str) -> None:
    table = Table(title=f"forks of world {world!r}")
    for heading in ("product", "forks", "fork ms (≤ 1)", "reset ms (≤ 0.2)", "MB each after 20 operations (≤ 0.5)"):
        table.add_column(heading, justify="left" if heading == "product" else "right")
    for product in products:
        for count in (1, 100, 1000):
            arguments = [sys.executable, "-m", "services.bench", "forks", product.name, str(var), world, str(count)]
            printed = subprocess.run(arguments, check=True, capture_output=True, text=True).stdout  # noqa: S603 - our own module
            fork_ms, reset_ms, each_mb = json.loads(printed)
            table.add_row(product.name, str(count), f"{fork_ms:.2f}", f"{reset_ms:.3f}", f"{each_mb:.3f}")
    console.print(table)


def _free_ports() -> int:
    """A port with its next and its tenth neighbour free."""
    while True:
        with socket.socket() as first, socket.socket() as second, socket.socket() as third:
            first.bind(("127.0.0.1", 0))
            port: int = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
                third.bind(("127.0.0.1", port + 10))
            except (OSError, OverflowError):
                continue
            return port


def _await_port(port: int, started: subprocess.Popen[bytes], log: IO[str]) -> None:
    for _ in range(1200):
        if started.poll() is not None:
            log.seek(0)
            raise RuntimeError(f"the subject ended: {log.read()[-2000:]}")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"nothing listens on port {port}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m services.bench", description=__doc__)
    parser.add_argument("--world", default="standard")
    parser.add_argument("--seconds", type=float, default=3.0, help="per subject")
    parser.add_argument("--product", action="append", choices=catalog.names(), help="only this one; may be repeated")
    subjects = parser.add_subparsers(dest="subject")
    subjects.add_parser("empty").add_argument("port", type=int)
    product = subjects.add_parser("product")
    for name, kind in (("name", str), ("port", int), ("var", Path)):
        product.add_argument(name, type=kind)
    openings = subjects.add_parser("openings", help="openings a second, of every family unless some are named")
    openings.add_argument("--family", action="append", default=[], help="only this one; may be repeated")
    openings.add_argument("--openings", type=int, default=_USUAL_OPENINGS, help="per measurement")
    subjects.add_parser("verdicts", help="verdicts of the large service, and who waits meanwhile")
    forks = subjects.add_parser("forks")
    for name, kind in (("name", str), ("var", Path), ("in_world", str), ("count", int)):
        forks.add_argument(name, type=kind)
    options = parser.parse_args()
    match options.subject:
        case "empty":
            serve_empty(options.port)
        case "product":
            serve_product(options.name, options.port, options.var)
        case "openings":
            settings = Settings.from_environment()
            is_good = run_openings(settings, Console(), tuple(options.family), options.openings, options.world)
            sys.exit(0 if is_good else 1)
        case "verdicts":
            sys.exit(0 if run_verdicts(Settings.from_environment(), Console(), options.world) else 1)
        case "forks":
            print(
                json.dumps(measure_forks(catalog.product(options.name), options.var, options.in_world, options.count))
            )
        case _:
            settings = Settings.from_environment()
            products = [catalog.product(name) for name in options.product or catalog.names()]
            run(products, settings.var, options.world, options.seconds)
            if not options.product:
                run_openings(settings, Console(), USUAL_FAMILIES, _USUAL_OPENINGS, options.world)
                run_verdicts(settings, Console(), options.world)


if __name__ == "__main__":
    main()
