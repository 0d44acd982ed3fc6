"""EpisodeQuery as SQL over the index, and as JSON rows."""

# ruff: noqa: S608 - columns and clauses come from this module alone; values are parameters

import json
import sqlite3
from collections.abc import Sequence
from typing import Any, cast

from dayshift.report import FAILURE_RATE_LIMIT
from dayshift.viewer.model import EpisodePage, EpisodeQuery, EpisodeSummary, Facet, RunRow
from dayshift.viewer.source import MAX_ROWS

_EQUAL = {
    "run": "run",
    "family": "family",
    "split": "split",
    "seed": "CAST(seed AS TEXT)",
    "policy": "policy",
    "version": "version",
    "outcome": "outcome",
    "group": "grp",
    "keys": "key",
}
_AMONG = {"product": "products", "flag": "flags", "fault": "fault"}
_RANGES = {
    "min_steps": "steps >= ?",
    "max_steps": "steps <= ?",
    "min_reward": "reward >= ?",
    "max_reward": "reward <= ?",
}
_SORTED = {
    "recorded": "id",
    "family": "family",
    "seed": "seed",
    "policy": "policy",
    "outcome": "outcome",
    "reward": "reward",
    "steps": "steps",
    "tokens": "tokens",
    "cost": "cost",
    "time": "wall_seconds",
    "rows": "changed_rows",
}
_FACETS = ("run", "family", "split", "policy", "version", "outcome")
_MOST_VALUES = 200
_FLAGGED = "flags != '|'"
_FAILED_ENVIRONMENT = "blame = 'harness'"


def select_page(connection: sqlite3.Connection, query: EpisodeQuery) -> EpisodePage:
    where, values = build_where(query)
    total, passed, failed, unscored, flagged, faulty = connection.execute(
        "SELECT count(*), coalesce(sum(outcome = 'passed'), 0), coalesce(sum(outcome = 'failed'), 0), "
        f"coalesce(sum(outcome = 'unscored'), 0), coalesce(sum({_FLAGGED}), 0), "
        f"coalesce(sum({_FAILED_ENVIRONMENT}), 0) FROM episodes WHERE {where}",
        values,
    ).fetchone()
    offset = max(0, query.get("offset", 0))
    limit = max(0, min(query.get("limit", 100), MAX_ROWS))
    rows = connection.execute(
        f"SELECT summary FROM episodes WHERE {where} ORDER BY {_order(query)} LIMIT ? OFFSET ?",
        [*values, limit, offset],
    ).fetchall()
    return EpisodePage(
        total=total,
        offset=offset,
        rows=[json.loads(row["summary"]) for row in rows],
        counts={"passed": passed, "failed": failed, "unscored": unscored, "flagged": flagged},
        environment_failures=faulty,
        failure_rate=faulty / total if total else 0.0,
        failure_rate_limit=FAILURE_RATE_LIMIT,
        facets=_count_facets(connection),
    )


def select_all(connection: sqlite3.Connection, query: EpisodeQuery) -> list[EpisodeSummary]:
    where, values = build_where(query)
    rows = connection.execute(f"SELECT summary FROM episodes WHERE {where} ORDER BY {_order(query)}", values)
    return [json.loads(row["summary"]) for row in rows]


def select_neighbours(
    connection: sqlite3.Connection, episode: int, query: EpisodeQuery
) -> tuple[str | None, str | None]:
    """The keys before and after in the list; of an episode that it does not hold, those recorded before and after."""
    for candidate in (query, EpisodeQuery()):
        where, values = build_where(candidate)
        row = connection.execute(
            "SELECT before, after FROM (SELECT id, lag(key) OVER listed AS before, lead(key) OVER listed AS after "
            f"FROM episodes WHERE {where} WINDOW listed AS (ORDER BY {_order(candidate)})) WHERE id = ?",
            [*values, episode],
        ).fetchone()
        if row is not None:
            return row["before"], row["after"]
    return None, None


def select_runs(connection: sqlite3.Connection, query: EpisodeQuery) -> list[RunRow]:
    where, values = build_where(query)
    rows = connection.execute(
        "SELECT run, count(*) AS episodes, sum(outcome = 'passed') AS passed, sum(outcome = 'failed') AS failed, "
        f"sum(outcome = 'unscored') AS unscored, sum({_FLAGGED}) AS flagged, avg(reward) AS mean_reward, "
        f"avg({_FAILED_ENVIRONMENT}) AS failure_rate, sum(cost) AS cost, sum(tokens) AS tokens, "
        "json_group_array(DISTINCT version || char(31) || policy) AS policies "
        f"FROM episodes WHERE {where} GROUP BY run ORDER BY run",
        values,
    )
    return [
        cast(RunRow, {**dict(row), "policies": _list_policies(json.loads(row["policies"])), "unreadable": 0})
        for row in rows
    ]


def _list_policies(pairs: Sequence[str]) -> list[str]:
    """Each policy with its version, or with the number of its versions."""
    versions: dict[str, list[str]] = {}
    for pair in pairs:
        version, _, policy = pair.partition("\x1f")
        versions.setdefault(policy, []).append(version)
    return [
        f"{policy} {own[0]}".strip() if len(own) == 1 else f"{policy} ({len(own)} versions)"
        for policy, own in sorted(versions.items())
    ]


def build_where(query: EpisodeQuery) -> tuple[str, list[Any]]:
    clauses, values = ["1"], list[Any]()
    for name, column in _EQUAL.items():
        choice: Sequence[str] | None = query.get(name)  # type: ignore[assignment]  # the names are those of the query
        if choice is not None:
            clauses.append(f"{column} IN (SELECT value FROM json_each(?))")
            values.append(json.dumps(list(choice)))
    for name, column in _AMONG.items():
        choice = query.get(name)  # type: ignore[assignment]  # as above
        if choice:
            clauses.append("(" + " OR ".join(f"instr({column}, ?)" for _ in choice) + ")")
            values += [f"|{value}|" for value in choice]
    for name, clause in _RANGES.items():
        if (bound := query.get(name)) is not None:
            clauses.append(clause)
            values.append(bound)
    if query.get("flagged"):
        clauses.append(_FLAGGED)
    if text := _match(query.get("q", "")):
        clauses.append("id IN (SELECT rowid FROM texts WHERE texts MATCH ?)")
        values.append(text)
    return " AND ".join(clauses), values


def _match(text: str) -> str:
    """All words, each as the beginning of a word; an address or an id is a phrase of several."""
    words = [word.replace('"', '""') for word in text.split()[:20] if any(map(str.isalnum, word))]
    return " AND ".join(f'"{word}"*' for word in words)


def _order(query: EpisodeQuery) -> str:
    wanted = query.get("sort", "recorded")
    column = _SORTED.get(wanted.removeprefix("-"), "id")
    direction = "DESC" if wanted.startswith("-") else "ASC"
    # Episodes without a reward come last in both directions.
    return f"{column} IS NULL, {column} {direction}, id"


def _count_facets(connection: sqlite3.Connection) -> dict[str, list[Facet]]:
    facets = {name: _count_values(connection, name) for name in _FACETS}
    for name, column in _AMONG.items():
        counts: dict[str, int] = {}
        for joined, count in connection.execute(f"SELECT {column}, count(*) FROM episodes GROUP BY {column}"):
            for value in filter(None, joined.split("|")):
                counts[value] = counts.get(value, 0) + count
        facets[name] = [Facet(value=value, count=counts[value]) for value in sorted(counts)][:_MOST_VALUES]
    return facets


def _count_values(connection: sqlite3.Connection, column: str) -> list[Facet]:
    rows = connection.execute(
        f"SELECT {column} AS value, count(*) AS count FROM episodes GROUP BY {column} ORDER BY {column} LIMIT ?",
        (_MOST_VALUES,),
    )
    return [Facet(value=str(row["value"]), count=row["count"]) for row in rows if row["value"] != ""]
