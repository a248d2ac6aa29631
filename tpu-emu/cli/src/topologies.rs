//! The TPUs that can be emulated, from the tables of the machine.
use crate::paint::Paint;
use crate::text::{bytes, counted, json};
use clap::Args;
use serde::Serialize;
use tpu_topology::{GENERATIONS, Topology};

/// The TPUs that can be emulated, or what one topology is.
#[derive(Debug, Args)]
pub(crate) struct Topologies {
    /// A topology, as TPU_EMU_TOPOLOGY takes it: `v5p:2x2x1`.
    #[arg(value_parser = Topology::parse)]
    topology: Option<Topology>,
    /// Prints it as JSON, for programs.
    #[arg(long)]
    json: bool,
}

/// One topology.
#[derive(Debug, Serialize)]
struct Row {
    /// As `TPU_EMU_TOPOLOGY` takes it.
    topology: String,
    kind: &'static str,
    chips: i64,
    devices: usize,
    processes: i32,
    slices: i32,
    chips_per_host: [i32; 3],
    devices_per_chip: i32,
    cores_per_device: i32,
    /// Bytes that programs can use on each device.
    hbm: u64,
    /// Bytes that each device has.
    hbm_of_chip: u64,
    /// Bytes of the smallest piece of HBM.
    granule: u64,
}

impl Row {
    fn of(topology: &Topology) -> Self {
        let generation = topology.generation();
        Self {
            topology: topology.canonical_spec(),
            kind: topology.device_kind(),
            chips: topology.chip_count(),
            devices: topology.devices().len(),
            processes: topology.process_count(),
            slices: topology.slice_count(),
            chips_per_host: topology.chips_per_host_bounds(),
            devices_per_chip: generation.devices_per_chip,
            cores_per_device: generation.num_cores,
            hbm: topology.live_memory_limit().0,
            hbm_of_chip: generation.hbm.0,
            granule: generation.tiles.granule().0,
        }
    }
}

impl Topologies {
    /// The table, or what one topology is.
    pub(crate) fn text(&self, paint: &Paint) -> String {
        if let Some(topology) = &self.topology {
            let row = Row::of(topology);
            return if self.json { json(&row) } else { one(&row) };
        }
        let rows: Vec<Row> = hosts().iter().map(Row::of).collect();
        if self.json { json(&rows) } else { table(&rows, paint) }
    }
}

/// One host of each generation, and of each configuration that has devices of its own kind.
fn hosts() -> Vec<Topology> {
    let hosts = GENERATIONS.iter().filter_map(|row| {
        let [x, y, z] = row.host;
        let third = if row.axes == 3 { format!("x{z}") } else { String::new() };
        let config = row.configs.first().filter(|config| !config.is_empty());
        let config = config.map_or_else(String::new, |of| format!(",chip_config_name={of}"));
        Topology::parse(&format!("{}:{x}x{y}{third}{config}", row.family)).ok()
    });
    let mut hosts: Vec<Topology> = hosts.collect();
    hosts.push(Topology::common_host());
    hosts
}

fn table(rows: &[Row], paint: &Paint) -> String {
    let head = format!(
        "{:<54}  {:<11}  {:>5}  {:>7}  {:>12}",
        "one host, as --topology takes it", "kind", "chips", "devices", "HBM a device"
    );
    let mut text = paint.strong(&head) + "\n";
    for row in rows {
        text += &format!(
            "{:<54}  {:<11}  {:>5}  {:>7}  {:>12}\n",
            row.topology,
            row.kind,
            row.chips,
            row.devices,
            bytes(row.hbm)
        );
    }
    let common = Topology::common_host().canonical_spec();
    text += &format!(
        "\nWithout one it is {common}.\n\
         Larger slices have more chips along an axis (v5e:4x8, v5p:4x4x8), several slices \
         `,num_slices=2`.\n\
         `tpu-emu topologies v5p:4x4x8` says what a topology is.\n"
    );
    text
}

fn one(row: &Row) -> String {
    let Row { topology, kind, chips, devices, processes, slices, .. } = row;
    let number = |count: i64| u64::try_from(count).unwrap_or(0);
    let [x, y, z] = row.chips_per_host;
    format!(
        "{topology}\n\
         kind       {kind}\n\
         chips      {chips}, {x}x{y}x{z} a host\n\
         devices    {devices}, {} a chip, {} each\n\
         processes  {processes} in {}\n\
         HBM        {} a device for programs, of {}; the least block is {}\n",
        row.devices_per_chip,
        counted(number(row.cores_per_device.into()), "core"),
        counted(number((*slices).into()), "slice"),
        bytes(row.hbm),
        bytes(row.hbm_of_chip),
        bytes(row.granule),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_generation_has_a_row_that_can_be_given_back() {
        let hosts = hosts();
        assert_eq!(hosts.len(), GENERATIONS.len() + 1);
        for host in &hosts {
            assert_eq!(Topology::parse(&host.canonical_spec()).as_ref(), Ok(host));
            assert_eq!(host.process_count(), 1, "{}", host.canonical_spec());
        }
        let text = Topologies { topology: None, json: false }.text(&Paint::plain());
        assert_eq!(text.lines().filter(|line| line.contains(" TPU")).count(), hosts.len());
    }

    #[test]
    fn one_topology_is_told_in_full() {
        let topology = Some(Topology::parse("v4:2x2x2").unwrap());
        let text = Topologies { topology, json: false }.text(&Paint::plain());
        assert!(text.contains("devices    16, 2 a chip, 1 core each"), "{text}");
        assert!(text.contains("processes  2 in 1 slice"), "{text}");
    }
}
