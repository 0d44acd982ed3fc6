"""A model works through Anthropic's SDK.

ANTHROPIC_API_KEY=… python examples/model_anthropic.py --model claude-opus-4
"""

import argparse

import dayshift
from anthropic import Anthropic
from dayshift import job_description


def main() -> None:
    parser = argparse.ArgumentParser(description="Correct a contact with a model of Anthropic.")
    parser.add_argument("--model", default="claude-opus-4")
    parser.add_argument("--world", default="standard")
    options = parser.parse_args()
    client = Anthropic()
    with dayshift.Episode.open("crm/correct-contact", seed=8, world=options.world, surface="core") as episode:
        fixed = {"model": options.model, "system": job_description.TEXT, "max_tokens": 4096}
        messages = [{"role": "user", "content": episode.brief}]
        while not episode.over:
            reply = client.messages.create(messages=messages, tools=episode.surface.anthropic_tools(), **fixed)
            messages.append({"role": "assistant", "content": reply.content})
            calls = [block for block in reply.content if block.type == "tool_use"]
            texts = [episode.surface.call_blocking(episode, call.name, call.input) for call in calls]
            answers = [
                {"type": "tool_result", "tool_use_id": call.id, "content": text}
                for call, text in zip(calls, texts, strict=True)
            ]
            messages.append({"role": "user", "content": answers})
            if not answers:
                episode.submit()
    print(f"{episode.verdict.outcome}, reward {episode.verdict.reward}")


if __name__ == "__main__":
    main()
