"""Sorts, gathers, scatters, slices and other movement."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from drawn import TYPES, Case, Dice


def sort(dice: Dice) -> Case:
    dims = dice.shape(least=1)
    axis, count = dice.upto(len(dims) - 1), dice.pick([1, 1, 2, 3])
    keys, stable = dice.pick(range(1, count + 1)), True
    operands = [dice.array(dims, special=dice.chance(0.3))]
    operands += [
        dice.array(dims, dice.pick([*TYPES, "int32", "float32"])) for _ in range(count - 1)
    ]
    dice.rng.shuffle(operands)
    return Case(
        f"sort {axis} {count} {keys}",
        lambda *x: lax.sort(x, dimension=axis, num_keys=keys, is_stable=stable),
        operands,
        0,
    )


def sort_like(name: str, dice: Dice) -> Case:
    dims = dice.shape(least=1)
    axis = dice.upto(len(dims) - 1)
    special = dice.chance(0.3)
    x = dice.array(dims, special=special)
    k = dice.upto(min(dims[axis], 9))
    functions = {
        "argsort": lambda x: jnp.argsort(x, axis=axis),
        "argsort descending": lambda x: jnp.argsort(x, axis=axis, descending=True),
        "sort descending": lambda x: jnp.sort(x, axis=axis, descending=True),
        "partition": lambda x: (
            jnp.sort(jnp.partition(x, k, axis=axis), axis=axis) if k < dims[axis] else x
        ),
        "top_k": lambda x: lax.top_k(x, min(k, dims[-1])),
        "approx_max_k": lambda x: lax.approx_max_k(x, min(k, dims[-1])),
        "unique": lambda x: jnp.unique(x, size=5),
        "searchsorted": lambda x: jnp.searchsorted(jnp.sort(x.ravel()), x),
        "lexsort": lambda x: jnp.lexsort((x, x[::-1])),
        "median": lambda x: jnp.median(x, axis=axis),
        "quantile": lambda x: jnp.quantile(x, 0.3, axis=axis),
        "rank": lambda x: jnp.argsort(jnp.argsort(x, axis=axis), axis=axis),
    }
    return Case(
        f"{name} {axis} {k}", functions[name], [x], 50 if name in ("median", "quantile") else 0
    )


MODES = ["fill", "clip", "promise_in_bounds", "drop", "wrap"]


def index(dice: Dice, dims: tuple[int, ...]) -> tuple[list, list[np.ndarray]]:
    """An index of NumPy's kind: slices and arrays; the arrays are operands."""
    parts: list = []
    arrays: list[np.ndarray] = []
    common = dice.shape(most=2, size=12)
    for extent in dims[: dice.upto(len(dims))]:
        which = dice.pick(["all", "slice", "step", "array", "array", "array", "scalar"])
        if which == "all":
            parts.append(slice(None))
        elif which == "slice":
            low = dice.upto(extent)
            parts.append(slice(low, low + dice.upto(max(extent - low, 0))))
        elif which == "step":
            parts.append(slice(None, None, dice.pick([-1, 2, -2, 3])))
        else:
            parts.append(len(arrays))
            arrays.append(dice.indices(() if which == "scalar" else common, extent))
    return parts, arrays


def indexed(parts: list, arrays: list) -> tuple:
    return tuple(arrays[part] if isinstance(part, int) else part for part in parts)


def take(dice: Dice) -> Case:
    dims = dice.shape(least=1)
    parts, arrays = index(dice, dims)
    mode = dice.pick([None, "fill", "clip", "wrap"])
    return Case(
        f"x[...] {parts} {mode}",
        lambda x, *at: x.at[indexed(parts, list(at))].get(mode=mode),
        [dice.array(dims), *arrays],
    )


def put(name: str, dice: Dice) -> Case:
    dims = dice.shape(least=1, size=800)
    parts, arrays = index(dice, dims)
    mode = dice.pick([None, "drop", "clip", "wrap"])
    x = dice.array(dims)
    try:
        shape = jax.eval_shape(lambda x, *at: x[indexed(parts, list(at))], x, *arrays).shape
    except TypeError:
        shape = ()
    value = dice.array(shape if dice.chance(0.8) else ())
    # The order of what falls on the same place is open: only the same value may be set there.
    if name == "set":
        value = np.broadcast_to(
            value.reshape(-1)[:1].reshape(()) if value.size else value, value.shape
        )
    return Case(
        f"at[].{name} {parts} {mode}",
        lambda x, v, *at: getattr(x.at[indexed(parts, list(at))], name)(v, mode=mode),
        [x, np.ascontiguousarray(value), *arrays],
        200 if dice.kind in "fc" and name in ("add", "mul", "multiply", "power", "divide") else 0,
    )


def applied(dice: Dice) -> Case:
    dims = dice.shape(least=1, size=800)
    parts, arrays = index(dice, dims)
    return Case(
        f"at[].apply {parts}",
        lambda x, *at: x.at[indexed(parts, list(at))].apply(
            lambda v: lax.max(v, -v) if dice.kind in "if" else v
        ),
        [dice.array(dims), *arrays],
    )


def gather(dice: Dice) -> Case:
    """`lax.gather` with axes in every role, batching ones among them."""
    rank = dice.pick([1, 2, 2, 3, 3, 4])
    dims = tuple(dice.extent() for _ in range(rank))
    if np.prod(dims) > 2000:
        dims = tuple(min(dim, 5) for dim in dims)
    roles = [dice.pick(["indexed", "indexed", "whole", "batch"]) for _ in dims]
    batching = tuple(axis for axis, role in enumerate(roles) if role == "batch")
    places = [axis for axis, role in enumerate(roles) if role == "indexed"]
    dice.rng.shuffle(places)
    sizes = tuple(
        1
        if role == "batch"
        else dice.upto(dim)
        if role == "whole" or dice.chance(0.3)
        else min(1, dim)
        for role, dim in zip(roles, dims, strict=True)
    )
    collapsed = tuple(
        axis
        for axis in range(rank)
        if roles[axis] == "indexed" and sizes[axis] == 1 and dice.chance(0.7)
    )
    extra = dice.shape(most=2, size=8)
    batch = [*[dims[axis] for axis in batching], *extra]
    if any(sizes[axis] > dims[axis] for axis in range(rank)):
        sizes = tuple(min(size, dim) for size, dim in zip(sizes, dims, strict=True))
        collapsed = tuple(axis for axis in collapsed if sizes[axis] == 1)
    offsets = rank - len(collapsed) - len(batching)
    result = offsets + len(batch)
    where = tuple(sorted(dice.rng.permutation(result)[:offsets].tolist()))
    numbers = lax.GatherDimensionNumbers(
        offset_dims=where,
        collapsed_slice_dims=collapsed,
        start_index_map=tuple(places),
        operand_batching_dims=batching,
        start_indices_batching_dims=tuple(range(len(batching))),
    )
    mode = dice.pick(["fill", "clip", "promise_in_bounds", "fill"])
    at = dice.indices((*batch, len(places)), max((dims[axis] for axis in places), default=1))
    if mode == "promise_in_bounds":
        ends = np.array([dims[axis] - sizes[axis] for axis in places], np.int64)
        at = np.clip(at.astype(np.int64), 0, ends).astype(at.dtype)
    fill = dice.pick([None, 1])
    return Case(
        f"gather {numbers} {sizes} {mode} {fill}",
        lambda x, i: lax.gather(x, i, numbers, sizes, mode=mode, fill_value=fill),
        [dice.array(dims), at],
    )


def scatter(name: str, dice: Dice) -> Case:
    rank = dice.pick([1, 2, 2, 3, 3, 4])
    dims = tuple(min(dice.extent(), 9) for _ in range(rank))
    roles = [dice.pick(["indexed", "indexed", "whole", "batch"]) for _ in dims]
    batching = tuple(axis for axis, role in enumerate(roles) if role == "batch")
    places = [axis for axis, role in enumerate(roles) if role == "indexed"]
    dice.rng.shuffle(places)
    inserted = tuple(axis for axis in places if dice.chance(0.7))
    inserted = tuple(sorted(inserted))
    windows = [
        dims[axis] if roles[axis] == "whole" and dice.chance(0.7) else dice.upto(dims[axis])
        for axis in range(rank)
        if axis not in inserted and axis not in batching
    ]
    extra = dice.shape(most=2, size=8)
    batch = [*[dims[axis] for axis in batching], *extra]
    result = len(windows) + len(batch)
    where = tuple(sorted(dice.rng.permutation(result)[: len(windows)].tolist()))
    rest, inner = iter(batch), iter(windows)
    shape = [next(inner if axis in where else rest) for axis in range(result)]
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=where,
        inserted_window_dims=inserted,
        scatter_dims_to_operand_dims=tuple(places),
        operand_batching_dims=batching,
        scatter_indices_batching_dims=tuple(range(len(batching))),
    )
    mode = dice.pick(["drop", "clip", "fill"])
    at = dice.indices((*batch, len(places)), max((dims[axis] for axis in places), default=1))
    updates = dice.array(tuple(shape))
    if name == "scatter":
        updates = np.full(shape, updates.reshape(-1)[0] if updates.size else 0, updates.dtype)
    return Case(
        f"{name} {numbers} {mode}",
        lambda x, i, u: getattr(lax, name)(x, i, u, numbers, mode=mode),
        [dice.array(dims), at, updates],
        200 if dice.kind in "fc" and name in ("scatter_add", "scatter_mul", "scatter_sub") else 0,
    )


def dynamic(name: str, dice: Dice) -> Case:
    dims = dice.shape(least=1)
    sizes = tuple(dice.upto(dim) for dim in dims)
    of = dice.pick(["int32", "int64", "int8", "uint8", "uint32"])
    starts = [dice.indices((), dim, of) for dim in dims]
    if name == "slice":
        return Case(
            f"dynamic_slice {sizes}",
            lambda x, *at: lax.dynamic_slice(x, at, sizes),
            [dice.array(dims), *starts],
        )
    return Case(
        f"dynamic_update_slice {sizes}",
        lambda x, u, *at: lax.dynamic_update_slice(x, u, at),
        [dice.array(dims), dice.array(sizes), *starts],
    )


def pad(dice: Dice) -> Case:
    dims = dice.shape(size=600)
    config = [
        (int(dice.rng.integers(-2, 4)), int(dice.rng.integers(-2, 4)), dice.pick([0, 0, 1, 2]))
        for _ in dims
    ]
    return Case(
        f"pad {config}", lambda x, v: lax.pad(x, v, config), [dice.array(dims), dice.array(())]
    )


def slices(dice: Dice) -> Case:
    dims = dice.shape()
    low = [dice.upto(dim) for dim in dims]
    high = [at + dice.upto(dim - at) for at, dim in zip(low, dims, strict=True)]
    strides = [dice.pick([1, 1, 2, 3, 7]) for _ in dims]
    return Case(
        f"slice {low} {high} {strides}",
        lambda x: lax.slice(x, low, high, strides),
        [dice.array(dims)],
    )


def concatenate(dice: Dice) -> Case:
    dims = dice.shape(least=1, size=800)
    axis = dice.upto(len(dims) - 1)
    parts = [
        dice.array((*dims[:axis], dice.extent(), *dims[axis + 1 :]))
        for _ in range(dice.pick([1, 2, 3, 7]))
    ]
    return Case(f"concatenate {axis}", lambda *x: lax.concatenate(x, axis), parts)


def iota(dice: Dice) -> Case:
    dims = dice.shape(least=1)
    axis = dice.upto(len(dims) - 1)
    return Case(
        f"iota {axis}",
        lambda x: lax.broadcasted_iota(jnp.dtype(dice.dtype), dims, axis) + x,
        [dice.array(())],
    )


def shaped(name: str, dice: Dice) -> Case:
    dims = dice.shape()
    rank = len(dims)
    order = dice.rng.permutation(rank).tolist()
    axes = dice.split(rank)
    bigger = (*dice.shape(most=2, size=6), *dims)
    places = sorted(dice.rng.permutation(rank + 1)[:rank].tolist())
    target = [2] * (rank + 1)
    for axis, place in enumerate(places):
        target[place] = 3 if dims[axis] == 1 and dice.chance(0.5) else dims[axis]
    shift, times = dice.upto(9) - 4, dice.upto(3)
    functions = {
        "transpose": lambda x: lax.transpose(x, order),
        "rev": lambda x: lax.rev(x, axes),
        "reshape": lambda x: x.reshape(-1)[::-1].reshape(dims[::-1]),
        "broadcast": lambda x: lax.broadcast_in_dim(x, target, places),
        "broadcast_to": lambda x: jnp.broadcast_to(x, bigger),
        "roll": lambda x: jnp.roll(x, shift),
        "rolls": lambda x: jnp.roll(x, (shift,) * rank, tuple(range(rank))),
        "tile": lambda x: jnp.tile(x, (times, 2)),
        "repeat": lambda x: jnp.repeat(x, times, axis=-1 if rank else None),
        "flip transpose": lambda x: jnp.flip(lax.transpose(x, order), tuple(axes)).reshape(-1)[1:],
        "stack": lambda x: jnp.stack([x, x.T.T, x[::-1] if rank else x], axis=-1),
        "triu": lambda x: jnp.triu(jnp.atleast_2d(x), shift),
        "tril": lambda x: jnp.tril(jnp.atleast_2d(x), shift),
        "diag": lambda x: jnp.diag(x.reshape(-1), shift),
        "diagonal": lambda x: jnp.diagonal(jnp.atleast_2d(x), shift),
        "pad edge": lambda x: jnp.pad(x, 2, mode="edge"),
        "pad reflect": lambda x: jnp.pad(x, 2, mode="reflect"),
        "pad wrap": lambda x: jnp.pad(x, 3, mode="wrap"),
        "pad symmetric": lambda x: jnp.pad(x, 3, mode="symmetric"),
        "views": lambda x: (
            jnp.moveaxis(x[..., ::2], -1, 0)[::-1].reshape(-1, 1)[1::2] if rank else x
        ),
        "squeeze": lambda x: jnp.squeeze(x),
    }
    return Case(
        f"{name} {order} {axes} {shift} {times} {places} {target}",
        functions[name],
        [dice.array(dims)],
    )


FAMILY = {
    "sort": sort,
    "sort 2": sort,
    **{
        f"sorts {name}": (partial(sort_like, name))
        for name in (
            "argsort",
            "argsort descending",
            "sort descending",
            "partition",
            "top_k",
            "approx_max_k",
            "unique",
            "searchsorted",
            "lexsort",
            "median",
            "quantile",
            "rank",
        )
    },
    "take": take,
    "take 2": take,
    "apply": applied,
    **{
        f"put {name}": (partial(put, name))
        for name in ("set", "add", "multiply", "min", "max", "divide")
    },
    "gather": gather,
    "gather 2": gather,
    "gather 3": gather,
    **{
        name: (partial(scatter, name))
        for name in (
            "scatter",
            "scatter_add",
            "scatter_mul",
            "scatter_min",
            "scatter_max",
            "scatter_sub",
        )
        if hasattr(lax, name)
    },
    "dynamic slice": partial(dynamic, "slice"),
    "dynamic update": partial(dynamic, "update"),
    "pad": pad,
    "pad 2": pad,
    "slice": slices,
    "concatenate": concatenate,
    "iota": iota,
    **{
        f"shape {name}": (partial(shaped, name))
        for name in (
            "transpose",
            "rev",
            "reshape",
            "broadcast",
            "broadcast_to",
            "roll",
            "rolls",
            "tile",
            "repeat",
            "flip transpose",
            "stack",
            "triu",
            "tril",
            "diag",
            "diagonal",
            "pad edge",
            "pad reflect",
            "pad wrap",
            "pad symmetric",
            "views",
            "squeeze",
        )
    },
}
