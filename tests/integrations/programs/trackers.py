"""Logs a few episodes, one of them unscored, to TensorBoard, MLflow and Weights & Biases, and reads them back."""

import json
import sys
from pathlib import Path

import mlflow
from dayshift import EpisodeMetrics
from dayshift.integrations.trackers import MlflowTracker, TensorBoardTracker, WandbTracker
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

folder = Path(sys.argv[1])
mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
trackers = [
    TensorBoardTracker(folder / "tb"),
    MlflowTracker("test"),
    WandbTracker(mode="offline", folder=folder),
]
metrics = EpisodeMetrics(*trackers, every=4)
common = {"task": "crm/any", "fingerprint": "f"}
flag = {"tag": "collateral", "evidence": "a row"}
for last in (
    {"verdict": {"outcome": "passed", "reward": 1.0}},
    {"verdict": {"outcome": "failed", "reward": 0.2, "flags": [flag]}},
    {"verdict": {"outcome": "failed", "reward": 0.0}},
    {"quarantined": "ServiceError: 500"},
):
    metrics.add_info({**common, **last})
events = EventAccumulator(str(folder / "tb"))
run_id = trackers[1].run_id
summary = {name: value for name, value in dict(trackers[2].run.summary).items() if name.startswith("dayshift/")}
for tracker in trackers:
    tracker.close()
events.Reload()
print(
    json.dumps(
        {
            "tensorboard": {tag: events.Scalars(tag)[-1].value for tag in events.Tags()["scalars"]},
            "mlflow": mlflow.get_run(run_id).data.metrics,
            "wandb": summary,
            "wandb_files": len(list(folder.rglob("*.wandb"))),
        }
    )
)
