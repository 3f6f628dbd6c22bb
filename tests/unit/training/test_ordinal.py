"""Ordered symbols share what is learnt of them, and everything else is embedded as it was."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch
from torch import nn

from training.ordinal import OrderedEmbedding, families
from training.policy import small_model
from training.tokens import SPECIALS, Vocabulary, bin_symbols


@pytest.fixture
def made() -> Vocabulary:
    symbols = {*bin_symbols((0, 1, 5), (0, 100, 200)), "T:get_order", "@ORDER_1", "w:late"}
    return Vocabulary((*SPECIALS, *sorted(symbols)), (0, 1, 5), (0, 100, 200), {"ORDER": 1}, {}, {}, ordered=True)


def test_families_are_ascending_and_hold_each_bin_once(made: Vocabulary) -> None:
    names = [[made.symbols[i] for i in family] for family in families(made)]
    assert ["d-0", "d-1", "d-5", "d-more"] in names
    assert ["m:0", "m:100", "m:200", "m:more"] in names
    assert next(f for f in names if "n:0" in f)[-2:] == ["n:20", "n:more"]
    flat = [name for family in names for name in family]
    assert len(flat) == len(set(flat))
    assert set(bin_symbols((0, 1, 5), (0, 100, 200))) - set(flat) == {"n:-"}


def test_a_vector_is_its_own_parameters_and_its_familys_so_far(made: Vocabulary) -> None:
    torch.manual_seed(0)
    plain = nn.Embedding(len(made), 8)
    own = plain.weight.detach().clone()
    table = OrderedEmbedding(plain, families(made)).table().detach()
    in_family = {index for family in families(made) for index in family}
    for family in families(made):
        for rank, index in enumerate(family):
            expected = own[index] + own[family[: rank + 1]].sum(0) / len(family) ** 0.5
            assert torch.allclose(table[index], expected, atol=1e-5)
    others = [i for i in range(len(made)) if i not in in_family]
    assert torch.equal(table[others], own[others])


def test_learning_of_one_bin_moves_its_family_and_those_beyond_it_most(made: Vocabulary) -> None:
    layer = OrderedEmbedding(nn.Embedding(len(made), 4), families(made))
    before = layer.table().detach().clone()
    layer(torch.tensor([made.ids["m:100"]])).sum().backward()
    assert layer.weight.grad is not None
    with torch.no_grad():
        layer.weight -= layer.weight.grad
    moved = {made.symbols[i] for i in (layer.table() - before).abs().sum(1).nonzero().flatten().tolist()}
    assert moved == {"m:0", "m:100", "m:200", "m:more"}
    shift = (before - layer.table()).detach()
    assert shift[made.ids["m:200"]].norm() > shift[made.ids["m:0"]].norm()
    assert shift[made.ids["m:100"]].norm() > shift[made.ids["m:200"]].norm()


def test_the_output_layer_stays_tied_also_in_a_copy_and_through_a_checkpoint(made: Vocabulary) -> None:
    policy = small_model(made, width=16, layers=1, heads=2, context=32, seed=0)
    for one in (policy, copy.deepcopy(policy)):
        assert isinstance(one.model.get_input_embeddings(), OrderedEmbedding)
        assert one.model.get_input_embeddings().weight is one.model.get_output_embeddings().weight
    other = small_model(made, width=16, layers=1, heads=2, context=32, seed=1)
    other.load_trained(policy.trained())
    ids = torch.arange(len(made))[None]
    assert torch.equal(other.hidden(ids), policy.hidden(ids))


def test_a_run_from_before_there_were_families_has_the_model_that_it_had(made: Vocabulary) -> None:
    old = replace(made, ordered=False)
    assert "ordered" not in old._as_json()
    assert families(old) == []
    policy = small_model(old, width=16, layers=1, heads=2, context=32, seed=0)
    assert type(policy.model.get_input_embeddings()) is nn.Embedding
    assert old.digest() != made.digest()
