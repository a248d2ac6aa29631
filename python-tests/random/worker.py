"""Runs random programs in one process and says, a line of JSON each, what it found.

    python worker.py FIRST COUNT SECONDS (all | results) [TEXT]

With `all` each program is run line by line and as a whole, four times and more, with its arguments
given away, and each line is compared with XLA's CPU backend. With `results` it is only run as a
whole. Either way the line has a digest of the results. TEXT is a file with a program to run.
"""

import hashlib
import json
import sys
import time
import warnings

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)

import bounds  # noqa: E402
import generate  # noqa: E402

NARROW = {"int4", "uint4", "int2", "uint2", "float4_e2m1fn"}
# What jaxlib says where it cannot lower a function for a plugin, which never sees the program.
JAXLIB_REFUSES = "CHLO => [StableHLO+Shape] => StableHLO failed"
# Runs that make small loops worth machine code.
RUNS = 60


def same_bits(found: np.ndarray, wanted: np.ndarray) -> bool:
    """Whether two arrays are the same, byte for byte."""
    return found.shape == wanted.shape and found.tobytes() == wanted.tobytes()


def reason(error: Exception) -> str:
    """An error in a line or two."""
    return f"{type(error).__name__}: {str(error).strip()[:600]}"


def on_cpu(lines: list[tuple[generate.Line, list[np.ndarray]]]) -> list[np.ndarray | None]:
    """What XLA's CPU backend gives for lines, each of its own operands; None where it refuses."""
    if not lines:
        return []

    def program(*operands: list[jax.Array]) -> list[jax.Array]:
        pairs = zip(lines, operands, strict=True)
        return [generate.line_function(line)(*some) for (line, _), some in pairs]

    cpu = jax.devices("cpu")[0]
    try:
        with jax.default_device(cpu):
            moved = jax.device_put([operands for _, operands in lines], cpu)
            return [np.asarray(of) for of in jax.jit(program)(*moved)]
    except Exception:  # noqa: BLE001 (one of them is refused, if not all)
        if len(lines) == 1:
            return [None]
        return [on_cpu([line])[0] for line in lines]


class Check:
    """One program."""

    def __init__(self, program: generate.Program) -> None:
        """Takes the numbers of the arguments."""
        self.program = program
        self.inputs = program.inputs()
        self.problems: list[str] = []

    def whole(self, *, donate: bool, runs: int) -> list[list[np.ndarray]]:
        """The results of runs of the whole program."""
        function = self.program.function()
        numbers = tuple(range(len(self.inputs))) if donate else ()
        compiled = jax.jit(function, donate_argnums=numbers)
        found = []
        arguments = [jax.device_put(of) for of in self.inputs]
        for run in range(runs):
            if donate:
                arguments = [jax.device_put(of) for of in self.inputs]
            results = compiled(*arguments)
            if run < 3 or run == runs - 1:
                found.append([np.asarray(of) for of in results])
        return found

    def alone(self) -> dict[str, np.ndarray]:
        """All values, line by line; those that are refused are left out."""
        names = [of.name for of in self.program.arguments]
        known = dict(zip(names, map(jax.device_put, self.inputs), strict=True))
        for line in self.program.lines:
            if not all(name in known for name in line.operands):
                continue
            operands = [known[name] for name in line.operands]
            function = generate.line_function(line)
            try:
                known[line.name] = jax.jit(function)(*operands)
                np.asarray(known[line.name])
            except Exception as error:  # noqa: BLE001 (a failure is what is looked for)
                known.pop(line.name, None)
                if JAXLIB_REFUSES in str(error):
                    continue
                shown = [np.asarray(of) for of in operands]
                fault = "panicked" in str(error) or "INTERNAL" in str(error)
                if fault if self.is_narrow(line) else on_cpu([(line, shown)])[0] is not None:
                    self.problems.append(f"{line.text}: {reason(error)}")
        found = {name: np.asarray(of) for name, of in known.items()}
        self.compare(found)
        return found

    def is_narrow(self, line: generate.Line) -> bool:
        """Whether elements of less than a byte take part: XLA's CPU backend dies of some."""
        types = {self.program.values[name].dtype for name in (line.name, *line.operands)}
        return any(name in line.code for name in NARROW) or not types.isdisjoint(NARROW)

    def compare(self, found: dict[str, np.ndarray]) -> None:
        """Compares values with what XLA makes of the same operands."""
        lines = [
            (line, [found[name] for name in line.operands])
            for line in self.program.lines
            if line.name in found and line.bound != "self" and not self.is_narrow(line)
        ]
        # Of a sum, the sum of magnitudes beside it.
        sums = [
            (line, [abs(of) for of in operands])
            for line, operands in lines
            if line.bound == "sum" and found[line.name].dtype.kind not in "biu"
        ]
        wanted = on_cpu(lines + sums)
        scales = dict(zip([line.name for line, _ in sums], wanted[len(lines) :], strict=True))
        for (line, operands), of in zip(lines, wanted, strict=False):
            if of is None:
                continue
            trouble = bounds.differs(line, operands, found[line.name], of, scales.get(line.name))
            if trouble:
                self.problems.append(f"{line.text}: {trouble}")

    def results(self) -> tuple[str, list[np.ndarray]]:
        """A digest of the results of the whole program, and the results of the first run."""
        runs = self.whole(donate=False, runs=RUNS)
        for number, run in enumerate(runs[1:]):
            for name, first, later in zip(self.program.results, runs[0], run, strict=True):
                if not same_bits(first, later):
                    where = bounds.first_difference(later, first)
                    self.problems.append(f"{name} in run {number + 1} differs: {where}")
        hashed = hashlib.sha256()
        for of in runs[-1]:
            hashed.update(of.tobytes())
        return hashed.hexdigest()[:16], runs[0]

    def all(self) -> str:
        """Everything."""
        digest = ""
        known = self.alone()
        try:
            digest, run = self.results()
            self.against(known, run, "together")
            for run in self.whole(donate=True, runs=2):
                self.against(known, run, "given away")
        except Exception as error:  # noqa: BLE001 (a failure is what is looked for)
            if all(line.name in known for line in self.program.lines):
                self.problems.append(f"together: {reason(error)}")
        return digest

    def against(self, known: dict[str, np.ndarray], run: list[np.ndarray], how: str) -> None:
        """Compares the results of a run with the values that were made alone."""
        for name, found in zip(self.program.results, run, strict=True):
            if name in known and not same_bits(found, known[name]):
                where = bounds.first_difference(found, known[name])
                self.problems.append(f"{name} {how} differs: {where}")


def main() -> None:
    """Runs the programs that the command line asks for."""
    first, count, seconds, mode = (
        int(sys.argv[1]),
        int(sys.argv[2]),
        float(sys.argv[3]),
        sys.argv[4],
    )
    warnings.filterwarnings("ignore")
    end = time.monotonic() + seconds
    for seed in range(first, first + count):
        if time.monotonic() > end:
            break
        print(json.dumps({"begin": seed}), flush=True)
        check = Check(generate.generate(seed))
        digest = ""
        try:
            digest = check.all() if mode == "all" else check.results()[0]
        except Exception as error:  # noqa: BLE001 (a failure is what is looked for)
            check.problems.append(reason(error))
        told = {"seed": seed, "digest": digest, "problems": check.problems[:8]}
        print(json.dumps(told), flush=True)
        if seed % 16 == 0:
            jax.clear_caches()


if __name__ == "__main__":
    main()
