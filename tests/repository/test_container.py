"""What a container does before its service starts."""

import http.server
import threading
from pathlib import Path

import pytest

from services.container import addresses, copy_worlds, note_health
from services.health import is_healthy


def test_worlds_are_copied_once_and_again_when_the_image_brings_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    built, settled = tmp_path / "built", tmp_path / "var" / "worlds"
    built.mkdir()
    (built / "crm-small.sqlite").write_bytes(b"first")

    copy_worlds(built, settled)
    copy_worlds(built, settled)
    assert capsys.readouterr().out.count("copied") == 1

    (built / "crm-small.sqlite").write_bytes(b"other")
    copy_worlds(built, settled)

    assert (settled / "crm-small.sqlite").read_bytes() == b"other"
    assert [path.name for path in settled.iterdir()] == ["crm-small.sqlite"]


def test_a_replica_is_found_at_its_own_address_unless_the_environment_says_otherwise() -> None:
    assert addresses("crm", {}, "10.0.0.7") == {
        "DAYSHIFT_CRM_URL": "http://10.0.0.7:8701",
        "DAYSHIFT_CRM_HARNESS_URL": "http://10.0.0.7:8711",
    }
    assert addresses("crm", {"DAYSHIFT_CRM_URL": "http://crm.internal"}, "10.0.0.7").keys() == {
        "DAYSHIFT_CRM_HARNESS_URL"
    }
    assert addresses("control", {}, "10.0.0.7") == {}
    # All services of one container find each other at its own loopback address.
    assert addresses("up", {}, "10.0.0.7") == {}


class _Service(http.server.BaseHTTPRequestHandler):
    status = 200

    def do_GET(self) -> None:
        self.send_response(self.status if self.path == "/health" else 404)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """A test's output is its own."""


def test_health_is_what_the_service_itself_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    note = tmp_path / "note"
    assert not is_healthy(note)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Service) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        note_health("control", {"DAYSHIFT_CONTROL_PORT": str(server.server_port)}, note)
        assert is_healthy(note)
        monkeypatch.setattr(_Service, "status", 503)
        assert not is_healthy(note)
        server.shutdown()

    assert not is_healthy(note)
