"""The how-tos that add code are followed as they stand, in a copy of the repository, until their tests pass."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.reading import HOWTOS, ROOT, Page

COPIED = ("servers", "stages", "tests", "params.yaml", "pyproject.toml")
NEW = re.compile(r"`([\w/]+\.py)`[^`]*```python\n(.*?)^```", re.M | re.S)


@pytest.mark.slow
@pytest.mark.timeout(600)  # of a busy machine; half a minute on a free core
@pytest.mark.parametrize("name", ["add-a-reward-part", "add-a-signal"])
def test_the_example_of_a_howto_works(name: str, tmp_path: Path) -> None:
    page = Page(HOWTOS / f"{name}.md")
    for item in COPIED:
        source = ROOT / item
        if source.is_dir():
            shutil.copytree(source, tmp_path / item, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, tmp_path / item)
    made = NEW.findall(page.text)
    for path, body in made:
        assert not (tmp_path / path).exists(), f"{path} is there already"
        (tmp_path / path).write_text(body, encoding="utf-8")
    for diff in page.fences("diff"):
        patch(tmp_path, diff)
    tests = [path for path, _ in made if path.startswith("tests/")]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", *tests]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert tests and done.returncode == 0, done.stdout[-3000:]


def patch(root: Path, diff: str) -> None:
    """Apply a page's diff: `@@ FILE` opens a file, `@@` the next place in it; context must occur exactly once."""
    path = root
    for hunk in re.split(r"^@@", diff, flags=re.M)[1:]:
        head, _, body = hunk.partition("\n")
        path = root / head.strip() if head.strip() else path
        lines = body.splitlines()
        old = "\n".join(line[1:] for line in lines if line[0] in " -")
        new = "\n".join(line[1:] for line in lines if line[0] in " +")
        text = path.read_text(encoding="utf-8")
        assert text.count(f"{old}\n") == 1, f"{path.relative_to(root)} holds no single place of:\n{old}"
        path.write_text(text.replace(f"{old}\n", f"{new}\n"), encoding="utf-8")
