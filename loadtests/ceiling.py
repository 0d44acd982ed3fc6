"""Ceilings: as many requests as a server can answer, by wrk where it is installed, else by raw sockets of our own."""

import asyncio
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import uvloop


@dataclass(frozen=True, slots=True)
class Shot:
    """One request, written out."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: str = ""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """How many were answered a second, how many of them badly, and who measured it."""

    per_second: float
    refused: int
    tool: str


def measure(base_url: str, shots: Sequence[Shot], seconds: float, connections: int = 32) -> Ceiling:
    program = shutil.which("wrk")
    if program is not None:
        return _by_wrk(program, base_url, shots, seconds, connections)
    return uvloop.run(_by_sockets(base_url, shots, seconds, connections))


def _by_wrk(program: str, base_url: str, shots: Sequence[Shot], seconds: float, connections: int) -> Ceiling:
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(_lua(shots))
        script.flush()
        command = [program, "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", "-s", script.name, base_url]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603 - found on the path
    rate = re.search(r"Requests/sec:\s+([\d.]+)", output)
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
    if rate is None:
        raise RuntimeError(f"wrk said: {output}")
    return Ceiling(float(rate[1]), int(refused[1]) if refused else 0, "wrk")


def _lua(shots: Sequence[Shot]) -> str:
    formats = []
    for shot in shots:
        headers = ", ".join(f"[ {_quote(name)} ] = {_quote(value)}" for name, value in shot.headers.items())
        body = _quote(shot.body) if shot.body else "nil"
        formats.append(f"wrk.format({_quote(shot.method)}, {_quote(shot.path)}, {{{headers}}}, {body})")
    listed = ",\n    ".join(formats)
    return f"""local shots, at = {{}}, 0
function init(args)
  shots = {{
    {listed}
  }}
end
function request()
  at = at % #shots + 1
  return shots[at]
end
"""


def _quote(text: str) -> str:
    return f"[==[{text}]==]"


async def _by_sockets(base_url: str, shots: Sequence[Shot], seconds: float, connections: int) -> Ceiling:
    until = time.perf_counter() + seconds
    wires = [_wire(shot, base_url) for shot in shots]
    counts = await asyncio.gather(*(_lane(base_url, wires, lane, until) for lane in range(connections)))
    return Ceiling(sum(done for done, _ in counts) / seconds, sum(bad for _, bad in counts), "raw sockets in Python")


async def _lane(base_url: str, wires: Sequence[bytes], lane: int, until: float) -> tuple[int, int]:
    where = urlsplit(base_url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    count = bad = 0
    while time.perf_counter() < until:
        writer.write(wires[(count * 31 + lane) % len(wires)])
        head = await reader.readuntil(b"\r\n\r\n")
        _, said, rest = head.lower().partition(b"content-length: ")
        if said:
            await reader.readexactly(int(rest.split(b"\r\n")[0]))
        count += 1
        bad += not head.startswith(b"HTTP/1.1 2")
    writer.close()
    return count, bad


def _wire(shot: Shot, base_url: str) -> bytes:
    body = shot.body.encode()
    headers = {"host": urlsplit(base_url).netloc, **shot.headers, "content-length": str(len(body))}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"{shot.method} {shot.path} HTTP/1.1\r\n{head}\r\n".encode() + body
