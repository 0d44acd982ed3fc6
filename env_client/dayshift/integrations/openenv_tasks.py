"""The task API that OpenEnv has in common with ORS."""

from typing import Any

from fastapi import FastAPI, HTTPException, Response

from dayshift.errors import UsageError
from dayshift.integrations.http_bodies import respond
from dayshift.integrations.openenv_messages import NAME, RangeBody, SplitBody, TaskBody, encode
from dayshift.integrations.sessions import SPLITS, SessionPool


def add_task_routes(app: "FastAPI", pool: SessionPool) -> None:
    """Adds the routes; a task is what `reset` takes."""

    def list_tasks(env: str, split: str) -> list[dict[str, Any]]:
        if env != NAME:
            raise HTTPException(404, f"there is no environment {env[:100]!r}; there is {NAME}")
        try:
            return pool.list_tasks(split)
        except UsageError as refused:
            raise HTTPException(400, str(refused)) from refused

    @app.get("/list_environments")
    async def list_environments() -> list[str]:
        return [NAME]

    @app.get("/{env}/splits")
    async def list_splits(env: str) -> list[dict[str, str]]:
        return [{"name": split, "type": split} for split in SPLITS if list_tasks(env, split) is not None]

    @app.post("/{env}/tasks")
    async def tasks(env: str, body: SplitBody) -> Response:
        return respond(encode({"tasks": list_tasks(env, body.split), "env_name": NAME}))

    @app.post("/{env}/num_tasks")
    async def num_tasks(env: str, body: SplitBody) -> dict[str, int]:
        return {"num_tasks": len(list_tasks(env, body.split))}

    @app.post("/{env}/task")
    async def task(env: str, body: TaskBody) -> dict[str, Any]:
        tasks = list_tasks(env, body.split)
        if not -len(tasks) <= body.index < len(tasks):
            raise HTTPException(400, f"Invalid task index: there are {len(tasks)}")
        return {"task": tasks[body.index]}

    @app.post("/{env}/task_range")
    async def task_range(env: str, body: RangeBody) -> dict[str, Any]:
        return {"tasks": list_tasks(env, body.split)[body.start : body.stop]}
