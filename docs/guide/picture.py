"""Makes report.png: the report of the guide's first program, as a browser shows it.

`make picture` runs it. It needs Chromium; arguments are the command tpu-emu and the picture.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = Path(__file__).with_name("README.md")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def main() -> int:
    """Runs the program, takes the picture; returns the exit status."""
    command, picture = (str(Path(argument).resolve()) for argument in sys.argv[1:3])
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print(f"a browser is needed: one of {', '.join(BROWSERS)}", file=sys.stderr)
        return 1
    program = re.search(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert program is not None, f"{PAGE} has no program"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "train.py").write_text(program[1])
        words = ["run", "--trace", "run.trace", "--report", "report.html", "train.py"]
        subprocess.run([command, *words], cwd=folder, check=True)
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        size = ["--window-size=1280,680", "--virtual-time-budget=5000"]
        page = (Path(folder) / "report.html").as_uri()
        subprocess.run([browser, *options, *size, f"--screenshot={picture}", page], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
