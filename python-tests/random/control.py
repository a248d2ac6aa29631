"""Loops and branches in random programs."""

from generate import Value, Writer

# Bodies over `x`, which they leave the form of, with a number `i` and an array `y` of that form.
BODIES = {
    "f": (
        "x + y", "jnp.where(x > y, x, -y)", "jnp.maximum(x, y)", "jnp.flip(x + y)", "y",
        "x * jnp.asarray(0.5, x.dtype)", "x - y.sum().astype(x.dtype)", "jnp.roll(x, 1)", "-x",
        "jnp.tanh(x)", "jnp.sort(x + y, axis=-1) if x.ndim else x",
        "(x.T + y.T).T", "jnp.where(i % 2 == 0, x, y)",
    ),
    "i": (
        "x + y", "x ^ y", "jnp.where(x > y, x, y)", "jnp.flip(x)", "x + i.astype(x.dtype)", "y",
        "jnp.cumsum(x, axis=0).astype(x.dtype) if x.ndim else x", "(x.T - y.T).T",
    ),
    "c": ("x + y", "jnp.conj(x)", "x - y", "jnp.flip(x)", "y"),
    "b": ("x ^ y", "~x", "x & y", "jnp.flip(x)", "y"),
}  # fmt: skip


def body(of: Writer, value: Value) -> str:
    """A body for a value."""
    return of.rng.choice(BODIES[value.kind])


def loop(of: Writer) -> None:
    """A loop with arrays."""
    a = of.value(lambda value: len(value.dtype) > 4 or value.kind == "b")
    if a is None:
        return
    y, code, rounds = of.like(a), body(of, a), of.below(5)
    choice = of.below(4)
    if choice == 0:
        text = f"lax.fori_loop(0, {rounds}, lambda i, x: (lambda y: {code})({y.name}), {a.name})"
    elif choice == 1:
        text = (
            f"lax.while_loop(lambda s: s[0] < {rounds}, lambda s: (lambda i, x, y: (i + 1, {code},"
            f" x))(*s), (jnp.int32(0), {a.name}, {y.name}))[{1 + of.below(2)}]"
        )
    elif choice == 2:
        inside = f"(lambda x, y, i: ({code}, x.sum()))(x, {y.name}, i)"
        text = f"lax.scan(lambda x, i: {inside}, {a.name}, jnp.arange({rounds}))[{of.below(2)}]"
    else:
        inside = f"(lambda y: {code})({y.name})"
        text = f"lax.fori_loop(0, {a.name}.size % 4, lambda i, x: {inside}, {a.name})"
    of.put(text, a, y, bound="self" if a.kind in "fc" else "exact")


def rows(of: Writer) -> None:
    """A loop over the rows of an array, which it takes or puts one by one."""
    a = of.value(lambda value: value.rank > 0 and (len(value.dtype) > 4 or value.kind == "b"))
    if a is None:
        return
    y = of.like(Value("", a.shape[1:], a.dtype))
    code = body(of, y)
    if of.below(2):
        text = f"lax.map(lambda x: (lambda y, i: {code})({y.name}, jnp.int32(1)), {a.name})"
    else:
        inside = f"(lambda x, y, i: ({code}, x))(x, row, jnp.int32(3))"
        text = f"lax.scan(lambda x, row: {inside}, {y.name}, {a.name})[{of.below(2)}]"
    of.put(text, a, y, bound="self" if a.kind in "fc" else "exact")


def branch(of: Writer) -> None:
    """One of several bodies."""
    a = of.value(lambda value: len(value.dtype) > 4 or value.kind == "b")
    number = of.like(Value("", (), "int32"))
    if a is None:
        return
    y = of.like(a)
    bodies = [f"lambda x, y, i: {body(of, a)}" for _ in range(of.below(3) + 1)]
    text = f"lax.switch({number.name}, [{', '.join(bodies)}], {a.name}, {y.name}, jnp.int32(2))"
    of.put(text, a, y, number, bound="self" if a.kind in "fc" else "exact")


def mapped(of: Writer) -> None:
    """A body for each row at once."""
    a = of.value(lambda value: value.rank > 0 and value.kind in "fi" and len(value.dtype) > 4)
    if a is None:
        return
    y = of.like(a)
    code = body(of, Value("", a.shape[1:], a.dtype))
    text = f"jax.vmap(lambda x, y: (lambda i: {code})(jnp.int32(1)))({a.name}, {y.name})"
    of.put(text, a, y, bound="self" if a.kind in "fc" else "exact")


CONTROL = ((loop, 2), (rows, 2), (branch, 1.5), (mapped, 1.5))
