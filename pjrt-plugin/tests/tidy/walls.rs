//! What code must never name.

/// A folder or file, what its code must never name, and files in it that may.
pub(super) struct Wall {
    pub(super) inside: &'static str,
    pub(super) never: &'static [&'static str],
    pub(super) except: &'static [&'static str],
}

pub(super) const WALLS: &[Wall] = &[
    // The machine knows no door, no environment, no clock and no file.
    Wall {
        inside: "tpu-emu/src",
        never: &[
            "tpu_host",
            "tpu_proto",
            "pjrt_tpu_emu",
            "libtpu_abi",
            "std::env",
            "std::fs",
            "std::net",
            "Instant::now",
            "SystemTime",
            "static mut",
            "extern \"C\"",
        ],
        // A test that runs for as long as its caller says.
        except: &["tpu-emu/program/src/differential/mod.rs"],
    },
    Wall {
        inside: "tpu-emu/src",
        never: &["libc"],
        except: &["hbm/system.rs", "tpu-emu/kernels/src/jit/code_memory.rs"],
    },
    // What is below knows nothing of what is above.
    Wall { inside: "tpu-emu/base/src/units.rs", never: &["crate::"], except: &[] },
    Wall {
        inside: "tpu-emu/src/topology",
        never: &["crate::{", "crate::hbm::Heap", "trace", "tensor", "buffer", "runtime", "machine"],
        except: &[],
    },
    Wall {
        inside: "tpu-emu/src/trace",
        never: &["hbm::Heap", "hbm::Region", "runtime", "crate::ops", "buffer"],
        except: &[],
    },
    // Memory, and how arrays lie in it.
    Wall {
        inside: "tpu-emu/src/hbm",
        never: &["crate::ops", "kernels", "runtime", "buffer", "machine", "ledger"],
        except: &[],
    },
    // An element does not know where it lives.
    Wall {
        inside: "tpu-emu/src/tensor",
        never: &["hbm", "kernels", "runtime", "buffer", "machine", "ledger", "trace"],
        except: &[],
    },
    // A loop knows its slices, and no program.
    Wall {
        inside: "tpu-emu/src/kernels",
        never: &[
            "stablehlo",
            "hbm",
            "crate::ops",
            "crate::program",
            "runtime",
            "crate::buffer",
            "crate::machine",
            "crate::ledger",
            "crate::trace",
        ],
        except: &[],
    },
    // A plan does not run by itself, and an operation knows no memory but its slices.
    Wall {
        inside: "tpu-emu/src/program",
        never: &[
            "crate::runtime",
            "hbm::Region",
            "Heap",
            "crate::trace",
            "crate::ledger",
            "crate::buffer",
        ],
        // The last one is a test.
        except: &["interpret/frame.rs", "interpret/step.rs", "interpret/scalar_loop/random.rs"],
    },
    Wall {
        inside: "tpu-emu/src/ops",
        never: &["hbm", "crate::program", "crate::runtime", "crate::trace", "crate::buffer"],
        except: &[],
    },
    // A call knows addresses that it is given, and no memory behind them.
    Wall {
        inside: "tpu-emu/src/custom_call",
        never: &["hbm", "crate::runtime", "crate::trace", "crate::buffer", "crate::machine"],
        except: &[],
    },
    // Only frames make slices of the memories of a run, and tiles of what they were handed.
    Wall {
        inside: "tpu-emu/src",
        never: &["from_raw_parts", "from_raw_parts_mut"],
        except: &[
            "hbm/backing.rs",
            "tpu-emu/program/src/interpret/frame.rs",
            "tpu-emu/kernels/src/elementwise/vm/run.rs",
        ],
    },
    // The process around the machine knows no door, and one file each part of the process.
    Wall {
        inside: "tpu-emu/host/src",
        never: &["libtpu_abi", "pjrt_tpu_emu", "PJRT_"],
        except: &[],
    },
    Wall { inside: "tpu-emu/host/src", never: &["std::env::var"], except: &["env.rs"] },
    Wall {
        inside: "tpu-emu/host/src",
        never: &["Instant::now", "SystemTime::now"],
        except: &["clock.rs"],
    },
    Wall { inside: "proto/src", never: &["tpu_emu", "tpu_host", "pjrt_tpu_emu"], except: &[] },
    // A door decodes, calls, encodes.
    Wall {
        inside: "pjrt-plugin/src",
        never: &[
            "std::fs",
            "std::env::",
            "std::net",
            "Instant::now",
            "SystemTime",
            "static mut",
            "tpu_emu::ops",
            "hbm::Heap;",
            "Region",
            "Backing",
            "catch_unwind",
        ],
        except: &[],
    },
    Wall { inside: "pjrt-plugin/src/api", never: &["crate::ext", "crate::ffi"], except: &[] },
    Wall {
        inside: "libtpu-abi/src",
        never: &[
            "pjrt_tpu_emu",
            "std::fs",
            "std::env",
            "std::net",
            "Instant::now",
            "SystemTime",
            "static mut",
            "tpu_emu::ops",
            "hbm::Heap;",
            "Backing",
            "catch_unwind",
        ],
        except: &[],
    },
    Wall { inside: "libtpu-abi/src", never: &["from_raw_parts"], except: &["memory.rs"] },
    // Only the boundary makes slices of a caller's memory.
    Wall {
        inside: "pjrt-plugin/src",
        never: &["from_raw_parts"],
        except: &["boundary.rs", "error.rs", "ffi/status.rs"],
    },
];
