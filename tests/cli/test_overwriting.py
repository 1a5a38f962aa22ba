"""What a command may write over: the same tolerance, and nothing else unasked."""

from __future__ import annotations

import os
import stat

import pytest


@pytest.fixture
def made(nammd, files, tmp_path):
    target = tmp_path / "t.json"
    words = ["calibrate", files / "reference.parquet", files / "accepted.parquet", "-o", target]
    assert nammd(*words).code == 0
    return words, target


def test_the_same_tolerance_is_written_again(nammd, made):
    words, target = made
    target.chmod(0o600)
    assert nammd(*words).code == 0
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_another_tolerance_is_not_replaced_without_force(nammd, made, files):
    words, target = made
    before = target.read_bytes()
    other = [*words[:2], files / "far.parquet", *words[3:]]
    ran = nammd(*other)
    assert ran.code == 2
    assert "t.json' already exists and is another tolerance" in ran.sentence
    assert "--force" in ran.sentence
    assert target.read_bytes() == before
    assert nammd(*other, "--force").code == 0
    assert target.read_bytes() != before


@pytest.mark.parametrize("content", [b"notes of mine\n", b'{"format": "nammd-tolerance"}'])
def test_a_file_that_is_no_tolerance_is_not_replaced_without_force(nammd, made, content):
    words, target = made
    target.write_bytes(content)
    ran = nammd(*words)
    assert ran.code == 2
    assert "t.json' already exists, and is not a tolerance that can be read" in ran.sentence
    assert target.read_bytes() == content
    assert nammd(*words, "--force").code == 0


def test_a_read_only_tolerance_is_refused_before_any_work(nammd, made):
    words, target = made
    target.chmod(0o444)
    ran = nammd(*words, "--force")
    assert ran.code == 2
    assert "it is read-only" in ran.sentence


def test_a_tolerance_goes_to_devices_and_not_through_links(nammd, made, tmp_path):
    words, target = made
    link = tmp_path / "link.json"
    os.symlink(target, link)
    assert "it is a symbolic link" in nammd(*words[:-1], link).sentence
    assert link.is_symlink()
    assert nammd(*words[:-1], "/dev/null").code == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
def test_a_full_disk_names_the_file(nammd, made):
    words, _ = made
    ran = nammd(*words[:-1], "/dev/full")
    assert ran.code == 2
    assert "/dev/full: no space left on device" in ran.sentence


def test_the_demo_does_not_replace_files(nammd, tmp_path):
    (tmp_path / "story").mkdir()
    mine = tmp_path / "story" / "2024-01.parquet"
    mine.write_text("mine")
    ran = nammd("demo", "--keep", tmp_path / "story")
    assert ran.code == 2
    assert "story' has files of these names already: 2024-01.parquet; give a new folder" in ran.sentence
    assert mine.read_text() == "mine"
    assert os.listdir(tmp_path / "story") == ["2024-01.parquet"]
    mine.unlink()
    mine.symlink_to(tmp_path / "elsewhere")
    assert "has files of these names already" in nammd("demo", "--keep", tmp_path / "story").sentence
    assert not (tmp_path / "elsewhere").exists()


def test_a_sketch_replaces_sketches_only(nammd, files, tolerance, tmp_path):
    target = tmp_path / "x.sketch"
    words = [
        "sketch",
        files / "reference.parquet",
        "-o",
        target,
        "--tolerance",
        tolerance,
        "--n-features",
        64,
    ]
    target.write_text("notes of mine")
    ran = nammd(*words)
    assert ran.code == 2
    assert "x.sketch' already exists, and is not a sketch" in ran.sentence
    assert target.read_text() == "notes of mine"
    target.unlink()
    assert nammd(*words).code == 0
    assert nammd(*words).code == 0
