"""Listening: the server of a monitor until it is interrupted."""

from __future__ import annotations

import socket
from collections.abc import Callable
from urllib.parse import urlencode

from nammd.monitor.monitor import Monitor
from nammd.monitor.serving.guard import Guard, require_safe


def serve(
    monitor: Monitor,
    host: str,
    port: int,
    token: str | None,
    names: tuple[str, ...],
    ready: Callable[[str], None],
) -> None:
    """Serve the page of a monitor until the process is interrupted.

    Parameters
    ----------
    monitor : Monitor
        The monitor.
    host : str
        Where to listen; 127.0.0.1 is this machine alone.
    port : int
        The port; 0 takes one that is free.
    token : str or None
        What a reader must know; needed where `host` can be reached from other machines.
    names : tuple of str
        Further names by which browsers may ask for it.
    ready : callable
        It is called with the address as soon as the server listens.
    """
    require_safe(host, token)
    try:
        import uvicorn

        from nammd.monitor.serving.limits import Limits, limited
        from nammd.monitor.serving.site import site
    except ModuleNotFoundError as error:
        raise ImportError(
            f"serving needs the package {error.name}; install it with: pip install 'nammd[monitor]'"
        ) from None
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
        except OSError as error:
            raise OSError(f"cannot listen at {host}, port {port}: {error.strerror}") from None
        listening.listen()
        taken = int(listening.getsockname()[1])
        guard = Guard(host, taken, token, names)
        options = uvicorn.Config(
            site(monitor, guard),
            http=limited(Limits()),
            backlog=Limits.connections,  # so many more may be taken at once before others are closed
            log_level="error",  # what somebody sends must not fill the log
            access_log=False,  # it would write tokens
            server_header=False,
            proxy_headers=False,
            lifespan="off",
            ws="none",
        )
        shown = f"[{host}]" if ":" in host else host
        query = f"/?{urlencode({'token': token})}" if token is not None else "/"
        ready(f"http://{shown}:{taken}{query}")
        uvicorn.Server(options).run(sockets=[listening])
