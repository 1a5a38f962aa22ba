"""The programs compile for a GPU, also where there is none: the interpreter takes what a compiler refuses."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("triton", reason="Triton is not installed")

PROGRAM = """
import triton
try:
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
except ImportError:
    raise SystemExit("no such compiler")
from nammd.engines.cuda import programs, unit_programs

HALVES = {"high", "low", "extra", "other_high", "other_low", "other_extra"}
WHOLE = {"numbers", "other_numbers", "plan", "borders", "limits"}
SUMS = {
    "row_sums", "column_sums", "squares", "sizes", "other_sizes", "sized_rows", "sized_columns", "pairs"
}

def compiled(program, **constants):
    names = [parameter.name for parameter in program.params]
    signature = {
        name: "constexpr" if name in constants
        else "*fp16" if name in HALVES
        else "*i32" if name in WHOLE
        else "*fp32" if name in SUMS
        else "i32"
        for name in names
    }
    source = ASTSource(program, signature, {(names.index(k),): v for k, v in constants.items()})
    options = {"num_warps": 4, "num_stages": 2, "enable_fp_fusion": True}
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
    assert "wgmma" in made.asm["ptx"]
    return made

common = {"D": 16, "TWO": True, "E": 16, "BM": 64, "WARPS": 4, "STAGES": 2}
for scales in (1, 5):
    compiled(programs.sums_resident, **common, BN=64, S=scales, Q=2, SIZED=scales == 1)
for width, bundles in ((3, 64), (8, 16)):
    other = {"P": width, "G": bundles // 8, "RESIDENT": width == 3, "CUT": width == 8, "BN": 128}
    compiled(unit_programs.unit_sums, **common, **other, K=16, TERMS=1, CITYBLOCK=False)
# With 64 columns in two halves three programs are at work on a multiprocessor, whatever they leave behind.
for program, other in (
    (programs.sums_resident, {"S": 1, "Q": 0, "SIZED": False}),
    (programs.sums_resident, {"S": 5, "Q": 2, "SIZED": False, "BN": 64, "STAGES": 3}),
    (unit_programs.unit_sums, {"P": 5, "G": 4, "CUT": False}),
    (unit_programs.unit_sums, {"P": 8, "G": 2, "CUT": True}),
):
    if "P" in other:
        other = other | {"K": 64, "TERMS": 1, "CITYBLOCK": False, "RESIDENT": True}
    made = compiled(program, **common | {"D": 64, "BN": 128} | other)
    assert 3 * (made.metadata.shared + 1024) <= 228 * 1024, made.metadata.shared
print("compiled")
"""


def test_programs_compile_for_a_gpu(tmp_path):
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    environment |= {"TRITON_CACHE_DIR": str(tmp_path), "PYTHONWARNINGS": "error"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, env=environment
    )
    if "no such compiler" in done.stderr or "Cannot find ptxas" in done.stderr:
        pytest.skip("this Triton cannot compile for a GPU that is not there")
    assert done.stdout.strip() == "compiled", done.stderr[-2000:]
