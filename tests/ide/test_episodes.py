"""An episode's workspace is its own, its diff is what happened in it, and a replay meets the same."""

import re
import shlex
import subprocess
import tempfile
import time
from typing import Any

from tests.ide.sample import BROKEN_MONEY
from tests.ide.service import Episode, IdeService
from tests.ide.test_grader import MONEY_PATH, PLANTED

CALLS: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/api/sandbox", {"labels": {"a": "b"}}),
    ("POST", "/create_session", {"session": "s"}),
    (
        "POST",
        "/run_in_session",
        {
            "session": "s",
            "command": "cd ledger && git switch -qc fix && echo 1 > new && git add new && git commit -qm New && git log -1",
            "check": "silent",
        },
    ),
    (
        "POST",
        "/execute",
        {"command": "git -C ledger push -q origin fix && git -C ledger rev-parse HEAD", "shell": True},
    ),
    ("GET", "/api/v3/repos/tallyport/ledger/branches/fix", {}),
    ("POST", "/api/v3/repos/tallyport/ledger/pulls", {"title": "New", "head": "fix", "base": "main", "body": "b"}),
    ("GET", "/api/v3/repos/tallyport/ledger/pulls/{pull}/files", {}),
    ("PUT", "/api/v3/repos/tallyport/ledger/pulls/{pull}/merge", {"merge_method": "merge"}),
    ("GET", "/api/v3/repos/tallyport/ledger/commits", {}),
]


def replay(episode: Episode) -> list[tuple[int, str]]:
    """Answers without the one thing that differs by design: where they were asked for."""
    answers: list[tuple[int, str]] = []
    number = ""
    with episode.client() as client:
        for method, path, body in CALLS:
            # The pull request's number comes from the seed, as every new id does.
            pull = re.search(r'"number":(\d+)', answers[-1][1]) if "{pull}" in path else None
            number = pull[1] if pull is not None else number
            answer = client.request(method, path.format(pull=number), json=body or None)
            answers.append((answer.status_code, answer.text))
        sandbox = re.search(r'"id":"([0-9a-f-]{36})"', answers[0][1])
        assert sandbox is not None
        listed = client.get(f"/toolbox/{sandbox[1]}/files", params={"path": "/home/dev/ledger"})
        return [*answers, (listed.status_code, listed.text)]


def test_a_sandbox_runs_from_the_beginning_and_has_another_id_in_another_episode(ide: IdeService) -> None:
    listed = []
    for seed in (7, 7, 8):
        with ide.open(seed=seed).client() as client:
            (sandbox,) = client.get("/api/sandbox").raise_for_status().json()["items"]
            ran = client.post(f"/toolbox/{sandbox['id']}/process/execute", json={"command": "ls /home/dev"})
        listed.append(sandbox)
        assert sandbox["state"] == "started"
        assert "ledger" in ran.raise_for_status().json()["result"]
    one, again, other = listed

    assert one == again
    assert one["id"] != other["id"]
    assert one["createdAt"] != other["createdAt"]


def changes(diff: dict[str, Any]) -> dict[tuple[str, Any], tuple[Any, Any]]:
    return {(one["table"], one["id"]): (one["before"], one["after"]) for one in diff["changes"]["net"]}


def test_the_same_calls_get_the_same_answers_byte_for_byte(ide: IdeService) -> None:
    one, other = ide.open(), ide.open()

    first = replay(one)
    assert all(status < 300 for status, _ in first), first
    assert first == replay(other)
    assert changes(one.diff()) == changes(other.diff())


def test_the_diff_tells_of_new_changed_deleted_files_modes_links_and_branches(episode: Episode) -> None:
    episode.execute(
        "cd ledger && echo x > new.txt && rm README.md && chmod +x .gitignore && ln -s src here && echo '# more' >> src/ledger/money.py && "
        "mkdir -p src/__pycache__ && touch src/__pycache__/a.pyc && git switch -qc side && git push -q origin side"
    )
    changed = changes(episode.diff())

    assert set(changed) == {
        ("files", "ledger/new.txt"),
        ("files", "ledger/README.md"),
        ("files", "ledger/.gitignore"),
        ("files", "ledger/here"),
        ("files", MONEY_PATH),
        ("refs", "1:refs/heads/side"),
    }
    assert changed["files", "ledger/new.txt"] == (
        None,
        {"id": "ledger/new.txt", "mode": 0o100644, "text": "x\n", "base64": None},
    )
    assert changed["files", "ledger/README.md"][1] is None
    before, after = changed["files", "ledger/.gitignore"]
    assert (before["mode"], after["mode"], before["text"] == after["text"]) == (0o100644, 0o100755, True)
    assert (changed["files", "ledger/here"][1]["mode"], changed["files", "ledger/here"][1]["text"]) == (0o120000, "src")


def branches(episode: Episode) -> set[str]:
    """Those that the diff has as new."""
    return {
        str(key).rpartition("/")[2]
        for (table, key), (before, _) in changes(episode.diff()).items()
        if table == "refs" and before is None
    }


def test_whatever_moves_a_branch_is_noticed_after_any_number_of_looks(episode: Episode) -> None:
    """Over git's own protocol both ways, and over each verb of the code host's API that writes."""
    assert branches(episode) == set()
    episode.execute("cd ledger && git switch -qc one && git commit -q --allow-empty -m One && git push -q origin one")
    assert branches(episode) == {"one"} == branches(episode)
    head = episode.execute("git -C ledger rev-parse HEAD")["stdout"].strip()
    refs = "/api/v3/repos/tallyport/ledger/git/refs"
    with episode.client() as client:
        assert client.post(refs, json={"ref": "refs/heads/two", "sha": head}).status_code == 201
        assert branches(episode) == {"one", "two"}
        put = {"message": "m", "content": "eA==", "branch": "two"}
        before = changes(episode.diff())["refs", "1:refs/heads/two"]
        assert client.put("/api/v3/repos/tallyport/ledger/contents/x.txt", json=put).status_code == 201
        assert changes(episode.diff())["refs", "1:refs/heads/two"] != before
        assert client.delete(f"{refs}/heads/two").status_code == 204
    assert branches(episode) == {"one"}
    with tempfile.TemporaryDirectory() as folder:
        address = episode.url.replace("://", f"://dev:{episode.token}@") + "/tallyport/ledger.git"
        for command in (
            ["clone", "-q", address, folder],
            ["-C", folder, "push", "-q", "origin", "HEAD:refs/heads/three"],
        ):
            subprocess.run(["git", *command], check=True)
    assert branches(episode) == {"one", "three"}


def test_a_push_that_goes_on_while_somebody_looks_is_noticed_when_it_is_done(episode: Episode) -> None:
    """From a program that the agent left running: no request tells of its end."""
    waiting = "for n in $(seq 200); do [ -e /tmp/go ] && break; sleep 0.05; done; cat"
    wrapped = f'#!/bin/sh\n( {waiting} ) | /usr/local/bin/ssh "$@"\n'
    episode.execute(
        f"printf '%b' {shlex.quote(wrapped)} > /tmp/slow && chmod +x /tmp/slow && git -C ledger switch -qc late"
    )
    episode.execute("GIT_SSH=/tmp/slow setsid git -C ledger push -q origin late > /dev/null 2>&1 &")
    assert branches(episode) == set()
    episode.execute("touch /tmp/go")
    deadline = time.monotonic() + 20
    while branches(episode) != {"late"}:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_an_episode_that_touches_nothing_has_no_diff(episode: Episode) -> None:
    episode.execute("cd ledger && git status && pytest -q -p no:cacheprovider")

    assert changes(episode.diff()) == {}


def test_a_planted_file_is_as_if_it_had_always_been_so(ide: IdeService) -> None:
    episode = ide.open(PLANTED)
    output = episode.execute("cd ledger && git status --short && cat src/ledger/money.py")["stdout"]
    assert output == BROKEN_MONEY
    history = episode.execute(
        "cd ledger && git log --format=%s && git rev-list --all --objects | cut -d' ' -f1 | git cat-file --batch | grep -ac 'percent <= 100'"
    )["stdout"]

    assert history.splitlines() == ["Discounts, and tests for all of it", "Amounts and shares", "0"]
    assert changes(episode.diff()) == {}
    with episode.client() as client:
        visible = client.get("/api/v3/search/code", params={"q": "percent"}).json()
        assert [one["path"] for one in visible["items"]] == ["src/ledger/money.py", "tests/test_money.py"][
            : len(visible["items"])
        ]


def test_new_and_removed_files_can_be_planted_too(ide: IdeService) -> None:
    new = {"id": "ledger/docs/spec.md", "mode": 0o100644, "text": "shares: larger last\n", "base64": None}
    episode = ide.open(
        [{"table": "files", "key": new["id"], "row": new}, {"table": "files", "key": "ledger/README.md", "row": None}]
    )
    output = episode.execute(
        "cd ledger && git status --short && git log --format=%s%ae -1 && ls docs README.md; cat docs/spec.md"
    )["stdout"]

    assert (
        output == "Discounts, and tests for all of itines@tallyport.io\ndocs:\nspec.md\nshares: larger last\n"
        or output.startswith("Discounts, and tests for all of itines@tallyport.io\n")
    )
    assert "shares: larger last" in output


def test_a_request_id_seen_before_gets_the_first_answer_again(episode: Episode) -> None:
    with episode.client(**{"x-request-id": "7f1c"}) as client:
        first = client.post("/execute", json={"command": "echo x >> /tmp/n; wc -l < /tmp/n", "shell": True})
        again = client.post("/execute", json={"command": "echo x >> /tmp/n; wc -l < /tmp/n", "shell": True})

    assert first.json()["stdout"] == again.json()["stdout"] == "1\n"
