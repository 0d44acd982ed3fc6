"""An agent of Harbor that solves one family without a model, for a first run of exported tasks.

pip install './env_client[openenv]' harbor
make image
python -m dayshift.integrations.harbor --tasks crm/correct-contact --seeds 2 --into runs/harbor-tasks
PYTHONPATH=examples harbor run -p runs/harbor-tasks -a harbor_agent:OfficeAgent -o runs/harbor
"""

import shlex
from pathlib import Path

from harbor.agents.base import BaseAgent
from harbor.agents.capabilities import AgentCapabilities
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext

HERE = Path(__file__).parent


class OfficeAgent(BaseAgent):
    """Runs `mcp_agent.py` inside the agent's container, at the MCP server that the task names."""

    capabilities = AgentCapabilities(mcp_servers=True)

    @staticmethod
    def name() -> str:
        return "scripted-office"

    def version(self) -> str:
        return "1.0.0"

    async def setup(self, environment: BaseEnvironment) -> None:
        for file in ("mcp_agent.py", "scripted_agent.py"):
            await environment.upload_file(HERE / file, f"/work/{file}")

    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:  # noqa: ARG002 - Harbor's signature
        [office] = self.mcp_servers
        command = f"printf %s {shlex.quote(instruction)} | python3 /work/mcp_agent.py {shlex.quote(office.url)}"
        result = await environment.exec(command)
        self.logger.info("the agent ended with %s: %s%s", result.return_code, result.stdout, result.stderr)
