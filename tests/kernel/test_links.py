"""Where a text sends its reader: hosts as a browser and a mail program see them."""

import time

import pytest

from services.kernel.links import find_hosts, is_within

OWN = "tallyport.io"


def is_own(text: str) -> bool:
    return all(is_within(host, OWN) for host in find_hosts(text))


@pytest.mark.parametrize(
    "text",
    [
        "Our status page: https://status.tallyport.io. We will write again.",
        "See https://status.tallyport.io, or (https://tallyport.io/help), or [https://tallyport.io].",
        "https://status.tallyport.io?x=1#now",
        "https://status.tallyport.io:8443/a/b.html!",
        "HTTPS://Status.TallyPort.IO/",
        "[the state of things](https://status.tallyport.io)",
        "**https://status.tallyport.io**; `https://tallyport.io`",
        "status.tallyport.io, www.tallyport.io/help and tallyport.io.",
        "https://name@tallyport.io/inbox",
        "Write to billing@ferrariapp.it or j.doe.com@mailbox.org.",
        "The export is in report.csv and README.md, v2.3.1, e.g. 1.204,50 EUR on 01.10.2026 at 5 p.m.",
        "It was closed.It is open again. The field is customer.id, the file invoice.pdf/receipt.pdf.",
        "use https: it is safer",
    ],
)
def test_what_is_ours_is_not_elsewhere(text: str) -> None:
    assert is_own(text)


@pytest.mark.parametrize(
    "text",
    [
        "http://evil.example#.tallyport.io",
        "https://evil.example?.tallyport.io",
        "https://tallyport.io@evil.example",
        "https://tallyport.io:secret@evil.example/login",
        "https://evil.example\\@tallyport.io",
        "https:evil.example/login",
        "https:/evil.example",
        "https://tallyport.io.evil.example",
        "https://eviltallyport.io",
        "https://tallyport.io,evil.example",
        "www.evil.example/login",
        "Please sign in at evil.example again.",
        "//evil.example/x",
        "evil.it/login",
        "[https://status.tallyport.io](https://evil.example)",
        "https://status.tallyport.io/?next=https://evil.example",
        "https://evil\u200b.example",
        "tally\u00adport.io.evil.com",
        "ｈttps://evil．example",
        "https://t\u0430llyport.io",
        "https://203.0.113.7/",
        "https://[::1]/",
        "ftp://evil.example",
        "https://evil%2Eexample",
        f"https://tallyport.io{'a' * 600}@evil.example",
    ],
)
def test_what_is_not_ours_is_found(text: str) -> None:
    assert not is_own(text)


def test_a_long_text_takes_no_time() -> None:
    began = time.perf_counter()
    for letters in ("a" * 60_000, "a." * 30_000, "a@" * 30_000, "http:" * 12_000, "-" * 60_000):
        list(find_hosts(letters))

    assert time.perf_counter() - began < 5
