"""Files of mails are cut where mails begin, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.sources._mail_files import content, found_files, places

LINE = b"From anna@a.example Mon Mar  3 09:00:05 2025\n"
HEAD = b"From: a@a.example\nSubject: one\n\n"


def cut(tmp_path: Path, data: bytes) -> list[bytes]:
    path = tmp_path / "box"
    path.write_bytes(data)
    (file,) = found_files(tmp_path, "auto", (), frozenset()).files
    return [content(data[place.start : place.end], place.form) for place in places(*file)]


@pytest.mark.parametrize(
    "body",
    [
        b"text\n\nFrom Monday on we are closed.\n",
        b"text\n\nFrom 2025 on, Mon Tue Wed 3 Mar 2025 applies\n",
        b"text\nFrom anna@a.example Mon Mar  3 09:00:05 2025\nSubject: not after an empty line\n",
        b"text\n\nFrom anna@a.example Mon Mar  3 09:00:05 2025\nand no header follows\n",
        b"text\n\n",
    ],
    ids=range(5),
)
def test_a_line_that_begins_with_from_does_not_split_a_mail(tmp_path: Path, body: bytes) -> None:
    assert cut(tmp_path, LINE + HEAD + body + b"\n" + LINE + HEAD + b"two") == [HEAD + body + b"\n", HEAD + b"two"]


@pytest.mark.parametrize(
    "line",
    [
        b"From - Mon Mar  3 09:00:05 2025\n",
        b"From a@b.example Mon Mar  3 09:00:05 CET 2025\n",
        b"From a@b.example Mon, 3 Mar 2025 09:00:05 +0100\n",
        b"From  Mon Mar  3 09:00:05 2025 remote from mx\r\n",
    ],
    ids=range(4),
)
def test_separators_are_known_in_the_forms_that_programs_write(tmp_path: Path, line: bytes) -> None:
    assert cut(tmp_path, line + HEAD + b"one\n\n" + line + HEAD + b"two\n") == [HEAD + b"one\n\n", HEAD + b"two\n"]


def test_lines_end_as_they_like(tmp_path: Path) -> None:
    box = (LINE + HEAD + b"one\n\n" + LINE + HEAD + b"two\n").replace(b"\n", b"\r\n")
    assert len(cut(tmp_path, box)) == 2


def test_a_content_length_counts_where_it_ends_at_a_mail_and_only_there(tmp_path: Path) -> None:
    inner = b"look:\n\n" + LINE + HEAD + b"quoted\n"
    told = b"Content-Length: %d\n" % len(inner)
    assert len(cut(tmp_path, LINE + told + HEAD + inner + b"\n" + LINE + HEAD + b"two")) == 2
    assert len(cut(tmp_path, LINE + told + HEAD + inner)) == 1
    assert len(cut(tmp_path, LINE + b"Content-Length: 3\n" + HEAD + b"one\n\n" + LINE + HEAD + b"two")) == 2
    assert len(cut(tmp_path, LINE + b"Content-Length: 999999999\n" + HEAD + b"one\n\n" + LINE + HEAD + b"two")) == 2


def test_quoted_from_lines_come_back_one_level_and_only_from_an_mbox(tmp_path: Path) -> None:
    assert cut(tmp_path, LINE + HEAD + b">From here\n>>From there\n") == [HEAD + b"From here\n>From there\n"]
    assert content(HEAD + b">From here\n", "mails") == HEAD + b">From here\n"


def test_a_maildir_is_known_by_its_folders_and_what_is_passed_over_is_counted(tmp_path: Path) -> None:
    for name in ("cur", "new", "tmp"):
        (tmp_path / "box" / ".Sent" / name).mkdir(parents=True)
    (tmp_path / "box" / ".Sent" / "cur" / "1.host:2,S").write_bytes(LINE + HEAD)
    (tmp_path / "box" / ".Sent" / "tmp" / "2.host").write_bytes(HEAD)
    (tmp_path / "box" / "dovecot.index").write_bytes(b"\x00")
    (tmp_path / "box" / "empty").write_bytes(b"")
    (tmp_path / "box" / "link").symlink_to("/etc/hostname")
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "0001").write_bytes(HEAD)
    found = found_files(tmp_path, "auto", ("dovecot*",), frozenset())
    assert [(path.name, form) for path, form in found.files] == [("1.host:2,S", "maildir"), ("0001", "mails")]
    assert found.passed == {"tmp": 1, "ignored": 1, "empty": 1, "symlink": 1}
    assert found_files(tmp_path, "maildir", (), frozenset()).passed["outside_maildir"] == 2
