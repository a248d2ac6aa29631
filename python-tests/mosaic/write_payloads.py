"""Writes the payloads of `tpu-emu/mosaic/tests`, with the JAX that runs this.

`PYTHON write_payloads.py kernels OUT`: what this version of JAX writes for small Pallas kernels.
`PYTHON write_payloads.py modules OUT SOURCE…`: modules that are written out.
`PYTHON write_payloads.py texts OUT`: the text of every payload there, as its MLIR prints it.

The Makefile does not call it: payloads are in git, and `README.md` beside them says who made which.
"""

import base64
import io
import json
import pathlib
import re
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax._src.interpreters import mlir as jax_mlir
from jax._src.lib import tpu
from jax._src.lib.mlir import ir, passmanager
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

Configs = list[dict[str, Any]]


def add_kernel(x_ref: Any, y_ref: Any, o_ref: Any) -> None:
    """Adds elements."""
    o_ref[...] = x_ref[...] + jnp.sin(y_ref[...])


def matmul_kernel(x_ref: Any, y_ref: Any, o_ref: Any, acc_ref: Any) -> None:
    """Adds products over the last dimension of the grid."""

    @pl.when(pl.program_id(2) == 0)
    def _() -> None:
        acc_ref[...] = jnp.zeros_like(acc_ref)

    acc_ref[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32)

    @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
    def _() -> None:
        o_ref[...] = acc_ref[...].astype(o_ref.dtype)


def copy_kernel(x_ref: Any, o_ref: Any, buffer: Any, semaphore: Any) -> None:
    """Copies through VMEM."""
    for source, target in ((x_ref, buffer), (buffer, o_ref)):
        copy = pltpu.make_async_copy(source, target, semaphore)
        copy.start()
        copy.wait()


def loop_kernel(s_ref: Any, x_ref: Any, o_ref: Any) -> None:
    """Adds as many blocks as a scalar says."""

    def body(i: Any, total: Any) -> Any:
        return total + x_ref[pl.ds(i * 8, 8), :]

    o_ref[...] = jax.lax.fori_loop(0, s_ref[0], body, jnp.zeros_like(o_ref))


def ring_kernel(x_ref: Any, o_ref: Any, send: Any, receive: Any) -> None:
    """Sends an array to the other device."""
    ids = getattr(pl, "DeviceIdType", None) or pltpu.DeviceIdType
    copy = pltpu.make_async_remote_copy(
        x_ref,
        o_ref,
        send,
        receive,
        device_id=(jax.lax.axis_index("x") + 1) % 2,
        device_id_type=ids.LOGICAL,
    )
    copy.start()
    copy.wait()


def iota_kernel(x_ref: Any, o_ref: Any) -> None:
    """Takes the largest of each row past a row."""
    rows = jax.lax.broadcasted_iota(jnp.int32, (8, 128), 0)
    kept = jnp.where(rows > 3, x_ref[...], -jnp.inf)
    o_ref[...] = jnp.broadcast_to(jnp.max(kept, axis=1, keepdims=True), (8, 128))


def lowered(kernel: Callable[..., Any], *args: Any) -> Configs:
    """The configurations of the kernels in a program."""
    text = jax.jit(kernel).trace(*args).lower(lowering_platforms=("tpu",)).as_text()
    configs = re.findall(r'@tpu_custom_call\(.*?backend_config = "(.*?)",? [a-z]', text)
    return [json.loads(config.replace("\\22", '"').replace("\\0A", "\n")) for config in configs]


def kernels() -> dict[str, Configs]:
    """The configuration of each kernel."""
    params = getattr(pltpu, "CompilerParams", None) or pltpu.TPUCompilerParams
    any_space = pl.BlockSpec(memory_space=getattr(pl, "ANY", None) or pltpu.ANY)
    tile = jax.ShapeDtypeStruct((8, 128), jnp.float32)
    wide = jax.ShapeDtypeStruct((256, 256), jnp.bfloat16)
    long = jax.ShapeDtypeStruct((64, 128), jnp.float32)
    matmul = pl.pallas_call(
        matmul_kernel,
        out_shape=wide,
        grid=(2, 2, 2),
        in_specs=[
            pl.BlockSpec((128, 128), lambda i, _, k: (i, k)),
            pl.BlockSpec((128, 128), lambda _, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((128, 128), lambda i, j, _: (i, j)),
        scratch_shapes=[pltpu.VMEM((128, 128), jnp.float32)],
        compiler_params=params(dimension_semantics=("parallel", "parallel", "arbitrary")),
    )
    copy = pl.pallas_call(
        copy_kernel,
        out_shape=tile,
        in_specs=[any_space],
        out_specs=any_space,
        scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32), pltpu.SemaphoreType.DMA],
    )
    loop = pl.pallas_call(
        loop_kernel,
        out_shape=tile,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(1,),
            in_specs=[pl.BlockSpec((64, 128), lambda _, __: (0, 0))],
            out_specs=pl.BlockSpec((8, 128), lambda i, s: (i, s[0] * 0)),
        ),
    )
    found = {
        "add": lowered(pl.pallas_call(add_kernel, out_shape=tile), tile, tile),
        "matmul": lowered(matmul, wide, wide),
        "copy": lowered(copy, tile),
        "loop": lowered(loop, jax.ShapeDtypeStruct((1,), jnp.int32), long),
        "iota": lowered(pl.pallas_call(iota_kernel, out_shape=tile), tile),
    }
    if jax.__version__.startswith("0.10."):
        # Other versions lower programs over meshes without devices in other ways.
        ring = pl.pallas_call(
            ring_kernel,
            out_shape=tile,
            in_specs=[any_space],
            out_specs=any_space,
            scratch_shapes=[pltpu.SemaphoreType.DMA, pltpu.SemaphoreType.DMA],
        )
        spec = jax.sharding.PartitionSpec()
        mesh = jax.sharding.AbstractMesh((2,), ("x",))
        mapped = jax.shard_map(ring, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)
        found["ring"] = lowered(mapped, tile)
    return found


def context() -> ir.Context:
    """A context with the dialects of kernels."""
    made = jax_mlir.make_ir_context()
    tpu.register_dialect(made)
    made.allow_unregistered_dialects = True
    return made


def run_pass(module: ir.Module, options: str) -> None:
    """Runs the pass that serializes and deserializes."""
    passes = passmanager.PassManager.parse(f"builtin.module(mosaic-serde{{{options}}})")
    passes.run(module.operation)


def serialized(text: str) -> bytes:
    """A module as bytecode. One that says its operations in serialized form stays as it is."""
    made = context()
    module = ir.Module.parse(text, made)
    if "stable_mosaic." not in text:
        with made:
            run_pass(module, "serialize=true")
    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer, desired_version=0)
    return buffer.getvalue()


def printed(body: bytes) -> str:
    """The text of a payload, in the terms of the newest format that this jaxlib knows."""
    made = context()
    module = ir.Module.parse(body, made)
    version = module.operation.attributes["stable_mosaic.version"]
    with made:
        run_pass(module, "serialize=false")
        module.operation.attributes["stable_mosaic.version"] = version
    return str(module)


def main() -> None:
    """Writes what the arguments ask for."""
    # No path of this machine in the locations.
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
    what, out = sys.argv[1], pathlib.Path(sys.argv[2])
    version = jax.__version__.replace(".", "_")
    if what == "kernels":
        for name, configs in kernels().items():
            for config in configs:
                inside = config["custom_call_config"]
                path = out / f"{name}_{version}.mlirbc"
                path.write_bytes(base64.b64decode(inside["body"]))
                if "debug_locations" in inside:
                    path.with_suffix(".json").write_text(json.dumps(config) + "\n")
    elif what == "modules":
        for source in map(pathlib.Path, sys.argv[3:]):
            (out / f"{source.stem}.mlirbc").write_bytes(serialized(source.read_text()))
    else:
        for path in sorted(out.glob("*.mlirbc")):
            try:
                path.with_suffix(".mlir").write_text(printed(path.read_bytes()))
            except ir.MLIRError as error:
                print(f"{path.name}: {str(error)[:200]}")


if __name__ == "__main__":
    main()
