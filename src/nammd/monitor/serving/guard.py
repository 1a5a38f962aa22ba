"""Who may see and do what: everything is checked here, before anything is answered.

Reports hold rows of the data, so reading needs the token as much as writing does. Without a token only this
machine is served. A page of another site, opened in the same browser, can neither read nor write: the name
that the browser asked for must be ours, requests of other sites are refused, and what changes something must
come from our own page.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

COOKIE = "nammd-monitor"
OWN_HEADER = "x-nammd-monitor"
"""A header that only a script of our own page can set."""

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""What every answer carries."""


class Refused(Exception):
    """A request that is not answered: a status, and why in a sentence."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


def is_local(host: str) -> bool:
    """Tell whether an address is that of this machine alone.

    >>> [is_local(host) for host in ("127.0.0.1", "localhost", "::1", "0.0.0.0", "10.0.0.5", "example.org")]
    [True, True, True, False, False, False]
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def require_safe(host: str, token: str | None) -> None:
    """Refuse to listen where others can come, unless there is a token."""
    if token is not None and len(token) < 16:
        raise ValueError("the token must have at least 16 letters; 'openssl rand -hex 16' makes a good one")
    if not is_local(host) and token is None:
        raise ValueError(
            f"{host} can be reached from other machines, and reports hold rows of the data; give a token (in "
            "the variable NAMMD_MONITOR_TOKEN), or stay with 127.0.0.1"
        )


@dataclass(frozen=True)
class Guard:
    """The rules of one server.

    Attributes
    ----------
    host : str
        Where it listens.
    port : int
        The port.
    token : str or None
        What a reader must know; None where only this machine is served.
    names : tuple of str
        Further names by which browsers may ask for it.
    """

    host: str
    port: int
    token: str | None = field(repr=False)
    names: tuple[str, ...] = ()
    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    @property
    def cookie(self) -> str:
        """What a browser that has given the token shows from then on; it is not the token."""
        return hmac.new(self._secret, (self.token or "").encode(), hashlib.sha256).hexdigest()

    def allowed_host(self, header: str) -> bool:
        """Tell whether a browser asked for a name that is ours."""
        name, _, port = header.rpartition(":") if not header.endswith("]") else (header, "", "")
        name, port = (name, port) if name else (header, "")
        if port and port != str(self.port):
            return False
        known = {"localhost", "127.0.0.1", "[::1]", self.host, f"[{self.host}]", *self.names}
        if is_local(self.host):
            known -= {"0.0.0.0", "[::]"}
        elif _is_address(name):  # a name could be made to point here by somebody else, a number could not
            return True
        return name.lower() in {each.lower() for each in known}

    def check(self, method: str, path: str, headers: Mapping[str, str], cookies: Mapping[str, str]) -> None:
        """Refuse a request that must not be answered; header names are in small letters."""
        host = headers.get("host", "")
        if not self.allowed_host(host):
            raise Refused(421, "this name is not served here")
        self._check_site(method, path, headers, host)
        if self.token is not None and not self.knows_token(headers, cookies):
            raise Refused(401, "a token is needed; open the address that 'nammd monitor serve' printed")

    def knows_token(self, headers: Mapping[str, str], cookies: Mapping[str, str]) -> bool:
        """Tell whether a request shows the token or the cookie for it, compared in constant time."""
        kind, _, given = headers.get("authorization", "").partition(" ")
        bearer = kind.lower() == "bearer" and self.is_token(given.strip())
        shown = hmac.compare_digest(cookies.get(COOKIE, "").encode(), self.cookie.encode())
        return bearer or shown

    def is_token(self, given: str) -> bool:
        """Tell whether this is the token, in a time that does not depend on how much of it is right."""
        return self.token is not None and hmac.compare_digest(given.encode(), self.token.encode())

    def _check_site(self, method: str, path: str, headers: Mapping[str, str], host: str) -> None:
        site = headers.get("sec-fetch-site", "")
        # A link somewhere else may lead to our page, which then is a page of its own; nothing more.
        link = method == "GET" and path == "/" and headers.get("sec-fetch-mode") == "navigate"
        if site not in ("", "none", "same-origin") and not link:
            raise Refused(403, "requests of other sites are refused")
        origin = headers.get("origin")
        if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
            raise Refused(403, "requests of other sites are refused")
        if method not in ("GET", "HEAD"):
            if headers.get(OWN_HEADER) != "1" or origin is None:
                raise Refused(403, "only the page itself can change something")
            if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
                raise Refused(415, "send JSON")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
