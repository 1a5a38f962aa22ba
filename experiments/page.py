"""Write the pages of the documentation and their figures from the result files."""

from __future__ import annotations

from pathlib import Path

from experiments.appendix import HOW, Sections, appendix
from experiments.calibration_page import calibration_page
from experiments.figures import svg
from experiments.overview_picture import overview_picture
from experiments.paper.benchmark_data import STAND_INS
from experiments.paper.reference_pairs import EXPLAINED
from experiments.paper_page import paper_page
from experiments.registry import experiments
from experiments.results import FOLDER, best
from nammd.errors.writing import write_bytes

DOCS = Path(__file__).resolve().parent.parent / "docs"


def pages(folder: Path = FOLDER) -> dict[str, bytes]:
    """Return every file of the pages by its path below the documentation's folder."""
    files: dict[str, bytes] = {}
    for page in ("paper", "calibration"):
        found = [(e, best(e, folder)) for e in experiments().values() if e.page == page]
        sections = [(e, results, e.section(results)) for e, results in found if results is not None]
        if not sections:
            continue
        for name, text in _texts(page, sections, folder).items():
            files[name] = text.encode()
        pictures = [picture for _, _, section in sections for picture in section.pictures]
        pictures += [overview_picture(sections)] if page == "paper" else []
        files |= {picture.path: svg(picture) for picture in pictures}
        for _, _, section in sections:
            files |= {f"tables/{name}": text.encode() for name, text in section.tables.items()}
    return files


def write(folder: Path = FOLDER, docs: Path = DOCS) -> list[Path]:
    """Write the pages; return the files that changed."""
    changed = []
    for name, content in pages(folder).items():
        path = docs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_bytes() != content:
            write_bytes(path, content)
            changed.append(path)
    return changed


def _texts(page: str, sections: Sections, folder: Path) -> dict[str, str]:
    """Return a page and its appendix."""
    if page == "paper":
        intro = f"The tables of [the paper's experiments, rerun](paper.md). {HOW} {STAND_INS} {EXPLAINED}"
        return {
            "paper.md": paper_page(sections, folder),
            "paper-tables.md": appendix("The paper's experiments: tables", intro, sections),
        }
    intro = f"The tables of [the page on calibration](calibration.md). {HOW}"
    return {
        "calibration.md": calibration_page(sections),
        "calibration-tables.md": appendix("Calibration: tables", intro, sections),
    }
