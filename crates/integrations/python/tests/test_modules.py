"""Modules for other libraries: imported where they are used, and clear where their library is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tarsia

LIBRARIES = {"polars": "polars", "duckdb": "duckdb", "ray": "ray", "datasets": "datasets"}


def _python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_importing_the_package_imports_no_library() -> None:
    libraries = {*LIBRARIES, "pyarrow", "pandas", "numpy", "torch"}
    done = _python(f"import sys; import tarsia; print(sorted({libraries!r} & set(sys.modules)))")
    assert done.stdout == "[]\n", done.stderr


@pytest.mark.parametrize("module", LIBRARIES)
def test_a_missing_library_is_named(module: str) -> None:
    library = LIBRARIES[module]
    for statement in (f"import tarsia.{module}", f"import tarsia; tarsia.{module}"):
        done = _python(f"import sys; sys.modules[{library!r}] = None; {statement}")
        assert done.returncode == 1
        last = done.stderr.splitlines()[-1]
        assert last.startswith(f"ImportError: tarsia.{module} needs {library} ") and "pip install" in last, done.stderr


@pytest.mark.parametrize("module", LIBRARIES)
def test_an_old_library_is_named(module: str) -> None:
    code = f"""
import sys, types
old = types.ModuleType({LIBRARIES[module]!r})
old.__version__ = "1.99.0"
sys.modules[{LIBRARIES[module]!r}] = old
import tarsia.{module}
"""
    last = _python(code).stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: tarsia.{module} needs {LIBRARIES[module]} ") and "(this is 1.99.0)" in last


@pytest.mark.parametrize("module", ["polars", "duckdb"])
def test_modules_are_attributes(module: str) -> None:
    done = _python(f"import tarsia; print(tarsia.{module}.scan.__name__)")
    assert done.stdout == "scan\n", done.stderr
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tarsia.nothing  # noqa: B018


def test_everything_public_of_the_modules_has_a_text() -> None:
    for name in ("polars", "duckdb"):
        module = getattr(tarsia, name)
        assert module.__doc__
        for member in module.__all__:
            assert getattr(module, member).__doc__, f"{name}.{member}"


