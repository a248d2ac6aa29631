"""`python -m tpu_emu FILE`: prints a trace file."""

import argparse
import sys
from collections.abc import Sequence

import tpu_emu
from tpu_emu.text import live_text, trace_text
from tpu_emu.trace import TraceError, read


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the trace that the arguments name; returns the exit status.

    The status is 0, or 1 for a file that cannot be read or is no trace.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tpu_emu", description="Prints a trace that TPU_EMU_TRACE=FILE wrote."
    )
    parser.add_argument("file", help="the trace")
    parser.add_argument("--live", action="store_true", help="only what was never freed")
    parser.add_argument("--version", action="version", version=tpu_emu.__version__)
    options = parser.parse_args(arguments)
    try:
        trace = read(options.file)
    except (OSError, TraceError) as why:
        print(f"{options.file}: {why}", file=sys.stderr)
        return 1
    texts = live_text(trace) if options.live else trace_text(trace)
    try:
        for text in texts:
            print(text)
    except BrokenPipeError:
        # The reader of a pipe had enough. Nothing is left for the interpreter to flush.
        sys.stdout = None
    return 0
