//! TPU generations: one row of data for each chip and chip configuration.
use tpu_base::units::Bytes;

/// How the memory of a generation is cut into tiles.
///
/// Source: layouts compiled by libtpu 0.0.51; equal over the generations that share a name here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TileRules {
    /// v2 and v3: two words of rows at least, nothing packed below a byte.
    V2,
    /// v4 lite: as `V4`, without tiles of eight words of rows.
    V4Lite,
    /// v4 and all later ones.
    V4,
}

impl TileRules {
    /// The smallest piece of HBM that an array takes, and where pieces begin.
    ///
    /// Source: the least size of a non-empty array, 4 bytes a lane in one row or two.
    pub const fn granule(self) -> Bytes {
        match self {
            Self::V2 => Bytes(1024),
            Self::V4Lite | Self::V4 => Bytes(512),
        }
    }
}

/// One chip in one configuration.
///
/// Source of every number that names no other: what libtpu 0.0.51 answers ahead of time, without
/// hardware, in topology attributes, device attributes and memory analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Generation {
    /// The name that our own specs use, as JAX writes it.
    pub family: &'static str,
    /// Full names that a topology name may resolve to, `TPU ` included.
    pub names: &'static [&'static str],
    /// Values of `chip_config_name` that select this row; the empty one stands for none.
    pub configs: &'static [&'static str],
    /// `PJRT_DeviceDescription_Kind`.
    pub kind: &'static str,
    /// Version and variant of the chip's configuration files, as an error names them.
    pub config_files: (&'static str, &'static str),
    /// HBM that a device is told to have, before the reserve.
    ///
    /// Source: `Total hbm usage >= ...` of the compiler's long out-of-memory text.
    pub hbm: Bytes,
    /// HBM that the runtime keeps for itself.
    pub reserved: Bytes,
    /// HBM that the compiler also keeps, for each chip of a slice.
    pub reserved_per_chip: Bytes,
    /// The number of chips that `reserved_per_chip` is counted for at least.
    pub least_chips: u64,
    /// Devices on a chip.
    pub devices_per_chip: i32,
    /// TensorCores of a device, attribute `num_cores`.
    pub num_cores: i32,
    /// Vector memory of a core.
    ///
    /// Source: the compiler's text for a Pallas kernel that asks for more.
    pub vmem: Bytes,
    /// Vector memory that a kernel gets of it without asking for more.
    ///
    /// Source: texts of error E1001 in public reports: 16 MiB on v5p, 32 MiB on v6e and TPU7x;
    /// JAX's tests of Pallas place it between 10 and 20 MiB up to v5, between 20 and 40 MiB since.
    pub scoped_vmem: Bytes,
    /// Vector memory of a subcore of a SparseCore that runs kernels; none without.
    ///
    /// Source: `pltpu.get_tpu_info` of jax 0.10.2.
    pub subcore_vmem: Bytes,
    /// Scalar memory of a core.
    ///
    /// Source: as for `vmem`.
    pub smem: Bytes,
    /// How arrays are tiled.
    pub tiles: TileRules,
    /// What the index table of a tuple result is rounded up to.
    pub tuple_table_step: Bytes,
    /// Bytes a second between HBM and a device, as the compiler's estimates count.
    ///
    /// Source: `bytes accessed` over `optimal_seconds` of an addition compiled by libtpu 0.0.51;
    /// the pages "TPU v2" and "TPU v3" of the Cloud TPU documentation; for v4 lite Jouppi et al.,
    /// "Ten Lessons From Three Generations Shaped Google's TPUv4i" (2021).
    pub hbm_rate: u64,
    /// Operations a second of a device, as the compiler's estimates count.
    ///
    /// Source: `flops` over `optimal_seconds` of a product of bf16\[4096,4096\] compiled by
    /// libtpu 0.0.51; else as for `hbm_rate`.
    pub flop_rate: u64,
    /// Axes of the network between the chips.
    ///
    /// Source: the pages "TPU v2" to "TPU7x" of the Cloud TPU documentation; inferred for v4 lite.
    pub axes: usize,
    /// Chips of a host where nobody asks otherwise.
    pub host: [i32; 3],
    /// Chips from which on the network is routed by `nhop`, if ever.
    pub nhop_from: Option<i64>,
    /// The slices that can be had, where it is known.
    pub catalogue: Option<Catalogue>,
}

/// The slices of a family that can be ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Catalogue {
    /// Slices within one cube; none of them wraps.
    pub small: &'static [[i32; 3]],
    /// Chips along the edge of the cube that larger slices are made of.
    pub cube: i32,
    /// The most chips of a slice.
    pub max_chips: i64,
    /// The most chips along an axis.
    pub max_axis: i32,
    /// The most chips along the longest axis of a twisted slice.
    pub max_twisted_axis: i32,
    /// Chips on a tray of the default platform.
    pub chips_per_tray: i64,
    /// Trays of the default platform.
    pub trays: i64,
}

impl Generation {
    /// Words of rows that the smallest tile of vector memory has.
    pub fn least_words(&self) -> u64 {
        if self.tiles == TileRules::V2 { 2 } else { 1 }
    }

    /// TensorCores of a chip.
    pub(crate) const fn cores_per_chip(&self) -> i32 {
        self.devices_per_chip * self.num_cores
    }

    /// Bytes of the table that points to the parts of a result of `outputs` arrays.
    ///
    /// Units: four bytes an array, none for less than two. Source: output sizes of programs with
    /// 0 to 300 results compiled by libtpu 0.0.51.
    pub const fn tuple_table(&self, outputs: u64) -> Bytes {
        if outputs < 2 {
            return Bytes::ZERO;
        }
        let step = self.tuple_table_step.0;
        Bytes(outputs.saturating_mul(4).div_ceil(step).saturating_mul(step))
    }
}

/// What most rows say.
const COMMON: Generation = Generation {
    family: "",
    names: &[],
    configs: &["", "default"],
    kind: "",
    config_files: ("", ""),
    hbm: Bytes::ZERO,
    reserved: Bytes::ZERO,
    reserved_per_chip: Bytes(512),
    least_chips: 1,
    devices_per_chip: 1,
    num_cores: 1,
    vmem: Bytes::mib(16),
    scoped_vmem: Bytes::mib(16),
    subcore_vmem: Bytes::ZERO,
    smem: Bytes::mib(1),
    hbm_rate: 0,
    flop_rate: 0,
    tiles: TileRules::V4,
    tuple_table_step: Bytes(512),
    axes: 2,
    host: [2, 2, 1],
    nhop_from: None,
    catalogue: None,
};

/// Every row, the older generations first. The first row of a family is its default.
pub static GENERATIONS: [Generation; 9] = [V2, V3, V4, V4_MEGACORE, V4_LITE, V5E, V5P, V6E, TPU7X];

/// TPU v2. The files' name is inferred: no record has an error that names it.
const V2: Generation = Generation {
    family: "v2",
    hbm_rate: 350_000_000_000,
    flop_rate: 23_000_000_000_000,
    names: &["TPU v2"],
    kind: "TPU v2",
    config_files: ("jellyfish", ""),
    hbm: Bytes::gib(8),
    reserved: Bytes::mib(530),
    reserved_per_chip: Bytes(2048),
    least_chips: 8,
    devices_per_chip: 2,
    smem: Bytes::kib(16),
    tiles: TileRules::V2,
    tuple_table_step: Bytes(1024),
    ..COMMON
};

/// TPU v3.
const V3: Generation = Generation {
    family: "v3",
    names: &["TPU v3"],
    kind: "TPU v3",
    config_files: ("dragonfish", ""),
    hbm: Bytes::gib(16),
    hbm_rate: 450_000_000_000,
    flop_rate: 61_500_000_000_000,
    ..V2
};

/// TPU v4, two devices on a chip.
///
/// Both devices report the chip's whole HBM; the compiler allows each the half of it. The rates
/// are inferred: half of those of both.
const V4: Generation = Generation {
    family: "v4",
    names: &["TPU v4"],
    kind: "TPU v4",
    config_files: ("pufferfish", ""),
    hbm: Bytes::gib(32),
    hbm_rate: 491_000_000_000,
    flop_rate: 107_600_000_000_000,
    reserved: Bytes::mib(1539),
    reserved_per_chip: Bytes(2048),
    devices_per_chip: 2,
    axes: 3,
    ..COMMON
};

/// TPU v4 as Cloud machines show it, both cores one device.
///
/// Source of the reserve: also a `bytes_limit` of 33014415360 on a real machine, jax issue 1491.
const V4_MEGACORE: Generation = Generation {
    configs: &["megacore"],
    hbm_rate: 982_500_000_000,
    flop_rate: 215_300_000_000_000,
    reserved: Bytes::mib(1283),
    reserved_per_chip: Bytes(512),
    devices_per_chip: 1,
    num_cores: 2,
    ..V4
};

/// TPU v4 lite. Inferred, for want of a record: the step of tuple tables, the variant of the
/// files.
const V4_LITE: Generation = Generation {
    family: "v4 lite",
    names: &["TPU v4 lite"],
    kind: "TPU v4 lite",
    config_files: ("pufferfish", "lite"),
    hbm: Bytes::gib(8),
    hbm_rate: 614_000_000_000,
    flop_rate: 138_000_000_000_000,
    reserved: Bytes::mib(258),
    tiles: TileRules::V4Lite,
    ..COMMON
};

/// TPU v5 lite. That routing changes at 32 chips is seen on shapes from 4x4 to 16x16.
const V5E: Generation = Generation {
    family: "v5e",
    names: &["TPU v5 lite", "TPU v5e"],
    kind: "TPU v5 lite",
    config_files: ("viperfish", "lite"),
    hbm: Bytes::gib(16),
    hbm_rate: 737_700_000_000,
    flop_rate: 156_200_000_000_000,
    reserved: Bytes::mib(258),
    vmem: Bytes::mib(128),
    nhop_from: Some(32),
    ..COMMON
};

/// TPU v5, also known as v5p. Its default is one device of two cores.
const V5P: Generation = Generation {
    family: "v5p",
    names: &["TPU v5", "TPU v5p"],
    configs: &["", "default", "megacore"],
    kind: "TPU v5",
    config_files: ("viperfish", ""),
    hbm: Bytes::gib(96),
    hbm_rate: 2_350_000_000_000,
    flop_rate: 338_600_000_000_000,
    reserved: Bytes::mib(279),
    num_cores: 2,
    vmem: Bytes::mib(64),
    subcore_vmem: Bytes::kib(512),
    tuple_table_step: Bytes(32),
    axes: 3,
    ..COMMON
};

/// TPU v6 lite, 31.5 GiB.
const V6E: Generation = Generation {
    family: "v6e",
    names: &["TPU v6 lite", "TPU v6e"],
    kind: "TPU v6 lite",
    config_files: ("ghostlite", ""),
    hbm: Bytes::mib(32256),
    hbm_rate: 1_638_000_000_000,
    flop_rate: 593_300_000_000_000,
    reserved: Bytes::mib(264),
    vmem: Bytes::mib(128),
    scoped_vmem: Bytes::mib(32),
    subcore_vmem: Bytes::kib(256),
    tuple_table_step: Bytes(32),
    ..COMMON
};

/// TPU7x; the memories are those of one core.
const TPU7X: Generation = Generation {
    family: "tpu7x",
    names: &["TPU7x"],
    kind: "TPU7x",
    config_files: ("6acc60406", ""),
    hbm: Bytes::gib(95),
    hbm_rate: 3_686_000_000_000,
    flop_rate: 996_000_000_000_000,
    reserved: Bytes::mib(268),
    reserved_per_chip: Bytes(1024),
    devices_per_chip: 2,
    vmem: Bytes::mib(64),
    scoped_vmem: Bytes::mib(32),
    subcore_vmem: Bytes::kib(512),
    tuple_table_step: Bytes(32),
    axes: 3,
    catalogue: Some(Catalogue {
        small: &[[1, 1, 1], [1, 2, 1], [2, 2, 1], [2, 2, 2], [2, 2, 4], [2, 4, 4]],
        cube: 4,
        max_chips: 9216,
        max_axis: 256,
        max_twisted_axis: 64,
        chips_per_tray: 4,
        trays: 1,
    }),
    ..COMMON
};

/// The rows of the generation with this full name, in any case.
pub(super) fn named(external: &str) -> impl Iterator<Item = &'static Generation> {
    GENERATIONS
        .iter()
        .filter(move |row| row.names.iter().any(|name| name.eq_ignore_ascii_case(external)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_found_by_its_kind_and_has_hbm_above_its_reserve() {
        for row in &GENERATIONS {
            assert!(named(row.kind).any(|found| found == row), "{}", row.kind);
            assert!(named(&row.kind.to_lowercase()).any(|found| found == row), "{}", row.kind);
            assert!(row.hbm > row.reserved);
        }
    }

    #[test]
    fn a_family_has_one_row_for_each_configuration() {
        for row in &GENERATIONS {
            for config in row.configs {
                let rows = GENERATIONS
                    .iter()
                    .filter(|other| other.family == row.family && other.configs.contains(config));
                assert_eq!(rows.count(), 1, "{} {config}", row.family);
            }
        }
    }

    #[test]
    fn a_table_of_pointers_belongs_to_two_results_and_more() {
        let table = |row: &Generation, outputs| row.tuple_table(outputs).0;
        assert_eq!([0, 1, 2, 128, 129].map(|n| table(&V5E, n)), [0, 0, 512, 512, 1024]);
        assert_eq!([1, 3, 10, 65, 300].map(|n| table(&V5P, n)), [0, 32, 64, 288, 1216]);
        assert_eq!([2, 200, 300].map(|n| table(&V3, n)), [1024, 1024, 2048]);
    }
}
