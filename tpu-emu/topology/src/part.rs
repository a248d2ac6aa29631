//! The same chips in other processes, and parts of a slice.
use super::mesh::{self, Bounds};
use super::shape::Shape;
use super::{Topology, slice_count};
use tpu_base::error::{Error, Result};

impl Topology {
    /// The same chips, hosts and slices, all of them in one process: process 0.
    ///
    /// Devices keep their ids, coordinates and slices; they are listed by id.
    #[must_use]
    pub fn in_one_process(&self) -> Self {
        if self.process_count() == 1 {
            return self.clone();
        }
        let together = self.shape.slices > 1;
        Self::build(Shape { host: self.shape.bounds, together, ..self.shape.clone() })
    }

    /// The same chips on hosts of other bounds.
    ///
    /// # Errors
    /// `BadArgument` for hosts that do not fill a slice.
    pub fn with_hosts(&self, host: Bounds) -> Result<Self> {
        self.of_bounds(self.shape.bounds, host)
    }

    /// Slices of other bounds, of the same chips; rings and twists stay only where the bounds do.
    ///
    /// # Errors
    /// `BadArgument` for bounds below 1, hosts that do not fill a slice, or too many chips.
    pub fn of_bounds(&self, bounds: Bounds, host: Bounds) -> Result<Self> {
        if bounds.iter().chain(&host).any(|&side| side < 1) {
            return Err(Error::bad(format!("bounds {bounds:?} and {host:?} must be 1 or more")));
        }
        let same = bounds == self.shape.bounds;
        let wrap =
            [0, 1, 2].map(|axis| self.shape.wrap[axis] && bounds[axis] == self.shape.bounds[axis]);
        let twist = self.shape.twist && same;
        let together = false;
        self.checked(Shape { bounds, host, wrap, twist, together, ..self.shape.clone() })
    }

    /// As many slices, each of them as this topology's.
    ///
    /// # Errors
    /// `BadArgument` for too many chips.
    pub fn with_slices(&self, slices: i32) -> Result<Self> {
        let slices = slice_count(slices.into())?;
        self.checked(Shape { slices, together: false, ..self.shape.clone() })
    }

    /// The box of chips that `chips` are, numbers among those of process 0: its bounds.
    ///
    /// `None` where they do not fill a box, one is not there, or one comes twice.
    pub fn box_of_chips(&self, chips: &[i32]) -> Option<Bounds> {
        let host = self.shape.host;
        let points: Option<Vec<Bounds>> = chips
            .iter()
            .map(|&chip| {
                let there = i64::from(chip) < mesh::volume(host) && chip >= 0;
                there.then(|| mesh::point_of(chip, host))
            })
            .collect();
        let mut points = points?;
        points.sort_unstable();
        points.dedup();
        let corner =
            |pick: fn(i32, i32) -> i32| points.iter().copied().reduce(|a, b| mesh::zip(a, b, pick));
        let (low, high) = (corner(i32::min)?, corner(i32::max)?);
        let bounds = mesh::zip(high, low, |high, low| high - low + 1);
        let volume = usize::try_from(mesh::volume(bounds)).ok()?;
        (volume == points.len() && points.len() == chips.len()).then_some(bounds)
    }

    fn checked(&self, shape: Shape) -> Result<Self> {
        let name = format!("{}:{}", shape.generation.family, mesh::text(shape.bounds));
        shape.check(&name)?;
        Ok(Self::build(shape))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topology(spec: &str) -> Topology {
        Topology::parse(spec).unwrap()
    }

    #[test]
    fn in_one_process_devices_keep_all_but_their_process() {
        for spec in ["v5e:4x4", "v2:4x4", "v5p:4x4x8", "v5e:4x4,num_slices=3", "v3:2x2"] {
            let (hosts, one) = (topology(spec), topology(spec).in_one_process());
            assert_eq!((one.process_count(), one.devices().len()), (1, hosts.devices().len()));
            let ids: Vec<i32> = one.devices().iter().map(|device| device.id).collect();
            assert!(ids.is_sorted(), "{spec}");
            for (number, device) in (0..).zip(one.devices()) {
                assert_eq!((device.process_index, device.local_hardware_id), (0, number));
                let other = hosts.devices().iter().find(|other| other.id == device.id).unwrap();
                assert_eq!(other.coords, device.coords);
                assert_eq!(other.slice_index, device.slice_index);
                assert_eq!(other.core_on_chip, device.core_on_chip);
            }
            let read = Topology::parse(&one.canonical_spec());
            assert_eq!(read.as_ref(), Ok(&one));
        }
    }

    #[test]
    fn a_part_keeps_the_chips_and_the_rings_of_whole_axes() {
        let whole = topology("v5p:4x4x8,wrap=1x1x1");
        let part = whole.of_bounds([2, 2, 8], [2, 2, 1]).unwrap();
        assert_eq!((part.wrap(), part.process_count()), ([false, false, true], 8));
        assert_eq!(whole.with_hosts([4, 4, 8]).unwrap(), whole.in_one_process());
        assert!(whole.with_hosts([3, 1, 1]).is_err());
        assert!(whole.of_bounds([0, 1, 1], [1, 1, 1]).is_err());
        assert_eq!(whole.with_slices(2).unwrap().devices().len(), 256);
    }

    #[test]
    fn numbers_of_chips_are_a_box_or_nothing() {
        let host = Topology::common_host();
        let bounds = |chips: &[i32]| host.box_of_chips(chips);
        assert_eq!(bounds(&[0]), Some([1, 1, 1]));
        assert_eq!(bounds(&[5]), Some([1, 1, 1]));
        assert_eq!(bounds(&[0, 1]), Some([2, 1, 1]));
        assert_eq!(bounds(&[6, 4]), Some([1, 2, 1]));
        assert_eq!(bounds(&[3, 2, 1, 0]), Some([2, 2, 1]));
        for none in [&[0, 3][..], &[0, 1, 2], &[0, 0], &[8], &[-1], &[]] {
            assert_eq!(bounds(none), None, "{none:?}");
        }
    }
}
