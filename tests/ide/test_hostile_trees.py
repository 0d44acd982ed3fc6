"""Whatever an agent writes, names or sends is refused or judged: no tree and no program ends an episode unscored."""

import base64
import shlex
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from services.ide.grading import module_files
from services.ide.grading.edited_files import EditedFile, FileVersion
from services.ide.grading.integrity import (
    find_file_flags,
    find_hardcoded_values,
    find_import_hooks,
    find_suppressions,
)
from tests.ide.sample import MONEY
from tests.ide.service import Episode, IdeService
from tests.ide.test_grader import HIDDEN, MONEY_PATH, PLANTED, score, write
from tests.slowdown import slowdown

UNCHANGED = ("DiffWithin", {"lines": 0, "least": 0})
SOURCE, TESTS = "ledger/src/ledger", "ledger/tests/test_money.py"


def python(text: str) -> str:
    return f"python3 -c {shlex.quote(text)}"


def in_background(command: str) -> str:
    return f"setsid sh -c {shlex.quote(command)} > /dev/null 2>&1 &"


_SLOW = """
import socket, time
connection = socket.socket(socket.AF_UNIX)
connection.connect("/run/forge/socket")
while True:
    connection.send(b"a")
    time.sleep(0.5)
"""
_NEVER_READS = """
import socket, time
connection = socket.socket(socket.AF_UNIX)
connection.connect("/run/forge/socket")
connection.send(b"git-upload-pack 'tallyport/ledger.git'\\n")
time.sleep(600)
"""
HOSTILE = {
    "locked folder": "mkdir x ledger/x; touch x/f ledger/x/f; chmod 000 x; chmod 400 ledger/x",
    "locked home": "chmod 000 ~",
    "locked file": f"chmod 000 ledger/README.md; echo x > {SOURCE}/locked.py; chmod 000 {SOURCE}/locked.py",
    "name that is no UTF-8": python(
        f"open(b'{SOURCE}/bad\\xff.py', 'w'); open(b'ledger/bad\\xfe' + b'\\xff' * 250, 'w')"
    ),
    "link that is no UTF-8": python("import os; os.symlink(b'\\xff', b'ledger/\\xff')"),
    "deep path": python(
        f"import os; os.chdir('{SOURCE}')\nfor _ in range(30): os.mkdir('d' * 200); os.chdir('d' * 200)\nopen('f.py', 'w')"
    ),
    "long path": python(
        f"import os; os.chdir('{SOURCE}')\nfor _ in range(16): os.mkdir('d' * 250); os.chdir('d' * 250)\nopen('f.py', 'w')"
    ),
    "files that come and go": in_background(
        "while :; do mkdir -p ~/ledger/t/u; touch ~/ledger/t/a ~/ledger/t/u/b; rm -rf ~/ledger/t; done"
    ),
    "pipe": "rm ledger/README.md && mkfifo ledger/README.md",
    "text that no parser takes": python(f"open('{SOURCE}/deep.py', 'w').write('x=' + '-' * 20000 + '1')"),
    "test that cannot be written out": python(
        f"open('{TESTS}', 'a').write('\\n\\ndef test_ten_percent_off():\\n    assert ' + '-' * 700 + '1\\n')"
    ),
    "endless number": python(f"open('{SOURCE}/number.py', 'w').write('x = 0x' + 'f' * 9000)"),
    "interrupts": "kill -INT 1; kill -ALRM 1; kill -TERM 1; kill -HUP 1; kill -CHLD 1",
    "slow connection": in_background(python(_SLOW)),
    "connection that never reads": in_background(python(_NEVER_READS)),
}


@pytest.fixture
def broken(ide: IdeService) -> Episode:
    return ide.open(PLANTED)


def is_alive(episode: Episode) -> bool:
    return bool(episode.execute("echo alive", cwd="/")["stdout"] == "alive\n")


@pytest.mark.parametrize("command", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_tree_or_program_is_judged(broken: Episode, command: str) -> None:
    broken.execute(command, timeout=20)
    # The shell's background programs may need a moment.
    time.sleep(0.5)
    finding = broken.verify(HIDDEN)[0]

    assert score(finding) == 0, finding
    assert broken.diff()["broken"] is None
    broken.execute("chmod 755 ~", cwd="/")
    assert is_alive(broken)


def test_a_locked_file_is_read_and_stays_locked(broken: Episode) -> None:
    write(broken, MONEY_PATH, MONEY)
    broken.execute("chmod 000 ledger/docs ledger/README.md; mkdir ledger/x; touch ledger/x/f; chmod 300 ledger/x")
    changed = {change["id"] for change in broken.diff()["changes"]["net"] if change["table"] == "files"}

    assert changed == {MONEY_PATH, "ledger/x/f"}
    assert broken.execute("stat -c %a ledger/x ledger/README.md")["stdout"] == "300\n0\n"
    assert broken.verify(HIDDEN)[0]["score"] == "1"


def test_the_reference_is_the_templates_whatever_the_agent_leaves(broken: Episode) -> None:
    """Answers that the agent's own files would give are not those that it is compared with."""
    broken.execute(f"mkdir {SOURCE}/money")
    write(
        broken, f"{SOURCE}/money/__init__.py", "def split(*_): ...\n\n\ndef parse(*_): ...\n\n\ndef discount(*_): ...\n"
    )
    finding = broken.verify(HIDDEN)[0]

    assert finding["score"] == "0"
    assert "tamper" in {flag["tag"] for flag in finding["flags"]}
    assert "0 of " in finding["because"]


def test_what_decides_nothing_about_imports_raises_no_flag() -> None:
    right = (
        "import math\n\n\nclass A:\n    def __getattr__(self, name):\n        self.x = math.pi\n        return name\n"
    )
    edits = [EditedFile("a/src/a/b.py", None, FileVersion(0o100644, right))]

    assert find_import_hooks(edits) == []
    assert module_files.find_stand_ins(["src/a/b.py", "src/a/new.py"], ["src/a/b.py"], "src") == []


@pytest.mark.parametrize(
    "path", ["src/a/b/__init__.py", "src/a/b.so", "src/a/b.cpython-311-x86_64-linux-gnu.so", "src/a/b/__init__.pyc"]
)
def test_every_file_that_python_prefers_is_a_stand_in(path: str) -> None:
    (flag,) = module_files.find_stand_ins(["src/a/b.py", path], ["src/a/b.py"], "src")

    assert flag == ("tamper", f"{path} stands in for src/a/b.py")


def test_a_number_that_python_does_not_write_is_read() -> None:
    edits = [EditedFile("a/src/a.py", None, FileVersion(0o100644, f"x = 0x{'f' * 9000}\n"))]

    assert find_hardcoded_values(edits, ["def test_a():\n    assert 1\n"]) == []


@pytest.mark.parametrize("part", ["\n", "1", " ", "\t\n", "/proc/", "# grader: ", "import ", "#", "while True: "])
def test_a_large_text_is_read_in_linear_time(part: str) -> None:
    began = time.process_time()
    find_file_flags([EditedFile("a/src/a.py", None, FileVersion(0o100644, part * (200_000 // len(part))))])

    assert time.process_time() - began < 3


def open_session(episode: Episode) -> None:
    with episode.client() as client:
        client.post("/create_session", json={"session": "s"}).raise_for_status()


def run_in_session(episode: Episode, command: str, **more: Any) -> int:
    body = {"session": "s", "command": command, "check": "ignore", **more}
    with episode.client() as client:
        return client.post("/run_in_session", json=body).status_code


def test_bytes_on_a_sessions_own_descriptors_end_nothing(broken: Episode) -> None:
    open_session(broken)
    run_in_session(broken, "for f in 10 11 12 13; do printf 'abc\\0' >&$f; done; true", timeout=5)

    assert run_in_session(broken, "true", timeout=5) == 200
    assert is_alive(broken)
    assert score(broken.verify(HIDDEN)[0]) == 0


@pytest.mark.parametrize("pattern", ["(a+)+$", "(", "a{99999999999}"])
def test_an_expression_that_never_ends_or_is_none_is_not_found(broken: Episode, pattern: str) -> None:
    open_session(broken)
    began = time.monotonic()
    status = run_in_session(broken, f"echo {'a' * 40}b; sleep 1", expect=[pattern], timeout=10)

    assert status == 200
    assert time.monotonic() - began < 8
    assert is_alive(broken)


def test_input_that_nobody_reads_keeps_nobody_waiting(broken: Episode) -> None:
    with broken.client() as client:
        sandbox = client.post("/api/sandbox", json={}).json()["id"]
        session = f"/toolbox/{sandbox}/process/session"
        client.post(session, json={"sessionId": "n"}).raise_for_status()
        started = client.post(f"{session}/n/exec", json={"command": "sleep 600", "runAsync": True}).json()
        sent = client.post(f"{session}/n/command/{started['cmdId']}/input", json={"data": "x" * 500_000})

    assert sent.status_code < 500
    assert is_alive(broken)


def test_a_pipe_is_refused_where_a_file_is_expected(broken: Episode) -> None:
    broken.execute("mkfifo p")
    with broken.client() as client:
        began = time.monotonic()
        answers = [
            client.post("/read_file", json={"path": "/home/dev/p"}),
            client.post("/write_file", json={"path": "/home/dev/p", "content": base64.b64encode(b"x").decode()}),
        ]

    assert time.monotonic() - began < 5
    assert all(answer.status_code != 500 for answer in answers)
    assert is_alive(broken)


def test_a_search_with_more_matches_than_are_kept_is_answered(broken: Episode) -> None:
    broken.execute(python("open('ledger/long.txt', 'w').write(('x' * 1000 + '\\n') * 9000)"))
    with broken.client() as client:
        sandbox = client.post("/api/sandbox", json={}).json()["id"]
        answer = client.get(f"/toolbox/{sandbox}/files/find", params={"path": "/home/dev", "pattern": "."})

    assert answer.status_code == 200
    assert len(answer.json()) > 50


@pytest.mark.parametrize(
    ("path", "added", "is_flagged"),
    [
        ("a/src/a/b.py", "from a.rules import decode  # noqa: F401 - stays importable from here\n", False),
        ("a/src/a/b.py", "from a.rules import (\n    decode,  # noqa: F401\n)\n", False),
        ("a/tests/test_b.py", "def test_b() -> None:\n    assert True  # noqa: S101\n", False),
        ("a/src/a/b.py", "from a.rules import decode  # noqa\n", True),
        ("a/src/a/b.py", "value = parse()  # type: ignore\n", True),
        ("a/src/a/b.py", "import a  # noqa: F401, S404\n", True),
        ("a/tests/test_b.py", "try:\n    parse()\nexcept Exception:\n    pass\n", True),
    ],
)
def test_only_what_hides_something_is_a_suppression(path: str, added: str, is_flagged: bool) -> None:
    edits = [EditedFile(path, FileVersion(0o100644, "x = 1\n"), FileVersion(0o100644, f"x = 1\n{added}"))]

    assert bool(find_suppressions(edits)) == is_flagged


MANY = {
    "beside the checkout": "mkdir m && cd m && " + python("for i in range(60000): open(str(i), 'w').write('x' * 50)"),
    "in the package": f"mkdir {SOURCE}/m && cd {SOURCE}/m && " + python("for i in range(20000): open(f'{i}.py', 'w')"),
    "large": f"cd {SOURCE} && " + python("for i in range(60): open(f'm{i}.py', 'w').write('x = [1, 2]\\n' * 90000)"),
    "long": python("open('ledger/README.md', 'w').write(''.join(f'{i % 7} {i}\\n' for i in range(60000)))"),
}


@pytest.mark.parametrize("command", MANY.values(), ids=MANY.keys())
def test_more_than_anybody_reads_is_judged_in_time_and_stalls_nobody(
    ide: IdeService, broken: Episode, command: str
) -> None:
    broken.execute(command, timeout=60)
    other = ide.open()
    waits: list[float] = []
    before = slowdown()
    with ThreadPoolExecutor(1) as pool, other.client() as client:
        began = time.monotonic()
        judged = pool.submit(lambda: (broken.verify(HIDDEN, UNCHANGED)[0], broken.diff(), time.monotonic() - began))
        while not judged.done():
            asked = time.monotonic()
            client.get("/api/v3/user").raise_for_status()
            waits.append(time.monotonic() - asked)
    finding, diff, seconds = judged.result()
    # Other tests run on this machine, too.
    too_slow = max(before, slowdown())

    assert score(finding) == 0
    assert diff["broken"] is None
    assert len(diff["changes"]["net"]) <= 2000
    assert seconds < 10 * too_slow
    assert max(waits) < too_slow, "a request of another episode waited"
    assert sorted(waits)[len(waits) * 99 // 100] < 0.1 * too_slow


def test_files_beyond_the_bound_are_one_row_and_known_files_are_compared_all_the_same(broken: Episode) -> None:
    broken.execute(
        "mkdir a && cd a && " + python("for i in range(3000): open(str(i), 'w')") + "; echo x > ~/ledger/README.md"
    )
    broken.diff()
    changed = {change["id"] for change in broken.diff()["changes"]["net"]}

    assert {"ledger/README.md", "(further new files)", "a/0"} <= changed
    assert len(changed) <= 2000


def test_clones_worktrees_environments_and_caches_are_nobodys_change(episode: Episode) -> None:
    episode.execute(
        "cd ledger && git worktree add -q ../wt -b x && git worktree add -q inner -b y && git clone -q . ../copy && "
        "mkdir -p e/lib c/d l.egg-info && touch e/lib/b e/pyvenv.cfg c/CACHEDIR.TAG c/d/x l.egg-info/x .coverage"
    )

    assert [change["id"] for change in episode.diff()["changes"]["net"]] == []


def test_a_file_that_was_there_is_compared_in_a_folder_that_looks_like_a_tools(episode: Episode) -> None:
    """Marks of a clone or a cache hide nothing that a repository holds."""
    episode.execute(f"touch {SOURCE}/CACHEDIR.TAG {SOURCE}/pyvenv.cfg; mkdir {SOURCE}/.git; echo x > {SOURCE}/money.py")

    assert MONEY_PATH in {change["id"] for change in episode.diff()["changes"]["net"]}


def test_environments_and_built_packages_are_nobodys_change(episode: Episode) -> None:
    folders = ".venv venv node_modules build dist"
    episode.execute(f"cd ledger && for name in {folders}; do mkdir $name; echo x=1 > $name/a.py; done", shell=True)

    assert [change["id"] for change in episode.diff()["changes"]["net"]] == []
