"""The Python programs of README.md and docs/ do what they say."""

import re
import subprocess
import sys

import pytest

from conftest import REPOSITORY

MARK = "<!-- run by tests/python_package/test_documents.py -->\n"


@pytest.mark.parametrize("document", ["README.md", "docs/python.md"])
def test_python_program(document):
    text = (REPOSITORY / document).read_text(encoding="utf-8")
    found = re.search(re.escape(MARK) + r"```python\n(.*?)```\n\nIt prints `(.*?)`", text, re.DOTALL)
    assert found, f"{document} has no marked program with what it prints"
    done = subprocess.run([sys.executable, "-I", "-c", found.group(1)], capture_output=True,
                          text=True, check=True, timeout=60)
    assert done.stdout.strip() == found.group(2)
