"""Phone numbers are what is dialled: the same number in any form, and nothing but a number."""

import pytest

from services.crm.normalization import is_same_phone

AMERICA, BRITAIN, ITALY = ("1",), ("44",), ("39",)


@pytest.mark.parametrize(
    ("value", "expected", "codes"),
    [
        ("+14155048429", "415-504-8429", AMERICA),
        ("+1 (415) 504-8429", "415.504.8429", AMERICA),
        ("1-415-504-8429", "(415) 504-8429", AMERICA),
        ("415 504 8429", "+14155048429", AMERICA),
        ("001 415 504 8429", "415-504-8429", AMERICA),
        ("+441157955449", "0115 795 5449", BRITAIN),
        ("0115-795-5449", "+44 115 795 5449", BRITAIN),
        ("(+44) 115 795 5449", "01157955449", BRITAIN),
        ("+44 (0)115 795 5449", "0115 795 5449", BRITAIN),
        ("+39 02 4712345", "02 4712345", ITALY),
        ("+14155048429", "415-504-8429", (*BRITAIN, *AMERICA)),
        ("415\u00a0504\u20138429", "415-504-8429", ()),
        ("0049 309 01820", "+49 (0)30 90182-0", ()),
        ("415 504 8429", "415 504 8429 ext. 12", AMERICA),
        ("+1 415 504 8429 x12", "415 504 8429 ext. 12", AMERICA),
    ],
)
def test_every_form_of_a_number_is_the_number(value: str, expected: str, codes: tuple[str, ...]) -> None:
    assert is_same_phone(value, expected, codes)


@pytest.mark.parametrize(
    ("value", "expected", "codes"),
    [
        ("NOT 4155048429 - wrong number, do not call", "415-504-8429", AMERICA),
        ("javascript:4155048429", "415-504-8429", AMERICA),
        ("\u202e4155048429", "415-504-8429", AMERICA),
        ("4155048429\u200b", "415-504-8429", AMERICA),
        ("4155048429 4155048429", "415-504-8429", AMERICA),
        ("+444155048429", "415-504-8429", AMERICA),
        ("+4155048429", "415-504-8429", AMERICA),
        ("+14155048492", "415-504-8429", AMERICA),
        ("4155048429 ext. 13", "415-504-8429 ext. 12", AMERICA),
        ("\uff14155048429", "415-504-8429", AMERICA),
        ("+14155048429", "415-504-8429", ()),
        ("", "415-504-8429", AMERICA),
    ],
)
def test_nothing_else_is(value: str, expected: str, codes: tuple[str, ...]) -> None:
    assert not is_same_phone(value, expected, codes)
