"""One mail: whatever its form, its text, people and time are read, or the reason why not is told without its words."""

from __future__ import annotations

import base64

import pytest

from ingest.source import RowFault
from ingest.times import utc_text
from tests.unit.ingest.mails import findings, mail, raw

PLAIN = "Content-Type: text/plain; charset=utf-8\n\n"


def multipart(kind: str, *parts: str) -> str:
    return "".join(f"--b\n{part}\n" for part in parts) + "--b--\n"


def at(found: object) -> str:
    return utc_text(found.stamp.at)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("charset", "body", "text", "fell_back"),
    [
        ("utf-8", "Grüße".encode(), "Grüße", 0),
        ("iso-8859-1", "Grüße".encode("latin-1"), "Grüße", 0),
        ("us-ascii", "Grüße".encode("latin-1"), "Grüße", 1),
        ("us-ascii", "Grüße".encode(), "Grüße", 1),
        ("x-unknown", "Grüße".encode(), "Grüße", 1),
        ("idna", b"Hello", "Hello", 1),
        ("unicode_escape", b"Hello \\x00", "Hello \\x00", 1),
        ("gb2312", "订单".encode("gb18030"), "订单", 0),
        ("ks_c_5601-1987", "주문".encode("cp949"), "주문", 0),
        ("utf-7", b"a +2AA- b", "a ? b", 0),
    ],
)
def test_a_wrong_charset_is_read_by_what_fits_and_counted(charset: str, body: bytes, text: str, fell_back: int) -> None:
    found = mail(body, Content_Type=f"text/plain; charset={charset}", Content_Transfer_Encoding="8bit")
    assert (found.full, findings(found).get("charset_fallback", 0)) == (text, fell_back)


def test_a_body_that_is_no_text_at_all_goes_to_quarantine() -> None:
    with pytest.raises(RowFault, match="bytes are no text"):
        mail(b"\xff\xfe\x81\x8d", reading={"fallback": None})


@pytest.mark.parametrize(
    ("raw_subject", "subject"),
    [
        ("=?utf-8?B?UsO8Y2tnYWJl?= =?utf-8?Q?_der_Stiefel?=", "Rückgabe der Stiefel"),
        ("=?utf-8?B?w7w=?= und =?iso-8859-1*de?Q?=E4?=", "ü und ä"),
        ("=?utf-8?B?4oI=?= =?utf-8?B?rA==?=", "€"),
        ("=?NONE?B?VEVTVA=?=", "TEST"),
        ("=?utf-8?B?broken", "=?utf-8?B?broken"),
        ("Grüße", "Grüße"),
        ("Gr\udcfc\udcdfe", "Grüße"),
        ("two\n lines", "two lines"),
        (None, ""),
    ],
)
def test_a_subject_is_read_as_its_writer_meant_it(raw_subject: str | None, subject: str) -> None:
    assert mail(Subject=raw_subject).subject == subject


@pytest.mark.parametrize(
    ("value", "sender"),
    [
        ("Anna <ANNA@Kunde.example>", ("Anna", "anna@kunde.example")),
        ('"Berg, Anna" <anna@kunde.example>', ("Berg, Anna", "anna@kunde.example")),
        ("=?utf-8?Q?J=C3=B6rg=2C_M?= <j@a.example>", ("Jörg, M", "j@a.example")),
        ("Big Bug bb@bug.example", ("", "bb@bug.example")),
        ("nobody at all", ("", "")),
    ],
)
def test_a_sender_is_a_name_and_an_address(value: str, sender: tuple[str, str]) -> None:
    assert mail(From=value).sender == sender


def test_the_servers_time_counts_and_the_senders_only_where_no_server_wrote() -> None:
    assert at(mail(Date="Mon, 3 Mar 2020 09:00:00 +0000")) == "2025-03-03T09:00:05Z"
    assert findings(mail(Date="Mon, 3 Mar 2020 09:00:00 +0000"))["date_far_from_received"] == 1
    sent = mail(Received=None)
    assert (at(sent), findings(sent)["time_by_date_only"]) == ("2025-03-03T09:00:00Z", 1)
    assert findings(mail(Date=None))["date_missing"] == 1
    assert findings(mail(Date="soon"))["date_unreadable"] == 1


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({"Received": None, "Date": None}, "no time: neither"),
        ({"Received": None, "Date": "soon"}, "the Date header tells no time"),
        ({"Received": None, "Date": "Mon, 3 Mar 2025 09:00:00 CEST"}, "a zone without an offset"),
        ({"Received": None, "Date": "Mon, 31 Feb 2025 09:00:00 +0000"}, "no such day or time"),
        ({"Received": None, "Date": "Mon, 3 Mar 1904 09:00:00 +0000"}, "outside of 1970"),
    ],
)
def test_a_mail_without_a_sure_time_goes_to_quarantine(headers: dict[str, str | None], reason: str) -> None:
    with pytest.raises(RowFault, match=reason):
        mail(**headers)
    with pytest.raises(RowFault):
        mail(Received=None, reading={"time_from_date": False})


def test_the_plain_form_of_a_text_is_taken_and_html_only_where_there_is_none() -> None:
    html = "Content-Type: text/html\n\n<p>In <b>HTML</b></p>"
    kind = "multipart/alternative; boundary=b"
    assert mail(multipart(kind, PLAIN + "Plain", html), Content_Type=kind).full == "Plain"
    assert mail(multipart(kind, PLAIN + " ", html), Content_Type=kind).full == "In HTML"
    assert mail("<html><body><p>Not plain", Content_Type="text/plain").full == "Not plain"


def test_attachments_are_named_and_measured_and_a_mail_inside_is_not_the_writers_word() -> None:
    kind = "multipart/mixed; boundary=b"
    data = base64.b64encode(bytes(100)).decode()
    image = "Content-Type: image/png\nContent-Disposition: attachment; filename*=utf-8''%C3%BC.png\n"
    inner = "Content-Type: message/rfc822\n\nSubject: inner\n\nsecret words"
    text = multipart(kind, PLAIN + "See below.", f"{image}Content-Transfer-Encoding: base64\n\n{data}", inner)
    found = mail(text, Content_Type=kind)
    assert found.full == "See below."
    assert found.attachments == (
        {"name": "ü.png", "type": "image/png", "size": 100},
        {"name": "", "type": "message/rfc822", "size": None},
    )
    assert findings(found)["nested_mail"] == 1


@pytest.mark.parametrize("lost", range(1, 6))
def test_a_cut_base64_gives_what_it_holds(lost: int) -> None:
    data = base64.b64encode("Grüße aus dem Lager".encode()).decode()[:-lost]
    found = mail(data, Content_Type="text/plain; charset=utf-8", Content_Transfer_Encoding="base64")
    assert found.full.startswith("Grüße aus dem L")


def test_flowed_lines_are_joined_and_quoted_ones_kept_apart() -> None:
    body = "> quoted \n> on\nmine \ngoes on\n-- \nAnna"
    assert mail(body, Content_Type="text/plain; format=flowed").full == "> quoted on\nmine goes on\n-- \nAnna"


def test_a_mail_without_a_body_and_one_with_nul_bytes_are_read() -> None:
    assert mail("").full == ""
    assert mail(b"a\0b\0", Subject="x\0y").full == "ab"
    assert mail(b"a", Subject="x\0y").subject == "xy"
    assert mail("no closing", Content_Type="multipart/mixed; boundary=b").full == "no closing"


def test_copies_have_one_digest_and_other_mails_another() -> None:
    one = mail().digest
    assert mail(Message_ID="<changed@gw.example>", Received=None, Status="RO").digest == one
    assert (
        len({one, mail("Other").digest, mail(To="b@a.example").digest, mail(Date="Mon, 3 Mar 2025 09:00:01 +0000").digest}) == 4
    )


def test_flags_and_blind_copies_are_named_and_never_told() -> None:
    found = mail(Status="RO", X_Keywords="refund", Bcc="boss@supplier.example")
    assert found.unshown == ("bcc", "status", "x-keywords")
    assert "boss" not in repr(found)


def nested(depth: int) -> bytes:
    body = b""
    for level in range(depth):
        body += b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (level, level)
    return body


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (nested(60), "nested too deep"),
        (nested(3_000), "nested too deep|too many parts|gives up"),
        (raw("x" * 2_000_000), "the mail is too large"),
        (raw("x" * 200_000), "the text is too long"),
        (b"\x00\x01 Zanzibar", "no mail"),
        (b'{"From": "Zanzibar"}', "no mail"),
        (b"", "no mail"),
    ],
    ids=range(7),
)
def test_what_is_beyond_bounds_or_no_mail_is_refused_without_its_words(content: bytes, reason: str) -> None:
    from ingest.sources._mail_parse import parsed
    from tests.unit.ingest.mails import READING

    with pytest.raises(RowFault, match=reason) as caught:
        parsed(
            (b"Received: " + b"by a.example; Mon, 3 Mar 2025 09:00:05 +0000\n" if content[:9] == b"Content-T" else b"") + content,
            READING,
        )
    assert "Zanzibar" not in f"{caught.value} {caught.value.found}"


def test_html_that_never_closes_is_refused_before_it_takes_time() -> None:
    with pytest.raises(RowFault, match="HTML is nested too deep"):
        mail("<div>" * 50_000, Content_Type="text/html")
    assert mail("<p>one<br>" * 6_000 + "<div><b>x</b></div>" * 6_000, Content_Type="text/html").full.count("one") == 6_000


def test_a_header_of_many_brackets_takes_no_time() -> None:
    deep = "(" * 30_000 + ")" * 30_000
    found = mail(
        Received=f"by a.example {deep}; Mon, 3 Mar 2025 09:00:05 +0000", To=", ".join(["<"] * 20_000), Subject="=?" * 20_000
    )
    assert at(found) == "2025-03-03T09:00:00Z"
