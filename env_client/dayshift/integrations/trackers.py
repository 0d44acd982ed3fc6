"""Trackers of TensorBoard, MLflow and Weights & Biases, to which `dayshift.EpisodeMetrics` logs.

with EpisodeMetrics(TensorBoardTracker("runs/tb")) as metrics:
    env = gymnasium.make("dayshift/Menu-v0", task=…, recorder=metrics)
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dayshift.errors import MissingExtra


class TensorBoardTracker:
    """Writes scalars into a folder that `tensorboard --logdir` shows."""

    def __init__(self, folder: str | Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter  # an extra
        except ImportError as error:
            raise MissingExtra("torch and tensorboard", "trackers") from error
        self._writer: Any = SummaryWriter(str(folder))

    def log(self, values: Mapping[str, float], step: int) -> None:
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        self._writer.close()


class MlflowTracker:
    """Logs to the active run of MLflow, or to one that it starts; the server is MLflow's own setting."""

    def __init__(self, run_name: str | None = None) -> None:
        try:
            import mlflow  # an extra
        except ImportError as error:
            raise MissingExtra("mlflow", "trackers") from error
        self._mlflow: Any = mlflow
        self._owns_run = mlflow.active_run() is None
        self.run_id: str = (mlflow.start_run(run_name=run_name) if self._owns_run else mlflow.active_run()).info.run_id

    def log(self, values: Mapping[str, float], step: int) -> None:
        self._mlflow.log_metrics(dict(values), step=step, run_id=self.run_id)

    def close(self) -> None:
        if self._owns_run:
            self._mlflow.end_run()


class WandbTracker:
    """Logs to a run of Weights & Biases; `mode="offline"` writes to a folder, and `wandb sync` sends it later."""

    def __init__(self, project: str = "dayshift", *, mode: str | None = None, folder: str | Path | None = None) -> None:
        try:
            import wandb  # an extra
        except ImportError as error:
            raise MissingExtra("wandb", "trackers") from error
        self.run: Any = wandb.init(project=project, mode=mode, dir=None if folder is None else str(folder))

    def log(self, values: Mapping[str, float], step: int) -> None:
        # A trainer logs with steps of its own, so ours is a value among others.
        self.run.log({**values, "dayshift/step": step})

    def close(self) -> None:
        self.run.finish()
