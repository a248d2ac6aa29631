//! The chips of one host, as `tpu-info` looks at them.
use tpu_metrics::Reading;
use tpu_topology::Topology;

/// Numbers on the PCI bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ids {
    /// The family of the generation that has them.
    family: &'static str,
    pub(super) device: &'static str,
    pub(super) subsystem: &'static str,
    /// How many entries a chip has.
    pub(super) functions: usize,
    name: &'static str,
}

/// Google's number on the PCI bus.
pub(super) const VENDOR: &str = "0x1ae0";

/// What `tpu-info` 0.14.2 knows. The subsystem tells v2 from v3 alone; a chip of the newest
/// generation has an entry a device.
const KNOWN: [Ids; 7] = [
    Ids { family: "v2", device: "0x0027", subsystem: "0x004e", functions: 1, name: "TPU v2 chip" },
    Ids { family: "v3", device: "0x0027", subsystem: "0x004f", functions: 1, name: "TPU v3 chip" },
    Ids { family: "v4", device: "0x005e", subsystem: "0x0000", functions: 1, name: "TPU v4 chip" },
    Ids {
        family: "v5e",
        device: "0x0063",
        subsystem: "0x0000",
        functions: 1,
        name: "TPU v5e chip",
    },
    Ids {
        family: "v5p",
        device: "0x0062",
        subsystem: "0x0000",
        functions: 1,
        name: "TPU v5p chip",
    },
    Ids {
        family: "v6e",
        device: "0x006f",
        subsystem: "0x0000",
        functions: 1,
        name: "TPU v6e chip",
    },
    Ids {
        family: "tpu7x",
        device: "0x0076",
        subsystem: "0x0000",
        functions: 2,
        name: "TPU7x chip",
    },
];

/// The chips.
#[derive(Debug)]
pub(super) struct Chips {
    /// `None` for a generation that `tpu-info` does not know.
    pub(super) ids: Option<Ids>,
    pub(super) name: String,
    pub(super) count: usize,
    pub(super) devices_per_chip: usize,
}

impl Chips {
    /// Those of a program that tells its devices; of a host of the topology where none does.
    pub(super) fn new(topology: &Topology, reading: Option<&Reading>) -> Self {
        let generation = topology.generation();
        let ids = KNOWN.into_iter().find(|ids| ids.family == generation.family);
        let devices_per_chip = usize::try_from(generation.devices_per_chip).unwrap_or(1).max(1);
        let devices = match reading {
            Some(reading) => reading.devices.len(),
            None => {
                let first = topology.devices().first().map(|device| device.process_index);
                let on_host = |index: i32| Some(index) == first;
                topology.devices().iter().filter(|device| on_host(device.process_index)).count()
            }
        };
        Self {
            ids,
            name: ids.map_or(topology.device_kind(), |ids| ids.name).to_owned(),
            count: devices.div_ceil(devices_per_chip),
            devices_per_chip,
        }
    }

    /// Entries on the bus that a chip has.
    pub(super) fn functions(&self) -> usize {
        self.ids.map_or(1, |ids| ids.functions)
    }

    /// How busy a device is: it has a number of its own, or one with the others of its chip.
    pub(super) fn duty(&self, reading: Option<&Reading>, device: usize) -> f64 {
        let Some(reading) = reading else { return 0.0 };
        let together = reading.duty.len() < reading.devices.len();
        let at = if together { device / self.devices_per_chip } else { device };
        reading.duty.get(at).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tpu_topology::GENERATIONS;

    #[test]
    fn every_generation_but_v4_lite_has_its_numbers_on_the_bus() {
        for row in &GENERATIONS {
            let known = KNOWN.iter().any(|ids| ids.family == row.family);
            assert_eq!(known, row.family != "v4 lite", "{}", row.family);
        }
        let chips = |of: &str| Chips::new(&Topology::parse(of).unwrap(), None);
        let (v3, v7) = (chips("v3:2x2"), chips("tpu7x:2x2x1"));
        assert_eq!((v3.count, v3.devices_per_chip, v3.functions()), (4, 2, 1));
        assert_eq!((v7.count, v7.devices_per_chip, v7.functions()), (4, 2, 2));
        assert_eq!(chips("v5e:2x4,chips_per_host_bounds=2x4x1").count, 8);
        // One host of several.
        assert_eq!(chips("v5p:4x4x4").count, 4);
    }
}
