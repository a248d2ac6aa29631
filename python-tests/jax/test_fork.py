"""A process that was forked after the TPU was loaded has no TPU, and says so."""

from emulator import output

# The children end as those of `multiprocessing` do. An ordinary exit of a forked child waits for
# ever in jaxlib 0.9 and later, with JAX's own CPU platform too.
PROGRAM = """
    import multiprocessing
    import sys

    import jax
    import numpy as np
    import tpu_emu

    def attempt(what):
        try:
            print(what())
        except RuntimeError as error:
            print(error)
        sys.stdout.flush()

    def in_child(what):
        child = multiprocessing.get_context("fork").Process(target=attempt, args=(what,))
        child.start()
        child.join()
        print(child.exitcode)

    array = jax.block_until_ready(jax.device_put(np.arange(3)))
    sys.stdout.flush()
"""


def test_a_put_in_the_child_is_refused_with_the_way_out():
    [error, status] = output(PROGRAM + "    in_child(lambda: jax.device_put(1))").splitlines()
    assert error.startswith("FAILED_PRECONDITION: this process was forked after")
    assert "spawn" in error
    assert status == "0"


def test_a_snapshot_in_the_child_is_refused():
    [error, status] = output(PROGRAM + "    in_child(tpu_emu.snapshot)").splitlines()
    child = "this is the child of a fork, and its parent has the TPU"
    assert error == f"tpu_emu_snapshot: {child}"
    assert status == "0"


def test_the_parent_goes_on():
    program = """
    in_child(array.delete)
    seven = jax.device_put(7)
    print(np.asarray(array), seven, len(tpu_emu.snapshot().live))
    """
    assert output(PROGRAM + program).splitlines()[-1] == "[0 1 2] 7 2"
