"""An episode in the IDE through PyGithub, git and Daytona's SDK.

python examples/sdk_ide.py
"""

import argparse
import subprocess
import tempfile
from pathlib import Path

import dayshift
from dayshift.wire import ProductAccess
from daytona import Daytona, DaytonaConfig
from github import Auth, Github
from github.Issue import Issue


def main() -> None:
    parser = argparse.ArgumentParser(description="Look at an issue, clone its repository, run its tests.")
    parser.add_argument("--world", default="standard")
    with dayshift.Episode.open("ide/fix-boundary", seed=3, world=parser.parse_args().world) as episode:
        print(episode.brief)
        access = episode.products["ide"]

        code = Github(base_url=f"{access.base_url}/api/v3", auth=Auth.Token(access.credential))
        issue = newest_issue(code)
        print(f"{issue.repository.full_name}#{issue.number}: {issue.title}")
        print(f"{count_cloned_files(access, code.get_user().login, issue.repository.full_name)} files in the clone")
        code.close()

        workspace = Daytona(DaytonaConfig(api_key=access.credential, api_url=f"{access.base_url}/api", target="eu"))
        sandbox = workspace.create()
        tests = sandbox.process.exec("python -m pytest -q -p no:cacheprovider | tail -n 3", cwd=issue.repository.name)
        print(tests.result)
        verdict = episode.submit()
    print(f"{verdict.outcome}, reward {verdict.reward}")


def newest_issue(code: Github) -> Issue:
    issues = [issue for repository in code.get_user().get_repos() for issue in repository.get_issues(state="open")]
    return max(issues, key=lambda issue: issue.created_at)


def count_cloned_files(access: ProductAccess, login: str, repository: str) -> int:
    """Clones the repository and returns the number of its files."""
    address = access.base_url.replace("://", f"://{login}:{access.credential}@")
    with tempfile.TemporaryDirectory() as folder:
        command = ["git", "clone", "-q", f"{address}/{repository}.git", folder]
        subprocess.run(command, check=True)  # noqa: S603 - a fixed command
        return sum(path.is_file() for path in Path(folder).rglob("*") if ".git" not in path.parts)


if __name__ == "__main__":
    main()
