"""Harbor's Docker environment for an engine that has Compose 1 only, as Debian packages it.

Harbor calls `docker compose`, the second version; its own switches for Podman do without most of what the first lacks.
"""

import json
from pathlib import Path
from typing import Any

from harbor.environments.docker.docker import DockerEnvironment
from harbor.environments.docker.runtime import ContainerRuntime


class ComposeV1(DockerEnvironment):
    @classmethod
    def runtime(cls) -> ContainerRuntime:
        return ContainerRuntime(
            ("docker",), ("docker-compose",), supports_compose_wait=False, supports_compose_cp=False
        )

    def _write_mounts_compose_file(self) -> Path:
        """Leaves out the label for SELinux, which the first version does not know."""
        path = super()._write_mounts_compose_file()
        file = json.loads(path.read_text())
        for volume in file["services"]["main"]["volumes"]:
            volume.get("bind", {}).pop("selinux", None)
        path.write_text(json.dumps(file))
        return path

    async def _run_docker_compose_command(self, command: list[str], *rest: Any, **options: Any) -> Any:
        # The first version asks for a terminal unless it is told not to.
        if command[0] == "exec" and "-T" not in command:
            command = ["exec", "-T", *command[1:]]
        return await super()._run_docker_compose_command(command, *rest, **options)
