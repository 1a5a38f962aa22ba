"""How long somebody may keep the server busy: time for a request and for its answer, and connections.

The server itself knows neither: one who sends a letter a minute would hold a connection for ever. Where all
connections are taken, the one that has waited longest for its request makes room: so thousands that are
begun and go no further keep nobody out who asks at once.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from uvicorn.protocols.http.h11_impl import H11Protocol

from nammd.monitor.serving.guard import HEADERS


@dataclass(frozen=True)
class Limits:
    """What one who asks may take.

    Attributes
    ----------
    request : float
        Seconds until all of a request must be there, its headers and its body.
    answer : float
        Seconds until all of the answer must have been taken.
    connections : int
        How many may be open at once.
    """

    request: float = 10.0
    answer: float = 120.0
    connections: int = 100


def limited(limits: Limits) -> type[H11Protocol]:
    """Return what speaks HTTP within limits."""
    waiting: dict[Limited, None] = {}  # for their requests, in the order in which they began to

    class Limited(H11Protocol):
        """One connection."""

        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._wait_for_request()
            if len(self.connections) > limits.connections:
                next(iter(waiting))._end(503, "there are too many connections; try again later")

        def data_received(self, data: bytes) -> None:
            if self.transport.is_closing():
                return
            if self._timer is None:
                self._wait_for_request()
            super().data_received(data)
            self._wait_for_answer()

        def on_response_complete(self) -> None:
            if not self.cycle.more_body:
                self._stop()
                waiting[self] = None
            super().on_response_complete()  # the next request may be there already
            self._wait_for_answer()

        def send_400_response(self, msg: str) -> None:
            self._end(400, "this is no request of HTTP")

        def timeout_keep_alive_handler(self) -> None:
            super().timeout_keep_alive_handler()
            self._within(limits.answer)  # who does not read does not let it close

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop()
            waiting.pop(self, None)
            super().connection_lost(exc)

        def _wait_for_request(self) -> None:
            waiting[self] = None
            self._within(limits.request)

        def _wait_for_answer(self) -> None:
            if self.cycle is not None and not self.cycle.more_body and not self.cycle.response_complete:
                waiting.pop(self, None)
                self._within(limits.answer)

        def _within(self, seconds: float) -> None:
            self._stop()
            self._timer = self.loop.call_later(seconds, self._late)

        def _stop(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _late(self) -> None:
            if self.transport.is_closing() or (self.cycle is not None and self.cycle.response_started):
                self.transport.abort()
            else:
                self._end(408, "the request took too long")

        def _end(self, status: int, words: str) -> None:
            waiting.pop(self, None)
            if self.cycle is None or not self.cycle.response_started:  # else nobody waits for an answer
                told = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
                head = f"HTTP/1.1 {status} {words}\r\ncontent-type: text/plain\r\nconnection: close\r\n"
                self.transport.write(f"{head}{told}\r\n{words}\n".encode())
            self.transport.close()
            self._within(limits.request)

    return Limited
