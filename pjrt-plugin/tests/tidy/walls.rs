//! What code must never name.

/// The crates of the machine. What they may name of one another, their manifests say.
pub(super) const MACHINE: &[&str] = &[
    "tpu-emu/base/src",
    "tpu-emu/kernels/src",
    "tpu-emu/ops/src",
    "tpu-emu/layout/src",
    "tpu-emu/placement/src",
    "tpu-emu/program/src",
    "tpu-emu/topology/src",
    "tpu-emu/src",
];

/// Folders or files, what their code must never name, and files in them that may.
pub(super) struct Wall {
    pub(super) inside: &'static [&'static str],
    pub(super) never: &'static [&'static str],
    pub(super) except: &'static [&'static str],
}

pub(super) const WALLS: &[Wall] = &[
    // The machine knows no door, no environment, no clock and no file.
    Wall {
        inside: MACHINE,
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
        except: &["program/src/differential/mod.rs"],
    },
    Wall {
        inside: MACHINE,
        never: &["libc"],
        except: &[
            "base/src/host_pages.rs",
            "kernels/src/jit/code_memory.rs",
            "kernels/src/matmul/bytes/amx.rs",
            "src/hbm/system.rs",
        ],
    },
    // What is below knows nothing of what is above.
    Wall {
        inside: &["tpu-emu/topology/src"],
        never: &["trace", "tensor", "buffer", "runtime", "machine"],
        except: &[],
    },
    Wall {
        inside: &["tpu-emu/src/trace"],
        never: &["hbm::Heap", "hbm::Region", "runtime", "tpu_ops::Kernel", "buffer"],
        except: &[],
    },
    // Memory, and how arrays lie in it.
    Wall {
        inside: &["tpu-emu/src/hbm"],
        never: &["tpu_ops", "tpu_kernels", "tpu_program", "runtime", "buffer", "machine", "ledger"],
        except: &[],
    },
    // Only frames make slices of the memories of a run, and tiles of what they were handed.
    Wall {
        inside: MACHINE,
        never: &["from_raw_parts", "from_raw_parts_mut"],
        except: &["src/hbm/backing.rs", "program/src/interpret/frame.rs", "kernels/src/vm/run.rs"],
    },
    // The process around the machine knows no door, and one file each part of the process.
    Wall {
        inside: &["tpu-emu/host/src"],
        never: &["libtpu_abi", "pjrt_tpu_emu", "PJRT_"],
        except: &[],
    },
    Wall { inside: &["tpu-emu/host/src"], never: &["std::env::var"], except: &["env.rs"] },
    Wall {
        inside: &["tpu-emu/host/src"],
        never: &["Instant::now", "SystemTime::now"],
        except: &["clock.rs"],
    },
    Wall { inside: &["proto/src"], never: &["tpu_emu", "tpu_host", "pjrt_tpu_emu"], except: &[] },
    // A door decodes, calls, encodes.
    Wall {
        inside: &["pjrt-plugin/src"],
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
    Wall { inside: &["pjrt-plugin/src/api"], never: &["crate::ext", "crate::ffi"], except: &[] },
    Wall {
        inside: &["libtpu-abi/src"],
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
    Wall { inside: &["libtpu-abi/src"], never: &["from_raw_parts"], except: &["memory.rs"] },
    // Only the boundary makes slices of a caller's memory.
    Wall {
        inside: &["pjrt-plugin/src"],
        never: &["from_raw_parts"],
        except: &["boundary.rs", "error.rs", "ffi/status.rs"],
    },
];
