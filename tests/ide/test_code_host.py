"""The code host through PyGithub and git, unmodified."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from github import Auth, Github, GithubException, InputGitAuthor, UnknownObjectException
from github.Repository import Repository

from tests.ide.service import Episode


@pytest.fixture
def github(episode: Episode) -> Iterator[Github]:
    client = Github(
        base_url=f"{episode.url}/api/v3",
        auth=Auth.Token(episode.token),
        seconds_between_requests=0,
        seconds_between_writes=0,
        retry=None,
        timeout=120,
    )
    yield client
    client.close()


@pytest.fixture
def repo(github: Github) -> Repository:
    return github.get_repo("tallyport/ledger")


def clone_url(episode: Episode) -> str:
    return f"{episode.url.replace('http://', f'http://dana:{episode.token}@')}/tallyport/ledger.git"


def git(folder: Path, *arguments: str) -> str:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1"}
    who = ["-c", "user.name=Dana Reyes", "-c", "user.email=dana@tallyport.io"]
    result = subprocess.run(["git", *who, *arguments], cwd=folder, env=env, capture_output=True, text=True, check=False)
    if result.returncode:
        raise RuntimeError(result.stderr)
    return result.stdout


def test_who_one_is_and_what_there_is(github: Github, repo: Repository) -> None:
    assert github.get_user().login == "dana"
    assert (repo.full_name, repo.default_branch, repo.private) == ("tallyport/ledger", "main", True)
    assert [item.full_name for item in github.get_user().get_repos()] == ["tallyport/ledger"]
    with pytest.raises(UnknownObjectException):
        github.get_repo("tallyport/nothing")


def test_issues_are_opened_listed_commented_changed_and_closed(repo: Repository) -> None:
    opened = repo.create_issue(title="Discount of 100 %", body="refused", labels=["bug"], assignee="dana")
    assert [issue.number for issue in repo.get_issues(state="open")] == [opened.number, 1]
    comment = opened.create_comment("looking into it")
    assert [(item.id, item.body, item.user.login) for item in opened.get_comments()] == [
        (comment.id, "looking into it", "dana")
    ]
    opened.edit(title="Discount of 100 % is refused", state="closed")

    again = repo.get_issue(opened.number)
    assert (again.state, again.state_reason, again.comments, again.title) == (
        "closed",
        "completed",
        1,
        "Discount of 100 % is refused",
    )
    assert [issue.number for issue in repo.get_issues(state="all", labels=["bug"])] == [opened.number, 1]
    with pytest.raises(GithubException, match="422"):
        repo.create_issue(title=" ")


def test_lists_come_in_pages_with_links(repo: Repository, episode: Episode) -> None:
    for number in range(7):
        repo.create_issue(title=f"Number {number}")
    with episode.client() as client:
        first = client.get("/api/v3/repos/tallyport/ledger/issues?per_page=3&state=open")

    assert len(first.json()) == 3
    assert 'rel="next"' in first.headers["link"]
    assert f"<{episode.url}/api/v3/repos/tallyport/ledger/issues?" in first.headers["link"]
    assert repo.get_issues().totalCount == 8
    assert len(list(repo.get_issues())) == 8


def test_a_pull_request_from_branch_to_merge(github: Github, repo: Repository) -> None:
    main = repo.get_branch("main")
    assert main.protected
    repo.create_git_ref("refs/heads/rates", main.commit.sha)
    file = repo.get_contents("README.md", ref="rates")
    assert not isinstance(file, list)
    assert file.decoded_content.startswith(b"# ledger")
    repo.update_file("README.md", "Say more", b"# ledger\n\nMore.\n", file.sha, branch="rates")
    repo.create_file(
        "docs/rates.md", "Rates", "rates\n", branch="rates", author=InputGitAuthor("Ines", "ines@tallyport.io")
    )
    pull = repo.create_pull(base="main", head="rates", title="Say more", body="about rates")

    assert pull.mergeable
    assert (pull.additions, pull.deletions, pull.changed_files, pull.commits) == (2, 1, 2, 2)
    assert {item.filename: item.status for item in pull.get_files()} == {
        "README.md": "modified",
        "docs/rates.md": "added",
    }
    assert [commit.commit.author.name for commit in pull.get_commits()] == ["Dana Reyes", "Ines"]
    with pytest.raises(GithubException, match="already exists"):
        repo.create_pull(base="main", head="rates", title="again", body="")
    with pytest.raises(GithubException, match="own pull request"):
        pull.create_review(body="good", event="APPROVE")
    review = pull.create_review(
        body="one thing", event="COMMENT", comments=[{"path": "README.md", "body": "why?", "position": 1}]
    )
    assert [item.body for item in pull.get_reviews()] == ["one thing"]
    assert review.state == "COMMENTED"
    assert [item.body for item in pull.get_review_comments()] == ["why?"]
    merged = pull.merge(merge_method="squash")

    assert merged.merged
    again = repo.get_pull(pull.number)
    assert (again.merged, again.state, again.merge_commit_sha, again.merged_by.login) == (
        True,
        "closed",
        merged.sha,
        "dana",
    )
    assert repo.get_branch("main").commit.sha == merged.sha
    assert repo.get_commits(sha="main")[0].commit.message.startswith(f"Say more (#{pull.number})")
    assert [run.conclusion for run in repo.get_commit(again.head.sha).get_check_runs()] == ["success"]
    assert again.get_issue_comments().totalCount == 0


def test_a_red_check_really_ran_and_blocks_the_merge(repo: Repository) -> None:
    repo.create_git_ref("refs/heads/worse", repo.get_branch("main").commit.sha)
    file = repo.get_contents("src/ledger/money.py", ref="worse")
    assert not isinstance(file, list)
    repo.update_file(
        file.path,
        "Worse",
        file.decoded_content.replace(b"(100 - percent)", b"(99 - percent)"),
        file.sha,
        branch="worse",
    )
    pull = repo.create_pull(base="main", head="worse", title="Worse", body="")

    run = repo.get_commit(pull.head.sha).get_check_runs()[0]
    assert (run.name, run.status, run.conclusion) == ("tests", "completed", "failure")
    assert "test_ten_percent_off" in run.output.summary
    assert repo.get_commit(pull.head.sha).get_combined_status().state == "failure"
    with pytest.raises(GithubException, match="failing"):
        pull.merge()


def test_a_protected_branch_takes_no_direct_writes(repo: Repository) -> None:
    with pytest.raises(GithubException, match="pull request"):
        repo.create_file("x.md", "direct", "x", branch="main")


def test_conflicting_branches_do_not_merge(repo: Repository) -> None:
    base = repo.get_branch("main").commit.sha
    for name in ("left", "right"):
        repo.create_git_ref(f"refs/heads/{name}", base)
        file = repo.get_contents("README.md", ref=name)
        assert not isinstance(file, list)
        repo.update_file("README.md", name, f"# {name}\n", file.sha, branch=name)
    repo.create_pull(base="main", head="left", title="left", body="").merge()
    late = repo.create_pull(base="main", head="right", title="right", body="")

    assert late.mergeable is False
    with pytest.raises(GithubException, match="conflict"):
        late.merge()


def test_contents_list_folders_refuse_stale_writes_and_delete(repo: Repository) -> None:
    entries = repo.get_contents("")
    assert isinstance(entries, list)
    assert {item.path: item.type for item in entries}["src"] == "dir"
    repo.create_git_ref("refs/heads/drop", repo.get_branch("main").commit.sha)
    with pytest.raises(GithubException, match="does not match"):
        repo.update_file("README.md", "stale", "x", "0" * 40, branch="drop")
    file = repo.get_contents("README.md", ref="drop")
    assert not isinstance(file, list)
    repo.delete_file("README.md", "drop", file.sha, branch="drop")
    with pytest.raises(UnknownObjectException):
        repo.get_contents("README.md", ref="drop")


def test_search_finds_code_and_issues(github: Github) -> None:
    assert [item.path for item in github.search_code("divmod repo:tallyport/ledger")] == ["src/ledger/money.py"]
    assert [item.number for item in github.search_issues("cents is:open label:bug")] == [1]
    assert github.search_issues("nothing like this").totalCount == 0


def test_git_clones_pushes_fetches_and_lists_over_http(episode: Episode, repo: Repository, tmp_path: Path) -> None:
    url = clone_url(episode)
    assert "refs/heads/main" in git(tmp_path, "ls-remote", url)
    git(tmp_path, "clone", "-q", url, "work")
    work = tmp_path / "work"
    git(work, "checkout", "-q", "-b", "big")
    (work / "blob.bin").write_bytes(os.urandom(3 << 20))
    git(work, "add", "-A")
    git(work, "commit", "-q", "-m", "three megabytes")
    git(work, "push", "-q", "origin", "big")

    assert repo.get_branch("big").commit.sha == git(work, "rev-parse", "HEAD").strip()
    git(tmp_path, "clone", "-q", "-b", "big", url, "second")
    assert (tmp_path / "second" / "blob.bin").stat().st_size == 3 << 20
    with pytest.raises(RuntimeError, match="GH006: Protected branch"):
        git(work, "push", "-q", "origin", "HEAD:main")


def test_git_without_a_credential_is_asked_for_one(episode: Episode, tmp_path: Path) -> None:
    answer = httpx.get(f"{episode.url}/tallyport/ledger.git/info/refs?service=git-upload-pack")

    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, 'Basic realm="Git"')
    with pytest.raises(RuntimeError, match=r"not found|404"):
        git(tmp_path, "clone", "-q", clone_url(episode).replace("ledger.git", "nothing.git"), "none")


def test_what_was_pushed_from_the_workspace_is_what_the_code_host_shows(episode: Episode, repo: Repository) -> None:
    script = "cd ledger && git switch -q -c fix && echo fixed > FIX && git add FIX && git commit -qm Fix && git push -q -u origin fix && git rev-parse HEAD"
    sha = episode.execute(script)["stdout"].strip()

    assert repo.get_branch("fix").commit.sha == sha
    assert repo.get_commits(sha="fix")[0].commit.author.email == "dana@tallyport.io"


def test_a_null_leaves_alone_what_cannot_be_without_a_value(episode: Episode) -> None:
    with episode.client() as http:
        before = http.get("/api/v3/repos/tallyport/ledger/issues/1").json()
        nothing = {"state": None, "labels": None, "assignees": None, "body": None}
        after = http.patch("/api/v3/repos/tallyport/ledger/issues/1", json=nothing).json()

    assert after["body"] is None
    assert {**after, "body": before["body"], "updated_at": before["updated_at"]} == before


def test_answers_count_down_the_requests_that_are_left(episode: Episode) -> None:
    """Clients such as tap-github read them before anything else."""
    with episode.client() as http:
        first, second = (http.get("/api/v3/user").headers for _ in range(2))

    assert int(second["x-ratelimit-remaining"]) == int(first["x-ratelimit-remaining"]) - 1
    assert int(second["x-ratelimit-used"]) + int(second["x-ratelimit-remaining"]) == int(second["x-ratelimit-limit"])
    assert int(second["x-ratelimit-reset"]) % 3600 == 0
