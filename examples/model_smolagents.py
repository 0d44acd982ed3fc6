"""A tool-calling agent of smolagents works.

OPENAI_API_KEY=… python examples/model_smolagents.py --model gpt-5
"""

import argparse

import dayshift
from dayshift import job_description
from smolagents import OpenAIServerModel, Tool, ToolCallingAgent


class OperationTool(Tool):
    skip_forward_signature_validation = True  # the schema says what the tool takes
    output_type = "string"

    def __init__(self, episode: dayshift.Episode, name: str, description: str, parameters: dict) -> None:
        self.name, self.description = name, description
        optional = {key: {"nullable": True} for key in parameters["properties"].keys() - parameters.get("required", ())}
        self.inputs = {k: {"type": "any", **v, **optional.get(k, {})} for k, v in parameters["properties"].items()}
        self.forward = lambda **arguments: episode.surface.call_blocking(episode, name, arguments)
        super().__init__()


def main() -> None:
    parser = argparse.ArgumentParser(description="Correct a contact with smolagents.")
    parser.add_argument("--model", default="gpt-5")
    parser.add_argument("--world", default="standard")
    options = parser.parse_args()
    model = OpenAIServerModel(options.model)
    with dayshift.Episode.open("crm/correct-contact", seed=8, world=options.world, surface="core") as episode:
        tools = [OperationTool(episode, **tool["function"]) for tool in episode.surface.openai_tools()]
        agent = ToolCallingAgent(tools, model, instructions=job_description.TEXT, max_steps=episode.steps_left)
        agent.run(episode.brief)
        print("{0.outcome}, reward {0.reward}".format(episode.submit()))


if __name__ == "__main__":
    main()
