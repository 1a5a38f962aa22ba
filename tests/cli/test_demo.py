"""``nammd demo`` tells the whole story through the real commands."""

import pytest


@pytest.fixture
def without_pictures():
    """Draw them here."""


def test_the_demo_goes_as_told(nammd, tmp_path, monkeypatch):
    """Of fewer rows; docs/cli/demo.md shows every word of it with all of them."""
    monkeypatch.setattr("nammd.cli.demo.ROWS", 1200)
    ran = nammd("demo", "--keep", "story")
    assert (ran.code, ran.err) == (0, "")
    told = [line for line in ran.out.splitlines() if line.startswith(("$ nammd", "CLOSE", "FAR", "Close"))]
    assert [line.split()[0 if line[0] != "$" else 2] for line in told] == [
        "calibrate",
        "Close",
        "check",
        "CLOSE:",
        "check",
        "FAR:",
    ]
    assert ran.out.splitlines()[-1].startswith("The report is story")
    assert (tmp_path / "story" / "report.html").read_text("utf-8").count("data:image/svg+xml") == 4
    assert (tmp_path / "story" / "tolerance.json").exists()


@pytest.fixture
def without_report(monkeypatch):
    """The test above has the real report, which takes its time."""
    monkeypatch.setattr("nammd.report.write_report", lambda verdict, path, **how: path.write_text(""))


@pytest.mark.usefixtures("without_report")
def test_a_demo_that_goes_wrong_says_so(nammd, monkeypatch):
    monkeypatch.setattr("nammd.cli.demo.ROWS", 400)  # too few for CLOSE
    ran = nammd("demo", "--keep", "story", "--json")
    assert ran.code == 2
    assert "the demo did not go as told" in ran.json["error"]["message"]
    assert "the demo did not go as told" in ran.err


def test_a_year_of_days_goes_as_told(nammd, tmp_path):
    """It takes its time: the demo is the whole year, and every one of its days is compared and stored."""
    ran = nammd("demo", "--monitor", "--keep", "year", "--json")
    assert (ran.code, ran.err) == (0, "")
    april, december = ran.json["steps"][3]["result"], ran.json["steps"][5]["result"]
    far = [batch["key"] for batch in april["batches"] if batch["decision"] == "FAR"]
    assert far == [f"2026-04-{day}" for day in range(11, 18)]
    opened = [
        (event["cause"], batch["key"])
        for batch in december["batches"]
        for event in batch["events"]
        if event["kind"] == "alarm opened"
    ]
    assert [cause for cause, _ in opened] == ["stream", "batch"]  # the stream knows before any single day
    assert ran.json["steps"][6]["result"]["batches"] == 365
    page = (tmp_path / "year" / "monitor.html").read_text(encoding="utf-8")
    assert "Orders of a shop" in page
    assert "ALARM" in page
