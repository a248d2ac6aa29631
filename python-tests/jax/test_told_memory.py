"""What training steps are told to need on each device, beside XLA's CPU backend."""

import json

from emulator import output

STEPS = """
    import json
    import jax, jax.numpy as jnp, numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

    def loss(layers, x, y):
        for w, b in layers[:-1]:
            x = jnp.tanh(x @ w + b)
        w, b = layers[-1]
        return jnp.mean((x @ w + b - y) ** 2)

    def step(layers, x, y):
        value, slope = jax.value_and_grad(loss)(layers, x, y)
        return jax.tree.map(lambda w, s: w - 0.1 * s, layers, slope), value

    def temporaries(platform, spec, width, depth, batch, donated):
        mesh = Mesh(np.array(jax.devices(platform)[:8]), ("data",))
        def array(shape, spec):
            return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(mesh, spec))
        layers = [(array((width, width), spec), array((width,), spec)) for _ in range(depth)]
        x = array((batch, width), P("data"))
        outs = jax.tree.map(lambda of: of.sharding, layers), NamedSharding(mesh, P())
        jitted = jax.jit(step, donate_argnums=donated, out_shardings=outs)
        compiled = jitted.lower(layers, x, x).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    CASES = {
        "data parallel": (P(), 512, 8, 64, (0,)),
        "data parallel, large batch": (P(), 256, 4, 1024, (0,)),
        "data parallel, kept": (P(), 512, 8, 64, ()),
        "data parallel, large batch, kept": (P(), 512, 4, 1024, ()),
        "parameters split": (P("data"), 512, 8, 64, (0,)),
    }
    print(json.dumps({
        name: [temporaries(platform, *case) for platform in ("tpu", "cpu")]
        for name, case in CASES.items()
    }))
"""


def test_a_training_step_needs_what_xla_s_cpu_backend_says():
    flags = {"JAX_PLATFORMS": "tpu,cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=8"}
    told = json.loads(output(STEPS, flags))
    ratios = {name: ours / theirs for name, (ours, theirs) in told.items()}
    assert all(0.7 <= ratio <= 1.5 for ratio in ratios.values()), ratios
