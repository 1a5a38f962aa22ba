"""Lead from the folder of all versions of the documentation to the newest one.

    python docs/_ext/versions.py docs/_build/html

Each version is a folder of its own. This writes ``index.html``, which goes to the newest version, and
``versions.html``, a list of all of them that every page links to. Neither needs a script.
"""

import html
import sys
from pathlib import Path

from packaging.version import InvalidVersion, Version

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">{head}<title>{title}</title></head>
<body style="font-family: system-ui, sans-serif; margin: 2rem auto; max-width: 40rem; padding: 0 1rem">
{body}
</body></html>
"""


def versions(folder: Path) -> list[str]:
    """Return the versions that have a folder there, the newest first; releases before what precedes them."""
    found = []
    for each in folder.iterdir():
        if (each / "index.html").is_file():
            try:
                found.append((Version(each.name), each.name))
            except InvalidVersion:
                continue  # another folder, not of a version
    return [name for _, name in sorted(found, reverse=True)]


def write(folder: Path) -> str:
    """Write both pages, and return the newest version."""
    names = versions(folder)
    if not names:
        raise SystemExit(f"{folder} has no version of the documentation; build one with: make docs")
    newest = next((name for name in names if not Version(name).is_prerelease), names[0])
    target = html.escape(f"{newest}/index.html")
    head = f'<meta http-equiv="refresh" content="0; url={target}"><link rel="canonical" href="{target}">'
    body = f'<p><a href="{target}">The documentation of nammd {html.escape(newest)}</a></p>'
    (folder / "index.html").write_text(PAGE.format(head=head, title="nammd", body=body), encoding="utf-8")
    links = "\n".join(
        f'<li><a href="{html.escape(name)}/index.html">nammd {html.escape(name)}</a>'
        f"{' (newest)' if name == newest else ''}</li>"
        for name in names
    )
    body = f"<h1>Versions of the documentation</h1>\n<ul>\n{links}\n</ul>"
    page = PAGE.format(head="", title="Versions of nammd", body=body)
    (folder / "versions.html").write_text(page, encoding="utf-8")
    return newest


if __name__ == "__main__":
    write(Path(sys.argv[1]))
