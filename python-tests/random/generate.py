"""Makes programs: straight lines of `vN = …` in JAX, each one operation or a few.

The text is all of a program: with its seed it is what a report of a failure prints.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import values

NAMES = {"jax": jax, "jnp": jnp, "lax": lax, "np": np}


@dataclass(frozen=True)
class Value:
    """What a line makes."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    # Whether it may be made of booleans: XLA takes a product with them for a select.
    mask: bool = False

    @property
    def kind(self) -> str:
        """The kind of its type."""
        return values.kind(self.dtype)

    @property
    def rank(self) -> int:
        """The number of its axes."""
        return len(self.shape)


@dataclass(frozen=True)
class Line:
    """One line: `name = code`, of these values; how near XLA's result has to be."""

    name: str
    code: str
    operands: tuple[str, ...]
    bound: str
    amount: float = 0.0

    @property
    def text(self) -> str:
        """As a program has it."""
        return f"{self.name} = {self.code}"


@dataclass
class Program:
    """Arguments, lines, and which values it gives."""

    seed: int
    arguments: list[Value] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    values: dict[str, Value] = field(default_factory=dict)
    results: list[str] = field(default_factory=list)

    def text(self) -> str:
        """A function that can be run as it is."""
        head = "".join(
            f"# {of.name}: make({self.seed * 100 + at}, {of.shape}, {of.dtype!r})\n"
            for at, of in enumerate(self.arguments)
        )
        names = ", ".join(of.name for of in self.arguments)
        lines = "".join(f"    {line.text}\n" for line in self.lines)
        return f"{head}def program({names}):\n{lines}    return [{', '.join(self.results)}]\n"

    def inputs(self) -> list[np.ndarray]:
        """The arguments' numbers."""
        return [
            values.make(self.seed * 100 + at, of.shape, of.dtype)
            for at, of in enumerate(self.arguments)
        ]

    def function(self) -> Callable[..., list[jax.Array]]:
        """The whole program."""
        space: dict[str, Any] = dict(NAMES)
        exec(self.text(), space)  # noqa: S102 (made here)
        return space["program"]


def line_function(line: Line) -> Callable[..., jax.Array]:
    """One line as a function of the values that it reads."""
    return eval(f"lambda {', '.join(line.operands)}: {line.code}", dict(NAMES))  # noqa: S307


class Writer:
    """A program that is being written."""

    def __init__(self, seed: int) -> None:
        """Makes the arguments."""
        self.rng = random.Random(seed)  # noqa: S311 (nothing is secret)
        self.program = Program(seed)
        few = self.rng.random() < 0.7
        self.types = [*self.rng.sample(values.EVERY, 2 if few else 6), "float32", "int32"]
        for _ in range(self.rng.randint(1, 4)):
            name, shape = f"v{len(self.program.values)}", values.pick_shape(self.rng)
            made = Value(name, shape, self.rng.choice(self.types))
            self.program.arguments.append(made)
            self.program.values[name] = made

    def below(self, number: int) -> int:
        """A number from 0 on."""
        return self.rng.randrange(number) if number > 0 else 0

    def value(self, test: Callable[[Value], bool] = lambda _: True) -> Value | None:
        """A value with a property; late ones more often."""
        found = [of for of in self.program.values.values() if test(of)]
        if not found:
            return None
        return self.rng.choice(found[-6:] if self.rng.random() < 0.6 else found)

    def like(self, of: Value, dtype: str | None = None) -> Value:
        """A value with the same extents, and the same type unless told otherwise."""
        dtype = dtype or of.dtype
        found = self.value(lambda other: other.shape == of.shape and other.dtype == dtype)
        if found and self.rng.random() < 0.8:
            return found
        return self.fresh(of.shape, dtype)

    def fresh(self, shape: tuple[int, ...], dtype: str) -> Value:
        """A new value: a count, a number everywhere, a scalar or a row spread out, an argument."""
        choice = self.below(5)
        name = f"jnp.dtype(jnp.{'bool_' if dtype == 'bool' else dtype})"
        plain = dtype.startswith(("float3", "float6", "int3", "int6", "bf", "uint3", "complex"))
        if choice == 0 and plain and shape:
            made = self.put(f"lax.broadcasted_iota({name}, {shape}, {self.below(len(shape))})")
        elif choice == 1:
            number = self.rng.choice((0, 1, 2, 3)) if dtype != "bool" else self.below(2)
            made = self.put(f"jnp.full({shape}, {number}, {name})")
        elif choice == 2 and shape:
            kept = [axis for axis in range(len(shape)) if self.rng.random() < 0.5]
            dims = tuple(shape[axis] for axis in kept)
            small = self.fresh(dims, dtype)
            made = self.put(f"lax.broadcast_in_dim({small.name}, {shape}, {tuple(kept)})", small)
        else:
            name = f"v{len(self.program.values)}"
            made = Value(name, shape, dtype)
            self.program.arguments.append(made)
            self.program.values[name] = made
        assert made is not None
        return made

    def put(
        self, code: str, *operands: Value, bound: str = "exact", amount: float = 0.0
    ) -> Value | None:
        """Adds a line, if JAX takes it."""
        name = f"v{len(self.program.values)}"
        unique = tuple(dict.fromkeys(of.name for of in operands))
        line = Line(name, code, unique, bound, amount)
        shapes = [
            jax.ShapeDtypeStruct(of.shape, values.of(of.dtype))
            for of in (self.program.values[name] for name in unique)
        ]
        try:
            made = jax.eval_shape(line_function(line), *shapes)
        except (
            TypeError,
            ValueError,
            NotImplementedError,
            ZeroDivisionError,
            IndexError,
            AssertionError,
            OverflowError,
            KeyError,
            AttributeError,
        ):
            return None
        if not hasattr(made, "shape") or made.size > values.MOST_ELEMENTS or made.ndim > 8:
            return None
        dtype = str(made.dtype)
        if dtype not in {*values.EVERY}:
            return None
        mask = any(of.mask or of.kind == "b" for of in operands)
        found = Value(name, tuple(made.shape), dtype, mask and values.kind(dtype) in "fc")
        self.program.lines.append(line)
        self.program.values[name] = found
        return found


def generate(seed: int) -> Program:
    """The program of a number."""
    from operations import OPERATIONS  # noqa: PLC0415 (it needs the classes above)

    writer = Writer(seed)
    makers, weights = zip(*OPERATIONS, strict=True)
    goal, tries = writer.rng.randint(4, 16), 0
    while len(writer.program.lines) < goal and tries < 200:
        tries += 1
        writer.rng.choices(makers, weights)[0](writer)
    program = writer.program
    made = [line.name for line in program.lines] or [of.name for of in program.arguments]
    read = {name for line in program.lines for name in line.operands}
    ends = [name for name in made if name not in read]
    some = [name for name in made if name in read and writer.rng.random() < 0.15]
    program.results = ends + some
    return program
