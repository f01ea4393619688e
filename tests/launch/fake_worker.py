"""A worker that misbehaves on command: a program of its own, with nothing but the standard library.

    fake_worker.py [--say TEXT] [--exit N] [--after S] [--ignore-term] [--chatty] [--child] [--grandchild]
                   [--http PORT] [--answer-after S] [--slow S] [--once FILE]

Without `--exit` it runs until it is stopped. With `--once` it exits with 7 at once if the file is there, and makes it
if not. `--child` starts a child, `--grandchild` one in a session of its own, both of which ignore SIGTERM when it does.
`--http` answers like an inference server, `--slow` takes S seconds for a chat request. It says `TERM at T` when SIGTERM
arrives.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SLEEP = "import signal, time, sys\nif 'deaf' in sys.argv: signal.signal(15, signal.SIG_IGN)\ntime.sleep(600)"


class Server(BaseHTTPRequestHandler):
    """Answers what the smg gateway asks an inference server."""

    protocol_version = "HTTP/1.1"
    slow = 0.0

    def do_GET(self) -> None:
        """Answer a probe."""
        self.answer({"object": "list", "data": [{"id": "fake", "object": "model"}], "version": "1"})

    def do_POST(self) -> None:
        """Answer a chat request."""
        self.rfile.read(int(self.headers.get("content-length", 0)))
        time.sleep(self.slow)
        message = {"role": "assistant", "content": f"pid {os.getpid()}"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        self.answer(
            {"id": "1", "object": "chat.completion", "created": 1, "model": "fake", "choices": [choice], "usage": usage}
        )

    def answer(self, content: object) -> None:
        """Send a JSON answer."""
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def serve(port: int, after: float) -> None:
    """Answer on a port, after some seconds."""
    # Python handles signals in its main thread, which only wakes for those that it takes itself.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    time.sleep(after)
    ThreadingHTTPServer(("127.0.0.1", port), Server).serve_forever()


def main() -> None:
    """Do as the arguments say."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--say")
    parser.add_argument("--exit", type=int)
    parser.add_argument("--after", type=float, default=0.0)
    parser.add_argument("--ignore-term", action="store_true")
    parser.add_argument("--chatty", action="store_true")
    parser.add_argument("--child", action="store_true")
    parser.add_argument("--grandchild", action="store_true")
    parser.add_argument("--http", type=int)
    parser.add_argument("--answer-after", type=float, default=0.0)
    parser.add_argument("--slow", type=float, default=0.0)
    parser.add_argument("--once")
    options, _ = parser.parse_known_args()
    if options.once is not None:
        if os.path.exists(options.once):
            sys.exit(7)
        with open(options.once, "x"):
            pass

    def on_term(*_: object) -> None:
        os.write(1, f"TERM at {time.monotonic():.3f}\n".encode())  # print is not to be interrupted by itself
        if not options.ignore_term:
            os._exit(0)

    signal.signal(signal.SIGTERM, on_term)
    below = [sys.executable, "-c", SLEEP, *(["deaf"] if options.ignore_term else [])]
    if options.child:
        subprocess.Popen(below)
    if options.grandchild:
        # Through a shell that ends at once, so that the sleeper has lost its parent.
        subprocess.Popen(["setsid", *below])
    if options.say:
        print(options.say, flush=True)
    if options.http is not None:
        Server.slow = options.slow
        threading.Thread(target=serve, args=(options.http, options.answer_after), daemon=True).start()
    while options.chatty:
        print("x" * 200, flush=True)
    time.sleep(options.after)
    if options.exit is not None:
        os._exit(options.exit)
    while True:
        time.sleep(600)


if __name__ == "__main__":
    main()
