"""`python -m tests.scripted_provider PORT [SECONDS]`: serves the scripts until Ctrl-C; each reply takes SECONDS."""

import sys

import uvicorn

from tests.scripted_provider.server import ScriptedProvider

if __name__ == "__main__":
    provider = ScriptedProvider(seconds=float(sys.argv[2]) if len(sys.argv) > 2 else 0.0)
    uvicorn.run(provider.app, port=int(sys.argv[1]), log_level="error", lifespan="off")
