"""mini-swe-agent, unmodified, repairs what an issue reports, in the workspace of an episode.

The workspace speaks SWE-ReX's protocol, for which mini-swe-agent has an environment: it gets a runtime that runs
already, in place of one in a new container.

pip install mini-swe-agent swe-rex PyGithub
python examples/agent_mini_swe.py --model openai/gpt-5
"""

import argparse
import asyncio
import platform
import re

import dayshift
import yaml
from dayshift.wire import ProductAccess
from github import Auth, Github
from github.Issue import Issue
from minisweagent.agents.default import DefaultAgent
from minisweagent.config import builtin_config_dir
from minisweagent.environments.extra.swerex_docker import SwerexDockerEnvironment, SwerexDockerEnvironmentConfig
from minisweagent.models.litellm_model import LitellmModel
from swerex.deployment.remote import RemoteDeployment


class Workspace(SwerexDockerEnvironment):
    """mini-swe-agent's environment over SWE-ReX, on a runtime that is there already."""

    def __init__(self, access: ProductAccess, cwd: str) -> None:
        self.config = SwerexDockerEnvironmentConfig(image="", cwd=cwd, timeout=110)
        self.deployment = RemoteDeployment(host=access.base_url, auth_token=access.credential, timeout=120)
        asyncio.run(self.deployment.start())


def main() -> None:
    parser = argparse.ArgumentParser(description="Let mini-swe-agent repair what an issue reports.")
    parser.add_argument("--model", required=True, help="as LiteLLM names it, such as openai/gpt-5")
    parser.add_argument("--api-base", help="where the model is served, if not at its provider's own address")
    parser.add_argument("--family", default="ide/fix-boundary", help="the task (default %(default)s)")
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--world", default="standard", help="the company's size (default %(default)s)")
    arguments = parser.parse_args()
    settings = yaml.safe_load((builtin_config_dir / "mini.yaml").read_text())
    model = LitellmModel(
        model_name=arguments.model,
        model_kwargs={"api_base": arguments.api_base} if arguments.api_base else {},
        # A model that LiteLLM has no price for is no reason to stop.
        cost_tracking="ignore_errors",
        **{key: value for key, value in settings["model"].items() if key.endswith("_template")},
    )
    with dayshift.Episode.open(arguments.family, seed=arguments.seed, world=arguments.world) as episode:
        access = episode.products["ide"]
        issue = find_issue(access, episode.brief)
        print(f"{issue.repository.full_name}#{issue.number}: {issue.title}")
        agent = DefaultAgent(model, Workspace(access, f"/home/dev/{issue.repository.name}"), **settings["agent"])
        result = agent.run(f"{episode.brief}\n\n# {issue.title}\n\n{issue.body}", **platform.uname()._asdict())
        print(f"{result['exit_status']} after {agent.n_calls} calls of the model")
        verdict = episode.submit()
    print(f"{verdict.outcome}, reward {verdict.reward}")


def find_issue(access: ProductAccess, brief: str) -> Issue:
    """The one that the brief names by number and repository."""
    code = Github(base_url=f"{access.base_url}/api/v3", auth=Auth.Token(access.credential))
    number = int(re.search(r"#(\d+)", brief)[1])
    names = {repository.name: repository for repository in code.get_user().get_repos()}
    return next(names[word] for word in re.findall(r"[\w-]+", brief) if word in names).get_issue(number)


if __name__ == "__main__":
    main()
