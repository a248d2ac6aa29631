//! Questions about the chips of one slice: what the TpuTopology extension of PJRT asks.
use super::Topology;
use super::mesh::{self, Bounds};
use super::shape::Shape;
use std::ops::Range;
use tpu_base::error::{Error, Result};

/// The chips, processes and devices of a topology of one slice.
///
/// Units: ids and indices count from 0; coordinates lie below the bounds.
/// Source: the values of libtpu 0.0.51 for 102 topologies. Where it was not asked, a method says
/// that it is inferred.
#[derive(Debug, Clone, Copy)]
#[doc(alias = "PJRT_TpuTopology_Extension")]
pub struct Chips<'a> {
    shape: &'a Shape,
}

impl Topology {
    /// The chips of a topology of one slice.
    ///
    /// Errors: `Unimplemented` for several slices, as in libtpu 0.0.51.
    pub fn chips(&self) -> Result<Chips<'_>> {
        match self.shape.slices {
            1 => Ok(Chips { shape: &self.shape }),
            slices => Err(Error::Unimplemented(format!(
                "questions about chips are for one slice; this topology has {slices}"
            ))),
        }
    }
}

impl Chips<'_> {
    /// Processes of the slice.
    pub fn process_count(self) -> i32 {
        self.shape.processes()
    }

    /// Chips of a process.
    pub fn chips_per_process(self) -> i32 {
        self.shape.host.iter().product()
    }

    /// TensorCores of a chip.
    pub fn core_count_per_chip(self) -> i32 {
        self.shape.generation.cores_per_chip()
    }

    /// Chips of the slice.
    pub fn chip_count(self) -> i32 {
        self.shape.bounds.iter().product()
    }

    /// TensorCores of the slice.
    pub fn core_count(self) -> i32 {
        self.chip_count() * self.core_count_per_chip()
    }

    /// Devices of a process.
    pub fn logical_device_count_per_process(self) -> i32 {
        self.shape.devices_per_process()
    }

    /// Devices of the slice.
    pub fn logical_device_count(self) -> i32 {
        self.chip_count() * self.logical_device_count_per_chip()
    }

    /// Devices of a chip.
    pub fn logical_device_count_per_chip(self) -> i32 {
        self.shape.generation.devices_per_chip
    }

    /// TensorCores of a process.
    pub fn core_count_per_process(self) -> i32 {
        self.chips_per_process() * self.core_count_per_chip()
    }

    /// Chips along each axis of a process.
    pub fn chips_per_process_bounds(self) -> Bounds {
        self.shape.host
    }

    /// Chips along each axis.
    pub fn chip_bounds(self) -> Bounds {
        self.shape.bounds
    }

    /// Processes along each axis.
    pub fn process_bounds(self) -> Bounds {
        self.shape.process_bounds()
    }

    /// The ids of all processes.
    pub fn process_ids(self) -> Range<i32> {
        0..self.process_count()
    }

    /// The ids of a process's devices, ascending.
    ///
    /// Errors: `BadArgument` for an id that no process has.
    pub fn logical_device_ids_on_process(self, process: i32) -> Result<Vec<i32>> {
        let at = self.process_coord_from_id(process)?;
        let corner = mesh::zip(at, self.shape.host, |at, side| at * side);
        let per_chip = self.logical_device_count_per_chip();
        let first = |chip| {
            let coords = mesh::zip(corner, chip, |corner, chip| corner + chip);
            mesh::index_of(coords, self.shape.bounds) * per_chip
        };
        let chips = mesh::points(self.shape.host);
        Ok(chips.map(first).flat_map(|first| first..first + per_chip).collect())
    }

    /// The process of a chip and the chip's number among those of the process.
    ///
    /// Errors: `BadArgument` for an id that no chip has.
    #[doc(alias = "PJRT_TpuTopology_ProcIdAndIdxOnProcForChip")]
    pub fn process_of_chip(self, chip: i32) -> Result<(i32, i32)> {
        let coords = self.chip_coords("chip", chip, 1)?;
        let at = mesh::zip(coords, self.shape.host, |chip, side| chip / side);
        let place = mesh::zip(coords, self.shape.host, |chip, side| chip % side);
        let process = mesh::index_of(at, self.process_bounds());
        Ok((process, mesh::index_of(place, self.shape.host)))
    }

    /// The process of a device and the device's number among those of the process.
    ///
    /// Errors: `BadArgument` for an id that no device has.
    #[doc(alias = "PJRT_TpuTopology_ProcIdAndIdxOnProcForLogiDevice")]
    pub fn process_of_logical_device(self, device: i32) -> Result<(i32, i32)> {
        let (coords, core) = self.chip_of_logical_device(device)?;
        let chip = mesh::index_of(coords, self.shape.bounds);
        let (process, index) = self.process_of_chip(chip)?;
        Ok((process, index * self.logical_device_count_per_chip() + core))
    }

    /// The place of a process among the processes.
    ///
    /// Errors: `BadArgument` for an id that no process has.
    pub fn process_coord_from_id(self, process: i32) -> Result<Bounds> {
        if !self.process_ids().contains(&process) {
            return Err(no_such("process", process, self.process_count()));
        }
        Ok(mesh::point_of(process, self.process_bounds()))
    }

    /// The id of the chip at `coords`, two or three of them.
    ///
    /// Errors: `BadArgument` for a place outside the slice.
    pub fn chip_id_from_coord(self, coords: &[i32]) -> Result<i32> {
        let coords = three(coords, 0)?;
        if !mesh::contains(self.shape.bounds, coords) {
            let bounds = mesh::text(self.shape.bounds);
            return Err(Error::bad(format!("no chip at {coords:?} in {bounds}")));
        }
        Ok(mesh::index_of(coords, self.shape.bounds))
    }

    /// The id of a device, by its chip and its number on the chip.
    ///
    /// Errors: `BadArgument` for a place outside the slice or a number past the chip's devices.
    #[doc(alias = "PJRT_TpuTopology_LogiDeviceIdFromChipCoordAndIdx")]
    pub fn logical_device_id(self, coords: &[i32], index_on_chip: i32) -> Result<i32> {
        let per_chip = self.logical_device_count_per_chip();
        if !(0..per_chip).contains(&index_on_chip) {
            return Err(no_such("device on the chip", index_on_chip, per_chip));
        }
        Ok(self.chip_id_from_coord(coords)? * per_chip + index_on_chip)
    }

    /// The place of a device's chip and the device's number on it.
    ///
    /// Errors: `BadArgument` for an id that no device has.
    #[doc(alias = "PJRT_TpuTopology_ChipCoordAndIdxForLogiDevice")]
    pub fn chip_of_logical_device(self, device: i32) -> Result<(Bounds, i32)> {
        let per_chip = self.logical_device_count_per_chip();
        Ok((self.chip_coords("device", device, per_chip)?, device % per_chip))
    }

    fn chip_coords(self, what: &str, id: i32, per_chip: i32) -> Result<Bounds> {
        let count = self.chip_count() * per_chip;
        if !(0..count).contains(&id) {
            return Err(no_such(what, id, count));
        }
        Ok(mesh::point_of(id / per_chip, self.shape.bounds))
    }

    /// Whether the slice was cut out of a larger one.
    pub fn is_subslice_topology(self) -> bool {
        self.shape.subslice
    }

    /// Whether the barrier between chips is the newer one; so in every recorded topology.
    pub fn is_enhanced_barrier_enabled(self) -> bool {
        true
    }

    /// Whether the network does not join every pair of chips directly.
    pub fn has_limited_ici_connectivity(self) -> bool {
        self.shape.has_limited_ici()
    }

    /// How the network is routed: `mesh` or `nhop`.
    pub fn routing_strategy(self) -> &'static str {
        self.shape.routing_strategy()
    }

    /// Whether one chip reaches another directly over a network of limited routing.
    ///
    /// A network that is not limited answers no.
    /// Errors: `BadArgument` for an id that no chip has; `Unimplemented` on a network that is
    /// limited, because nobody has recorded which chips it joins.
    pub fn is_reachable_over_limited_ici(self, source: i32, target: i32) -> Result<bool> {
        self.chip_coords("chip", source, 1)?;
        self.chip_coords("chip", target, 1)?;
        if self.has_limited_ici_connectivity() {
            let chips = self.chip_count();
            return Err(Error::Unimplemented(format!(
                "which of {chips} chips reach each other over limited links is not known"
            )));
        }
        Ok(false)
    }

    /// A slice of `hosts` hosts with `chips_per_host` chips each, cut out of this one.
    ///
    /// A ring stays closed only along an axis that is taken whole.
    /// Errors: `BadArgument` for a part that is larger than the whole. Source: inferred.
    pub fn subslice(self, chips_per_host: &[i32], hosts: &[i32]) -> Result<Topology> {
        let (host, bounds) = product(chips_per_host, hosts)?;
        if (0..3).any(|axis| bounds[axis] > self.shape.bounds[axis]) {
            let (part, whole) = (mesh::text(bounds), mesh::text(self.shape.bounds));
            return Err(Error::bad(format!("a subslice of {part} chips is not within {whole}")));
        }
        let wrap =
            [0, 1, 2].map(|axis| self.shape.wrap[axis] && bounds[axis] == self.shape.bounds[axis]);
        let twist = self.shape.twist && bounds == self.shape.bounds;
        self.changed(Shape { bounds, host, wrap, twist, subslice: true, ..self.shape.clone() })
    }

    /// This slice with other numbers of hosts along its axes; hosts keep their chips.
    ///
    /// Errors: `BadArgument` for counts below 1, or axes that the twist does not allow.
    /// Source: inferred.
    pub fn replace_host_bounds(self, hosts: &[i32]) -> Result<Topology> {
        let (host, bounds) = product(&self.shape.host, hosts)?;
        self.changed(Shape { bounds, host, ..self.shape.clone() })
    }

    fn changed(self, shape: Shape) -> Result<Topology> {
        let name = format!("{}:{}", shape.generation.family, mesh::text(shape.bounds));
        shape.check(&name)?;
        Ok(Topology::build(shape))
    }

    /// The id that a device of this slice has in a part of it that begins at `origin`.
    ///
    /// Errors: `BadArgument` for a device outside the part, a part outside this slice, or parts
    /// of another generation; `Unimplemented` for a part of several slices. Source: inferred.
    pub fn subslice_device_id_from_full_device_id(
        self,
        subslice: &Topology,
        origin: &[i32],
        device: i32,
    ) -> Result<i32> {
        let part = subslice.chips()?;
        if part.shape.generation != self.shape.generation {
            let (ours, theirs) = (self.shape.generation.family, part.shape.generation.family);
            return Err(Error::bad(format!("a subslice of {ours} is not of {theirs}")));
        }
        let origin = three(origin, 0)?;
        let last = mesh::zip(origin, part.shape.bounds, |at, side| at.saturating_add(side - 1));
        let whole = self.shape.bounds;
        if !mesh::contains(whole, origin) || !mesh::contains(whole, last) {
            let (part, whole) = (mesh::text(part.shape.bounds), mesh::text(whole));
            return Err(Error::bad(format!("{part} chips at {origin:?} are not within {whole}")));
        }
        let (coords, core) = self.chip_of_logical_device(device)?;
        let place = mesh::zip(coords, origin, |chip, at| chip - at);
        part.logical_device_id(&place, core)
    }
}

/// Chips of a host, and of all hosts.
fn product(chips_per_host: &[i32], hosts: &[i32]) -> Result<(Bounds, Bounds)> {
    let (host, hosts) = (three(chips_per_host, 1)?, three(hosts, 1)?);
    let bounds = mesh::zip(host, hosts, i32::saturating_mul);
    if host.iter().chain(&hosts).any(|&side| side < 1) {
        return Err(Error::bad(format!("bounds {host:?} and {hosts:?} must be 1 or more")));
    }
    Ok((host, bounds))
}

/// Two or three numbers; the third one is `rest` if it is left out.
fn three(numbers: &[i32], rest: i32) -> Result<Bounds> {
    match *numbers {
        [x, y] => Ok([x, y, rest]),
        [x, y, z] => Ok([x, y, z]),
        _ => {
            let count = numbers.len();
            Err(Error::bad(format!("{count} axes given, a TPU topology has 2 or 3")))
        }
    }
}

fn no_such(what: &str, id: i32, count: i32) -> Error {
    Error::bad(format!("no {what} {id}; there are {count}, counted from 0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topology(spec: &str) -> Topology {
        Topology::parse(spec).unwrap()
    }

    #[test]
    fn questions_about_ids_agree_with_the_list_of_devices() {
        for spec in ["v2:4x4", "v4:4x2x3", "v5e:4x8,chips_per_host_bounds=2x4x1", "tpu7x:4x4x4"] {
            let topology = topology(spec);
            let chips = topology.chips().unwrap();
            let mut listed = Vec::new();
            for process in chips.process_ids() {
                listed.extend(chips.logical_device_ids_on_process(process).unwrap());
            }
            assert!(listed.iter().eq(topology.devices().iter().map(|device| &device.id)));
            for device in topology.devices() {
                let place = (device.process_index, device.local_hardware_id);
                assert_eq!(chips.process_of_logical_device(device.id), Ok(place));
                let at = (device.coords, device.core_on_chip);
                assert_eq!(chips.chip_of_logical_device(device.id), Ok(at));
                let id = chips.logical_device_id(&device.coords, device.core_on_chip);
                assert_eq!(id, Ok(device.id));
                let chip = chips.chip_id_from_coord(&device.coords).unwrap();
                assert_eq!(chips.process_of_chip(chip).unwrap().0, device.process_index);
            }
            assert_eq!(chips.logical_device_count(), i32::try_from(listed.len()).unwrap());
        }
    }

    #[test]
    fn a_chip_of_two_cores_is_counted_by_cores_and_by_devices() {
        let topology = topology("v4:2x2x2,chip_config_name=megacore");
        let chips = topology.chips().unwrap();
        assert_eq!((chips.core_count(), chips.logical_device_count()), (16, 8));
        assert_eq!((chips.core_count_per_process(), chips.chips_per_process()), (8, 4));
        assert_eq!(chips.process_bounds(), [1, 1, 2]);
        assert_eq!(chips.process_coord_from_id(1), Ok([0, 0, 1]));
    }

    #[test]
    fn what_is_not_there_is_refused_with_the_count() {
        let topology = topology("v5e:2x2");
        let chips = topology.chips().unwrap();
        let refused = |result: Result<i32>| result.unwrap_err().to_string();
        assert_eq!(refused(chips.chip_id_from_coord(&[2, 0])), "no chip at [2, 0, 0] in 2x2x1");
        let text = "1 axes given, a TPU topology has 2 or 3";
        assert_eq!(refused(chips.chip_id_from_coord(&[2])), text);
        let text = "no device on the chip 1; there are 1, counted from 0";
        assert_eq!(refused(chips.logical_device_id(&[0, 0, 0], 1)), text);
        assert!(chips.process_of_chip(4).is_err());
        assert!(chips.process_of_logical_device(-1).is_err());
        assert!(chips.logical_device_ids_on_process(1).is_err());
    }

    #[test]
    fn several_slices_are_not_asked_about_chips() {
        let error = topology("v5e:2x2,num_slices=2").chips().unwrap_err();
        assert_eq!(error.code(), tpu_base::error::Code::Unimplemented);
    }

    #[test]
    fn a_part_of_a_slice_numbers_its_own_devices() {
        let whole = topology("v4:4x4x4,wrap=1x1x1");
        let chips = whole.chips().unwrap();
        let part = chips.subslice(&[2, 2, 1], &[1, 2, 4]).unwrap();
        assert_eq!((part.bounds(), part.wrap()), ([2, 4, 4], [false, true, true]));
        assert!(part.is_subslice() && !whole.is_subslice());
        let read = Topology::parse(&part.canonical_spec());
        assert_eq!(read.as_ref(), Ok(&part));
        let full = chips.logical_device_id(&[3, 1, 2], 1).unwrap();
        let id = chips.subslice_device_id_from_full_device_id(&part, &[2, 0, 0], full);
        assert_eq!(id, part.chips().unwrap().logical_device_id(&[1, 1, 2], 1));
        assert!(chips.subslice_device_id_from_full_device_id(&part, &[0, 0, 0], full).is_err());
        assert!(chips.subslice_device_id_from_full_device_id(&part, &[3, 0, 0], full).is_err());
        assert!(chips.subslice(&[2, 2, 1], &[3, 1, 1]).is_err());
        assert!(chips.subslice(&[2, 2, 1], &[0, 1, 1]).is_err());
    }

    #[test]
    fn more_hosts_make_a_larger_slice() {
        let whole = topology("v5e:2x4");
        let grown = whole.chips().unwrap().replace_host_bounds(&[2, 2]).unwrap();
        assert_eq!(grown, topology("v5e:4x4"));
        let error = whole.chips().unwrap().replace_host_bounds(&[i32::MAX, 2, 1]).unwrap_err();
        assert_eq!(error.code(), tpu_base::error::Code::InvalidArgument);
    }

    #[test]
    fn limited_links_are_named_and_not_guessed() {
        let mesh = topology("v5e:4x4");
        assert_eq!(mesh.chips().unwrap().is_reachable_over_limited_ici(0, 5), Ok(false));
        let nhop = topology("v5e:4x8");
        assert_eq!(nhop.routing_strategy(), "nhop");
        assert!(nhop.chips().unwrap().is_reachable_over_limited_ici(0, 5).is_err());
    }
}
