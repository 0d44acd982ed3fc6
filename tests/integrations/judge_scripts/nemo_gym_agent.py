"""Runs NeMo Gym's own SimpleAgent on a row: its messages, its cookies, its types."""

import json
import sys
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import uvicorn
from nemo_gym.config_types import AggregateMetrics, BaseServerConfig
from nemo_gym.server_utils import ServerClient
from omegaconf import OmegaConf
from responses_api_agents.simple_agent.app import SimpleAgent, SimpleAgentConfig

rows, resources, model, port = sys.argv[1], urlsplit(sys.argv[2]), urlsplit(sys.argv[3]), int(sys.argv[4])
# NeMo Gym reads the command line of its process, too.
del sys.argv[1:]
common = {"entrypoint": "app.py", "host": "127.0.0.1"}
agent_config = {
    **common,
    "port": port,
    "resources_server": {"type": "resources_servers", "name": "dayshift"},
    "model_server": {"type": "responses_api_models", "name": "policy"},
}
servers = {
    "dayshift": {"resources_servers": {"dayshift": {**common, "port": resources.port}}},
    "policy": {"responses_api_models": {"policy": {**common, "port": model.port}}},
    "agent": {"responses_api_agents": {"simple_agent": agent_config}},
}
client = ServerClient(
    head_server_config=BaseServerConfig(host="", port=0), global_config_dict=OmegaConf.create(servers)
)
agent = SimpleAgent(config=SimpleAgentConfig(**agent_config, name="agent"), server_client=client)
server = uvicorn.Server(uvicorn.Config(agent.setup_webserver(), host="127.0.0.1", port=port, log_level="error"))
threading.Thread(target=server.run, daemon=True).start()
while not server.started:
    time.sleep(0.05)

row = json.loads(Path(rows).read_text().splitlines()[0])
row["responses_create_params"]["model"] = "solver"
answer = httpx.post(f"http://127.0.0.1:{port}/run", json=row, timeout=120, trust_env=False)
result = answer.json() if answer.is_success else {"error": answer.text[:2000]}
metrics = httpx.post(
    f"http://127.0.0.1:{port}/aggregate_metrics", json={"verify_responses": [result]}, timeout=60, trust_env=False
)
aggregated = AggregateMetrics.model_validate(metrics.json()).key_metrics if metrics.is_success else metrics.text[:500]
print(json.dumps({"reward": result.get("reward"), "error": result.get("error"), "metrics": aggregated}))
