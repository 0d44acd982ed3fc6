"""Programs that a command line runs: the words that are executed, not those that it only mentions."""

import re
import shlex
from collections.abc import Iterator

_SEPARATORS = frozenset({";", ";;", "&", "&&", "|", "||", "|&", "(", ")", "{", "}", "!", "\n", "`"})
_KEYWORDS = frozenset({"if", "then", "else", "elif", "while", "until", "do", "time", "exec", "command", "builtin"})
# Programs that run the rest of their words; each may take options and a first argument of its own.
_WRAPPERS = frozenset({"env", "sudo", "nohup", "nice", "setsid", "timeout", "stdbuf", "xargs", "ionice", "doas"})
_SHELLS = frozenset({"sh", "bash", "dash", "zsh"})
_ASSIGNMENT = re.compile(r"\w+=")
_NUMBER = re.compile(r"-|\d+(\.\d+)?[smhd]?$")
_DEEPEST = 4
_LONGEST = 20_000


def find_executed_programs(line: str, depth: int = 0) -> Iterator[list[str]]:
    """Each program's own words, its name first and without its folder; nothing for a line that is none."""
    for words in _simple_commands(line[:_LONGEST]):
        yield from _unwrap(words, depth)


def _simple_commands(line: str) -> Iterator[list[str]]:
    text = re.sub(r"<<-?\s*(['\"]?)(\w+)\1.*?\n.*?^\s*\2$", "", line, flags=re.DOTALL | re.MULTILINE)
    lexer = shlex.shlex(text.replace("\n", " ; ").replace("$(", " ; ( "), posix=True, punctuation_chars="();|&`")
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    try:
        for word in lexer:
            if word in _SEPARATORS or not word.strip("();|&`"):
                if words:
                    yield words
                words = []
            else:
                words.append(word)
    except ValueError:
        # Quotes that do not end: what was read before counts.
        pass
    if words:
        yield words


def _unwrap(words: list[str], depth: int) -> Iterator[list[str]]:
    while words and (words[0] in _KEYWORDS or _ASSIGNMENT.match(words[0])):
        words = words[1:]
    if not words or depth > _DEEPEST:
        return
    name, rest = words[0].rpartition("/")[2], words[1:]
    yield [name, *rest]
    if name in _WRAPPERS:
        while rest and (_NUMBER.match(rest[0]) or _ASSIGNMENT.match(rest[0])):
            rest = rest[1:]
        yield from _unwrap(rest, depth + 1)
    elif name in _SHELLS:
        script = next((rest[place + 1] for place, word in enumerate(rest[:-1]) if re.fullmatch(r"-\w*c", word)), None)
        if script is not None:
            yield from find_executed_programs(script, depth + 1)
