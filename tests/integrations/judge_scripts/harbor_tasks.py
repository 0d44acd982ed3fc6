"""Loads exported folders with Harbor's own models."""

import json
import sys
from pathlib import Path

from harbor.models.task.task import Task

tasks = [Task(folder) for folder in sorted(Path(sys.argv[1]).iterdir())]
print(
    json.dumps(
        [
            {
                "name": task.name,
                "mcp": [server.url for server in task.config.environment.mcp_servers],
                "transport": [server.transport for server in task.config.environment.mcp_servers],
                "has_test": task.paths.test_path.exists(),
                "instruction": task.instruction,
            }
            for task in tasks
        ]
    )
)
