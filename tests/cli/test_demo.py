"""``nammd demo`` tells the whole story through the real commands."""


def test_the_demo_goes_as_told(nammd, tmp_path):
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
    assert (tmp_path / "story" / "report.html").stat().st_size > 1000
    assert (tmp_path / "story" / "tolerance.json").exists()


def test_the_demo_for_programs_is_one_document(nammd, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    # The other test has the real report, which takes its time.
    monkeypatch.setattr("nammd.report.write_report", lambda verdict, path, progress: path.write_text(""))
    ran = nammd("demo", "--json")
    assert ran.err == ""
    assert [step["exit_code"] for step in ran.json["steps"]] == [0, 0, 1]
    assert ran.json["steps"][2]["result"]["decision"] == "FAR"
    assert ran.json["folder"].startswith(str(tmp_path))


def test_a_demo_that_goes_wrong_says_so(nammd, monkeypatch):
    monkeypatch.setattr("nammd.cli.demo.ROWS", 2000)
    ran = nammd("demo", "--keep", "story", "--json")
    assert ran.code == 2
    assert "the demo did not go as told" in ran.json["error"]["message"]
    assert "the demo did not go as told" in ran.err
