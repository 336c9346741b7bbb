"""A mail server that keeps what it receives."""

from email import message_from_bytes, policy
from socketserver import StreamRequestHandler, ThreadingTCPServer


class MailServer(ThreadingTCPServer):
    """Accepts mails without TLS and sign-in; `mails` has their texts."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), MailHandler)
        self.mails: list[str] = []

    @property
    def url(self) -> str:
        """The value of EMAIL_URL."""
        return f"smtp://127.0.0.1:{self.server_address[1]}"


class MailHandler(StreamRequestHandler):
    """One connection."""

    def handle(self):
        self.reply("220 ready")
        for line in self.rfile:
            command = line[:4].upper()
            if command == b"DATA":
                self.reply("354 go on")
                mail = b"".join(iter(self.rfile.readline, b".\r\n"))
                message = message_from_bytes(mail, policy=policy.default)
                self.server.mails.append(message.get_content())
            self.reply("221 bye" if command == b"QUIT" else "250 ok")

    def reply(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())
