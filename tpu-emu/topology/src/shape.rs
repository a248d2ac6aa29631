//! What tells one topology from another, and the devices that follow from it.
use super::device::DeviceInfo;
use super::generations::Generation;
use super::mesh::{self, Bounds};
use super::{MAX_CHIPS, slices};
use tpu_base::error::{Error, Result};

/// What the id of a device in a topology of several slices grows by from slice to slice.
///
/// Source: device ids of libtpu 0.0.51.
const SLICE_ID_STEP: i32 = 100_000;

/// Everything that tells one topology from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) generation: &'static Generation,
    pub(super) bounds: Bounds,
    pub(super) host: Bounds,
    pub(super) wrap: [bool; 3],
    pub(super) twist: bool,
    pub(super) slices: i32,
    pub(super) subslice: bool,
    /// Whether one process has the devices of all slices.
    pub(super) together: bool,
}

impl Shape {
    /// Errors: `BadArgument` for hosts that do not fill the slice, a twist the axes do not
    /// allow, or more chips or ids than there can be.
    pub(super) fn check(&self, name: &str) -> Result<()> {
        if (0..3).any(|axis| self.bounds[axis] % self.host[axis] != 0) {
            let host = mesh::text(self.host);
            return Err(Error::bad(format!(
                "Topology layout \"{name}\" is not divisible by the given (or default) \
                 chips_per_host_bounds \"{host}\""
            )));
        }
        if self.twist && self.wrap != [true; 3] {
            return Err(Error::bad("Twisted-torus requires wrapping in all dimensions."));
        }
        if self.twist && !slices::twists(self.bounds) {
            let bounds = mesh::text(self.bounds);
            let rule = "its axes, in order of length, must be as 1:1:2, 1:2:2 or 1:2:4 and so on";
            return Err(Error::bad(format!("A torus of {bounds} chips cannot be twisted: {rule}")));
        }
        let chips = mesh::volume(self.bounds).saturating_mul(i64::from(self.slices));
        if chips > MAX_CHIPS {
            return Err(Error::bad(format!(
                "Topology \"{name}\" has {chips} chips, past the limit of {MAX_CHIPS}"
            )));
        }
        self.check_ids(name)
    }

    /// Ids of several slices may neither meet nor leave the range of an `int32`.
    fn check_ids(&self, name: &str) -> Result<()> {
        let devices = mesh::volume(self.bounds) * i64::from(self.generation.devices_per_chip);
        let step = i64::from(SLICE_ID_STEP);
        let last = step * i64::from(self.slices) + devices;
        if self.slices > 1 && (devices > step || last > i64::from(i32::MAX)) {
            let slices = self.slices;
            return Err(Error::bad(format!(
                "Topology \"{name}\" has {slices} slices of {devices} devices; ids are {step} \
                 apart from slice to slice and end at {}",
                i32::MAX
            )));
        }
        Ok(())
    }

    /// Hosts along each axis.
    pub(super) fn process_bounds(&self) -> Bounds {
        mesh::zip(self.bounds, self.host, |chips, host| chips / host)
    }

    /// Processes of a slice; a volume in reach of `check` fits.
    pub(super) fn processes(&self) -> i32 {
        self.process_bounds().iter().product()
    }

    /// Whether the network does not join every pair of chips directly.
    pub(super) fn has_limited_ici(&self) -> bool {
        let chips = mesh::volume(self.bounds);
        self.generation.nhop_from.is_some_and(|least| chips >= least)
    }

    /// How the network is routed.
    pub(super) fn routing_strategy(&self) -> &'static str {
        if self.has_limited_ici() { "nhop" } else { "mesh" }
    }

    /// Processes, all slices together.
    pub(super) fn all_processes(&self) -> i32 {
        if self.together { 1 } else { self.processes() * self.slices }
    }

    /// Devices of a host.
    pub(super) fn devices_per_process(&self) -> i32 {
        self.host.iter().product::<i32>() * self.generation.devices_per_chip
    }

    /// In the order of [`Topology::devices`].
    pub(super) fn devices(&self) -> impl Iterator<Item = DeviceInfo> {
        let processes = self.process_bounds();
        (0..self.slices).flat_map(move |slice| {
            (0_i32..).zip(mesh::points(processes)).flat_map(move |(process, at)| {
                (0_i32..)
                    .zip(mesh::points(self.host))
                    .flat_map(move |chip| self.chip_devices(slice, process, at, chip))
            })
        })
    }

    /// The devices of the chip with number and place `chip` in the host at `at`.
    fn chip_devices(
        &self,
        slice: i32,
        process: i32,
        at: Bounds,
        chip: (i32, Bounds),
    ) -> impl Iterator<Item = DeviceInfo> {
        let (number, place) = chip;
        let corner = mesh::zip(at, self.host, |host, side| host * side);
        let coords = mesh::zip(corner, place, |corner, place| corner + place);
        let per_chip = self.generation.devices_per_chip;
        let first = mesh::index_of(coords, self.bounds) * per_chip;
        let multi = self.slices > 1;
        let id_base = if multi { SLICE_ID_STEP * (slice + 1) } else { 0 };
        let (process_base, number_base) = match self.together {
            true => (0, slice * self.devices_per_process()),
            false => (slice * self.processes(), 0),
        };
        (0..per_chip).map(move |core| DeviceInfo {
            id: id_base + first + core,
            process_index: process_base + process,
            coords,
            core_on_chip: core,
            num_cores: self.generation.num_cores,
            slice_index: multi.then_some(slice),
            local_hardware_id: number_base + number * per_chip + core,
            id_in_slice: first + core,
            process_in_slice: process,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OptionValue, Topology};

    fn with(name: &str, options: &[(&str, OptionValue)]) -> Result<Topology> {
        let own = |(name, value): &(&str, OptionValue)| ((*name).to_owned(), value.clone());
        Topology::create(name, &options.iter().map(own).collect::<Vec<_>>())
    }

    #[test]
    fn a_shape_that_does_not_fit_is_refused_in_the_real_words() {
        let refused = |name, options: &[_]| with(name, options).unwrap_err();
        let error = refused("v5e:3x3", &[]);
        let text = "Topology layout \"v5e:3x3\" is not divisible by the given (or default) \
                    chips_per_host_bounds \"2x2x1\"";
        assert_eq!(error.to_string(), text);
        let error = refused("v4:4x4x8_twisted", &[]);
        assert_eq!(error.to_string(), "Twisted-torus requires wrapping in all dimensions.");
        let error = refused("v5e:2x2", &[("chip_config_name", OptionValue::Text("x".into()))]);
        let text = "embed://tpu_chip_config/viperfish_lite_chip_configs_x.binarypb does not \
                    exist.; Failed to obtain chip config \"x\" for version viperfish, variant \
                    \"lite\"";
        assert_eq!(error, Error::NotFound(text.to_owned()));
    }

    #[test]
    fn what_stops_the_real_process_is_an_error_here() {
        let wrap = || [("wrap", OptionValue::Ints(vec![1, 1, 1]))];
        assert!(with("v4:4x4x4_twisted", &wrap()).is_err());
        assert!(with("v4:4x4x8_twisted", &wrap()).unwrap().twist());
        assert!(with("v4:0x0x0", &[]).is_err());
        let error = with("v4:2048x2048x2", &[]).unwrap_err().to_string();
        let text = "Topology \"v4:2048x2048x2\" has 8388608 chips, past the limit of 1048576";
        assert_eq!(error, text);
        assert!(with("v4:2147483646x2147483646x2147483647", &[]).is_err());
        for slices in [i64::MAX, 1 << 20] {
            let options = [("num_slices", OptionValue::Int(slices))];
            assert!(with("v5e:1x1", &options).is_err());
        }
        let options = [("num_slices", OptionValue::Int(2))];
        assert!(with("v4:64x64x32", &options).unwrap_err().to_string().contains("262144 devices"));
    }
}
