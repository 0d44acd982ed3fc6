"""A graph of LangGraph works: a model and its tools take turns until the model calls nothing.

OPENAI_API_KEY=… python examples/model_langgraph.py --model gpt-5
"""

import argparse

import dayshift
from dayshift import job_description
from langchain_core.messages import ToolMessage
from langchain_openai import ChatOpenAI
from langgraph.graph import MessagesState, StateGraph
from langgraph.prebuilt import tools_condition


def main() -> None:
    parser = argparse.ArgumentParser(description="Correct a contact with LangGraph.")
    parser.add_argument("--model", default="gpt-5")
    parser.add_argument("--world", default="standard")
    options = parser.parse_args()
    with dayshift.Episode.open("crm/correct-contact", seed=8, world=options.world, surface="core") as episode:
        model = ChatOpenAI(model=options.model).bind_tools(episode.surface.openai_tools())

        def call_tools(state: MessagesState) -> MessagesState:
            calls = state["messages"][-1].tool_calls
            answers = [episode.surface.call_blocking(episode, call["name"], call["args"]) for call in calls]
            return {"messages": [ToolMessage(a, tool_call_id=c["id"]) for a, c in zip(answers, calls, strict=True)]}

        graph = StateGraph(MessagesState)
        graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
        graph.add_node("tools", call_tools).add_edge("tools", "model")
        graph.set_entry_point("model").add_conditional_edges("model", tools_condition)
        graph.compile().invoke({"messages": [("system", job_description.TEXT), ("user", episode.brief)]})
        verdict = episode.submit()
    print(f"{verdict.outcome}, reward {verdict.reward}")


if __name__ == "__main__":
    main()
