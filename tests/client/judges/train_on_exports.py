"""Reads exports with `datasets` and takes a step of TRL's SFT and DPO: `python train_on_exports.py MODEL FOLDER`."""

import json
import sys
from pathlib import Path
from typing import Any

from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

FORMS = ("chat", "prompt-completion", "preference", "reinforcement")


def options(folder: Path, form: str) -> dict[str, Any]:
    return {
        "output_dir": str(folder / f"trained-{form}"),
        "max_steps": 1,
        "per_device_train_batch_size": 2,
        "report_to": "none",
        "use_cpu": True,
        "bf16": False,
        "max_length": 4_096,
        "logging_steps": 1,
        "save_strategy": "no",
    }


def main(model: str, folder: Path) -> None:
    sets = {form: load_dataset("json", data_files=str(folder / f"{form}.jsonl"), split="train") for form in FORMS}
    tokenizer = AutoTokenizer.from_pretrained(model)
    steps, losses = {}, {}
    for form in FORMS[:-1]:
        trainer: Any
        policy = AutoModelForCausalLM.from_pretrained(model)
        if form == "preference":
            trainer = DPOTrainer(
                policy,
                args=DPOConfig(**options(folder, form)),
                train_dataset=sets[form],
                processing_class=tokenizer,
            )
        else:
            trainer = SFTTrainer(
                policy,
                args=SFTConfig(**options(folder, form)),
                train_dataset=sets[form],
                processing_class=tokenizer,
            )
        trainer.train()
        steps[form] = trainer.state.global_step
        losses[form] = trainer.state.log_history[0]["loss"]
    print(json.dumps({"rows": {form: len(rows) for form, rows in sets.items()}, "steps": steps, "losses": losses}))


main(sys.argv[1], Path(sys.argv[2]))
