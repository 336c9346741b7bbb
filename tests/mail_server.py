"""A mail server that keeps what it receives."""

import threading
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from socketserver import StreamRequestHandler, ThreadingTCPServer

GREETING, MESSAGE = "greeting", "message"  # beside the commands


class MailServer(ThreadingTCPServer):
    """Accepts mails without TLS and sign-in; `mails` has their texts.

    `answers` are other answers to commands, such as `{"RCPT": "550 no"}`; an empty one
    closes the connection.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), MailHandler)
        self.messages: list[EmailMessage] = []
        self.answers: dict[str, str] = {}
        self.changed = threading.Condition()

    def wait_for(self, number: int, *, timeout_seconds: float) -> None:
        """Wait until this number of mails has arrived."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.messages) >= number, timeout_seconds)

    @property
    def mails(self) -> list[str]:
        return [message.get_content() for message in self.messages]

    @property
    def port(self) -> int:
        return self.server_address[1]

    @property
    def url(self) -> str:
        """The value of EMAIL_URL."""
        return f"smtp://127.0.0.1:{self.port}"


class MailHandler(StreamRequestHandler):
    """One connection."""

    def handle(self):
        self.reply(self.server.answers.get(GREETING, "220 ready"))
        for line in self.rfile:
            command = line[:4].decode().upper()
            answer = self.server.answers.get(command)
            if command == "DATA" and answer is None:
                self.reply("354 go on")
                mail = b"".join(iter(self.rfile.readline, b".\r\n"))
                message = message_from_bytes(mail, policy=policy.default)
                answer = self.server.answers.get(MESSAGE)
                if answer is None:
                    with self.server.changed:
                        self.server.messages.append(message)
                        self.server.changed.notify_all()
            if answer == "":
                return
            self.reply(answer or ("221 bye" if command == "QUIT" else "250 ok"))

    def reply(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


@contextmanager
def run_mail_server():
    """Run a mail server in a thread."""
    with MailServer() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
