//! Which chips this process has, and which process of how many it is.
//!
//! A pure function of what variables and the client's options say: [`ProcessPlace::of`].
mod said;
mod split;

pub(super) use said::{Given, is_given};
pub use said::{TPU_VARIABLES, TpuVariable};

use said::Variables;
use split::{Split, on_hosts_of};
use tpu_emu::topology::{Bounds, Topology};
use tpu_emu::{Error, Result};

/// Where this process stands among the processes of a slice, or of several slices.
///
/// Processes are numbered as `PJRT_Client_ProcessIndex` has it: those of slice 0 first. A process
/// that is alone has all chips of all hosts and slices of its topology.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessPlace {
    /// All chips of all processes; a host of the topology is a process.
    pub topology: Topology,
    /// Which process this one is, below [`Self::process_count`].
    pub process_index: i32,
    /// Where the processes of this process's slice are, in the order of their numbers, as
    /// `localhost:8476` or a name; none where nobody said.
    pub addresses: Vec<String>,
    /// The numbers that this process's chips have on its machine, in the order of its devices;
    /// none where nobody said.
    pub chips: Vec<i32>,
    /// Where the first process of all slices is, if there are several and somebody said.
    pub coordinator: Option<String>,
}

/// What a client says of its processes when it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Nodes {
    /// Option `node_id`: which process this one is.
    pub node: Option<i32>,
    /// Option `num_nodes`: how many there are.
    pub count: Option<i32>,
    /// Whether it is JAX that says so, and no option.
    pub by_jax: bool,
}

impl Nodes {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Who says that this process is this one.
    pub(crate) fn says_node(self, node: i32) -> String {
        let by =
            if self.by_jax { "process_id of jax.distributed.initialize" } else { "option node_id" };
        format!("{by} is {node}")
    }

    /// Who says that there are so many.
    pub(crate) fn says_count(self, count: i32) -> String {
        format!("{} is {count}", self.counted_by())
    }

    /// What has the number of processes.
    fn counted_by(self) -> &'static str {
        if self.by_jax { "num_processes of jax.distributed.initialize" } else { "option num_nodes" }
    }
}

/// What is known before anything is decided.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    /// `TPU_EMU_TOPOLOGY`.
    pub(super) topology: Option<&'a Topology>,
    /// `TPU_EMU_PROCESS_INDEX`.
    pub(super) process_index: Option<i32>,
    /// The variables of TPU users.
    pub(super) given: &'a Given,
    /// The client's options.
    pub(super) nodes: Nodes,
}

/// Who chose the chips.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chosen {
    /// `TPU_EMU_TOPOLOGY`.
    Here,
    /// `TPU_ACCELERATOR_TYPE` or `TPU_TOPOLOGY`.
    Type,
    /// Nobody: it is the common host.
    Nothing,
}

/// The name of our own variable.
const INDEX: &str = "TPU_EMU_PROCESS_INDEX";

impl ProcessPlace {
    /// The place that variables and options ask for; without any, the common host in one process.
    ///
    /// # Errors
    /// `BadArgument` that names variables and numbers that cannot be read, or contradict each
    /// other.
    pub(super) fn of(asked: &Asked<'_>) -> Result<Self> {
        let variables = Variables::read(asked.given).map_err(Error::bad)?;
        Search { asked, variables }.place().map_err(Error::bad)
    }

    /// Processes, all slices together.
    pub fn process_count(&self) -> i32 {
        self.topology.process_count()
    }

    /// Whether there are no other processes.
    pub fn is_alone(&self) -> bool {
        self.process_count() == 1
    }
}

struct Search<'a> {
    asked: &'a Asked<'a>,
    variables: Variables,
}

impl Search<'_> {
    fn place(&self) -> Result<ProcessPlace, String> {
        let (base, chosen) = self.base()?;
        let split = self.split(&base, chosen)?;
        let slices = self.slices(&split.topology)?;
        // Our own number counts over all slices, so it says that each has a process, too.
        let said = self.variables.slice.is_some() || self.asked.process_index.is_some();
        let one_of_slices = said && slices > 1;
        let split = match split.processes {
            // Nothing says that a slice has several.
            None if one_of_slices => on_hosts_of(split.topology.bounds(), split)?,
            _ => split,
        };
        let alone = match split.processes {
            None => !one_of_slices,
            Some(1) => !one_of_slices && self.said_count().is_none_or(|count| count == 1),
            Some(_) => false,
        };
        let topology = split.topology.with_slices(slices).map_err(|error| error.to_string())?;
        let topology = if alone { topology.in_one_process() } else { topology };
        let process_index = self.index(&topology, &split, slices)?;
        let place = ProcessPlace {
            process_index,
            addresses: self.addresses(&topology, slices)?,
            chips: self.chips(&topology)?,
            coordinator: self.variables.coordinator.as_ref().map(|said| said.value.clone()),
            topology,
        };
        self.check_port(&place, slices)?;
        Ok(place)
    }

    /// The chips before any part of them is chosen.
    fn base(&self) -> Result<(Topology, Chosen), String> {
        let Variables { accelerator, topology, .. } = &self.variables;
        if let Some(topology) = self.asked.topology {
            return Ok((topology.clone(), Chosen::Here));
        }
        let shape = topology.as_ref().map(|said| said.value.as_str());
        let named = match (accelerator, topology) {
            (Some(said), beside) => {
                let beside =
                    beside.as_ref().map_or(String::new(), |shape| format!(" with {shape}"));
                Topology::of_accelerator(&said.value, shape)
                    .map_err(|error| said.wrong(format!("{error}{beside}")))?
            }
            (None, Some(said)) => {
                let planar =
                    Topology::of_accelerator("v5e", shape).map_err(|error| said.wrong(error))?;
                if planar.bounds()[2] > 1 {
                    let why = "TPU_ACCELERATOR_TYPE or TPU_EMU_TOPOLOGY must say of which chips";
                    return Err(said.wrong(why));
                }
                planar
            }
            (None, None) => return Ok((Topology::common_host(), Chosen::Nothing)),
        };
        Ok((named, Chosen::Type))
    }

    /// How many processes there are in all, by lists of names and options.
    fn said_count(&self) -> Option<i32> {
        let Variables { addresses, hostnames, .. } = &self.variables;
        let named = addresses.as_ref().or(hostnames.as_ref());
        let named = named.and_then(|said| i32::try_from(said.value.len()).ok());
        named.max(self.asked.nodes.count)
    }

    /// Whether something says which process this one is.
    fn said_index(&self) -> bool {
        let Variables { task, worker, .. } = &self.variables;
        let Asked { process_index, nodes, .. } = self.asked;
        task.is_some() || worker.is_some() || process_index.is_some() || nodes.node.is_some()
    }

    /// How many slices there are.
    fn slices(&self, base: &Topology) -> Result<i32, String> {
        let Variables { slices, slice, .. } = &self.variables;
        let count = match (base.slice_count(), slices) {
            (1, Some(said)) => said.value,
            (count, _) => count,
        };
        match slice {
            Some(slice) if slice.value >= count => {
                Err(slice.wrong(format!("there are {count} slices, from 0")))
            }
            _ => Ok(count),
        }
    }

    /// Which process this one is.
    fn index(&self, topology: &Topology, split: &Split, slices: i32) -> Result<i32, String> {
        let count = topology.process_count();
        let of_a_slice = if count == 1 { 1 } else { count / slices };
        let Asked { process_index, nodes, .. } = self.asked;
        if let Some(asked) = nodes.count.filter(|&asked| asked != count) {
            let of = topology.canonical_spec();
            return Err(format!("{}; {of} has {count} processes", nodes.says_count(asked)));
        }
        if let Some(node) = nodes.node
            && !(0..count).contains(&node)
        {
            let says = nodes.says_node(node);
            return Err(format!("{says}; this topology has {count} processes"));
        }
        if let Some(index) = *process_index {
            if !(0..count).contains(&index) {
                return Err(format!("{INDEX}={index}: the topology has {count} processes"));
            }
            if let Some(node) = nodes.node.filter(|&node| node != index) {
                return Err(format!("{INDEX}={index}: {}", nodes.says_node(node)));
            }
            return Ok(index);
        }
        let Variables { task, worker, slice, .. } = &self.variables;
        let said = task.as_ref().or(worker.as_ref());
        if let Some(said) = said.filter(|said| said.value >= of_a_slice) {
            let by = if split.by.is_empty() { topology.canonical_spec() } else { split.by.clone() };
            return Err(said.wrong(format!("{by} has {of_a_slice} processes, from 0")));
        }
        let in_slice = said.map(|said| said.value);
        let slice_index = slice.as_ref().map(|slice| slice.value);
        let by_variables = match (in_slice, slice_index, of_a_slice, count) {
            (_, _, _, 1) => Some(0),
            (None, Some(slice), 1, _) => Some(slice),
            (Some(index), Some(slice), ..) => Some(slice * of_a_slice + index),
            (Some(index), None, ..) if slices == 1 => Some(index),
            _ => None,
        };
        match (by_variables, nodes.node) {
            (Some(index), Some(node)) if index != node => Err(format!(
                "{}; {} says {index}",
                nodes.says_node(node),
                said.map_or_else(|| "MEGASCALE_SLICE_ID".to_owned(), ToString::to_string)
            )),
            (Some(index), _) | (None, Some(index)) => Ok(index),
            (None, None) => Err(self.no_index(&split.by, of_a_slice, slices)),
        }
    }

    fn no_index(&self, by: &str, of_a_slice: i32, slices: i32) -> String {
        let Variables { task, worker, slice, .. } = &self.variables;
        if slice.is_none() && (task.is_some() || worker.is_some()) {
            return format!(
                "MEGASCALE_SLICE_ID must say which of {slices} slices this process has"
            );
        }
        format!(
            "{by} asks for {of_a_slice} processes; CLOUD_TPU_TASK_ID, TPU_WORKER_ID or {INDEX} \
             must say which of them this one is"
        )
    }

    /// Where the processes of a slice are.
    fn addresses(&self, topology: &Topology, slices: i32) -> Result<Vec<String>, String> {
        let count = topology.process_count();
        let of_a_slice = usize::try_from(if count == 1 { 1 } else { count / slices }).unwrap_or(1);
        let Variables { addresses, hostnames, .. } = &self.variables;
        if let Some(said) = addresses {
            return Ok(said.value.clone());
        }
        let Some(said) = hostnames else { return Ok(Vec::new()) };
        match said.value.len() {
            one if one == of_a_slice => Ok(said.value.clone()),
            // All processes share one host.
            1 => Ok(vec![said.value[0].clone(); of_a_slice]),
            names => Err(said.wrong(format!("{names} hosts of {of_a_slice} processes"))),
        }
    }

    /// The numbers of this process's chips on its machine.
    fn chips(&self, topology: &Topology) -> Result<Vec<i32>, String> {
        let Some(said) = &self.variables.visible else { return Ok(Vec::new()) };
        // A host has as many chips as the machine without any bounds, or all of the slice.
        let all = [topology.bounds(), Topology::common_host().bounds()].map(volume);
        let base = self.asked.topology.map_or(0, |topology| volume(topology.bounds()));
        let there = all.into_iter().max().unwrap_or(0).max(base);
        match said.value.iter().find(|&&chip| i64::from(chip) >= there) {
            Some(chip) => Err(said.wrong(format!("no chip {chip}; there are {there}, from 0"))),
            None => Ok(said.value.clone()),
        }
    }

    fn check_port(&self, place: &ProcessPlace, slices: i32) -> Result<(), String> {
        let Some(port) = &self.variables.port else { return Ok(()) };
        let of_a_slice = (place.process_count() / slices).max(1);
        let own = usize::try_from(place.process_index % of_a_slice).unwrap_or(0);
        let address = place.addresses.get(own).and_then(|address| address.rsplit_once(':'));
        match address.and_then(|(_, port)| port.parse::<u16>().ok()) {
            Some(other) if other != port.value => {
                Err(port.wrong(format!("TPU_PROCESS_ADDRESSES has port {other} for process {own}")))
            }
            _ => Ok(()),
        }
    }
}

fn volume(bounds: Bounds) -> i64 {
    bounds.iter().fold(1, |product: i64, &side| product.saturating_mul(i64::from(side)))
}

#[cfg(test)]
mod tests;
