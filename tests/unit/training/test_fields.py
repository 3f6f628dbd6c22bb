"""Objects as arguments (the answer that closes a case), and values of a tool's list that texts say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from schemas.episode import ToolCall
from training.chat import Inexpressible, Memory, decode_action, encode_action, plain_words, text_symbols
from training.grammar import ASK, ToolGrammar, spoken_lists
from training.messages import CallForm
from training.spelling import Place, choices
from training.tokens import END, SKIP, SPECIALS, ArgumentRule, Vocabulary, constant_symbol

HOURS = ["4 pm", "5 pm"]
HOTELS = ["Hilton Hotel", "Old Town Inn"]
CHECK = {
    "type": "object",
    "properties": {"name": {"type": "string", "enum": HOTELS}, "hour": {"type": "string", "enum": HOURS}},
    "required": ["name"],
}
RESOLVE = {
    "type": "object",
    "properties": {"code": {"type": "string", "enum": ["booked", "not_booked"]}, "answer": {"type": "object"}},
    "required": ["code"],
}
CONSTANTS = [constant_symbol(value) for value in (*HOURS, *HOTELS, "booked", "not_booked")]
VOCABULARY = Vocabulary(
    (*SPECIALS, *CONSTANTS, "k:Message", "k:Price", "k:Room", "T:check", "T:resolve", "w:at", "w:the", "o:text"),
    (),
    (),
    {},
    {"resolve.answer": ArgumentRule(keys=("k:Message", "k:Price"))},
    {},
    named=frozenset(constant_symbol(value) for value in (*HOURS, *HOTELS)),
)
GRAMMAR = ToolGrammar({"check": CHECK, "resolve": RESOLVE}, VOCABULARY)
RESULT = '{"Message":"No room is left.","Price":120,"Room":7,"rows":[{"Message":"of a row"}]}'


def shown(*results: str) -> Memory:
    memory = Memory(listed=GRAMMAR.listed)
    text_symbols('{"Message":"of the opening"}', memory, VOCABULARY, "opening")
    for text in results:
        text_symbols(text, memory, VOCABULARY, "check")
    return memory


def resolve(answer: Any) -> ToolCall:
    return ToolCall(tool="resolve", arguments={"code": "booked", "answer": answer})


@pytest.mark.parametrize("answer", [{"Message": "No room is left."}, {"Message": "No room is left.", "Price": 120}])
def test_an_answer_of_what_tools_gave_is_written_and_read_back(answer: dict[str, Any]) -> None:
    memory, call = shown(RESULT), resolve(answer)
    symbols = encode_action(call, memory, GRAMMAR)
    assert symbols == ["T:resolve", constant_symbol("booked"), *(f"k:{key}" for key in answer), END]
    assert plain_words(symbols) == symbols
    assert decode_action(symbols, memory, GRAMMAR) == call
    turn = GRAMMAR.turn(memory.shown, memory.fields)
    assert all(symbol in turn.legal(symbols[:at]) for at, symbol in enumerate(symbols))
    assert turn.legal(symbols) == []


def test_the_value_that_a_tool_gave_last_is_the_one_that_is_told() -> None:
    memory = shown(RESULT, '{"Message":"Booked."}')
    assert encode_action(resolve({"Message": "Booked."}), memory, GRAMMAR)[2:] == ["k:Message", END]
    with pytest.raises(Inexpressible, match=r"answer\.Message: not what a tool gave last"):
        encode_action(resolve({"Message": "No room is left."}), memory, GRAMMAR)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"Room": 7}, "answer: no field Room in training"),
        ({"Message": "of the opening"}, "answer.Message: not what a tool gave last"),
        ({"Price": 120.5}, "answer.Price: not what a tool gave last"),
        ({"Price": True}, "answer.Price: not what a tool gave last"),
        ({}, "answer: not an object with fields"),
        ("text", "answer: not an object with fields"),
    ],
)
def test_an_answer_that_no_tool_gave_cannot_be_written(answer: Any, why: str) -> None:
    with pytest.raises(Inexpressible, match=why):
        encode_action(resolve(answer), shown(RESULT), GRAMMAR)


def test_only_fields_that_were_given_are_offered_each_once_and_no_answer_is_one_too() -> None:
    begun = ["T:resolve", constant_symbol("booked")]
    assert GRAMMAR.turn({}, shown().fields).legal(begun) == [SKIP]
    turn = GRAMMAR.turn({}, shown(RESULT).fields)
    assert turn.legal(begun) == ["k:Message", "k:Price", SKIP]
    assert turn.legal([*begun, "k:Price"]) == [END, "k:Message"]
    assert turn.legal([*begun, "k:Price", "k:Message"]) == [END]
    assert turn.legal([*begun, SKIP]) == []


def test_a_language_model_is_offered_the_same_answers_as_text() -> None:
    memory = shown(RESULT)
    turn, form = GRAMMAR.turn(memory.shown, memory.fields), CallForm('{"name": "', '", "arguments": ', "}", "}")
    texts: set[str] = set()

    def walk(place: Place, text: str) -> None:
        if place.done:
            texts.add(text)
        else:
            for more, then in choices(turn, memory, form, place):
                walk(then, text + more)

    walk(Place(("T:resolve",)), "{")
    message, price = '"Message": "No room is left."', '"Price": 120'
    answers = ["", *(f', "answer": {{{", ".join(fields)}}}' for fields in
                     ([message], [price], [message, price], [price, message]))]  # fmt: skip
    assert texts == {f'{{"code": "{code}"{answer}}}' for code in ("booked", "not_booked") for answer in answers}


def test_lists_of_codes_are_not_searched_in_texts() -> None:
    assert list(spoken_lists(CHECK)) == [tuple(HOTELS), tuple(HOURS)]
    assert list(spoken_lists(RESOLVE)) == []


def test_a_value_of_a_list_that_a_text_says_stands_behind_its_words() -> None:
    read = text_symbols('{"text":"at the Hilton Hotel, 5 in the afternoon, not 4 pm"}', shown(), VOCABULARY, "check")
    named = [symbol for symbol in read if symbol in VOCABULARY.named]
    assert named == [constant_symbol("Hilton Hotel"), constant_symbol("5 pm")]
    assert read.index(named[0]) < read.index("n:5") < read.index(named[1]) < read.index("n:4")


def test_what_is_written_behind_fields_and_lists_is_saved_and_read_back(tmp_path: Path) -> None:
    VOCABULARY.save(tmp_path / "v.json")
    assert Vocabulary.load(tmp_path / "v.json") == VOCABULARY


@pytest.mark.parametrize(
    "text", ["the rug is 12\u00b2", "\u2460", "size 5 \u00b2", "9" * 5000, '{"Price":NaN}', '{"Price":1e400}']
)
def test_odd_figures_are_read_and_break_nothing(text: str) -> None:
    assert text_symbols(text, shown(), VOCABULARY, "check")[0] == "o:text"


def test_a_coded_value_of_a_list_can_be_pointed_to_too() -> None:
    """The values that training shows most often are symbols of their own, with the constant behind them all the same."""
    constants = [constant_symbol(day) for day in ("Monday", "Tuesday")]
    check = {"type": "object", "properties": {"day": {"type": "string", "enum": ["Monday", "Tuesday"]}}}
    vocabulary = Vocabulary(
        (*SPECIALS, *constants, "k:day", "v:monday", "o:text"), (), (), {}, {}, {}, named=frozenset(constants)
    )
    memory = Memory(listed=ToolGrammar({"check": check}, vocabulary).listed)
    assert text_symbols('{"day":"Monday"}', memory, vocabulary, "look") == ["o:text", "k:day", "v:monday", constants[0]]


def test_what_the_requester_says_is_no_field_of_a_tool() -> None:
    memory = shown(RESULT)
    text_symbols('{"Message":"said by the customer"}', memory, VOCABULARY, ASK)
    assert memory.fields["Message"] == "No room is left."


def test_a_message_of_more_sentences_than_the_grammar_allows_cannot_be_written() -> None:
    asked = {f"f:slot{n}:0": f"What is it, number {n}?" for n in range(4)}
    vocabulary = Vocabulary((*SPECIALS, f"T:{ASK}", *asked), (), (), {}, {}, asked)
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    grammar = ToolGrammar({ASK: schema}, vocabulary)
    three, four = (ToolCall(tool=ASK, arguments={"text": " ".join([*asked.values()][:n])}) for n in (3, 4))
    assert grammar.turn({}).legal(encode_action(three, Memory(), grammar)[:-1]) == [END]
    with pytest.raises(Inexpressible, match="text: more than 3 sentences"):
        encode_action(four, Memory(), grammar)
