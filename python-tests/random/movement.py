"""Operations that move elements: what they give is XLA's, bit for bit."""

import math

import values
from generate import Value, Writer


def ranked(of: Writer, least: int = 1) -> Value | None:
    """A value with so many axes."""
    return of.value(lambda value: value.rank >= least)


def transpose(of: Writer) -> None:
    """Axes in another order."""
    if a := ranked(of, 2):
        order = list(range(a.rank))
        of.rng.shuffle(order)
        of.put(f"lax.transpose({a.name}, {tuple(order)})", a)


def factors(of: Writer, count: int) -> tuple[int, ...]:
    """Extents with so many elements."""
    if count == 0:
        dims = [of.rng.choice((0, 1, 2, 3)) for _ in range(of.below(4) + 1)]
        dims[of.below(len(dims))] = 0
        return tuple(dims)
    dims = []
    while count > 1 and len(dims) < 5:
        found = [number for number in range(2, count + 1) if count % number == 0]
        number = of.rng.choice(found[:6] + found[-1:])
        dims.append(number)
        count //= number
    if count > 1:
        dims[-1] *= count
    while of.below(3) == 0 and len(dims) < 6:
        dims.insert(of.below(len(dims) + 1), 1)
    of.rng.shuffle(dims)
    return tuple(dims)


def reshape(of: Writer) -> None:
    """The same elements under other extents."""
    if a := of.value():
        count = 1
        for dim in a.shape:
            count *= dim
        if count < 40_000:
            of.put(f"lax.reshape({a.name}, {factors(of, count)})", a)


def piece(of: Writer) -> None:
    """A slice, with steps, backwards, or of nothing."""
    if a := ranked(of):
        parts = []
        for dim in a.shape:
            start = of.below(dim + 1)
            stop = start + of.below(dim - start + 1)
            step = of.rng.choice((1, 1, 1, 2, 3))
            choice = of.below(6)
            if choice < 3:
                parts.append(f"{start}:{stop}:{step}")
            elif choice == 3:
                parts.append(f"::{-step}")
            elif choice == 4 and dim:
                parts.append(of.rng.choice((str(of.below(dim)), "None, :")))
            else:
                parts.append(":")
        of.put(f"{a.name}[{', '.join(parts)}]", a)


def reverse(of: Writer) -> None:
    """Some axes backwards."""
    if a := ranked(of):
        axes = tuple(axis for axis in range(a.rank) if of.below(2))
        of.put(f"lax.rev({a.name}, {axes})", a)


def broadcast(of: Writer) -> None:
    """More axes, or axes of one index made longer."""
    if (a := of.value()) and a.rank < 6:
        kept = sorted(of.rng.sample(range(a.rank + 2), a.rank))
        dims = [of.rng.choice(values.EXTENTS[1:]) for _ in range(a.rank + 2)]
        for axis, dim in zip(kept, a.shape, strict=True):
            dims[axis] = dim if dim != 1 or of.below(2) else dims[axis]
        of.put(f"lax.broadcast_in_dim({a.name}, {tuple(dims)}, {tuple(kept)})", a)


def concatenate(of: Writer) -> None:
    """Arrays side by side."""
    if a := ranked(of):
        axis, parts = of.below(a.rank), [a]
        for _ in range(of.below(4)):
            dims = list(a.shape)
            dims[axis] = of.rng.choice(values.EXTENTS)
            parts.append(of.like(Value("", tuple(dims), a.dtype)))
        of.rng.shuffle(parts)
        names = ", ".join(part.name for part in parts)
        of.put(f"lax.concatenate([{names}], {axis})", *parts)


def pad(of: Writer) -> None:
    """Something around and between."""
    if (a := ranked(of)) and (by := of.like(Value("", (), a.dtype))):
        low = [(of.below(5) - 1, of.below(5) - 1, of.below(3)) for _ in a.shape]
        of.put(f"lax.pad({a.name}, {by.name}, {low})", a, by)


def roll(of: Writer) -> None:
    """The last part first, or in two parts again."""
    if a := ranked(of):
        axis = of.below(a.rank)
        choice = of.below(3)
        if choice == 0:
            of.put(f"jnp.roll({a.name}, {of.below(7) - 3}, {axis})", a)
        elif choice == 1:
            places = sorted(of.below(a.shape[axis] + 1) for _ in range(2))
            of.put(f"jnp.split({a.name}, {places}, axis={axis})[{of.below(3)}]", a)
        else:
            of.put(f"jnp.repeat({a.name}, {of.below(3)}, axis={axis})", a)


def squeeze(of: Writer) -> None:
    """Axes of one index less or more."""
    if a := of.value():
        ones = [axis for axis, dim in enumerate(a.shape) if dim == 1 and of.below(2)]
        if ones and of.below(2):
            of.put(f"lax.squeeze({a.name}, {tuple(ones)})", a)
        else:
            of.put(f"jnp.expand_dims({a.name}, {of.below(a.rank + 1)})", a)


def stack(of: Writer) -> None:
    """Arrays of one form as one."""
    if (a := of.value()) and a.rank < 6:
        parts = [a, *(of.like(a) for _ in range(of.below(3)))]
        of.put(
            f"jnp.stack([{', '.join(part.name for part in parts)}], {of.below(a.rank + 1)})", *parts
        )


def dynamic_slice(of: Writer) -> None:
    """A part at a place that is known when it runs; or such a part put there."""
    if a := ranked(of):
        starts = [of.like(Value("", (), "int32")) for _ in a.shape]
        sizes = tuple(of.rng.choice((dim, dim, min(dim, 1), of.below(dim + 1))) for dim in a.shape)
        names = ", ".join(start.name for start in starts)
        if of.below(2):
            of.put(f"lax.dynamic_slice({a.name}, [{names}], {sizes})", a, *starts)
        else:
            part = of.like(Value("", sizes, a.dtype))
            code = f"lax.dynamic_update_slice({a.name}, {part.name}, [{names}])"
            of.put(code, a, part, *starts)


def take(of: Writer) -> None:
    """Elements or slices at places of an array."""
    if a := ranked(of):
        axis = of.below(a.rank)
        where = of.like(Value("", values.pick_shape(of.rng, (0, 1, 1, 2)), "int32"))
        mode = of.rng.choice(("clip", "wrap", "fill"))
        choice = of.below(3)
        if choice == 0 and a.kind != "b" and a.dtype not in values.EIGHTS:
            code = f"jnp.take({a.name}, {where.name}, axis={axis}, mode='{mode}')"
            of.put(code, a, where)
        elif choice == 1:
            dims = list(a.shape)
            dims[axis] = of.rng.choice(values.EXTENTS)
            if math.prod(dims) <= values.MOST_ELEMENTS:
                where = of.like(Value("", tuple(dims), "int32"))
                code = f"jnp.take_along_axis({a.name}, {where.name}, axis={axis}, mode='clip')"
                of.put(code, a, where)
        else:
            of.put(f"{a.name}.at[{where.name}].get(mode='clip')", a, where)


def scatter(of: Writer) -> None:
    """Elements or slices put to places of an array."""
    if a := ranked(of):
        dims = values.pick_shape(of.rng, (0, 1, 1, 2))
        where = of.like(Value("", dims, "int32"))
        by = of.like(Value("", (*dims, *a.shape[1:]), a.dtype))
        names = ["set", "max", "min"] if a.kind in "fi" else ["set"]
        if a.kind == "i":
            names += ["add", "multiply"]
        name = of.rng.choice(names if a.kind != "b" else ["set"])
        # Which of two that are put to one place stays is not said.
        bound = "self" if name == "set" else "exact"
        code = f"{a.name}.at[{where.name}].{name}({by.name}, mode='drop')"
        of.put(code, a, where, by, bound=bound)
        if a.kind in "fc" and of.below(3) == 0:
            code = f"{a.name}.at[{where.name}].add({by.name}, mode='drop')"
            of.put(code, a, where, by, bound="self")


MOVEMENT = (
    (transpose, 5), (reshape, 5), (piece, 5), (reverse, 3), (broadcast, 4), (concatenate, 4),
    (pad, 4), (roll, 3), (squeeze, 2), (stack, 2), (dynamic_slice, 3), (take, 3), (scatter, 3),
)  # fmt: skip
