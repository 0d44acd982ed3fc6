"""What runs in a sandbox stays in it, while others are served beside it."""

import asyncio
import os
import statistics
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.ide.service import Episode, IdeService

OTHERS_PER_SECOND = 200
AT_ONCE = 40


class Others:
    """Somebody else's requests, as many a second as a busy training run makes, for as long as this module takes."""

    def __init__(self, episode: Episode) -> None:
        self.statuses: list[int] = []
        self.seconds: list[float] = []
        self._episode = episode
        self._over = threading.Event()
        self._running = threading.Thread(target=lambda: asyncio.run(self._drive()), daemon=True)
        self._running.start()

    def stop(self) -> None:
        self._over.set()
        self._running.join(60)

    def summarize(self, seconds: float) -> str:
        wrong = sum(status != 200 for status in self.statuses)
        half, late = (statistics.quantiles(self.seconds, n=100)[at] * 1000 for at in (49, 98))
        rate = len(self.statuses) / seconds
        return f"{len(self.statuses)} requests, {rate:.0f}/s, {wrong} errors, p50 {half:.0f} ms, p99 {late:.0f} ms"

    async def _drive(self) -> None:
        headers = {"authorization": f"Bearer {self._episode.token}"}
        limits = httpx.Limits(max_connections=20)
        async with httpx.AsyncClient(base_url=self._episode.url, headers=headers, timeout=120, limits=limits) as client:
            pending: set[asyncio.Task[None]] = set()
            began = time.perf_counter()
            while not self._over.is_set():
                due = int((time.perf_counter() - began) * OTHERS_PER_SECOND) - len(self.statuses) - len(pending)
                # As clients do, they wait for answers: what a starved machine cannot serve is not heaped up.
                for _ in range(min(due, AT_ONCE - len(pending))):
                    task = asyncio.create_task(self._ask(client))
                    pending.add(task)
                    task.add_done_callback(pending.discard)
                await asyncio.sleep(0.01)
            await asyncio.gather(*pending)

    async def _ask(self, client: httpx.AsyncClient) -> None:
        began = time.perf_counter()
        try:
            status = (await client.get("/api/v3/repos/tallyport/ledger/issues/1")).status_code
        except httpx.HTTPError:
            status = 0
        self.seconds.append(time.perf_counter() - began)
        self.statuses.append(status)


@pytest.fixture(scope="module")
def others(service: IdeService, request: pytest.FixtureRequest) -> Iterator[Others]:
    # Not among those that a test's end closes.
    began, other = time.perf_counter(), Others(service.open())
    service.opened.pop()
    yield other
    other.stop()
    seconds = time.perf_counter() - began
    with request.config.pluginmanager.get_plugin("capturemanager").global_and_fixture_disabled():
        print(f"\nbeside the escapes: {other.summarize(seconds)}")


@pytest.fixture(autouse=True)
def nobody_else_notices(others: Others) -> Iterator[None]:
    """Whatever a test of this module tries, the others are served, and served right."""
    before = len(others.statuses)
    yield
    for _ in range(200):
        if len(others.statuses) > before + 20:
            break
        time.sleep(0.05)

    assert len(others.statuses) > before + 20
    assert set(others.statuses[before:]) == {200}


def run(episode: Episode, command: str, seconds: float = 20) -> str:
    """Both outputs of a command; one that is ended for its time has said nothing."""
    with episode.client() as client:
        body = {"command": command, "shell": True, "timeout": seconds, "merge_output_streams": True}
        answer = client.post("/execute", json=body)
        return str(answer.json().get("stdout", ""))


ATTEMPTS = {
    "fork bomb": "bomb() { bomb | bomb & }; bomb; sleep 2; echo done",
    "memory bomb": "python3 -c 'x = []\nwhile True: x.append(bytearray(1 << 24))'",
    "memory bomb of many": "for i in $(seq 30); do python3 -c 'x = [bytearray(1 << 26) for _ in range(9)]; import time; time.sleep(9)' & done; wait",
    "disk bomb": "head -c 10G /dev/zero > /home/dev/full; head -c 10G /dev/zero > /tmp/full; df --output=used,size /home/dev /tmp",
    "endless output": "timeout 3 yes",
    "endless processes that hide": "for i in $(seq 400); do setsid sleep 30 & done; echo done",
}


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=str)
def test_a_bomb_hurts_nobody_else(ide: IdeService, attempt: str) -> None:
    bomber = ide.open()
    run(bomber, "true")
    run(bomber, ATTEMPTS[attempt], seconds=6)

    assert bomber.diff()["broken"] is None


_ZERO = """
import mmap, os, time
zero = os.open("/dev/zero", os.O_RDWR)
maps = [mmap.mmap(zero, 400 << 20) for _ in range(4)]
if os.fork() == 0:
    for memory in maps:
        for place in range(0, 400 << 20, 4096):
            memory[place] = 1
    os._exit(0)
os.wait()
time.sleep(9)
"""
SHARED = {
    "a file of memory": "import os; os.memfd_create('x')",
    "shared memory without a file": "import mmap; mmap.mmap(-1, 4096)",
    "System V": "import ctypes; assert ctypes.CDLL(None).shmget(0, 4096, 0o1666) != -1",
    "a device that another process fills": _ZERO,
}


@pytest.mark.parametrize("program", SHARED.values(), ids=SHARED.keys())
def test_memory_that_no_process_owns_is_refused_or_counted(episode: Episode, program: str) -> None:
    began = time.monotonic()
    result = episode.execute(f"python3 - <<'E'\n{program}\nE", timeout=20)

    assert result["exit_code"] != 0
    assert time.monotonic() - began < 9


def test_processes_may_share_memory_through_files_and_map_their_own(episode: Episode) -> None:
    program = (
        "import mmap, multiprocessing as mp\n"
        "from multiprocessing.shared_memory import SharedMemory\n"
        "mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
        "SharedMemory(create=True, size=1 << 20).unlink()\n"
        "print(mp.Pool(2).map(abs, [1, -2]), mp.Array('i', 3)[:])\n"
    )
    assert episode.execute(f"python3 - <<'E'\n{program}\nE")["stdout"] == "[1, 2] [0, 0, 0]\n"


def test_a_program_that_nobody_waits_for_is_bounded_as_well(episode: Episode) -> None:
    program = "import time; x = bytearray(b'x') * (1500 << 20); time.sleep(99)"
    episode.execute(f'setsid python3 -c "{program}" > /dev/null 2>&1 & true')
    time.sleep(4)

    assert "bytearray" not in episode.execute("cat /proc/*/cmdline")["stdout"].replace("cat", "")


def test_files_are_bounded_in_number_and_can_be_removed_again(episode: Episode) -> None:
    made = episode.execute("mkdir m; cd m; python3 -c 'for i in range(300000): open(str(i), \"w\")'", timeout=100)
    removed = episode.execute("rm -rf m; ls m | wc -l", timeout=100)

    assert made["exit_code"] == 137
    assert removed["stdout"] == "0\n"


def test_after_a_fork_bomb_the_workspace_can_be_used_again(episode: Episode) -> None:
    run(episode, ATTEMPTS["fork bomb"], seconds=4)
    with episode.client() as client:
        sandbox = client.post("/api/sandbox", json={}).json()["id"]
        client.post(f"/api/sandbox/{sandbox}/stop?force=true").raise_for_status()

    assert run(episode, "echo here") == "here\n"


def test_the_network_leads_nowhere(episode: Episode, ide: IdeService) -> None:
    port = ide.url.rpartition(":")[2]
    script = f"""
import socket
for host, port in (("127.0.0.1", {port}), ("127.0.0.1", {int(port) + 10}), ("169.254.169.254", 80), ("1.1.1.1", 53)):
    try:
        socket.create_connection((host, port), 1)
        print("reached", host, port)
    except OSError as error:
        print(type(error).__name__)
try:
    socket.getaddrinfo("tallyport.io", 80)
    print("resolved")
except OSError as error:
    print(type(error).__name__)
print(sorted(name for _, name in socket.if_nameindex()))
"""
    printed = run(episode, f"python3 -c '{script}'")

    assert "reached" not in printed
    assert "resolved" not in printed
    assert printed.splitlines()[-1] == "['lo']"


def test_nothing_of_the_host_can_be_read(episode: Episode, ide: IdeService, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hunter2-on-the-host")
    printed = run(
        episode,
        f"cat {secret} {Path(__file__)} /etc/shadow /root/.bashrc /proc/1/environ /proc/{ide.pid}/environ /proc/1/root/etc/passwd; "
        "ls /work /root /var /opt /mnt /srv; cat /proc/*/environ; env; mount; ls -la / /proc/1/fd",
    )

    assert "hunter2" not in printed
    assert "DAYSHIFT" not in printed
    assert "test_isolation" not in printed.replace(str(Path(__file__)), "")
    assert ide.url.rpartition(":")[2] not in printed
    assert not any(
        value in printed
        for name, value in os.environ.items()
        if name.endswith(("TOKEN", "SECRET", "KEY")) and len(value) > 8
    )


def test_only_its_own_processes_are_there_and_the_first_cannot_be_touched(episode: Episode) -> None:
    printed = run(
        episode,
        "ls /proc | grep -c '^[0-9]*$'; kill -9 1; kill -STOP 1; kill -9 -1 2>/dev/null; echo unreachable",
    )
    assert int(printed.splitlines()[0]) < 10
    assert run(episode, "echo alive") == "alive\n"


def test_tracing_namespaces_and_mounts_are_closed(episode: Episode) -> None:
    script = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    ctypes.set_errno(0)
    print(name, libc[name](*arguments), os.strerror(ctypes.get_errno()))
pid = os.fork()
if pid == 0:
    import time; time.sleep(2); os._exit(0)
call("ptrace", 16, pid, 0, 0)
call("ptrace", 16, 1, 0, 0)
call("unshare", 0x10000000)
call("unshare", 0x00020000)
call("mount", b"none", b"/tmp", b"tmpfs", 0, None)
call("setuid", 0)
call("chroot", b"/tmp")
call("syscall", {"x86_64": 56, "aarch64": 220}[os.uname().machine], 0x10000011, 0, 0, 0, 0)
call("syscall", 435, 0, 0)
os.kill(pid, 9)
"""
    printed = run(episode, f"cat > /tmp/t.py <<'E'\n{script}\nE\npython3 /tmp/t.py")

    lines = printed.splitlines()
    assert len(lines) == 9, printed
    assert all(" -1 " in line for line in lines), printed
    # By the filter itself, which is all there is in a container: the kernel's switch would say that no space is left.
    assert lines[-2].endswith("Operation not permitted")
    assert lines[-1].endswith("Function not implemented")


def test_no_program_gives_more_rights(episode: Episode) -> None:
    printed = run(
        episode,
        "cp /bin/bash /tmp/b && chmod u+s /tmp/b && /tmp/b -p -c 'id -u'; find / -xdev -perm -4000 -exec {} --version ';' 2>&1 | head -3; "
        "su -c id root </dev/null; grep -E '^(NoNewPrivs|CapEff|CapBnd|Seccomp):' /proc/self/status",
    )

    assert "uid=0" not in printed
    assert "NoNewPrivs:\t1" in printed
    assert "CapEff:\t0000000000000000" in printed
    assert "CapBnd:\t0000000000000000" in printed
    assert "Seccomp:\t2" in printed


def test_nothing_outside_can_be_written(episode: Episode) -> None:
    printed = run(
        episode,
        "for at in /x /usr/x /usr/local/bin/x /etc/x /dev/x /proc/sys/kernel/hostname /home/x; do "
        "(echo x > $at) 2>/dev/null && echo wrote $at; done; (echo x >> /usr/local/libexec/toolbox/guest/server.py) && echo wrote; echo done",
    )

    assert printed.splitlines()[-1] == "done"
    assert "wrote" not in printed


def test_paths_and_links_lead_only_to_other_places_of_the_same_sandbox(episode: Episode, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("of the host")
    with episode.client() as client:
        sandbox = client.post("/api/sandbox", json={}).json()["id"]
        toolbox = f"/toolbox/{sandbox}/files"
        run(episode, f"ln -s {outside} /home/dev/link; ln -s / /home/dev/root; ln -s /etc/passwd /home/dev/passwd")
        pending = [
            client.get(f"{toolbox}/download", params={"path": path})
            for path in (
                "/home/dev/link",
                f"/home/dev/root{outside}",
                f"/home/dev/../..{outside}",
                str(outside),
                "/home/dev/../../etc/shadow",
            )
        ]
        passwd = client.get(f"{toolbox}/download", params={"path": "/home/dev/passwd"})
        written = client.post(f"{toolbox}/upload-v2", params={"path": "/home/dev/link"}, content=b"mine now")
        zipped = client.post(f"{toolbox}/upload-v2", params={"path": "/home/dev/../../../usr/evil"}, content=b"x")

    assert [answer.status_code for answer in pending] == [404] * 5
    assert "dev:x:1000" in passwd.text
    assert "root:x:0:0:root:/root:/bin/bash" not in passwd.text
    assert outside.read_text() == "of the host"
    assert written.status_code >= 400
    assert zipped.status_code >= 400


def test_one_episode_sees_nothing_of_another(ide: IdeService) -> None:
    one, other = ide.open(), ide.open()
    run(
        one,
        "echo marker-of-one > /home/dev/mine; echo marker-of-one > /tmp/mine; echo m > /dev/shm/mine; (sleep 30 &) ; cd ledger && git switch -qc mine && git commit -q --allow-empty -m marker && git push -q origin mine",
    )

    printed = run(
        other,
        "ls /home/dev /tmp /dev/shm; ps -e 2>/dev/null; grep -r marker-of-one /home /tmp 2>/dev/null; cd ledger && git fetch -q && git branch -a",
    )
    assert "mine" not in printed
    assert "marker" not in printed
    with other.client() as client:
        assert client.get("/api/v3/repos/tallyport/ledger/branches/mine").status_code == 404


def test_what_an_episode_held_is_gone_when_it_ends(ide: IdeService) -> None:
    children = Path(f"/proc/{ide.pid}/task/{ide.pid}/children")
    episode = ide.open()
    # It takes a moment until it is the program that was asked for.
    run(episode, "(setsid sleep 77.5 &); sleep 0.5")
    marked = [entry.name for entry in Path("/proc").iterdir() if _command(entry.name) == "sleep\x0077.5\x00"]
    assert len(marked) == 1
    episode.close()

    for _ in range(100):
        if not Path(f"/proc/{marked[0]}").exists():
            break
        time.sleep(0.05)
    assert not Path(f"/proc/{marked[0]}").exists()
    assert children.exists()


def _command(pid: str) -> str:
    """Empty for whatever in /proc is no process."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def test_the_agents_environment_tells_nothing_of_a_harness(episode: Episode) -> None:
    printed = run(
        episode,
        "env; cat /etc/passwd /etc/hosts /etc/hostname /etc/gitconfig ~/.gitconfig; ls -R /usr/local | head -200; cat /proc/1/cmdline /usr/local/libexec/toolbox/guest/*; cd ledger && git log --stat",
    ).lower()

    for word in ("dayshift", "episode", "mock", "simulat", "reward", "grader", "example.com", "verdict"):
        assert word not in printed, word
