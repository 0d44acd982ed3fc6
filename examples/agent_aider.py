"""aider, unmodified, repairs what an issue reports, in a clone of the repository; the repair becomes a pull request.

aider works on files of its own machine: the example clones over HTTP, lets aider edit and commit, pushes its branch and
proposes it.

pip install aider-chat PyGithub
python examples/agent_aider.py --model openai/gpt-5
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import dayshift
from github import Auth, Github
from github.Issue import Issue

# aider asks nothing, and calls nobody but the model.
QUIET = (
    "--yes-always",
    "--no-check-update",
    "--no-analytics",
    "--no-show-model-warnings",
    "--no-show-release-notes",
    "--no-gitignore",
    "--no-stream",
    "--no-pretty",
)


def main() -> None:
    parser = argparse.ArgumentParser(description="Let aider repair what an issue reports.")
    parser.add_argument("--model", required=True, help="as LiteLLM names it, such as openai/gpt-5")
    parser.add_argument("--api-base", help="where the model is served, if not at its provider's own address")
    parser.add_argument("--family", default="ide/fix-boundary", help="the task (default %(default)s)")
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--world", default="standard", help="the company's size (default %(default)s)")
    arguments = parser.parse_args()
    model = ["--model", arguments.model, "--edit-format", "diff", "--map-tokens", "0"]
    model += ["--openai-api-base", arguments.api_base] if arguments.api_base else []
    with dayshift.Episode.open(arguments.family, seed=arguments.seed, world=arguments.world) as episode:
        access = episode.products["ide"]
        code = Github(base_url=f"{access.base_url}/api/v3", auth=Auth.Token(access.credential))
        issue = find_issue(code, episode.brief)
        print(f"{issue.repository.full_name}#{issue.number}: {issue.title}")
        address = access.base_url.replace("://", f"://{code.get_user().login}:{access.credential}@")
        with tempfile.TemporaryDirectory() as folder:
            clone, branch = Path(folder, issue.repository.name), f"issue-{issue.number}"
            git("clone", "-q", f"{address}/{issue.repository.full_name}.git", clone)
            git("-C", clone, "switch", "-q", "-c", branch)
            for name, value in (("user.name", "aider"), ("user.email", "aider@tallyport.io")):
                git("-C", clone, "config", name, value)
            run_aider(clone, model, f"{episode.brief}\n\n# {issue.title}\n\n{issue.body}")
            print(git("-C", clone, "log", "--oneline", "-1", "--stat"))
            git("-C", clone, "push", "-q", "origin", branch)
        issue.repository.create_pull(base="main", head=branch, title=issue.title, body=f"Fixes #{issue.number}")
        verdict = episode.submit()
    print(f"{verdict.outcome}, reward {verdict.reward}")


def run_aider(clone: Path, model: list[str], message: str) -> None:
    sources = [str(path.relative_to(clone)) for path in sorted(clone.glob("src/**/*.py"))]
    tests = [str(path.relative_to(clone)) for path in sorted(clone.glob("tests/*.py"))]
    context = [*(f"--file={path}" for path in sources), *(f"--read={path}" for path in tests)]
    command = [sys.executable, "-m", "aider", *QUIET, *model, *context, "--message", message]
    subprocess.run(command, cwd=clone, check=True, stdin=subprocess.DEVNULL)  # noqa: S603 - aider, by the user's choice


def find_issue(code: Github, brief: str) -> Issue:
    """The one that the brief names by number and repository."""
    number = int(re.search(r"#(\d+)", brief)[1])
    names = {repository.name: repository for repository in code.get_user().get_repos()}
    return next(names[word] for word in re.findall(r"[\w-]+", brief) if word in names).get_issue(number)


def git(*arguments: object) -> str:
    command = ["git", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()  # noqa: S603 - as above


if __name__ == "__main__":
    main()
