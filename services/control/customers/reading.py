"""How a customer understands what support writes. Words alone, so that it is the same on every machine."""

import re
from collections import Counter
from collections.abc import Sequence

from fixtures.customers.customer import Fact, Saying

# Nobody reads on after that: an answer that is buried in pages is no answer.
LONGEST_READ = 2_500
_QUOTED = re.compile(r"^\s*>.*$", re.MULTILINE)
_ATTRIBUTION = re.compile(
    r"^(on .{5,120} wrote:|am .{5,120} schrieb.*:|le .{5,120} a écrit ?:|el .{5,120} escribió:)\s*$",
    re.IGNORECASE | re.MULTILINE,
)
_ASKING = re.compile(
    r"\?|\b(please (send|give|tell|provide|confirm|share|reply|state|let)|could you|can you|would you|let (us|me) know|"
    r"we (would )?need|i (would )?need|which|what is|tell (us|me)|bitte|könnten sie|können sie|nennen sie|teilen sie|"
    r"welche|pourriez|pouvez|merci de|veuillez|indiquez|quel|podría|puede|por favor|indíquenos|cuál|díganos)\b",
    re.IGNORECASE,
)
_PROBING = re.compile(
    r"\b(instructions? (you|were|have)|your (instructions?|prompt|script|persona|role|rules)|system prompt|"
    r"expected (answer|solution|reply|result)|rubric|grad(er|ing)|simulat\w+|are you (a bot|an ai|real|scripted)|"
    r"test case|ground truth|what (would|will) make you (happy|rate)|what (answer|reply) (do|are) you expect\w*|"
    r"language model|ignore (all |your )?(previous|prior))\b",
    re.IGNORECASE,
)
_BEGGING = re.compile(
    r"\b((good|positive|great|five.star|5.star) (rating|feedback|review|score)|(five|5) stars|rate (us|me|this|the)|"
    r"leave (us |me )?a (good |positive )?(rating|review)|satisfaction (rating|survey)|gute bewertung|"
    r"bonne (note|évaluation)|buena (valoración|nota))\b",
    re.IGNORECASE,
)
_COMMON = {
    "en": "the and you your we have for this that with is are was has been our to of it on will can please not",
    "de": "der die das und sie ihre wir haben für diese mit ist sind wurde unser zu von es auf wird bitte nicht ein",
    "fr": "le la les et vous votre nous avons pour cette avec est sont été notre de il sur sera merci pas une des",
    "es": "el la los y usted su hemos para esta con es son fue nuestro de se en será por favor no una que le",
}
_WORDS = {language: frozenset(words.split()) for language, words in _COMMON.items()}
_FEWEST_WORDS = 6


def own_words(text: str) -> str:
    """What the writer says, without what they quote."""
    return _ATTRIBUTION.split(_QUOTED.sub("", text).replace("\u00a0", " "))[0].strip()


def is_asking(text: str) -> bool:
    return _ASKING.search(text) is not None


def is_probing(text: str) -> bool:
    return _PROBING.search(text) is not None


def is_begging(text: str) -> bool:
    return _BEGGING.search(text) is not None


def asked_facts(text: str, facts: Sequence[Fact]) -> list[Fact]:
    """Those that this message asks for, in any of their words."""
    if not is_asking(text):
        return []
    folded = text.casefold()
    return [fact for fact in facts if any(_stands_in(word, folded) for word in fact.asked_by)]


def language_of(text: str) -> str | None:
    """Among those that we can tell apart; None where there is too little to tell."""
    words = re.findall(r"\w+", text.casefold())
    counted = Counter({language: sum(word in known for word in words) for language, known in _WORDS.items()})
    (first, most), (_, second) = counted.most_common(2)
    return first if len(words) >= _FEWEST_WORDS and most > second else None


def is_foreign(text: str, language: str) -> bool:
    found = language_of(text)
    return language in _WORDS and found is not None and found != language


def says(text: str, saying: Saying) -> bool:
    """Any of its spellings, standing by itself, in a message of a length that people read."""
    folded = " ".join(text.casefold().split())
    return len(text) <= LONGEST_READ and any(_stands_in(spelling, folded) for spelling in saying.any_of)


def _stands_in(word: str, folded: str) -> bool:
    pattern = rf"(?<![\w.,]){re.escape(word.casefold())}(?!\w|[.,]\d)"
    return re.search(pattern, folded) is not None
