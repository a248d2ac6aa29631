"""`pypjrt.conform` on the plugin: prints its report, ends badly if a check fails.

One check cannot pass on a device that pads its arrays: `execute.single_device` makes a host array
of `PJRT_Buffer_OnDeviceSizeInBytes` bytes for a result of four floats and compares all of it. An
`f32[4]` takes 512 bytes on the device. It is accepted when its first four floats are the right
ones and zeros follow.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

PADDED = "execute.single_device"
# The report cuts its texts off.
RIGHT = "AssertionError: wrong result [11.0, 22.0, 33.0, 44.0, 0.0, 0.0, 0.0, 0.0, "


def fails(report: dict) -> list[str]:
    """The names of the checks that failed, the padded one left out."""

    def accepted(check: dict) -> bool:
        return check["id"] == PADDED and check["detail"].startswith(RIGHT)

    bad = [check for check in report["checks"] if check["result"].upper() == "FAIL"]
    return [check["id"] for check in bad if not accepted(check)]


def main(library: str) -> int:
    """Runs the checks on `library`; the process's exit code."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pypjrt.conform", library, "--json", str(path)]
        subprocess.run(command, check=False)
        failed = fails(json.loads(path.read_text()))
    print(f"conform: failed and not accepted: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
