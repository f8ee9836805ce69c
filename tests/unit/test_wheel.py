"""What is in the wheel: everything that runs, nothing else."""

from __future__ import annotations

import configparser
import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The project's wheel, built from the working tree; the build backend is fetched where it is not installed."""
    out = tmp_path_factory.mktemp("wheel")
    backend = ["--no-isolation"] if importlib.util.find_spec("hatchling") else []
    command = [sys.executable, "-m", "build", "--wheel", *backend, "--outdir", str(out), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return zipfile.ZipFile(next(out.glob("*.whl")))


def test_it_holds_every_file_of_the_package(wheel: zipfile.ZipFile) -> None:
    package = ROOT / "pytest_statebase"
    files = {
        path.relative_to(ROOT).as_posix()
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert packed == files
    assert "pytest_statebase/py.typed" in packed
    assert any(name.startswith("pytest_statebase/report/page/templates/") for name in packed)


def test_it_registers_plugin_and_command(wheel: zipfile.ZipFile) -> None:
    name = next(name for name in wheel.namelist() if name.endswith(".dist-info/entry_points.txt"))
    points = configparser.ConfigParser()
    points.read_string(wheel.read(name).decode())
    assert dict(points["pytest11"]) == {"statebase": "pytest_statebase.plugin"}
    assert dict(points["console_scripts"]) == {"pytest-statebase": "pytest_statebase.cli:main"}


def test_it_carries_the_licence_and_the_readme(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    metadata = wheel.read(next(name for name in names if name.endswith(".dist-info/METADATA"))).decode()
    assert "License-Expression: MIT" in metadata
    assert "# pytest-statebase" in metadata
