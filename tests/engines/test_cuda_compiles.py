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
WHOLE = {"numbers", "other_numbers"}
SUMS = {"row_sums", "column_sums", "squares", "sizes", "other_sizes", "sized_rows", "pairs"}

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

common = {"D": 16, "TWO": True, "E": 16, "BM": 64, "BN": 64}
for scales in (1, 5):
    compiled(programs.sums_resident, **common, WARPS=4, STAGES=2, S=scales, Q=2, SIZED=scales == 1)
for masked in (False, True):
    other = {"RESIDENT": not masked, "CUT": masked, "MASKED": masked}
    compiled(unit_programs.unit_sums, **common, **other, K=16, TERMS=1, CITYBLOCK=False, WARPS=4, STAGES=2)
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
