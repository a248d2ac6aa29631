//! Who takes part in a collective with whom.
use crate::grid::{Grid, mesh_of};
use tpu_base::error::{Error, Result};
use tpu_ops::{CollectiveKind, DeviceDependence, Operator};
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::{Attribute, Attributes, Elements, Operation};

/// Over what a program is spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Devices {
    /// How many there are.
    pub count: usize,
    /// Whether they are replicas; partitions otherwise.
    pub replicas: bool,
    /// The one replica that code is emitted for, where its run is its own.
    pub only: Option<usize>,
}

impl Devices {
    /// One device.
    pub const ONE: Self = Self { count: 1, replicas: false, only: None };
}

/// What devices exchange in a collective; `None` for other operations.
pub(crate) fn collective(operation: &Operation) -> Option<CollectiveKind> {
    match Operator::of(operation).row()?.devices {
        DeviceDependence::Collective(kind) => Some(kind),
        _ => None,
    }
}

/// Whether an operation is a kernel whose devices talk to one another.
pub(crate) fn communicates(operation: &Operation) -> bool {
    let text = operation.attributes.text("backend_config");
    matches!(Operator::of(operation), Operator::Registered)
        && operation.attributes.text("call_target_name") == Some(KERNEL)
        && text.is_some_and(says_that_it_communicates)
}

/// The target of calls whose code is a kernel.
const KERNEL: &str = "tpu_custom_call";

/// Whether a kernel's configuration, a JSON text, has `"has_communication": true`.
fn says_that_it_communicates(text: &str) -> bool {
    text.match_indices("\"has_communication\"").any(|(at, key)| {
        let value = text[at + key.len()..].trim_start().strip_prefix(':');
        value.is_some_and(|value| value.trim_start().starts_with("true"))
    })
}

/// What the numbers in a collective's groups count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Numbers {
    /// Replicas; every partition is by itself.
    Replicas,
    /// Replicas, each with all of its partitions.
    WholeReplicas,
    /// Partitions; every replica is by itself.
    Partitions,
    /// Devices.
    Devices,
}

impl Numbers {
    /// What they count in a collective.
    ///
    /// # Errors
    /// `BadArgument` for numbers of devices without a channel.
    fn of(operation: &Operation, kind: CollectiveKind, devices: Devices) -> Result<Self> {
        let channel = settings(operation, kind).integer("channel_id").unwrap_or(0);
        match kind {
            // JAX up to 0.5 writes no channel.
            CollectiveKind::RaggedAllToAll => {
                let partitions = channel > 0 || !devices.replicas;
                return Ok(if partitions { Self::Partitions } else { Self::Replicas });
            }
            CollectiveKind::AllToAll
            | CollectiveKind::CollectiveBroadcast
            | CollectiveKind::CollectivePermute => {
                return Ok(if channel > 0 { Self::Partitions } else { Self::Replicas });
            }
            CollectiveKind::AllGather
            | CollectiveKind::AllReduce
            | CollectiveKind::CrossReplicaSum
            | CollectiveKind::ReduceScatter => {}
        }
        match (channel > 0, operation.attributes.flag("use_global_device_ids")) {
            (true, true) => Ok(Self::Devices),
            (true, false) => Ok(Self::WholeReplicas),
            (false, false) => Ok(Self::Replicas),
            (false, true) => {
                let name = &operation.name;
                let what = format!("{name}: use_global_device_ids with the channel {channel}");
                Err(Error::bad(what))
            }
        }
    }

    /// What one of them is called.
    fn noun(self) -> &'static str {
        match self {
            Self::Replicas | Self::WholeReplicas => "replica",
            Self::Partitions => "partition",
            Self::Devices => "device",
        }
    }

    /// How many there are.
    fn count(self, devices: Devices) -> usize {
        match self {
            Self::Replicas | Self::WholeReplicas if !devices.replicas => 1,
            Self::Partitions if devices.replicas => 1,
            _ => devices.count,
        }
    }
}

/// The groups of a collective, in numbers of devices; pairs for a permutation.
///
/// Source: StableHLO specification, "Process groups".
///
/// # Errors
/// `BadArgument` for groups that name what is not there, or cannot be read.
pub(crate) fn groups(
    operation: &Operation,
    kind: CollectiveKind,
    module: &Module,
    devices: Devices,
) -> Result<Vec<Vec<usize>>> {
    let numbers = Numbers::of(operation, kind, devices)?;
    let count = numbers.count(devices);
    let key = if kind == CollectiveKind::CollectivePermute { PAIRS } else { GROUPS };
    let attribute = settings(operation, kind).get(key);
    let listed = listed((operation, attribute), key, module, (count, numbers.noun()))?;
    if count == devices.count {
        return Ok(listed);
    }
    // One number stands for all devices: each does it with itself, or all do it together.
    if key == GROUPS && numbers == Numbers::WholeReplicas {
        return Ok(vec![(0..devices.count).collect()]);
    }
    let alone = |device: usize| listed.iter().map(move |group| vec![device; group.len()]);
    Ok((0..devices.count).flat_map(alone).collect())
}

/// Where each of so many members is: its group, and its place there. `called` names a member.
///
/// # Errors
/// `BadArgument` that names who is there twice, or not at all.
pub(crate) fn memberships(
    name: &str,
    groups: &[Vec<usize>],
    count: usize,
    called: impl Fn(usize) -> String,
) -> Result<Vec<(usize, usize)>> {
    let found = memberships_of_some(name, groups, count, &called)?;
    let known = |(member, found): (usize, Option<(usize, usize)>)| {
        found.ok_or_else(|| Error::bad(format!("{name}: {} in no group", called(member))))
    };
    found.into_iter().enumerate().map(known).collect()
}

/// As [`memberships`], where some may be in no group.
///
/// # Errors
/// `BadArgument` that names who is there twice.
pub(crate) fn memberships_of_some(
    name: &str,
    groups: &[Vec<usize>],
    count: usize,
    called: impl Fn(usize) -> String,
) -> Result<Vec<Option<(usize, usize)>>> {
    let mut found: Vec<Option<(usize, usize)>> = vec![None; count];
    for (at, group) in groups.iter().enumerate() {
        for (place, &member) in group.iter().enumerate() {
            if found[member].replace((at, place)).is_some() {
                let member = called(member);
                return Err(Error::bad(format!("{name}: {member} twice in its groups")));
            }
        }
    }
    Ok(found)
}

/// Where a collective says who takes part.
fn settings(operation: &Operation, kind: CollectiveKind) -> &Attributes {
    let attributes = &operation.attributes;
    if kind != CollectiveKind::RaggedAllToAll {
        return attributes;
    }
    let beside = ["mhlo.backend_config", "backend_config"];
    let dictionary = beside.iter().find_map(|name| match attributes.get(name) {
        Some(Attribute::Dictionary(inner)) => Some(inner),
        _ => None,
    });
    dictionary.unwrap_or(attributes)
}

const GROUPS: &str = "replica_groups";
const PAIRS: &str = "source_target_pairs";

/// Checks that a collective of a program over one device has that device in all of its groups.
///
/// # Errors
/// `Unimplemented` for groups of several devices; `BadArgument` for those that cannot be read.
pub(crate) fn alone(operation: &Operation, kind: CollectiveKind, module: &Module) -> Result<()> {
    let Some(attribute) = settings(operation, kind).get(GROUPS) else { return Ok(()) };
    if let Attribute::Elements(elements) = attribute {
        let rows = rows(elements)?;
        if rows.iter().flatten().any(|&number| number > 0) || rows.len() > 1 {
            let what = format!("{}: replica_groups {rows:?} take several devices", operation.name);
            return Err(Error::Unimplemented(what));
        }
    }
    listed((operation, Some(attribute)), GROUPS, module, (1, "device")).map(drop)
}

/// The groups as they are written, of numbers below `count`; none are one group of all.
fn listed(
    (operation, attribute): (&Operation, Option<&Attribute>),
    key: &str,
    module: &Module,
    (count, noun): (usize, &str),
) -> Result<Vec<Vec<usize>>> {
    let name = &operation.name;
    let everyone = || vec![(0..count).collect::<Vec<usize>>()];
    let wrong = |what: String| Error::bad(format!("{name}: {what}"));
    let elements = match attribute {
        None if key == PAIRS => return Err(wrong(format!("no {key}"))),
        None => return Ok(everyone()),
        Some(Attribute::Elements(elements)) => elements,
        Some(Attribute::MeshAxes(groups)) if key == GROUPS => {
            let grid = mesh_of(module, &groups.mesh).and_then(|mesh| Grid::new(mesh, count));
            let groups = grid.and_then(|grid| grid.groups(&groups.axes));
            return groups.map_err(|error| wrong(format!("{key} of {count} {noun}s: {error}")));
        }
        Some(_) => return Err(wrong(format!("{key} that are no dense array"))),
    };
    let rows = rows(elements).map_err(|error| wrong(format!("{key} {error}")))?;
    if rows.is_empty() {
        return Ok(if key == PAIRS { Vec::new() } else { everyone() });
    }
    let participant = |&number: &i64| {
        let found = usize::try_from(number).ok().filter(|&participant| participant < count);
        found.ok_or_else(|| wrong(format!("{key} name {noun} {number} of {count}")))
    };
    if key == PAIRS {
        if let Some(other) = rows.iter().find(|row| row.len() != 2) {
            return Err(wrong(format!("pairs of {}", other.len())));
        }
        return rows.iter().map(|row| row.iter().map(participant).collect()).collect();
    }
    // -1 fills the room of groups that are smaller than others.
    let group =
        |row: &Vec<i64>| row.iter().filter(|&&number| number != -1).map(participant).collect();
    rows.iter().map(group).collect()
}

/// The rows of an array of numbers; none, if it has no elements.
fn rows(elements: &Elements) -> Result<Vec<Vec<i64>>> {
    let dims = &elements.of.dims;
    let numbers = elements.integers();
    let (Some(numbers), &[_, width]) = (numbers, &dims[..]) else {
        let element = elements.of.element;
        return Err(Error::bad(format!("of shape {dims:?} and type {element:?}")));
    };
    if numbers.is_empty() {
        return Ok(Vec::new());
    }
    let width = usize::try_from(width).ok().filter(|width| numbers.len() % width.max(&1) == 0);
    let width = width.ok_or_else(|| {
        let had = numbers.len();
        Error::bad(format!("of shape {dims:?} with {had} numbers"))
    })?;
    Ok(numbers.chunks(width.max(1)).map(<[i64]>::to_vec).collect())
}

/// The sets of participants that are connected by groups; each participant is in one.
pub(crate) fn connected(participants: usize, groups: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut leader: Vec<usize> = (0..participants).collect();
    for group in groups {
        let Some(&first) = group.first() else { continue };
        for &participant in group {
            let (old, new) = (leader[participant], leader[first]);
            leader.iter_mut().filter(|leader| **leader == old).for_each(|leader| *leader = new);
        }
    }
    let mut sets: Vec<Vec<usize>> = Vec::new();
    for participant in 0..participants {
        match sets.iter_mut().find(|set| leader[set[0]] == leader[participant]) {
            Some(set) => set.push(participant),
            None => sets.push(vec![participant]),
        }
    }
    sets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_groups_that_overlap_belong_together() {
        let sets = connected(6, &[vec![0, 2], vec![4, 2], vec![1]]);
        assert_eq!(sets, [vec![0, 2, 4], vec![1], vec![3], vec![5]]);
    }
}
