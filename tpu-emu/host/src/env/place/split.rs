//! The part of the chips that the processes of a slice have, and how it is split over them.
use super::said::{Said, Variables};
use super::{Chosen, Search, volume};
use tpu_emu::topology::{Bounds, Topology};

/// The slice with its processes, if something says that it has several.
pub(super) struct Split {
    pub(super) topology: Topology,
    /// Processes of a slice; `None` where nothing says that there are others.
    pub(super) processes: Option<i32>,
    /// What says so.
    pub(super) by: String,
}

impl Search<'_> {
    /// Chooses the part of the chips that bounds, chips and names of hosts ask for.
    pub(super) fn split(&self, base: &Topology, chosen: Chosen) -> Result<Split, String> {
        let Variables { visible, chips, grid, .. } = &self.variables;
        let (mut chips, mut grid) = (chips.as_ref(), grid.as_ref());
        let of_processes =
            |said: Option<&Said<Bounds>>| said.is_some_and(|said| said.name.contains("PROCESS"));
        let chosen_part = visible.is_some() || of_processes(chips) || of_processes(grid);
        let whole = |chips: Option<&Said<Bounds>>, grid: Option<&Said<Bounds>>| {
            chips.zip(grid).is_some_and(|(chips, grid)| {
                product(chips.value, grid.value) == Some(base.bounds())
            })
        };
        // What only describes the machine that a container stands on does not narrow a slice that
        // was asked for by name.
        if chosen != Chosen::Nothing && !chosen_part && !whole(chips, grid) {
            let describes = chosen == Chosen::Here || grid.is_none();
            if describes {
                (chips, grid) = (None, None);
            }
        }
        match (chips, grid) {
            (Some(chips), Some(grid)) => self.by_both(base, chosen, chips, grid),
            (None, Some(grid)) if volume(grid.value) > 1 => self.by_grid(base, chosen, grid),
            (Some(chips), None) => self.by_chips(base, chosen, chips),
            (None, _) => self.by_hosts(base, chosen),
        }
    }

    fn by_both(
        &self,
        base: &Topology,
        chosen: Chosen,
        chips: &Said<Bounds>,
        grid: &Said<Bounds>,
    ) -> Result<Split, String> {
        let bounds = product(chips.value, grid.value)
            .ok_or_else(|| format!("{grid} with {chips}: too many chips"))?;
        if chosen != Chosen::Nothing && volume(bounds) > volume(base.bounds()) {
            let (asked, there) = (volume(bounds), volume(base.bounds()));
            let of = base.canonical_spec();
            return Err(format!("{grid} with {chips} asks for {asked} chips; {of} has {there}"));
        }
        let topology = base.of_bounds(bounds, chips.value).map_err(|error| error.to_string())?;
        self.check_visible(chips)?;
        self.check_lists(volume(grid.value), &grid.to_string())?;
        let processes = i32::try_from(volume(grid.value)).ok();
        Ok(Split { topology, processes, by: grid.to_string() })
    }

    /// The slice split into a grid of processes; or, where nobody chose it, as many processes as
    /// the grid has, each with as many chips as are to be seen.
    fn by_grid(
        &self,
        base: &Topology,
        chosen: Chosen,
        grid: &Said<Bounds>,
    ) -> Result<Split, String> {
        let visible = self.variables.visible.as_ref();
        let of_host = visible.and_then(|visible| host_of(visible.value.len()));
        if let (Chosen::Nothing, Some(value)) = (chosen, of_host) {
            let [x, y, z] = value;
            let text = format!("{x},{y},{z}");
            let chips = Said { value, name: "TPU_CHIPS_PER_PROCESS_BOUNDS", text };
            return self.by_both(base, chosen, &chips, grid);
        }
        let (whole, parts) = (base.bounds(), grid.value);
        if (0..3).any(|axis| whole[axis] % parts[axis] != 0) {
            let [x, y, z] = whole;
            let of = base.canonical_spec();
            return Err(grid.wrong(format!("does not divide the {x}x{y}x{z} chips of {of}")));
        }
        let host = [0, 1, 2].map(|axis| whole[axis] / parts[axis]);
        let topology = base.with_hosts(host).map_err(|error| grid.wrong(error))?;
        if let Some(visible) =
            visible.filter(|said| i64::try_from(said.value.len()) != Ok(volume(host)))
        {
            let (given, left) = (visible.value.len(), volume(host));
            return Err(visible.wrong(format!("{given} chips, where {grid} leaves {left} to each")));
        }
        self.check_lists(volume(parts), &grid.to_string())?;
        Ok(Split { topology, processes: i32::try_from(volume(parts)).ok(), by: grid.to_string() })
    }

    /// Chips of each process alone: so many processes as fill the slice, if there are others.
    fn by_chips(
        &self,
        base: &Topology,
        chosen: Chosen,
        chips: &Said<Bounds>,
    ) -> Result<Split, String> {
        let others = self.said_count().is_some_and(|count| count > 1) || self.said_index();
        if !others {
            let (asked, there) = (volume(chips.value), volume(base.bounds()));
            if chosen != Chosen::Nothing && asked > there {
                let of = base.canonical_spec();
                return Err(chips.wrong(format!("{asked} chips; {of} has {there}")));
            }
            self.check_visible(chips)?;
            let part = base.of_bounds(chips.value, chips.value);
            let topology = part.map_err(|error| chips.wrong(error))?;
            return Ok(Split { topology, processes: None, by: String::new() });
        }
        self.check_visible(chips)?;
        let topology = base.with_hosts(chips.value).map_err(|_| {
            let [x, y, z] = base.bounds();
            chips.wrong(format!(
                "does not divide {x}x{y}x{z} chips; TPU_PROCESS_BOUNDS must say how many \
                 processes there are"
            ))
        })?;
        let processes = topology.process_count() / topology.slice_count();
        let by = chips.to_string();
        self.check_lists(i64::from(processes), &by)?;
        Ok(Split { topology, processes: Some(processes), by })
    }

    /// As many processes as there are names of hosts, or as many hosts as the topology has.
    fn by_hosts(&self, base: &Topology, chosen: Chosen) -> Result<Split, String> {
        let of_a_slice = base.process_count() / base.slice_count();
        let split = match self.said_processes(base)? {
            Some((1, by)) => Split {
                topology: base.with_hosts(base.bounds()).map_err(|error| error.to_string())?,
                processes: Some(1),
                by,
            },
            Some((count, by)) => {
                Split { topology: hosts(base, chosen, count, &by)?, processes: Some(count), by }
            }
            None if self.said_index() => Split {
                topology: base.clone(),
                processes: Some(of_a_slice),
                by: base.canonical_spec(),
            },
            None => Split { topology: base.clone(), processes: None, by: String::new() },
        };
        let Some(visible) = &self.variables.visible else { return Ok(split) };
        if let Some(processes @ 2..) = split.processes {
            let [x, y, z] = split.topology.chips_per_host_bounds();
            let (given, there) = (visible.value.len(), x * y * z);
            if i32::try_from(given) != Ok(there) {
                return Err(visible.wrong(format!(
                    "{given} chips, where each of {processes} processes has {there} by {}; \
                     TPU_CHIPS_PER_PROCESS_BOUNDS and TPU_PROCESS_BOUNDS say otherwise",
                    split.by
                )));
            }
            return Ok(split);
        }
        let whole = split.topology.in_one_process();
        let (there, of) = (volume(whole.bounds()), whole.canonical_spec());
        if let Some(chip) = visible.value.iter().find(|&&chip| i64::from(chip) >= there) {
            return Err(visible.wrong(format!("no chip {chip}; {of} has {there}, from 0")));
        }
        let bounds = whole.box_of_chips(&visible.value).ok_or_else(|| {
            visible.wrong(format!(
                "these chips of {of} are no box; TPU_CHIPS_PER_PROCESS_BOUNDS can say which \
                 shape they shall have"
            ))
        })?;
        let topology = whole.of_bounds(bounds, bounds).map_err(|error| visible.wrong(error))?;
        Ok(Split { topology, ..split })
    }

    /// How many processes a slice has, if something says it, and what does.
    fn said_processes(&self, base: &Topology) -> Result<Option<(i32, String)>, String> {
        let Variables { addresses, hostnames, grid, .. } = &self.variables;
        let named = addresses.as_ref().or(hostnames.as_ref());
        // One name beside our own number of a process is the host that all of them share.
        let shared =
            |said: &&Said<Vec<String>>| said.value.len() > 1 || self.asked.process_index.is_none();
        if let Some(said) = named.filter(shared) {
            let count = i32::try_from(said.value.len()).unwrap_or(i32::MAX);
            return Ok(Some((count, said.to_string())));
        }
        if let Some(count) = self.asked.nodes.count {
            let slices = self.slices(base)?;
            if count < 1 || count % slices != 0 {
                let says = self.asked.nodes.says_count(count);
                return Err(format!("{says}; {slices} slices have as many processes each"));
            }
            let by = format!("{} {count}", self.asked.nodes.counted_by());
            return Ok(Some((count / slices, by)));
        }
        Ok(grid.as_ref().map(|grid| (1, grid.to_string())))
    }

    /// Names of processes are as many as there are.
    fn check_lists(&self, processes: i64, by: &str) -> Result<(), String> {
        let Some(said) = &self.variables.addresses else { return Ok(()) };
        let count = said.value.len();
        if i64::try_from(count) == Ok(processes) {
            return Ok(());
        }
        Err(said.wrong(format!("{count} addresses, where {by} has {processes} processes")))
    }

    /// Chips that can be seen are as many as a process has.
    fn check_visible(&self, chips: &Said<Bounds>) -> Result<(), String> {
        let Some(visible) = &self.variables.visible else { return Ok(()) };
        let (given, wanted) = (visible.value.len(), volume(chips.value));
        if i64::try_from(given) == Ok(wanted) {
            return Ok(());
        }
        Err(visible.wrong(format!("{given} chips, where {chips} has {wanted}")))
    }
}

/// The same slice on hosts of these bounds, each a process.
pub(super) fn on_hosts_of(host: Bounds, split: Split) -> Result<Split, String> {
    let topology = split.topology.with_hosts(host).map_err(|error| error.to_string())?;
    let processes = Some(topology.process_count() / topology.slice_count());
    Ok(Split { topology, processes, ..split })
}

/// The usual bounds of so many chips of one host.
fn host_of(chips: usize) -> Option<Bounds> {
    [[1, 1, 1], [1, 2, 1], [2, 2, 1], [2, 4, 1]]
        .into_iter()
        .find(|&bounds| i64::try_from(chips) == Ok(volume(bounds)))
}

/// The slice on so many hosts.
fn hosts(base: &Topology, chosen: Chosen, count: i32, by: &str) -> Result<Topology, String> {
    let of_a_slice = |topology: &Topology| topology.process_count() / topology.slice_count();
    if of_a_slice(base) == count {
        return Ok(base.clone());
    }
    let other = match chosen {
        Chosen::Here => None,
        // Hosts of four chips, as every slice of the Cloud past one host has them.
        Chosen::Nothing => {
            let chips = i64::from(count) * 4;
            let slice = Topology::of_accelerator(&format!("v5e-{chips}"), None).ok();
            slice.and_then(|slice| slice.with_hosts([2, 2, 1]).ok())
        }
        Chosen::Type => base.with_hosts(Topology::common_host().bounds()).ok(),
    };
    let fits = other.filter(|topology| of_a_slice(topology) == count);
    fits.ok_or_else(|| {
        let (of, there) = (base.canonical_spec(), of_a_slice(base));
        format!("{by} says {count} processes; {of} has {there} hosts")
    })
}

fn product(a: Bounds, b: Bounds) -> Option<Bounds> {
    let mut sides = [1; 3];
    for axis in 0..3 {
        sides[axis] = a[axis].checked_mul(b[axis])?;
    }
    Some(sides)
}
