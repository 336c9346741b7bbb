"""A private Redis on a free port, for tests of what happens with and without it."""

import os
import shutil
import signal
import socket
import subprocess
import threading
from contextlib import suppress

import pytest

START_SECONDS = 20


def find_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class RedisServer:
    """A process that can be stopped, frozen and started again."""

    def __init__(self) -> None:
        binary = shutil.which("redis-server")
        if binary is None:
            pytest.skip("redis-server is not installed")
        self.port = find_free_port()
        self.url = f"redis://127.0.0.1:{self.port}/3"
        self.command = [
            *(binary, "--port", str(self.port), "--bind", "127.0.0.1"),
            *("--save", "", "--appendonly", "no", "--daemonize", "no"),
        ]

    def start(self) -> None:
        """Start it, empty, and wait until it accepts connections."""
        self.process = subprocess.Popen(  # noqa: S603 - our own command
            self.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        for line in self.process.stdout:
            if "Ready to accept connections" in line:
                return
        raise AssertionError("Redis has ended")

    def stop(self) -> None:
        self.process.kill()
        self.process.wait(START_SECONDS)
        self.process.stdout.close()

    def freeze(self) -> None:
        os.kill(self.process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)


class FakeRedis:
    """Answers everything with the same bytes, or closes the connection."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self.listener.getsockname()[1]}"

    def __enter__(self):
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def __exit__(self, *error):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                with client, suppress(OSError):
                    while self.answer and client.recv(65536):
                        client.sendall(self.answer)
