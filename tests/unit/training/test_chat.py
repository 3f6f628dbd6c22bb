"""Observations and calls as symbols: exact both ways, and every reference step can be written."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from environments.episode import Episode, tools_for
from rewards.score import Grader
from schemas.episode import Observation, Refusal, RefusalKind, ToolCall
from schemas.errors import StageError
from schemas.taskset import TaskSet, open_taskset
from training.chat import Inexpressible, Memory, decode_action, encode_action, render, text_symbols
from training.corpus import build_vocabulary, read_back, read_trajectories, warm_tapes
from training.grammar import ToolGrammar
from training.in_force import in_force
from training.symbols import SymbolCodec
from training.tape import ACTION, FORCED, Tape
from training.tokens import ACT, AGAIN, EOS, PAD, Vocabulary


@pytest.fixture
def grammar(taskset: TaskSet, vocabulary: Vocabulary) -> ToolGrammar:
    task = next(iter(taskset.tasks.values()))
    return ToolGrammar({name: tool.parameters for name, tool in tools_for(taskset, task).items()}, vocabulary)


def test_every_reference_call_survives_symbols_and_back(
    taskset: TaskSet, grader: Grader, vocabulary: Vocabulary, grammar: ToolGrammar
) -> None:
    for task_id in taskset.tasks:
        episode, memory = Episode(taskset), Memory()
        text_symbols(episode.reset(task_id).text, memory, vocabulary, "opening")
        for step in grader.criteria(task_id).answer.reference:
            symbols = encode_action(step.call, memory, grammar)
            assert decode_action(symbols, memory, grammar) == step.call
            turn = grammar.turn(memory.shown)
            assert all(symbol in turn.legal(symbols[:i]) for i, symbol in enumerate(symbols))
            assert turn.legal(symbols) == []
            text_symbols(episode.step(step.call).observation.text, memory, vocabulary, step.call.tool)


def test_all_reference_steps_are_expressible(taskset: TaskSet, vocabulary: Vocabulary) -> None:
    tapes, coverage = warm_tapes(taskset, read_trajectories(taskset), SymbolCodec(vocabulary), 384)
    assert coverage.share == 1.0, coverage.reasons
    assert len(tapes) == len(taskset.tasks)


def test_a_value_that_was_not_shown_cannot_be_written(grammar: ToolGrammar) -> None:
    with pytest.raises(Inexpressible):
        encode_action(ToolCall(tool="get_order", arguments={"order_id": "ORDER_00000000"}), Memory(), grammar)
    with pytest.raises(Inexpressible):
        encode_action(ToolCall(tool="get_ordr", arguments={}), Memory(), grammar)
    assert "T:get_order" not in grammar.turn({}).legal([])
    assert "T:get_order" in grammar.turn({"@ORDER_1": "ORDER_00000000"}).legal([])


def test_ids_become_slots_by_order_of_appearance_and_roles_of_a_person_share_a_number(vocabulary: Vocabulary) -> None:
    memory = Memory()
    text = '{"from":"PERSON_AAAAAAAA_EMAIL","text":"It is ORDER_BBBBBBBB, not ORDER_CCCCCCCC.","name":"PERSON_AAAAAAAA"}'
    symbols = text_symbols(text, memory, vocabulary, "opening")
    assert {"@PERSON_EMAIL_1", "@PERSON_1", "@ORDER_1", "@ORDER_2"} <= set(symbols)
    assert memory.shown["@ORDER_2"] == "ORDER_CCCCCCCC"


def test_late_by_more_than_the_limit_and_within_the_window_fall_into_different_bins(vocabulary: Vocabulary) -> None:
    assert vocabulary.day(-21.0) == "d-21"
    assert vocabulary.day(-21.01) != "d-21"
    assert vocabulary.day(3.0, "D") == "D+3"
    assert vocabulary.day(3.001, "D") == "D+4"
    assert vocabulary.amount(8000) != vocabulary.amount(8001)
    text = '{"delivered_at":"2025-09-06T10:00:01Z","promised_at":"2025-09-03T10:00:00Z"}'
    memory = Memory()
    text_symbols('{"now":"2025-09-10T10:00:00Z"}', memory, vocabulary, "opening")
    flat = [s for _, symbols in render(text, memory, vocabulary, "get_order") for s in symbols]
    assert flat == ["k:delivered_at", "d-4", "k:promised_at", "d-7", "D-4"]


def test_leaving_words_out_leaves_coded_values_in_but_where_a_mark_says_what_rules_say_of_them(
    taskset: TaskSet, vocabulary: Vocabulary
) -> None:
    """A tier, true and false decide cases by themselves. What a version of the rules says of "packed" is told by its mark, which
    stays: to go by the word would be to go by another version."""
    text = json.dumps({"order_id": "ORDER_AAAAAAAA", "status": "delivered", "gift": False, "note": "the order is delivered late"})
    task_id = next(t for t, task in taskset.tasks.items() if any(bar.of.name == "status" for bar in in_force(task).bars))
    script = SymbolCodec(vocabulary).open(taskset, task_id, 3, word_dropout=0.99)
    read = script.read(Observation(kind="result", text=text), "get_order")
    names = [vocabulary.symbols[token] for token in read]
    assert [name for name in names if name.startswith(("v:", "w:", "b:"))] == ["v:false"]
    assert any(name.startswith("barred:") for name in names)
    whole = SymbolCodec(vocabulary).open(taskset, task_id, 3)
    tape = Tape("any")
    tape.read(whole.read(Observation(kind="result", text=text), "get_order"), -1)
    assert tape.thinned(vocabulary.words, 1.0, random.Random(1)).ids == read
    assert {"w:late", "b:delivered"} <= {vocabulary.symbols[token] for token in tape.ids}


def test_the_words_of_a_coded_value_too_rare_for_a_symbol_are_known(taskset: TaskSet) -> None:
    """Eleven carriers, each in few episodes: none has a symbol of its own, and "express" is told from "freight" all the same."""
    rows = [
        row.model_copy(
            update={"observations": (*row.observations[:-1], json.dumps({"carrier": f"{'abcdefghijk'[n % 11]}x_express"}))}
        )
        for n, row in enumerate(read_trajectories(taskset)[:22])
    ]
    made = build_vocabulary(taskset, rows, min_count=5)
    assert not [symbol for symbol in made.symbols if symbol.startswith("v:") and symbol.endswith("_express")]
    assert text_symbols('{"carrier":"ax_express"}', Memory(), made, "get_order") == ["o:text", "k:carrier", "w:express"]


def test_a_refusal_is_read_by_the_warm_start_as_a_rollout_reads_it(taskset: TaskSet, vocabulary: Vocabulary) -> None:
    refusal = Refusal(kind=RefusalKind.not_found, message="There is no order ORDER_AAAAAAAA.")
    for observation in (Observation(kind="refusal", text=refusal.as_text(), refusal=refusal), read_back(refusal.as_text())):
        script = SymbolCodec(vocabulary).open(taskset, next(iter(taskset.tasks)), None)
        read = [vocabulary.symbols[token] for token in script.read(observation, "get_order")]
        assert read == ["o:refusal", "r:not_found"]
        assert "message" not in script.memory.fields
        assert not script.memory.shown
    assert read_back('{"refused":"not_found","message":"m","order_id":1}').kind == "result"
    assert read_back('{"refused":"by the customer","message":"m"}').kind == "result"


def test_a_coded_value_that_was_read_before_stands_again(vocabulary: Vocabulary) -> None:
    memory = Memory()
    text_symbols('{"text":"is it delivered"}', memory, vocabulary, "ask_requester")
    assert text_symbols('{"status":"delivered"}', memory, vocabulary, "get_order")[-2:] == ["v:delivered", AGAIN]


def test_forced_tokens_are_no_decisions_and_observations_never_are(taskset: TaskSet, vocabulary: Vocabulary) -> None:
    tapes, _ = warm_tapes(taskset, read_trajectories(taskset), SymbolCodec(vocabulary), 384)
    for tape in tapes:
        assert set(tape.legal) == set(tape.actions())
        assert all(len(legal) > 1 for legal in tape.legal.values())
        after_act = [i + 1 for i, token in enumerate(tape.ids) if vocabulary.symbols[token] == ACT]
        assert all(tape.kinds[i] in (ACTION, FORCED) for i in after_act)


def test_padding_differs_from_the_end(vocabulary: Vocabulary, tmp_path: Path) -> None:
    assert vocabulary.ids[PAD] != vocabulary.ids[EOS]
    vocabulary.save(tmp_path / "vocabulary.json")
    assert Vocabulary.load(tmp_path / "vocabulary.json").digest() == vocabulary.digest()


def test_the_tokenizer_is_not_made_from_held_out_rows(small_folder: Path) -> None:
    with pytest.raises(StageError, match="training side"):
        read_trajectories(open_taskset(small_folder, "heldout"))
