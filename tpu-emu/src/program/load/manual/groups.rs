//! Who takes part in a collective with whom.
use crate::error::{Error, Result};
use tpu_stablehlo::ir::{Attribute, Operation};

/// Over what a program is spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Devices {
    /// How many there are.
    pub(crate) count: usize,
    /// Whether they are replicas; partitions otherwise.
    pub(crate) replicas: bool,
}

impl Devices {
    /// One device.
    pub(crate) const ONE: Self = Self { count: 1, replicas: false };
}

/// Operations that need the values of several devices.
const COLLECTIVES: [&str; 7] = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "collective_broadcast",
    "collective_permute",
    "cross-replica-sum",
    "reduce_scatter",
];

/// The name of a collective without its dialect; `None` for other operations.
pub(super) fn collective(operation: &Operation) -> Option<&str> {
    let (dialect, mnemonic) = operation.name.split_once('.')?;
    let known = matches!(dialect, "stablehlo" | "mhlo") && COLLECTIVES.contains(&mnemonic);
    known.then_some(mnemonic)
}

/// The groups of a collective, in numbers of devices; pairs for a permutation.
///
/// Source: StableHLO specification, "Process groups".
///
/// # Errors
/// `Unimplemented` and `BadArgument` for groups that cannot be read.
pub(super) fn groups(operation: &Operation, devices: Devices) -> Result<Vec<Vec<usize>>> {
    let name = &operation.name;
    let pairs = name.ends_with("collective_permute");
    let key = if pairs { "source_target_pairs" } else { "replica_groups" };
    let channel = operation.attributes.integer("channel_id").unwrap_or(0);
    let everyone = || vec![(0..devices.count).collect::<Vec<usize>>()];
    // Without a channel the numbers are those of replicas, and every partition is alone.
    if !devices.replicas && channel <= 0 {
        return Ok((0..devices.count).map(|device| vec![device]).collect());
    }
    let global = operation.attributes.flag("use_global_device_ids");
    let by_partition =
        pairs || name.ends_with("all_to_all") || name.ends_with("collective_broadcast");
    if !devices.replicas && !global && !by_partition {
        return Ok(everyone());
    }
    let Some(attribute) = operation.attributes.get(key) else { return Ok(everyone()) };
    let Attribute::Elements(elements) = attribute else {
        return Err(Error::Unimplemented(format!("{name}: {key} that are no dense array")));
    };
    let &[count, size] = &elements.of.dims[..] else {
        let dims = &elements.of.dims;
        return Err(Error::bad(format!("{name}: {key} of shape {dims:?}")));
    };
    if count == 0 || size == 0 {
        return Ok(if pairs { Vec::new() } else { everyone() });
    }
    let width = usize::try_from(size).unwrap_or(1);
    let numbers = elements.integers().unwrap_or_default();
    let mut groups = Vec::new();
    for group in numbers.chunks(width) {
        let member = |&number: &i64| {
            let wrong = || {
                let count = devices.count;
                Error::bad(format!("{name}: {key} name device {number} of {count}"))
            };
            usize::try_from(number).ok().filter(|&device| device < devices.count).ok_or_else(wrong)
        };
        // -1 fills the room of groups that are smaller than others.
        let members = group.iter().filter(|&&number| number != -1).map(member);
        groups.push(members.collect::<Result<Vec<usize>>>()?);
    }
    if pairs && width != 2 {
        return Err(Error::bad(format!("{name}: pairs of {width}")));
    }
    Ok(groups)
}

/// The sets of members that are connected by groups; each member is in one.
pub(super) fn connected(members: usize, groups: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut leader: Vec<usize> = (0..members).collect();
    for group in groups {
        let Some(&first) = group.first() else { continue };
        for &member in group {
            let (old, new) = (leader[member], leader[first]);
            leader.iter_mut().filter(|leader| **leader == old).for_each(|leader| *leader = new);
        }
    }
    let mut sets: Vec<Vec<usize>> = Vec::new();
    for member in 0..members {
        match sets.iter_mut().find(|set| leader[set[0]] == leader[member]) {
            Some(set) => set.push(member),
            None => sets.push(vec![member]),
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
