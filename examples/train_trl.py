"""Trains a model with TRL's GRPO on office work; without `--model`, a tiny model initialised on the spot.

    pip install './env_client[trl]'
    python examples/train_trl.py --steps 2
    accelerate launch examples/train_trl.py --model Qwen/Qwen3-8B --surface core --steps 500 --group 8 \
        --completion-tokens 8192

The tiny model learns nothing: it shows that prompts, tools, groups, rewards and the loss meet.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import dayshift
import torch
from datasets import Dataset
from dayshift.integrations.trl_environment import build_rows, environment_factory
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from trl import GRPOConfig, GRPOTrainer
from trl.chat_template_utils import qwen3_chat_template


def make_tiny_model() -> tuple[Any, Any]:
    """A Qwen3 of a few thousand weights, whose tokens are bytes."""
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>", "<think>", "</think>"]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={token: number for number, token in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    ends = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, additional_special_tokens=special, **ends)
    fast.chat_template = qwen3_chat_template
    config = Qwen3Config(
        vocab_size=len(fast),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=8,
        max_position_embeddings=65536,
    )
    config.eos_token_id, config.pad_token_id = fast.eos_token_id, fast.pad_token_id
    return Qwen3ForCausalLM(config), fast


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="a model of the Hub or a folder; default: a tiny one, made here")
    parser.add_argument("--tasks", nargs="+", default=["crm/correct-contact"], help="ids of families")
    parser.add_argument("--world", default="standard")
    parser.add_argument("--surface", default="task(0)", help="the tools: task(N), core, search or full")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--group", type=int, default=4, help="rollouts of one instance")
    parser.add_argument("--completion-tokens", type=int, default=64, help="for the whole episode")
    parser.add_argument("--into", type=Path, default=Path("runs/train_trl"))
    options = parser.parse_args()

    requests = list(dayshift.tasks(*options.tasks, seeds=range(max(8, options.steps)), world=options.world))
    model, tokenizer = (options.model, None) if options.model else make_tiny_model()
    metrics = dayshift.EpisodeMetrics(every=0)
    factory = environment_factory(*options.tasks, world=options.world, surface=options.surface, metrics=metrics)
    trainer = GRPOTrainer(
        model,
        processing_class=tokenizer,
        train_dataset=Dataset.from_list(build_rows(requests)),
        environment_factory=factory,
        args=GRPOConfig(
            output_dir=str(options.into),
            max_steps=options.steps,
            per_device_train_batch_size=options.group,
            num_generations=options.group,
            max_completion_length=options.completion_tokens,
            logging_steps=1,
            report_to="none",
            use_cpu=not torch.cuda.is_available(),
            bf16=torch.cuda.is_available(),
            save_strategy="no",
        ),
    )
    trainer.train()
    options.into.mkdir(parents=True, exist_ok=True)
    (options.into / "log.json").write_text(json.dumps(trainer.state.log_history, indent=1))
    steps = [entry for entry in trainer.state.log_history if "reward" in entry]
    dayshift.write_experiment(
        options.into / "experiment.json",
        seeds=sorted({request.seed for request in requests}),
        settings=vars(options),
        packages=("torch", "transformers", "trl"),
        fingerprints=factory.fingerprints,
        results={"rewards": [entry["reward"] for entry in steps], "episodes": metrics.values()},
    )
    print(f"{len(steps)} steps, rewards {[round(entry['reward'], 3) for entry in steps]}")


if __name__ == "__main__":
    main()
