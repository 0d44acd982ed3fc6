"""Trains one step in which one environment of a group fails, and says what GRPOTrainer learned from each member."""

import itertools
import json
import math
import os
import signal
import sys

from datasets import Dataset
from dayshift import EpisodeMetrics
from dayshift.integrations.trl_environment import build_rows, environment_factory
from dayshift.rollout import tasks
from trl import GRPOConfig, GRPOTrainer

from examples.train_trl import make_tiny_model
from tests.scripted_provider.scripts import Asked, solver

folder, victim = sys.argv[1], int(sys.argv[2])
TASK = "crm/correct-contact"
GROUP = 3
metrics = EpisodeMetrics(every=0)
factory = environment_factory(TASK, surface="task(0)", metrics=metrics)
asked = itertools.count()


class Dayshift(factory):
    """The first member of the group solves the work, the second leaves it, and the third one's environment fails."""

    def reset(self, **row):
        self._brief = super().reset(**row)
        return self._brief

    def get_reward(self):
        member, answers = next(asked), []
        for _ in range(3 if member == 0 else 0):
            [(tool, arguments)] = solver(Asked(self._brief, (), tuple(answers), 1)).calls
            answers.append(getattr(self, tool)(**json.loads(arguments)))
        if member == GROUP - 1:
            os.kill(victim, signal.SIGKILL)
        return super().get_reward()


model, tokenizer = make_tiny_model()
trainer = GRPOTrainer(
    model,
    processing_class=tokenizer,
    train_dataset=Dataset.from_list(build_rows(tasks(TASK, seeds=[3]))),
    environment_factory=Dayshift,
    args=GRPOConfig(
        output_dir=folder,
        max_steps=1,
        per_device_train_batch_size=GROUP,
        num_generations=GROUP,
        max_completion_length=8,
        logging_steps=1,
        report_to="none",
        use_cpu=True,
        bf16=False,
        save_strategy="no",
    ),
)
trainer.train()
rewards = [None if math.isnan(reward) else reward for reward in trainer._logs["rewards"]["Dayshift"]]
logged = next(entry["reward"] for entry in trainer.state.log_history if "reward" in entry)
print(
    json.dumps(
        {
            "rewards": rewards,
            "advantages": list(trainer._logs["advantages"]),
            "mean": logged,
            "unscored_rate": metrics.values()["dayshift/unscored_rate"],
        }
    )
)
