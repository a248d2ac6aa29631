"""HBM takes addresses, and memory that counts, only as programs need it."""

from emulator import output, run

WRITABLE = """
    import resource

    import numpy as np

    def writable():
        # What `vm.overcommit_memory=2` counts: private mappings that can be written to.
        total = 0
        for line in open("/proc/self/maps"):
            addresses, rights, *_ = line.split()
            if rights[1] == "w" and rights[3] == "p":
                start, end = (int(part, 16) for part in addresses.split("-"))
                total += end - start
        return total
"""
MIB = 1 << 20


def test_what_is_reserved_does_not_count_as_memory():
    program = WRITABLE + (
        "    import jax\n"
        "    devices = jax.devices()\n"
        "    before = writable()\n"
        "    held = [jax.device_put(np.float32(1), device) for device in devices]\n"
        "    few = writable()\n"
        "    big = jax.block_until_ready(jax.device_put(np.zeros(100 << 20, np.uint8)))\n"
        "    print(few - before, writable() - few)\n"
    )
    few, big = map(int, output(program).split())
    # Threads and caches of JAX take some, too.
    assert few < 300 * MIB
    assert big < 250 * MIB


def test_a_limit_on_address_space_stops_no_start():
    program = WRITABLE + (
        "    import jax\n"
        "    import jax.numpy as jnp\n"
        "    import os\n"
        "    size = int(open('/proc/self/statm').read().split()[0]) * os.sysconf('SC_PAGE_SIZE')\n"
        "    limit = size + (4 << 30)\n"
        "    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))\n"
        "    held = [jax.device_put(np.full(1 << 18, index, np.float32), device)\n"
        "            for index, device in enumerate(jax.devices())]\n"
        "    for index, array in enumerate(held):\n"
        "        assert float((array + 1)[-1]) == index + 1\n"
        "    try:\n"
        "        too_much = jnp.zeros((3, 1 << 29), np.float32).block_until_ready()\n"
        "    except RuntimeError as error:\n"
        "        print(error)\n"
        "    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))\n"
        "    assert float(jnp.arange(1 << 20, dtype=np.float32).sum()) > 0\n"
        "    assert float(held[3][7]) == 3\n"
    )
    printed = output(program)
    assert "the host has no room for " in printed
    assert "RESOURCE_EXHAUSTED" in printed


def test_a_space_that_grew_under_a_limit_is_like_any_other():
    program = WRITABLE + (
        "    resource.setrlimit(resource.RLIMIT_AS, (64 << 30, resource.RLIM_INFINITY))\n"
        "    import jax\n"
        "    import jax.numpy as jnp\n"
        "    arrays = [jnp.full((1 << 22,), n, np.float32) for n in range(24)]\n"
        "    sums = [int(array[5]) for array in arrays]\n"
        "    addresses = [array.unsafe_buffer_pointer() for array in arrays]\n"
        "    assert sums == list(range(24)), sums\n"
        "    assert len(set(addresses)) == 24\n"
        "    assert max(addresses) - min(addresses) < 1 << 30\n"
        "    maps = open('/proc/self/maps').read()\n"
        "    print(any(line.startswith('2000') for line in maps.splitlines()))\n"
    )
    assert output(program) == "True\n"


def test_a_limit_that_leaves_next_to_nothing_is_an_error_with_its_reason():
    # Nothing at all ends the process: the C library has no memory for a thread's data then.
    program = WRITABLE + (
        "    import jax\n"
        "    import os\n"
        "    devices = jax.devices()\n"
        "    size = int(open('/proc/self/statm').read().split()[0]) * os.sysconf('SC_PAGE_SIZE')\n"
        "    array = np.zeros(16 << 20, np.float32)\n"
        "    limit = size + (80 << 20)\n"
        "    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))\n"
        "    error = None\n"
        "    for device in devices:\n"
        "        try:\n"
        "            jax.device_put(array, device).block_until_ready()\n"
        "        except (RuntimeError, MemoryError) as why:\n"
        "            error = str(why)\n"
        "    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)\n"
        "    print(error)\n"
        "    print(float(jax.device_put(np.float32(7), devices[3])))\n"
    )
    done = run(program)
    assert done.returncode == 0, done.stderr
    assert "the host has no room for " in done.stdout
    assert done.stdout.endswith("7.0\n")


def test_a_result_over_all_devices_is_in_memory_once():
    program = """
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

    def peak():
        [line] = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
        return int(line.split()[1]) << 10

    def forget_the_peak():
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")

    sharding = NamedSharding(Mesh(np.array(jax.devices()), ("i",)), P("i"))
    size = 64 << 20
    for function in (lambda: jnp.full(size, 1.5, jnp.float32), lambda: jnp.arange(size) * 2):
        compiled = jax.jit(function, out_shardings=sharding).lower().compile()
        forget_the_peak()
        before = peak()
        result = jax.block_until_ready(compiled())
        print((peak() - before) / (4 * size))
        del result
    """
    for grown in map(float, output(program).split()):
        assert grown < 1.35
