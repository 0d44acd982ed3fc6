"""An episode in the IDE through PyGithub, git and Daytona's SDK: an issue about a limit is read, cloned and repaired.

A limit that is off by one lies in a comparison: each one in the module is moved to its neighbour in turn, until the
example of the issue gives what the issue expects and the package's tests pass.

python examples/sdk_ide.py
"""

import argparse
import re
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import dayshift
from dayshift.wire import ProductAccess
from daytona import Daytona, DaytonaConfig, Sandbox
from github import Auth, Github
from github.Issue import Issue

COMPARISON = re.compile(r"(?<= )(<=|>=|<|>)(?= )")


@dataclass(frozen=True)
class Report:
    """What the issue says: code that can be run, and what its last line should give."""

    module: str
    program: str
    expected: str

    @classmethod
    def read(cls, body: str) -> "Report":
        code = re.search(r"```python\n(.*?)\n```", body, re.DOTALL)[1]
        *before, last = code.splitlines()
        return cls(
            module=re.search(r"^from (\S+) import", code, re.MULTILINE)[1],
            program="\n".join([*before, f"print(repr({last}))"]),
            expected=re.findall(r"gives (.+)\.$", body, re.MULTILINE)[-1],
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="Repair what an issue reports.")
    parser.add_argument("--world", default="standard", help="the company's size (default %(default)s)")
    with dayshift.Episode.open("ide/fix-boundary", seed=3, world=parser.parse_args().world) as episode:
        print(f"brief: {episode.brief}\n")
        access = episode.products["ide"]

        code = Github(base_url=f"{access.base_url}/api/v3", auth=Auth.Token(access.credential))
        issue = find_issue(code, episode.brief)
        print(f"{issue.repository.full_name}#{issue.number}: {issue.title}\n{issue.body}")
        files = count_cloned_files(access, code.get_user().login, issue.repository.full_name)
        print(f"git clone: {files} files")
        report, package = Report.read(issue.body), issue.repository.name
        code.close()

        workspace = Daytona(DaytonaConfig(api_key=access.credential, api_url=f"{access.base_url}/api", target="eu"))
        tried = repair(workspace.create(), package, report)
        print(f"{tried} comparisons were tried; the last one does it")
        verdict = episode.submit()
    print(f"{verdict.outcome}, reward {verdict.reward}")


def repair(sandbox: Sandbox, package: str, report: Report) -> int:
    """Returns the number of comparisons that were tried; the last is the repair and stays in the file."""
    path = f"{package}/src/{report.module.replace('.', '/')}.py"
    source = sandbox.fs.download_file(path).decode()
    for number, changed in enumerate(with_one_comparison_moved(source), 1):
        sandbox.fs.upload_file(changed.encode(), path)
        example = sandbox.process.exec(f"PYTHONPATH=src python -B -c {shlex.quote(report.program)}", cwd=package)
        if example.result.strip() == report.expected:
            tests = sandbox.process.exec("python -B -m pytest -q -p no:cacheprovider", cwd=package)
            if tests.exit_code == 0:
                print(tests.result.strip().splitlines()[-1])
                return number
    raise SystemExit(f"no single comparison in {path} explains the issue")


def with_one_comparison_moved(source: str) -> Iterator[str]:
    for match in COMPARISON.finditer(source):
        neighbour = match[0].removesuffix("=") if match[0].endswith("=") else f"{match[0]}="
        yield source[: match.start()] + neighbour + source[match.end() :]


def find_issue(code: Github, brief: str) -> Issue:
    """The one that the brief names by number and repository."""
    number = int(re.search(r"#(\d+)", brief)[1])
    names = {repository.name: repository for repository in code.get_user().get_repos()}
    return next(names[word] for word in re.findall(r"[\w-]+", brief) if word in names).get_issue(number)


def count_cloned_files(access: ProductAccess, login: str, repository: str) -> int:
    """Clones the repository and returns the number of its files."""
    address = access.base_url.replace("://", f"://{login}:{access.credential}@")
    with tempfile.TemporaryDirectory() as folder:
        command = ["git", "clone", "-q", f"{address}/{repository}.git", folder]
        subprocess.run(command, check=True)  # noqa: S603 - a fixed command
        return sum(path.is_file() for path in Path(folder).rglob("*") if ".git" not in path.parts)


if __name__ == "__main__":
    main()
