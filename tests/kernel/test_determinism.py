"""Same template, seed and ordered calls: byte-identical answers, in any process."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import asyncio, sys, tempfile
from pathlib import Path
import httpx
from services.kernel.app import create_app
from services.kernel.episodes import Episodes, Opening, Worlds
from services.kernel.telemetry import Telemetry
from tests.kernel.pantry import build_pantry, product

async def main():
    folder = Path(sys.argv[1]); build_pantry(folder)
    episodes = Episodes(product, Worlds(product, folder), 60)
    episodes.open(Opening(id="e", credential="pk_secret1", seed=11, world="small", faults="lagging-search"))
    app = create_app(product, episodes, Telemetry("pantry"))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://p",
                                 headers={"authorization": "Bearer pk_secret1"}) as agent:
        for call in [("POST", "/shelves", {"label": "ä"}), ("PATCH", "/shelves/3", {"label": "jam"}),
                     ("GET", "/search?label=jam", None), ("PATCH", "/shelves/999", {"label": "x"}),
                     ("POST", "/shelves", {"label": 3}), ("GET", "/shelves/3", None), ("POST", "/shelves", {"label": "b"})]:
            answer = await agent.request(call[0], call[1], json=call[2])
            print(answer.status_code, sorted(answer.headers.items()), answer.content)

asyncio.run(main())
"""


def test_two_processes_in_different_surroundings_answer_byte_for_byte_the_same(tmp_path: Path) -> None:
    surroundings = [
        {"PYTHONHASHSEED": "1", "TZ": "Asia/Tokyo", "LC_ALL": "C"},
        {"PYTHONHASHSEED": "4242", "TZ": "America/Lima", "LC_ALL": "C.UTF-8"},
    ]
    printed = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT, str(tmp_path / str(at))],
            env={**os.environ, "PYTHONPATH": ".", **surrounding},
            check=True,
            capture_output=True,
        ).stdout
        for at, surrounding in enumerate(surroundings)
    ]

    assert printed[0] == printed[1]
    assert printed[0].count(b"\n") == 7
