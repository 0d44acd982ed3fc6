"""A model works through OpenAI's SDK, or any server that speaks its protocol (OPENAI_BASE_URL).

OPENAI_API_KEY=… python examples/model_openai.py --model gpt-5
"""

import argparse

import dayshift
from dayshift import job_description
from openai import OpenAI


def main() -> None:
    parser = argparse.ArgumentParser(description="Correct a contact with a model of OpenAI.")
    parser.add_argument("--model", default="gpt-5")
    parser.add_argument("--world", default="standard")
    options = parser.parse_args()
    client = OpenAI()
    with dayshift.Episode.open("crm/correct-contact", seed=8, world=options.world, surface="core") as episode:
        messages = [
            {"role": "system", "content": job_description.TEXT},
            {"role": "user", "content": episode.brief},
        ]
        while not episode.over:
            reply = client.chat.completions.create(
                model=options.model, messages=messages, tools=episode.surface.openai_tools()
            )
            message = reply.choices[0].message
            messages.append(message)
            for call in message.tool_calls or ():
                answer = episode.surface.call_blocking(episode, call.function.name, call.function.arguments)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": answer})
            if not message.tool_calls:
                episode.submit()
    print(f"{episode.verdict.outcome}, reward {episode.verdict.reward}")


if __name__ == "__main__":
    main()
