//! Generations, names, coordinates: which devices there are.
//!
//! A topology is plain data. It knows no client, no memory and no layout.
mod accelerator;
mod chips;
mod cores;
mod device;
mod generations;
mod mesh;
mod name;
mod options;
mod part;
mod shape;
mod size;
mod slices;
mod spec;

pub use chips::Chips;
pub use device::DeviceInfo;
pub use generations::{Catalogue, GENERATIONS, Generation, TileRules};
pub use mesh::Bounds;
pub use options::OptionValue;
pub use size::hbm_size;
pub use slices::{PlatformConfig, SliceConfig, platform_config, slice_config, slice_configs};

use name::Name;
use options::Options;
use shape::Shape;
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::units::Bytes;

/// The most chips of a topology, all slices together; more is taken for a mistake.
pub(crate) const MAX_CHIPS: i64 = 1 << 20;

/// What `PJRT_TopologyDescription_GetMemorySpaceKindIds` answers. The numbers that the memories
/// themselves have agree in the first one only, there as here.
pub const MEMORY_SPACE_KIND_IDS: [i32; 3] = [-569_941_144, 1_756_073_601, -272_058_569];

/// Chips, hosts and devices of one slice, or of several equal ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    shape: Shape,
    devices: Arc<[DeviceInfo]>,
}

impl Topology {
    /// The topology of a name and options, as `PJRT_TopologyDescription_Create` takes them.
    ///
    /// Errors: `BadArgument` or `NotFound` in the words of libtpu 0.0.51, a bad name with a
    /// sentence of help after them. Names that stop that library's process, and sizes past
    /// `MAX_CHIPS`, are `BadArgument` in words of our own.
    /// Source: 134 names and 25 options tried on libtpu 0.0.51.
    #[doc(alias = "PJRT_TopologyDescription_Create")]
    pub fn create(name: &str, options: &[(String, OptionValue)]) -> Result<Self> {
        let options = Options::read(options)?;
        let Name { external, bounds, twisted } = Name::parse(name)?;
        let generation = configured(&external, options.config.as_deref().unwrap_or(""))?;
        let default_host = mesh::zip(generation.host, bounds, i32::min);
        let shape = Shape {
            generation,
            bounds,
            host: options.host.unwrap_or(default_host),
            wrap: options.wrap.unwrap_or_default(),
            twist: twisted,
            slices: slice_count(options.slices.unwrap_or(1))?,
            subslice: false,
            together: false,
        };
        shape.check(name)?;
        Ok(Self::build(shape))
    }

    /// One host of eight v5e chips in one process: the machine most people rent.
    pub fn common_host() -> Self {
        let row = GENERATIONS.iter().position(|row| row.family == "v5e").unwrap_or(0);
        Self::build(Shape {
            generation: &GENERATIONS[row],
            bounds: [2, 4, 1],
            host: [2, 4, 1],
            wrap: [false; 3],
            twist: false,
            slices: 1,
            subslice: false,
            together: false,
        })
    }

    /// The shape has been checked.
    fn build(shape: Shape) -> Self {
        let devices = shape.devices().collect();
        Self { shape, devices }
    }

    /// The row of hardware data.
    pub fn generation(&self) -> &'static Generation {
        self.shape.generation
    }

    /// What its devices are called by, `TPU v5 lite`.
    pub fn device_kind(&self) -> &'static str {
        self.generation().kind
    }

    /// Every device, by process and, within it, by id.
    pub fn devices(&self) -> &[DeviceInfo] {
        &self.devices
    }

    /// Processes, all slices together.
    pub fn process_count(&self) -> i32 {
        self.shape.all_processes()
    }

    /// Chips, all slices together.
    pub fn chip_count(&self) -> i64 {
        mesh::volume(self.shape.bounds) * i64::from(self.shape.slices)
    }

    /// Slices; 1 for a topology that is not multi-slice.
    pub fn slice_count(&self) -> i32 {
        self.shape.slices
    }

    /// Chips along each axis of a slice.
    pub fn bounds(&self) -> Bounds {
        self.shape.bounds
    }

    /// Chips along each axis of a host.
    pub fn chips_per_host_bounds(&self) -> Bounds {
        self.shape.host
    }

    /// Which axes close to a ring, attribute `wrap`.
    pub fn wrap(&self) -> [bool; 3] {
        self.shape.wrap
    }

    /// Whether the torus is twisted, attribute `twist`.
    pub fn twist(&self) -> bool {
        self.shape.twist
    }

    /// Whether it was cut out of a larger one.
    pub fn is_subslice(&self) -> bool {
        self.shape.subslice
    }

    /// Whether its devices are shown as `MegaScalePjRtDevice` and the platform version begins
    /// with `megascale+`.
    pub fn is_megascale(&self) -> bool {
        self.shape.slices > 1
    }

    /// How the network is routed: `mesh` or `nhop`.
    pub fn routing_strategy(&self) -> &'static str {
        self.shape.routing_strategy()
    }

    /// HBM of a device that a program may plan with, attribute `device_memory_bytes_limit`.
    ///
    /// Source: equal to the attribute in 110 topologies.
    pub fn aot_memory_limit(&self) -> Bytes {
        let row = self.generation();
        let chips = mesh::volume(self.shape.bounds).unsigned_abs().max(row.least_chips);
        let tables = Bytes(row.reserved_per_chip.0.saturating_mul(chips));
        row.hbm.saturating_sub(row.reserved).saturating_sub(tables)
    }

    /// HBM of a device that a running client may allocate, `bytes_limit` of its statistics.
    ///
    /// Source: inferred from `memory_stats()` of real v4 and v6e machines, which differ from
    /// [`Self::aot_memory_limit`] by the part that grows with the slice.
    pub fn live_memory_limit(&self) -> Bytes {
        let row = self.generation();
        row.hbm.saturating_sub(row.reserved)
    }
}

/// The row for a configuration of a generation that is known to exist.
fn configured(external: &str, config: &str) -> Result<&'static Generation> {
    if let Some(row) = generations::named(external).find(|row| row.configs.contains(&config)) {
        return Ok(row);
    }
    let files = generations::named(external).map(|row| row.config_files).next();
    let (version, variant) = files.unwrap_or((external, ""));
    let separator = if variant.is_empty() { "" } else { "_" };
    let file = format!("{version}{separator}{variant}_chip_configs_{config}.binarypb");
    Err(Error::NotFound(format!(
        "embed://tpu_chip_config/{file} does not exist.; Failed to obtain chip config \"{config}\" \
         for version {version}, variant \"{variant}\""
    )))
}

/// None or fewer slices are one slice.
fn slice_count(given: i64) -> Result<i32> {
    if given > MAX_CHIPS {
        return Err(Error::bad(format!("{given} slices are past the limit of {MAX_CHIPS} chips")));
    }
    Ok(i32::try_from(given.max(1)).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create(name: &str) -> Topology {
        Topology::create(name, &[]).unwrap()
    }

    fn with(name: &str, options: &[(&str, OptionValue)]) -> Result<Topology> {
        let own = |(name, value): &(&str, OptionValue)| ((*name).to_owned(), value.clone());
        Topology::create(name, &options.iter().map(own).collect::<Vec<_>>())
    }

    fn ids(topology: &Topology) -> Vec<i32> {
        topology.devices().iter().map(|device| device.id).collect()
    }

    #[test]
    fn ids_run_over_the_whole_slice_and_the_list_by_process() {
        let options = [("chip_config_name", OptionValue::Text("megacore".into()))];
        let topology = with("v4:4x4x4", &options).unwrap();
        assert_eq!(ids(&topology)[..8], [0, 1, 4, 5, 2, 3, 6, 7]);
        let device = &topology.devices()[5];
        assert_eq!((device.process_index, device.coords), (1, [3, 0, 0]));
        assert_eq!((device.local_hardware_id, device.num_cores), (1, 2));
        assert_eq!(topology.process_count(), 16);
    }

    #[test]
    fn a_chip_of_two_devices_counts_its_cores() {
        let topology = create("v2:2x2");
        let cores: Vec<_> = topology.devices().iter().map(|device| device.core_on_chip).collect();
        assert_eq!(cores, [0, 1, 0, 1, 0, 1, 0, 1]);
        assert_eq!(ids(&topology), [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn slices_are_a_hundred_thousand_ids_apart() {
        let topology = with("v5e:2x2", &[("num_slices", OptionValue::Int(2))]).unwrap();
        assert_eq!(ids(&topology)[3..5], [100_003, 200_000]);
        let last = &topology.devices()[7];
        assert_eq!((last.process_index, last.slice_index), (1, Some(1)));
        assert!(topology.is_megascale());
        let single = with("v5e:2x2", &[("num_slices", OptionValue::Int(-1))]).unwrap();
        assert_eq!(single, create("v5e:2x2"));
    }

    #[test]
    fn limits_are_the_recorded_ones() {
        let limits = [
            ("v2:2x2", 8_034_172_928),
            ("v3:32x32", 16_622_026_752),
            ("v4:1x2x1", 32_745_975_808),
            ("v4 lite:1x1", 8_319_401_472),
            ("v5e:2x2", 16_909_334_528),
            ("v5p:2x2x1", 102_786_660_352),
            ("v6e:1x1", 33_546_042_880),
            ("tpu7x:4x4x8", 101_724_323_840),
        ];
        for (name, limit) in limits {
            assert_eq!(create(name).aot_memory_limit(), Bytes(limit), "{name}");
        }
        let megacore = OptionValue::Text("megacore".into());
        let v4 = with("v4:2x2x1", &[("chip_config_name", megacore)]).unwrap();
        assert_eq!(v4.live_memory_limit(), Bytes(33_014_415_360));
    }

    #[test]
    fn the_common_host_is_one_process_of_eight() {
        let host = Topology::common_host();
        let bounds = OptionValue::Ints(vec![2, 4, 1]);
        assert_eq!(with("v5e:2x4", &[("chips_per_host_bounds", bounds)]), Ok(host.clone()));
        assert_eq!((host.devices().len(), host.process_count()), (8, 1));
        assert_eq!(host.device_kind(), "TPU v5 lite");
    }
}
