from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from procession.ports.wire import NotSent, Unsent
from procession.runtime.wire.target import Origin, Target, read_url


@pytest.mark.parametrize(
    ("url", "origin", "authority", "path"),
    [
        ("https://api.test", Origin(True, "api.test", 443), "api.test", "/"),
        ("https://API.Test:443/A?b=C", Origin(True, "api.test", 443), "api.test", "/A?b=C"),
        ("HTTP://n8n:5678/webhook/x", Origin(False, "n8n", 5678), "n8n:5678", "/webhook/x"),
        ("https://api.test?x=/y", Origin(True, "api.test", 443), "api.test", "/?x=/y"),
        ("https://my_n8n.internal/", Origin(True, "my_n8n.internal", 443), "my_n8n.internal", "/"),
        ("https://xn--bcher-kva.test/", Origin(True, "xn--bcher-kva.test", 443), "xn--bcher-kva.test", "/"),
        ("https://1.2.3.4/", Origin(True, "1.2.3.4", 443), "1.2.3.4", "/"),
        ("http://[2001:DB8:0:0::1]:81/", Origin(False, "2001:db8::1", 81), "[2001:db8::1]:81", "/"),
        ("https://4.4.4.4.nip.test/", Origin(True, "4.4.4.4.nip.test", 443), "4.4.4.4.nip.test", "/"),
    ],
)
def test_a_plain_url_says_where_it_leads(url: str, origin: Origin, authority: str, path: str) -> None:
    target = read_url(url)

    assert isinstance(target, Target)
    assert (target.origin, target.authority, target.path) == (origin, authority, path)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.test/x",
        "//api.test/x",
        "ftp://api.test/",
        "file:///etc/passwd",
        "gopher://api.test:70/x",
        "unix:/var/run/docker.sock",
        "http+unix://%2Fvar%2Frun%2Fdocker.sock/x",
        "javascript:alert(1)",
        "https:/api.test/",
        "https:api.test",
        "https://",
        "https:///x",
        "https://?x",
        "https://user@api.test/",
        "https://user:secret@api.test/",
        "https://api.test@169.254.169.254/",
        "https://api.test:80@127.0.0.1/",
        "https://api.test\\@127.0.0.1/",
        "https://api.test/\\evil",
        "https://api.test#@127.0.0.1/",
        "https://api.test/x#fragment",
        "https://api.test/a b",
        "https://api.test/a\r\nx: y",
        "https://api.test/a\x00",
        "https://api.test/a\t",
        " https://api.test/",
        "https://api.test/ ",
        "https://api.test/\n",
        "https://bücher.test/",
        "https://api.test/bücher",
        "https://\uff41\uff50\uff49.test/",
        "https://\u2460\u2461\u2466.0.0.1/",
        "https://127\u30020\u30020\u30021/",
        "https://api.te%73t/",
        "https://localhost./",
        "https://api.test./",
        "https://.api.test/",
        "https://api..test/",
        "https://-api.test/",
        "https://api-.test/",
        f"https://{'a' * 64}.test/",
        f"https://{'a.' * 127}test/",
        f"https://api.test/{'a' * 9000}",
        "https://127.1/",
        "https://127.0.1/",
        "https://0/",
        "https://0x7f000001/",
        "https://0X7F.1/",
        "https://0x/",
        "https://2130706433/",
        "https://0177.0.0.1/",
        "https://127.0.0.0x1/",
        "https://127.0.0.1.2/",
        "https://256.1.1.1/",
        "https://api.123/",
        "https://[::1%25eth0]/",
        "https://[fe80::1%eth0]/",
        "https://[::1/",
        "https://::1/",
        "https://[1.2.3.4]/",
        "https://[api.test]/",
        "https://[v1.x]/",
        "https://[::1]x/",
        "https://api.test:/",
        "https://api.test:0/",
        "https://api.test:65536/",
        "https://api.test:443443/",
        "https://api.test:-1/",
        "https://api.test:+443/",
        "https://api.test: 443/",
        "https://api.test:443:80/",
        "https://api.test:\uff14\uff14\uff13/",
    ],
)
def test_a_url_with_more_than_one_reading_is_refused(url: str) -> None:
    target = read_url(url)

    assert isinstance(target, NotSent)
    assert target.reason is Unsent.URL_REFUSED


@given(st.text(st.sampled_from("https:/.@[]#?\\%0127xaé \r\n-_"), max_size=40).map("http://".__add__))
def test_what_passes_is_read_alike_by_the_standard_library(url: str) -> None:
    target = read_url(url)

    if isinstance(target, Target):
        theirs = urlsplit(url)
        assert theirs.hostname is not None
        assert theirs.username is None
        assert (target.origin.host, target.origin.port) == (theirs.hostname, theirs.port or 80)


def test_no_repr_shows_the_path() -> None:
    assert "s3cret" not in repr(read_url("https://api.test/s3cret?s3cret"))
    assert "s3cret" not in repr(read_url("https://s3cret:s3cret@api.test/s3cret"))
