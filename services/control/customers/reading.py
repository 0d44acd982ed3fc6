"""How a customer understands messages. It matches words alone, so that it is the same on every machine."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fixtures.customers.customer import Fact, Saying, Statement
from fixtures.customers.persona import topics

# Nobody reads further: an answer that is buried in pages is no answer.
LONGEST_READ = 2_500
_QUOTED = re.compile(r"^\s*>.*$", re.MULTILINE)
# A shorter line may be the same by chance: a greeting, a number, a name.
_SHORTEST_PASTE = 30
_ATTRIBUTION = re.compile(
    r"^(on .{5,120} wrote:|am .{5,120} schrieb.*:|le .{5,120} a écrit ?:|el .{5,120} escribió:)\s*$",
    re.IGNORECASE | re.MULTILINE,
)
# A sentence asks by its mark, or by asking somebody to say something.
_TELL = (
    r"send|give|tell|provide|confirm|share|reply|state|name|specify|forward|supply|include|attach|describe|explain|"
    r"list|write|answer|prove|verify|identify|authenticate|help|show|choose|decide|check|let (us|me) (know|have)"
)
_ASKING = re.compile(
    rf"\?|\b((please|kindly) (also )?({_TELL})|(could|can|would|will) you (please |kindly |also )*({_TELL})|"
    rf"let (us|me) (know|have)|tell (us|me)|(we|i) (would |will |do |also |still |just |only )*(need|require|lack)|"
    r"(we|i) (would|'d) (like|love) to know|(we are|we're|i am|i'm) (still )?missing|required from you|"
    r"bitte (\w+ ){0,3}(nennen|senden|schicken|teilen|geben|bestätigen|sagen)|nennen sie|teilen sie|senden sie|"
    r"schicken sie|geben sie|bestätigen sie|sagen sie|wir (benötigen|brauchen)|könnten sie|können sie|"
    r"pourriez|pouvez|merci de (nous )?\w+er|veuillez|indiquez|nous avons besoin|dites-nous|"
    r"podría|puede|indíquenos|díganos|envíenos|necesitamos|confirme)\b",
    re.IGNORECASE,
)
# Asked out of politeness; nobody expects an answer.
_COURTESY = re.compile(
    r"\b(anything else|something else|any(thing)? (other|further|more)|(other|further|more|any) questions?|"
    r"(if|should|in case|whenever) (you|there|something|anything) (should |still |do |is |are )*"
    r"(need|have|require|want|any|anything|unclear|wrong|help)|"
    r"need (\w+ ){0,3}(time|hours|days|minutes|patience)|(need|have|going) to (look|check|investigate|discuss)|"
    r"bear with|be patient|feel free|do not hesitate|don't hesitate|noch (etwas|fragen)|weitere fragen|"
    r"autres? (question|chose)|d'autres questions|n'hésitez|si vous avez|si (tiene|necesita)|algo más|otra pregunta)\b",
    re.IGNORECASE,
)
_ASKING_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")
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
# So many answers to questions that nobody asked may stand beside the right one.
_FEW_ANSWERS = 3
# Shorter words ask for something only as whole words.
_SHORTEST_BEGINNING = 4
_SENTENCE_ENDS = re.compile(r"[!?;:]+|\.(?!\d)|\n\s*\n")
# Before the word for what was done, these deny it, doubt it or put it off.
_DOUBTS, _PROMISES = (
    frozenset(words.split())
    for words in (
        "not never cannot unable be if whether unless until nicht nie ob falls pas jamais si no nunca",
        "will shall would should can could may might must wird werden sera seront será serán",
    )
)
_DOUBTED_WITHIN, _PROMISED_WITHIN = 4, 6
_PARTLY = re.compile(
    r"\b(half|partial(ly)?|partly|part of|hälfte|teilweise|teilbetrag|moitié|partiellement|mitad|parcialmente)\b"
)
# An amount that is not the expected one, whatever else the sentence says.
_AMOUNT = re.compile(r"\d[.,]\d\d(?![\d.,]*\d)|[€$£]\s?\d|\d\s?[€$£]")


def strip_quotes(text: str) -> str:
    """The writer's own text, without quoted messages."""
    return _ATTRIBUTION.split(_QUOTED.sub("", text).replace("\u00a0", " "))[0].strip()


def strip_pasted(text: str, thread_texts: Iterable[str]) -> str:
    """The text without whole lines of the thread: who pastes them back has said nothing new."""
    lines = {line.strip() for message in thread_texts for line in message.splitlines()}
    return "\n".join(line for line in text.splitlines() if len(line) < _SHORTEST_PASTE or line.strip() not in lines)


def find_questions(text: str) -> list[str]:
    """The sentences that ask for something, out of politeness or not."""
    return [sentence for sentence in _ASKING_SENTENCES.split(text) if _ASKING.search(sentence) is not None]


def is_question(text: str) -> bool:
    """Whether a message waits for an answer."""
    return any(_COURTESY.search(sentence) is None for sentence in find_questions(text))


def is_probing(text: str) -> bool:
    return _PROBING.search(text) is not None


def is_begging(text: str) -> bool:
    return _BEGGING.search(text) is not None


@dataclass(frozen=True, slots=True)
class Request:
    """What messages ask a customer for."""

    # The facts that they name, in the customer's order.
    named: tuple[Fact, ...] = ()
    # Whether a question names nothing that the customer knows: they tell what they can.
    is_broad: bool = False

    def select_wanted(self, facts: Sequence[Fact]) -> list[Fact]:
        return [fact for fact in facts if fact in self.named or (self.is_broad and not fact.only_when_named)]


def read_request(texts: Sequence[str], facts: Sequence[Fact]) -> Request:
    """Whoever asks for one thing and mentions another is told both: better too much than nothing.

    A message that only informs, and asks out of politeness whether there is anything else, asks for nothing.
    """
    asking_texts = [(text, find_questions(text)) for text in texts if is_question(text)]
    named = tuple(fact for fact in facts if any(_asks_for(text, fact) for text, _ in asking_texts))
    is_broad = any(_is_open(question, facts) for _, questions in asking_texts for question in questions)
    return Request(named, is_broad)


def _is_open(question: str, facts: Sequence[Fact]) -> bool:
    """Whether a question names no fact, and is meant as one."""
    if any(_asks_for(question, fact) for fact in facts):
        return False
    return not (_COURTESY.search(question) or is_probing(question) or is_begging(question))


def _asks_for(text: str, fact: Fact) -> bool:
    folded = text.casefold()
    return any(_begins_in(word, folded) for word in (*fact.keywords, *topics().get(fact.name, ())))


def detect_language(text: str) -> str | None:
    """One of the languages in `_WORDS`; None where the text is too short to tell."""
    words = re.findall(r"\w+", text.casefold())
    counted = Counter({language: sum(word in known for word in words) for language, known in _WORDS.items()})
    (first, most), (_, second) = counted.most_common(2)
    return first if len(words) >= _FEWEST_WORDS and most > second else None


def is_foreign(text: str, language: str) -> bool:
    detected = detect_language(text)
    return language in _WORDS and detected is not None and detected != language


def mentions(text: str, saying: Saying) -> bool:
    """Whether a message of readable length holds any of the spellings, as words of their own, or a statement."""
    if len(text) > LONGEST_READ:
        return False
    folded = " ".join(text.casefold().split())
    if sum(_stands_in(rival, folded) for rival in saying.rivals) > _FEW_ANSWERS:
        return False
    return any(_stands_in(spelling, folded) for spelling in saying.any_of) or any(
        _states(" ".join(sentence.split()), statement)
        for statement in saying.statements
        for sentence in _SENTENCE_ENDS.split(text.casefold())
    )


def _states(sentence: str, statement: Statement) -> bool:
    if statement.is_of_money and (_PARTLY.search(sentence) or _AMOUNT.search(sentence)):
        return False
    if statement.to and not _find_beginnings(statement.to, sentence):
        return False
    return any(not _is_doubted(sentence[:start]) for start in _find_beginnings(statement.done, sentence))


def _find_beginnings(words: Sequence[str], sentence: str) -> list[int]:
    pattern = "|".join(re.escape(word.casefold()) for word in words)
    return [match.start() for match in re.finditer(rf"(?<!\w)(?:{pattern})", sentence)]


def _is_doubted(before: str) -> bool:
    """Whether the last words of the clause deny or promise what follows them."""
    words = re.findall(r"[\w'’]+", before.rpartition(",")[2])
    denied = any(word in _DOUBTS or word.endswith(("n't", "n’t")) for word in words[-_DOUBTED_WITHIN:])
    return denied or not _PROMISES.isdisjoint(words[-_PROMISED_WITHIN:])


def _stands_in(word: str, folded: str) -> bool:
    pattern = rf"(?<![\w.,]){re.escape(word.casefold())}(?!\w|[.,]\d)"
    return re.search(pattern, folded) is not None


def _begins_in(word: str, folded: str) -> bool:
    """Whether a word of the text begins so; short words must stand there as they are."""
    end = "" if len(word) >= _SHORTEST_BEGINNING else r"(?!\w)"
    return re.search(rf"(?<!\w){re.escape(word.casefold())}{end}", folded) is not None
