"""The episodes of a report's page: lists that its numbers lead to, and every step of those that are shown whole."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import chain, zip_longest

from dayshift.calls import Call
from dayshift.rendering import format_json
from dayshift.report import Summary, name_policy, name_task
from dayshift.trajectory import RecordedStep, Trajectory
from dayshift.verdict_analysis import classify_failure

# A page of some megabytes opens at once; recordings of a training run would not. The lists name every episode.
_MOST_EPISODES = 400
_MOST_STEPS = 120
_MOST_CHARS = 600


class EpisodeLists:
    """Lists of episodes by policy and by what a number counts, each with an anchor that the number links to."""

    def __init__(self, summary: Summary) -> None:
        self._lists: dict[tuple[str, str], list[Trajectory]] = defaultdict(list)
        for episode in summary.trajectories:
            for subject in _subjects(episode):
                self._lists[subject, name_policy(episode)].append(episode)
        self._numbers = {key: number for number, key in enumerate(self._lists, 1)}
        # Some of every task and policy, before a second of any.
        by_task: dict[tuple[str, str], list[Trajectory]] = defaultdict(list)
        for episode in summary.trajectories:
            by_task[name_task(episode), name_policy(episode)].append(episode)
        turns = chain.from_iterable(zip_longest(*by_task.values()))
        self._whole = [episode for episode in turns if episode is not None][:_MOST_EPISODES]
        self._anchors = {id(episode): f"e{number}" for number, episode in enumerate(self._whole, 1)}

    def link(self, subject: str, policy: str, text: str) -> str:
        """A number that leads to its episodes, or the number alone where there are none."""
        number = self._numbers.get((subject, policy))
        return escape(text) if number is None else f'<a href="#l{number}">{escape(text)}</a>'

    def render(self) -> str:
        """The lists, then the episodes."""
        left_out = sum(map(len, self._by_task().values())) - len(self._whole)
        note = f"<p>{left_out} more episodes are listed without their steps.</p>" if left_out else ""
        return "".join(
            (
                "<h2>Episodes by number</h2>",
                *(self._render_list(*key) for key in self._lists),
                "<h2>Episodes, step by step</h2>",
                note,
                *map(self._render_episode, self._whole),
            )
        )

    def _by_task(self) -> dict[tuple[str, str], list[Trajectory]]:
        return {key: episodes for key, episodes in self._lists.items() if key[0].startswith("task: ")}

    def _render_list(self, subject: str, policy: str) -> str:
        episodes = self._lists[subject, policy]
        links = ", ".join(self._render_link(episode) for episode in _sort_by_reward(episodes))
        title = f"{policy}, {subject}: {len(episodes)} episodes"
        anchor = f"l{self._numbers[subject, policy]}"
        # The anchor is inside: a browser opens the element that a link leads into.
        return f'<details><summary>{escape(title)}</summary><p id="{anchor}">{links}</p></details>'

    def _render_link(self, episode: Trajectory) -> str:
        text = f"{name_task(episode)} seed {episode.manifest.open.seed} ({_describe_reward(episode)})"
        anchor = self._anchors.get(id(episode))
        return escape(text) if anchor is None else f'<a href="#{anchor}">{escape(text)}</a>'

    def _render_episode(self, episode: Trajectory) -> str:
        seed = episode.manifest.open.seed
        title = f"{name_task(episode)}, seed {seed}, {name_policy(episode)}: {episode.ending}"
        if episode.reward is not None:
            title += f", {_describe_reward(episode)}"
        steps = "".join(map(_render_step, episode.steps[:_MOST_STEPS]))
        more = len(episode.steps) - _MOST_STEPS
        return (
            f"<details><summary>{escape(title)}</summary>"
            f'<p id="{self._anchors[id(episode)]}" class="muted">{escape(episode.manifest.episode_id)}</p>'
            f"<blockquote>{escape(episode.manifest.brief)}</blockquote><ol>{steps}</ol>"
            f"{f'<p>{more} more steps</p>' if more > 0 else ''}{_render_verdict(episode)}</details>"
        )


def _subjects(episode: Trajectory) -> Iterator[str]:
    if episode.scored:
        yield "judged"
    if episode.ending == "passed":
        yield "passed"
    yield f"task: {name_task(episode)}"
    yield f"ended: {classify_failure(episode)}"
    if episode.verdict is not None:
        yield from sorted({f"flag: {flag.tag}" for flag in episode.verdict.flags})
        yield from sorted({f"check: {finding.check}" for finding in episode.verdict.findings})


def _sort_by_reward(episodes: Iterable[Trajectory]) -> list[Trajectory]:
    """Worst first; those without a reward last."""
    return sorted(episodes, key=lambda episode: (episode.reward is None, episode.reward or 0.0, name_task(episode)))


def _describe_reward(episode: Trajectory) -> str:
    return "no reward" if episode.reward is None else f"{episode.reward:+.3f}"


def _render_step(step: RecordedStep) -> str:
    status = f"{step.method} {step.target} → {step.status or 'no answer'}" if step.sent else "not sent"
    call = escape(_cut(str(Call(step.operation, step.arguments))))
    refused = ' class="refused"' if step.status >= 400 else ""
    answer = escape(_cut(format_json(step.answer)))
    return (
        f'<li{refused}><code>{call}</code> <span class="muted">{escape(_cut(status))} · {escape(step.clock)}</span>'
        f"<pre>{answer}</pre></li>"
    )


def _render_verdict(episode: Trajectory) -> str:
    if episode.verdict is None or episode.reward is None:
        because = episode.quarantine.because if episode.quarantine else "it was not scored"
        return f"<p>No reward: {escape(because)}</p>"
    verdict = episode.verdict
    because = f"<p>{escape(verdict.because)}</p>" if verdict.because else ""
    findings: Sequence[str] = [
        f"<li>{'✓' if finding.held else '✗'} {finding.score * finding.weight:.3g} of {finding.weight:.3g} "
        f"{escape(finding.check)}: {escape(finding.because)}</li>"
        for finding in verdict.findings
    ]
    harm = [
        f"<li>changed besides: {escape(f'{change.product} {change.table} {change.id}')}: "
        f"{escape(', '.join(change.fields))}</li>"
        for change in verdict.collateral
    ]
    flags = [f"<li>flag {escape(flag.tag)}: {escape(flag.evidence)}</li>" for flag in verdict.flags]
    items = "".join((*findings, *harm, *flags))
    return f"<h3>Verdict: {verdict.outcome}, {verdict.reward:+.3f}</h3>{because}<ul>{items}</ul>"


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]} … {len(text) - _MOST_CHARS} more characters"
