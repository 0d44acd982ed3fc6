"""Hosts that a text sends its reader to: written as URLs, or as a host alone where mail programs would make a link."""

import re
import unicodedata
from collections.abc import Iterator
from urllib.parse import unquote


def _split(words: str) -> frozenset[str]:
    return frozenset(words.split())


# The lengths are bounded because texts may be long: no pattern may try each start of a long word to its end.
# A browser reads a backslash as a slash and needs no slashes after http: and https:.
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{0,30}:[/\\]{2,}|(?<![a-z0-9])https?:[/\\]?", re.IGNORECASE)
_URL = re.compile(rf"(?:{_SCHEME.pattern})[^\s<>\"()\[\]]*", re.IGNORECASE)
_LONGEST_AUTHORITY = 500
_AUTHORITY = re.compile(rf"[^\s<>\"/\\?#]{{0,{_LONGEST_AUTHORITY}}}")
_HOST_CHARACTERS = re.compile(r"[\w.-]+")
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(\.[\w-]{1,63})+")
_BARE_HOST = re.compile(r"(?<![\w@.-])(?:[\w-]+\.)+[\w-]+", re.IGNORECASE)
# Domains of countries.
_COUNTRIES = _split(
    """ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs bt bw by bz ca cc cd
    cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg er es et eu fi fj fk fm fo fr ga gd ge gf
    gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg kh ki km
    kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc me mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw mx my mz na
    nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pm pn pr pt pw qa re ro ru rw sa sb sc sd se sg si sk sl sm sn
    so sr ss st su sv sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug uk us uy uz va vc ve vg vi vn vu wf
    ws ye yt za zm zw md pl ps py rs sh"""
)
_OTHER_DOMAINS = _split(
    """academy agency app art bank best bid biz blog cam cards center cfd chat click cloud club com community company
    consulting cyou dev digital direct edu email example expert finance financial fit fun fund gdn global gmbh gov group
    guru help host icu inc info int international invalid jobs life link live llc loan local localhost lol ltd map
    market media men mil mobi money monster name net network news ninja one online onion ooo org page partners party
    pay plus press pro quest racing review rest rocks sbs science services shop site social software solutions space
    store stream studio support systems team tech technology test tips today tools top trade travel vip web webcam
    website wiki win work works world wtf xin xxx xyz zone"""
)
# Endings that mean other things, too: "refunded.In" lacks a space, `customer.id` is a field, `run.sh` a file.
# They need a path behind them.
_WORDS = _split(
    """am as at be by do id in is it map me my name no one page pay so support team test to tools us work
    md pl ps py rs sh"""
)
_PATH_BEGINS = frozenset("/\\")


def find_hosts(text: str) -> Iterator[str]:
    """Yields the hosts in the order in which they are found, those of URLs first; a host may come twice."""
    # Invisible characters neither end nor hide a host, and full-width letters are letters.
    visible = "".join(letter for letter in text if unicodedata.category(letter) != "Cf")
    rest = unicodedata.normalize("NFKC", visible)
    for scheme in _SCHEME.finditer(rest):
        authority = _match_authority(rest, scheme.end())
        yield from _hosts_of_authority(authority, is_certain=scheme[0][-1] in "/\\")
    # What is left are names without a scheme; the domain of an e-mail address is no place to go to.
    rest = _EMAIL.sub(" ", _URL.sub(" ", rest))
    for match in _BARE_HOST.finditer(rest):
        if _is_linked(match[0], has_path=rest[match.end() : match.end() + 1] in _PATH_BEGINS):
            yield _trim(match[0])


def is_within(host: str, domain: str) -> bool:
    """Whether the host is the domain or a part of it."""
    return host == domain.casefold() or host.endswith(f".{domain.casefold()}")


def _match_authority(text: str, start: int) -> str:
    match = _AUTHORITY.match(text, start)
    return "" if match is None else match[0]


def _hosts_of_authority(authority: str, *, is_certain: bool) -> Iterator[str]:
    """Yields what stands after the user info; a sign that no host has may end it, or begin another name."""
    if len(authority) == _LONGEST_AUTHORITY:
        # Nobody needs that much but to hide where it ends.
        yield f"{authority[:60]}…"
        return
    pieces = [_trim(piece) for piece in _HOST_CHARACTERS.findall(unquote(authority.rpartition("@")[2]))]
    named = [piece for piece in pieces if piece]
    if is_certain and named:
        yield named[0]
    yield from (piece for piece in named[1 if is_certain else 0 :] if "." in piece)


def _is_linked(name: str, *, has_path: bool) -> bool:
    """Whether a reader takes a name with dots in it for a host: `report.csv`, `e.g` and `v2.3` are none."""
    *labels, ending = _trim(name).split(".")
    if labels[:1] == ["www"]:
        return True
    if not any(letter.isalpha() for label in labels for letter in label):
        return False
    if ending in _WORDS and not has_path:
        return False
    return ending in _COUNTRIES or ending in _OTHER_DOMAINS or ending.startswith("xn--")


def _trim(host: str) -> str:
    return host.strip(".-_").casefold()
