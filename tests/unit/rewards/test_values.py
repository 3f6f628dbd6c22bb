from __future__ import annotations

import pytest

from rewards.values import normal, same


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (5, 5.0),
        ("5.00", 5),
        ("2025-03-01T10:00:00Z", "2025-03-01T11:00:00+01:00"),
        ("2025-03-01 10:00:00", "2025-03-01T10:00:00Z"),
        ("Main  Street 5", "main street 5"),
        (None, ""),
        ({"a": 1, "b": [1, "x"]}, {"b": [1.0, "X"], "a": "1"}),
    ],
)
def test_the_same_decision_written_differently_is_the_same(left: object, right: object) -> None:
    assert same(left, right)
    assert hash(normal(left)) == hash(normal(right))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, True),
        (0, False),
        (0, None),
        ("01234", "1234"),
        ("2025-03-01T10:00:00Z", "2025-03-01T11:00:00Z"),
        ("2025-03-01", "2025-03-02"),
        ([1, 2], [2, 1]),
        ("ORDER_1", "ORDER_2"),
    ],
)
def test_another_decision_is_another_value(left: object, right: object) -> None:
    assert not same(left, right)


def test_what_is_no_json_value_is_an_error() -> None:
    with pytest.raises(TypeError):
        normal({1, 2})
