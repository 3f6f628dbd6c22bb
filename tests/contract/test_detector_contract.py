"""Every file of deid/detectors keeps the contract of a detector, shown on `tests/fixtures/detectors/<name>/cases.json`:

{"context": {fields of deid.spans.Context}, "found": [{"text": ..., "finds": [texts found]}], "clean": [texts without a find]}
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from deid.spans import EXACT, GUESS, Context, Detector, Span
from schemas.plugins import load_plugin, plugin_names

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "detectors"
NAMES = plugin_names("deid.detectors")


def cases(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FIXTURES / name / "cases.json").read_text(encoding="utf-8"))
    return found


def context_of(name: str) -> Context:
    given = cases(name)["context"]
    plain: dict[str, Any] = {k: tuple(v) for k, v in given.items() if k in ("date_formats", "regions")}
    plain |= {k: frozenset(v) for k, v in given.items() if k in ("common", "vocabulary", "first_names", "last_names")}
    return Context(id_patterns=given.get("id_patterns", {}), **plain)


def found_in(name: str, text: str) -> list[Span]:
    detector = load_plugin("deid.detectors", name, "DETECTOR", Detector)
    return detector.find([text], context_of(name))[0] if detector.gate(text) else []


@pytest.mark.parametrize("name", NAMES)
def test_every_detector_has_a_fixture_with_finds_and_with_clean_texts(name: str) -> None:
    assert (FIXTURES / name / "cases.json").is_file(), f"add tests/fixtures/detectors/{name}/cases.json"
    assert cases(name)["found"]
    assert cases(name)["clean"]


@pytest.mark.parametrize("name", NAMES)
def test_a_detector_finds_what_its_fixture_says(name: str) -> None:
    for case in cases(name)["found"]:
        text, spans = case["text"], found_in(name, case["text"])
        covered = {text[s.start : s.end] for s in spans}
        assert set(case["finds"]) <= covered, f"{name}: found {sorted(covered)} in {text!r}"


@pytest.mark.parametrize("name", NAMES)
def test_a_detector_leaves_clean_texts_alone(name: str) -> None:
    for text in cases(name)["clean"]:
        assert found_in(name, text) == [], text


@pytest.mark.parametrize("name", NAMES)
def test_spans_lie_inside_their_text_and_carry_the_detectors_tier(name: str) -> None:
    detector = load_plugin("deid.detectors", name, "DETECTOR", Detector)
    texts = [case["text"] for case in cases(name)["found"]] + cases(name)["clean"] + ["", "Ünïcödé ﬁ 🙂 — ok\n\n"]
    answers = detector.find(texts, context_of(name))
    assert len(answers) == len(texts)
    for text, spans in zip(texts, answers, strict=True):
        for span in spans:
            assert 0 <= span.start < span.end <= len(text)
            assert span.tier == (GUESS if detector.tier == GUESS else EXACT)
            assert span.kind.split(":")[0] == detector.kind


@pytest.mark.parametrize("name", NAMES)
def test_a_text_is_judged_alike_alone_and_in_company(name: str) -> None:
    detector = load_plugin("deid.detectors", name, "DETECTOR", Detector)
    texts = [case["text"] for case in cases(name)["found"]]
    together = detector.find(texts, context_of(name))
    assert together == [detector.find([text], context_of(name))[0] for text in texts]


def test_detectors_reach_no_host(tmp_path: Path) -> None:
    """Presidio's e-mail recogniser would look public suffixes up on the network; ours must not."""
    script = (
        "import socket, sys\n"
        "def refuse(*a, **k): raise SystemExit('a detector opened a socket')\n"
        "socket.socket.connect = refuse; socket.getaddrinfo = refuse\n"
        "from deid.spans import Context, Detector\n"
        "from schemas.plugins import load_plugins\n"
        "for d in load_plugins('deid.detectors', 'DETECTOR', Detector).values():\n"
        "    d.find(['Anna Meyer, anna@shop.example, www.shop.com, 10.0.0.1, +49 30 23125232'], Context())\n"
    )
    root = Path(__file__).resolve().parents[2]
    environment = os.environ | {"HOME": str(tmp_path), "PYTHONPATH": str(root)}
    done = subprocess.run([sys.executable, "-c", script], cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
