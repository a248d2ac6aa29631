"""What a test that failed took, as a file to look at."""

import hashlib
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

_PLAIN = re.compile(r"[^A-Za-z0-9_.-]+")


def write_report(folder: Path, nodeid: str, trace: bytes) -> str:
    """Writes the trace of a test, and a page of it where the command is there.

    Returns a sentence that says where, or why not.
    """
    name = _PLAIN.sub("-", nodeid).strip("-")[:120]
    # Two names may become one.
    name += "-" + hashlib.sha256(nodeid.encode()).hexdigest()[:6]
    recorded = folder / f"{name}.trace"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        recorded.write_bytes(trace)
    except OSError as why:
        return f"no report could be written: {why}"
    command = shutil.which("tpu-emu", path=sysconfig.get_path("scripts")) or shutil.which("tpu-emu")
    if command is None:
        return f"recorded: {recorded}"
    page = folder / f"{name}.html"
    done = subprocess.run(  # noqa: S603 (our own command)
        [command, "report", str(recorded), "-o", str(page)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0 or not page.is_file():
        return f"recorded: {recorded} (no page was made of it: {done.stderr.strip()})"
    return f"report: {page}"
