"""The notebooks of python/examples run, and are kept without what came of it."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from .conftest import ROOT

EXAMPLES = ROOT / "python" / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def test_there_is_one_for_each_paper_and_one_for_a_drive_of_ones_own() -> None:
    names = [path.stem for path in NOTEBOOKS]
    assert names == ["babol", "cosmos-plus", "host-ftl", "my-own-drive", "open-channel", "softssd"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == [] and cell.execution_count is None, (
                f"{path.name} has outputs: jupyter nbconvert --clear-output --inplace {path}"
            )


def test_notebooks_run_and_draw(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # Where there is no home, as in a container, IPython would make one.
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    # All of them in one kernel, since it takes longer to start than a notebook to run.
    cells = []
    ends = []
    for path in NOTEBOOKS:
        cells += [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
        ends.append(len(cells))
        cells.append(nbformat.v4.new_code_cell("%reset -f"))
    together = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(together, timeout=120, resources={"metadata": {"path": str(EXAMPLES)}}).execute()
    begin = 0
    for path, end in zip(NOTEBOOKS, ends, strict=True):
        outputs = [output for cell in together.cells[begin:end] for output in cell.outputs]
        pictures = [output for output in outputs if "image/png" in output.get("data", {})]
        assert pictures, f"{path.name}: draws nothing"
        begin = end + 1
