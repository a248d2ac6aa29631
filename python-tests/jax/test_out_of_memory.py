"""A device that is full: the words of a real TPU, and life afterwards."""

from emulator import output

PROGRAM = """
    import jax
    import numpy as np

    MIB = 1 << 20

    def put(size):
        return jax.block_until_ready(jax.device_put(np.zeros(size, np.uint8)))

    def refused(size):
        try:
            put(size)
        except RuntimeError as error:
            # What stands beneath is the autopsy, of which test_autopsy.py knows.
            return str(error).splitlines()[0]
        raise SystemExit(f"{size} bytes were given")
"""

SMALL = {"TPU_EMU_HBM_BYTES": "4MiB"}


def small(program: str) -> str:
    """What a program prints on devices of 4 MiB."""
    return output(PROGRAM + program, SMALL)


def test_an_array_that_does_not_fit_is_refused_in_the_words_of_a_real_tpu():
    program = """
    held = put(3 * MIB)
    print(refused(2 * MIB))
    """
    [line] = small(program).splitlines()
    assert line.startswith("RESOURCE_EXHAUSTED: ")
    assert "Attempting to allocate 2.00M. That was not possible. There are 1.00M free." in line
    assert "fragmentation" not in line
    assert "0x0x0_HBM0" in line


def test_after_a_refusal_an_array_that_fits_is_taken():
    program = """
    held = put(3 * MIB)
    refused(2 * MIB)
    smaller = put(MIB)
    print(np.asarray(smaller).sum(), refused(1).split(": ")[0])
    held.delete()
    print(np.asarray(put(2 * MIB)).size == 2 * MIB)
    """
    assert small(program).splitlines() == ["0 RESOURCE_EXHAUSTED", "True"]


def test_fragmentation_is_told_with_the_largest_hole():
    program = """
    held = [put(MIB) for _ in range(4)]
    held[0].delete()
    held[2].delete()
    print(refused(2 * MIB))
    """
    text = small(program)
    assert "Attempting to allocate 2.00M" in text
    assert "There are 2.00M free." in text
    assert "Due to fragmentation, the largest contiguous region of free memory is 1.00M." in text


def test_devices_are_full_one_by_one():
    program = """
    held = put(4 * MIB)
    other = jax.device_put(np.zeros(4 * MIB, np.uint8), jax.devices()[1])
    print(other.devices() == {jax.devices()[1]}, jax.devices()[1].memory_stats()["bytes_in_use"])
    """
    assert small(program) == f"True {4 << 20}\n"


def test_a_refusal_is_a_record_of_the_trace(tmp_path):
    program = """
    refused(5 * MIB)
    import sys, tpu_emu
    [change] = tpu_emu.read(sys.argv[1]).changes
    print(change.kind, change.size, change.device, change.entry)
    """
    path = str(tmp_path / "trace")
    printed = output(PROGRAM + program, {**SMALL, "TPU_EMU_TRACE": path}, path)
    assert printed == f"Kind.OUT_OF_MEMORY {5 << 20} 0 PJRT_Client_BufferFromHostBuffer\n"


def test_a_refusal_names_the_line_that_calls_a_function_of_the_library():
    program = """
    import jax.numpy as jnp

    def spread(x):
        return jnp.cov(x)

    try:
        jax.jit(spread).lower(jax.ShapeDtypeStruct((1 << 10, 1 << 10), np.float32)).compile()
    except RuntimeError as error:
        lines = str(error).split("Largest temporaries:")[1].splitlines()[1:]
        print(next(line for line in lines if "subtract" in line))
    """
    [line] = output(PROGRAM + program, {"TPU_EMU_HBM_BYTES": "10MiB"}).splitlines()
    lines = enumerate((PROGRAM + program).splitlines(), 1)
    called = next(at for at, text in lines if "jnp.cov" in text)
    assert line.endswith(f" at <string>:{called}:11")
