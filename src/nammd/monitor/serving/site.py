"""What the server answers: the page, whether it has changed, metrics, reports, notes, acknowledgements."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from importlib import resources
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from nammd.monitor.monitor import Monitor
from nammd.monitor.page.html import POLICY, content, is_inside, link_to_report, style
from nammd.monitor.page.markup import Markup, joined, tag
from nammd.monitor.page.model import page_of
from nammd.monitor.serving.guard import COOKIE, HEADERS, Guard, Refused
from nammd.monitor.state import State

LARGEST = 10_000
"""Bytes of a note."""

VIEWS = (("30", "last 30"), ("90", "last 90"), ("365", "last 365"), ("", "all"))

Answer = Callable[[Request], Awaitable[Response]]


def site(monitor: Monitor, guard: Guard) -> Starlette:
    """Return the server of a monitor."""

    def guarded(answer: Answer) -> Answer:
        async def checked(request: Request) -> Response:
            try:
                headers = {name.lower(): value for name, value in request.headers.items()}
                entering = request.url.path == "/" and "token" in request.query_params
                if entering and guard.token is not None:
                    response = _enter(guard, request, headers)
                else:
                    guard.check(request.method, request.url.path, headers, request.cookies)
                    response = await answer(request)
            except Refused as refused:
                response = PlainTextResponse(f"{refused}\n", status_code=refused.status)
            except (ValueError, TypeError, LookupError, OSError) as error:
                response = PlainTextResponse(f"{error}\n", status_code=400)
            for name, value in HEADERS.items():
                response.headers.setdefault(name, value)
            return response

        return checked

    async def page(request: Request) -> Response:
        body = await run_in_threadpool(_body, monitor, request.query_params)
        return Response(_document(monitor, body), media_type="text/html")

    async def body(request: Request) -> Response:
        made = await run_in_threadpool(_body, monitor, request.query_params)
        return Response(made, media_type="text/html")

    async def version(request: Request) -> Response:
        return JSONResponse({"version": await run_in_threadpool(lambda: monitor.version)})

    async def state(request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(lambda: _finite(monitor.state_at().to_dict())))

    async def metrics(request: Request) -> Response:
        from nammd.integrations.prometheus import CONTENT_TYPE, metrics_text

        text = await run_in_threadpool(lambda: metrics_text(monitor.state_at()))
        return Response(text, headers={"content-type": CONTENT_TYPE})

    async def note(request: Request) -> Response:
        sent = await _sent(request)
        await run_in_threadpool(monitor.note, sent.get("text", ""), sent.get("key") or None)
        return JSONResponse({"done": True})

    async def acknowledge(request: Request) -> Response:
        sent = await _sent(request)
        count = await run_in_threadpool(monitor.acknowledge, sent.get("text") or "", sent.get("key") or None)
        return JSONResponse({"acknowledged": count})

    async def report(request: Request) -> Response:
        found = await run_in_threadpool(_report, monitor, request.path_params["key"])
        # A report has its style inside, and its pictures; it runs no script and may load nothing.
        policy = f"{POLICY}; frame-ancestors 'none'; form-action 'none'; sandbox"
        return Response(found, media_type="text/html", headers={"content-security-policy": policy})

    def asset(name: str, kind: str) -> Answer:
        text = style() if name == "page.css" else _file(name)

        async def answer(request: Request) -> Response:
            return Response(text, media_type=kind)

        return answer

    gets: list[tuple[str, Answer]] = [
        ("/", page),
        ("/body", body),
        ("/version", version),
        ("/state", state),
        ("/metrics", metrics),
        ("/report/{key:path}", report),
        ("/page.css", asset("page.css", "text/css")),
        ("/live.js", asset("live.js", "text/javascript")),
    ]
    routes = [Route(path, guarded(answer), methods=["GET"]) for path, answer in gets]
    routes += [
        Route(path, guarded(answer), methods=["POST"])
        for path, answer in (("/note", note), ("/acknowledge", acknowledge))
    ]

    async def nothing(request: Request, error: Exception) -> Response:
        return PlainTextResponse("there is nothing here\n", status_code=404, headers=HEADERS)

    async def broken(request: Request, error: Exception) -> Response:
        return PlainTextResponse("something went wrong here\n", status_code=500, headers=HEADERS)

    return Starlette(routes=routes, exception_handlers={404: nothing, 405: nothing, Exception: broken})


def _enter(guard: Guard, request: Request, headers: dict[str, str]) -> Response:
    """Take the token from the address once, and leave a cookie in its place."""
    if not guard.allowed_host(headers.get("host", "")):
        raise Refused(421, "this name is not served here")
    if not guard.is_token(request.query_params["token"]):
        raise Refused(401, "this is not the token")
    response = RedirectResponse("/", status_code=303)
    response.set_cookie(COOKIE, guard.cookie, httponly=True, samesite="strict", path="/")
    return response


def _document(monitor: Monitor, body: str) -> str:
    head = joined(
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{monitor.state.title} · nammd monitor"),
        tag("link", rel="icon", href="data:,"),
        tag("link", rel="stylesheet", href="/page.css"),
        tag("script", src="/live.js", defer=""),
    )
    whole = tag("html", tag("head", head), tag("body", tag("div", Markup(body), id="live")), lang="en")
    return f"<!doctype html>\n{whole}\n"


def _body(monitor: Monitor, asked: Any) -> str:
    """Return what the page shows; `asked` may narrow the time line down to some batches."""
    version, state = monitor.version, monitor.state_at()
    view = _asked_view(state, asked)
    page = page_of(state, monitor.tolerance_errors(), monitor.pooled(), view)
    reported = [told.batch.key for told in page.listed if is_inside(told.batch.report)]
    links = {key: link_to_report(key) for key in reported}
    inner = content(page, _controls(state), links=links)
    return tag("div", inner, id="content", data_version=version, data_alarm="1" if state.alarmed else "0")


def _asked_view(state: State, asked: Any) -> tuple[str, str] | None:
    if not state.told:
        return None
    last = asked.get("last", "")
    if last.isdecimal() and int(last) > 0:
        start = max(len(state.told) - int(last), 0)
        return state.told[start].batch.key, state.told[-1].batch.key
    first, end = asked.get("from", ""), asked.get("to", "")
    return (first, end) if first and end else None


def _controls(state: State) -> Markup:
    views = [tag("button", words, type="button", data_last=value) for value, words in VIEWS]
    parts = [tag("div", "Show ", *views, " or drag over the time line.", class_="views quiet")]
    if any(not alarm.acknowledged for alarm in state.open_alarms):
        parts.append(_form("acknowledge", "What is known about it?", "Acknowledge the alarm"))
    parts.append(_form("note", "A note for the time line", "Add a note"))
    parts.append(tag("p", "", id="said", class_="quiet", role="status"))
    return tag("section", *parts, class_="card", id="controls")


def _form(name: str, hint: str, words: str) -> Markup:
    field = tag("input", name="text", maxlength="2000", placeholder=hint, aria_label=hint, autocomplete="off")
    return tag("form", field, tag("button", words, type="submit"), data_send=name)


def _report(monitor: Monitor, key: str) -> bytes:
    state = monitor.state
    place = state.places.get(key)
    name = "" if place is None else state.told[place].batch.report
    folder = monitor.path.resolve().parent
    path = (folder / name).resolve() if is_inside(name) else folder
    # What a link leads to must be inside too.
    if not path.is_relative_to(folder) or path.suffix != ".html" or not path.is_file():
        raise Refused(404, "there is no report about this batch in the folder of the monitor")
    return path.read_bytes()


async def _sent(request: Request) -> dict[str, Any]:
    content = b""
    async for chunk in request.stream():
        content += chunk
        if len(content) > LARGEST:
            raise Refused(413, "that is too long")
    try:
        sent = json.loads(content)
    except (ValueError, RecursionError):  # also of brackets within brackets without an end
        raise Refused(400, "this is not JSON") from None
    if not isinstance(sent, dict) or not all(isinstance(value, str) for value in sent.values()):
        raise Refused(400, "send texts by name")
    return sent


def _finite(found: Any) -> Any:
    from nammd.results.base import plain

    return plain(found)


def _file(name: str) -> str:
    return resources.files("nammd.monitor.serving").joinpath(name).read_text(encoding="utf-8")
