"""Whoever tries to leave the sandbox is counted by the kernel, whatever program it is; words are not."""

from collections.abc import AsyncIterator

import pytest

from services.ide.sandbox.bubblewrap import Bubblewrap
from services.ide.sandbox.limits import Limits
from services.ide.sandbox.sandbox import Sandbox

pytestmark = pytest.mark.anyio

_CONNECT = "import socket; socket.create_connection(({host!r}, {port}), 1)"
_ONCE = "python3 -m http.server 8123 >/dev/null 2>&1 & sleep 0.7"


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def sandbox(anyio_backend: str) -> AsyncIterator[Sandbox]:
    runner = Bubblewrap()
    opened = await runner.start(Limits())
    yield opened
    opened.end()
    await runner.close()


async def count_during(sandbox: Sandbox, command: str) -> int:
    before = await _count(sandbox)
    await sandbox.run(["/bin/bash", "-c", command], seconds=30)
    return await _count(sandbox) - before


async def _count(sandbox: Sandbox) -> int:
    asked = {"known": {}, "without": [], "most_files": 0, "most_bytes": 0, "largest": 0}
    scan = await sandbox.request_file("scan", root="/home/dev", **asked)
    return int(scan.head["outward"])


@pytest.mark.parametrize(
    "command",
    [
        "echo 'curl http://93.184.216.34'; which curl wget",
        "python3 -c 'print(\"pip install requests, curl http://example.com\")'",
        (
            f'{_ONCE}; python3 -c "{_CONNECT.format(host="127.0.0.1", port=8123)}"; '
            "python3 -c \"import urllib.request; urllib.request.urlopen('http://localhost:8123')\"; kill %1"
        ),
        (
            f'python3 -c "{_CONNECT.format(host="::1", port=9)}"; '
            "python3 -c 'import socket; print(socket.getfqdn(), socket.getfqdn(\"::\"))'"
        ),
        "git init -q there && cd there && git commit -q --allow-empty -m 'wget; curl'",
    ],
    ids=["a word in a line", "a word in a program", "a server of one's own", "loopback by any name", "git"],
)
async def test_what_stays_inside_is_not_counted(sandbox: Sandbox, command: str) -> None:
    assert await count_during(sandbox, command) == 0


@pytest.mark.parametrize(
    "command",
    [
        f'python3 -c "{_CONNECT.format(host="93.184.216.34", port=80)}"',
        f'echo "{_CONNECT.format(host="93.184.216.34", port=80)}" > tool.py; python3 tool.py',
        f'python3 -c "{_CONNECT.format(host="2606:2800::1", port=80)}"',
        f'python3 -c "{_CONNECT.format(host="169.254.169.254", port=80)}"',
        f'python3 -c "{_CONNECT.format(host="example.com", port=80)}"',
        "python3 -c \"import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('1.1.1.1', 53))\"",
        "exec 3<>/dev/tcp/93.184.216.34/80",
    ],
    ids=["a connection", "from a file", "IPv6", "metadata", "a name", "a datagram", "a shell"],
)
async def test_an_attempt_to_reach_another_machine_is_counted(sandbox: Sandbox, command: str) -> None:
    assert await count_during(sandbox, command) > 0
