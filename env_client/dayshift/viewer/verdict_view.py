"""The verdict as the pages show it: the waterfall of the reward, and links from findings to rows and steps."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dayshift.viewer.finding_rows import RowFinder
from dayshift.viewer.model import CollateralView, FindingView, FlagView, RowLink, Waterfall, WaterfallBar
from dayshift.viewer.plain_words import plain_words

FORMULA = "earned × efficiency × precision − (1 − precision)"
# Harm is counted in stray edits: four of them cost all that reaching every goal earns.
_HARM_TOLERANCE = 4.0

Change = Mapping[str, Any]


def sum_earned(verdict: Mapping[str, Any]) -> float | None:
    goals = [finding for finding in verdict.get("findings", []) if finding["weight"] > 0]
    return sum(goal["weight"] * goal["score"] for goal in goals) if goals else None


def harm_of(verdict: Mapping[str, Any]) -> float | None:
    """The harm that a verdict without a breakdown tells of: collateral and broken constraints."""
    if verdict.get("reward") is None:
        return None
    broken = sum(-item["weight"] * (1 - item["score"]) for item in verdict["findings"] if item["weight"] < 0)
    collateral = sum(item.get("harm", 1.0) for item in verdict["collateral"])
    return float(broken + collateral)


def build_waterfall(verdict: Mapping[str, Any]) -> Waterfall | None:
    """Bars from nothing to the reward: each goal up, then what efficiency and harm take."""
    reward = verdict.get("reward")
    if reward is None:
        return None
    breakdown = verdict.get("breakdown")
    numbers = breakdown or _derive(verdict, reward)
    bars = list(_goal_bars(verdict)) if numbers["earned"] else []
    earned, efficiency, precision = numbers["earned"], numbers["efficiency"], numbers["precision"]
    neat = earned * efficiency
    if efficiency != 1:
        bars.append(_bar("efficiency", _explain_efficiency(numbers), earned, neat, "cost"))
    if precision != 1:
        after_efficiency = neat * precision
        harm = f"harm of {numbers['harm']:g} stray edit{'s' * (numbers['harm'] != 1)}"
        if neat:
            bars.append(_bar("precision", f"{harm}: × {precision:.4g}", neat, after_efficiency, "harm"))
        bars.append(
            _bar("harm", f"{harm}: − {1 - precision:.4g}", after_efficiency, after_efficiency - (1 - precision), "harm")
        )
    bars.append(
        _bar("reward", f"{earned:g} × {efficiency:.4g} × {precision:.4g} − {1 - precision:.4g}", 0, reward, "total")
    )
    return Waterfall(formula=FORMULA, bars=bars, derived=breakdown is None)


def _goal_bars(verdict: Mapping[str, Any]) -> Iterator[WaterfallBar]:
    total = 0.0
    for finding in verdict["findings"]:
        if finding["weight"] > 0:
            worth = finding["weight"] * finding["score"]
            share = f"{finding['weight']:.4g} × {finding['score']:.4g}"
            yield _bar(f"{finding['product']} {finding['check']}", share, total, total + worth, "goal")
            total += worth


def _bar(label: str, info: str, start: float, end: float, kind: Any) -> WaterfallBar:
    return WaterfallBar(label=label, detail=info, start=start, end=end, kind=kind)


def _derive(verdict: Mapping[str, Any], reward: float) -> Mapping[str, Any]:
    """Recordings from before wire version 4 lack the numbers; what is missing after earned and harm is efficiency."""
    earned, harm = sum_earned(verdict) or 0.0, harm_of(verdict) or 0.0
    precision = _HARM_TOLERANCE / (_HARM_TOLERANCE + harm)
    efficiency = (reward + 1 - precision) / (earned * precision) if earned else 1.0
    return {
        "earned": earned,
        "efficiency": efficiency if 0 < efficiency <= 1 else 1.0,
        "precision": precision,
        "harm": harm,
        "slips": 0,
        "steps_beyond_par": 0,
    }


def _explain_efficiency(numbers: Mapping[str, Any]) -> str:
    parts = []
    if numbers["steps_beyond_par"]:
        parts.append(f"{numbers['steps_beyond_par']} steps beyond par")
    if numbers["slips"]:
        parts.append(f"{numbers['slips']} writes taken back")
    return f"{' and '.join(parts) or 'effort'}: × {numbers['efficiency']:.4g}"


def finding_views(verdict: Mapping[str, Any] | None, rows: RowFinder) -> list[FindingView]:
    return [_finding_view(finding, rows) for finding in (verdict or {}).get("findings", [])]


def _finding_view(finding: Mapping[str, Any], rows: RowFinder) -> FindingView:
    links, note = _find_rows(finding, rows)
    return FindingView(
        check=finding["check"],
        product=finding["product"],
        weight=finding["weight"],
        score=finding["score"],
        held=finding["held"],
        because=plain_words(finding["because"]),
        rows=links,
        note=note,
    )


def _find_rows(finding: Mapping[str, Any], rows: RowFinder) -> tuple[list[RowLink], str]:
    if named := rows.find_named(finding["because"], finding["product"]):
        return named, ""
    is_rule = finding["weight"] <= 0
    # What is reached, or broken, comes of what the agent changed there.
    has_cause = finding["score"] < 1 if is_rule else finding["score"] > 0
    if has_cause and (own := rows.of_agent(finding["because"], finding["product"])):
        return own, f"No row is named; the agent changed these in {finding['product']}:"
    if is_rule and finding["held"]:
        return [], "No row was involved: nothing broke this rule."
    return [], "No row was involved."


def flag_views(verdict: Mapping[str, Any] | None, rows: RowFinder) -> list[FlagView]:
    return [
        FlagView(tag=flag["tag"], evidence=plain_words(flag["evidence"]), rows=rows.find_named(flag["evidence"], None))
        for flag in (verdict or {}).get("flags", [])
    ]


def collateral_views(verdict: Mapping[str, Any] | None, changes: Sequence[Change]) -> list[CollateralView]:
    return [_collateral_view(item, changes) for item in (verdict or {}).get("collateral", [])]


def _collateral_view(item: Mapping[str, Any], changes: Sequence[Change]) -> CollateralView:
    place = (item["product"], item["table"], str(item["id"]))
    own = [change for change in changes if (change["product"], change["table"], str(change["id"])) == place]
    by_agent = [change for change in own if change["actor"].startswith("agent")]
    return CollateralView(
        product=item["product"],
        table=item["table"],
        id=item["id"],
        fields=item["fields"],
        because=item["because"],
        harm=item.get("harm", 1.0),
        step=by_agent[-1]["step"] if by_agent else None,
        before=own[0]["before"] if own else None,
        after=own[-1]["after"] if own else None,
    )
