//! Devices in a grid with named axes: where each stands, and who stands in line with whom.
use crate::tuning::MAX_MESH_DEVICES;
use tpu_base::error::{Error, Result};
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::{Attribute, Attributes, AxisRef, Mesh, MeshAxes, MeshRef};

/// The mesh that a reference names.
///
/// # Errors
/// `BadArgument` for a mesh that is not there, or one that `stablehlo.mesh` describes otherwise.
pub(crate) fn mesh_of<'m>(module: &'m Module, of: &'m MeshRef) -> Result<&'m Mesh> {
    match of {
        MeshRef::Inline(mesh) => Ok(mesh),
        MeshRef::Symbol(name) => {
            let found = module.meshes.iter().find(|known| known.name == *name);
            let missing = || Error::bad(format!("the mesh @{name} is not there"));
            let found = found.ok_or_else(missing)?;
            match stated_twice(&found.attributes) {
                Some(other) if other != *found.mesh.axes => Err(Error::bad(format!(
                    "the mesh @{name} has the axes {:?}, and {other:?} in its attribute \
                     stablehlo.mesh",
                    found.mesh.axes
                ))),
                _ => Ok(&found.mesh),
            }
        }
    }
}

/// The groups of devices that axes make of all of their mesh.
///
/// # Errors
/// `BadArgument` for a mesh that is not there or damaged, and for axes that it does not have.
pub fn groups(module: &Module, of: &MeshAxes) -> Result<Vec<Vec<usize>>> {
    let mesh = mesh_of(module, &of.mesh)?;
    let sizes = mesh.axes.iter().map(|(_, size)| usize::try_from(*size).ok());
    let devices = sizes
        .collect::<Option<Vec<usize>>>()
        .and_then(|sizes| sizes.iter().try_fold(1_usize, |total, &size| total.checked_mul(size)));
    let wrong = || Error::bad(format!("a mesh {:?}", mesh.axes));
    let devices = devices.filter(|&devices| devices <= MAX_MESH_DEVICES).ok_or_else(wrong)?;
    Grid::new(mesh, devices)?.groups(&of.axes)
}

/// The axes that the attribute `stablehlo.mesh` of a mesh gives it once more.
fn stated_twice(attributes: &Attributes) -> Option<Vec<(std::sync::Arc<str>, i64)>> {
    let Attribute::Dictionary(mesh) = attributes.get("stablehlo.mesh")? else { return None };
    let Attribute::Array(axes) = mesh.get("axes")? else { return None };
    let axis = |axis: &Attribute| match axis {
        Attribute::Dictionary(axis) => Some((axis.text("name")?.into(), axis.integer("size")?)),
        _ => None,
    };
    axes.iter().map(axis).collect()
}

/// A mesh as a grid: where each device stands along each axis.
#[derive(Debug)]
pub(crate) struct Grid<'m> {
    mesh: &'m Mesh,
    sizes: Vec<usize>,
    /// By device, then by axis.
    places: Vec<Vec<usize>>,
}

/// Some neighbouring digits of a device's place along one axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct DigitRange {
    /// The axis.
    axis: usize,
    /// The product of the sizes of what is major to it.
    before: usize,
    /// How many places it tells apart.
    size: usize,
}

impl<'m> Grid<'m> {
    /// The grid of a mesh over all `devices`.
    ///
    /// # Errors
    /// `BadArgument` for a mesh that has another number of devices, or two axes of one name.
    pub(crate) fn new(mesh: &'m Mesh, devices: usize) -> Result<Self> {
        let wrong = || {
            let (axes, ids) = (&mesh.axes, &mesh.device_ids);
            let ids = if ids.is_empty() { String::new() } else { format!(" of devices {ids:?}") };
            Error::bad(format!("a mesh {axes:?}{ids} for {devices} devices"))
        };
        let sizes = mesh.axes.iter().map(|(_, size)| usize::try_from(*size).ok());
        let sizes = sizes.collect::<Option<Vec<usize>>>().ok_or_else(wrong)?;
        let total = sizes.iter().try_fold(1_usize, |total, &size| total.checked_mul(size));
        let total =
            total.filter(|&total| total == devices || sizes.is_empty()).ok_or_else(wrong)?;
        if sizes.is_empty() {
            return Ok(Self { mesh, sizes, places: vec![Vec::new(); devices] });
        }
        let twice = |at: usize| mesh.axes[..at].iter().any(|(name, _)| *name == mesh.axes[at].0);
        if (0..mesh.axes.len()).any(twice) {
            return Err(Error::bad(format!("a mesh {:?} with two axes of one name", mesh.axes)));
        }
        if !mesh.device_ids.is_empty() && mesh.device_ids.len() != total {
            return Err(wrong());
        }
        let mut places = vec![Vec::new(); devices];
        for index in 0..total {
            let device = match mesh.device_ids.get(index) {
                Some(&id) => usize::try_from(id).ok().filter(|&id| id < devices),
                None => Some(index),
            };
            places[device.ok_or_else(wrong)?] = digits(index, &sizes);
        }
        if places.iter().any(Vec::is_empty) {
            return Err(wrong());
        }
        Ok(Self { mesh, sizes, places })
    }

    /// Where a device stands along an axis of the mesh, and how long the axis is.
    ///
    /// # Errors
    /// `BadArgument` for an axis that the mesh does not have.
    pub(crate) fn along(&self, device: usize, axis: &AxisRef) -> Result<(usize, usize)> {
        let part = self.part(axis)?;
        Ok((self.place(device, part), part.size))
    }

    /// The groups of devices that differ along these axes alone: in a group the last axis counts
    /// fastest, and the groups are in the order of the places along what is left of the mesh.
    ///
    /// # Errors
    /// `BadArgument` for axes that the mesh does not have, or that overlap.
    ///
    /// Source: StableHLO specification, "Replica groups".
    pub(crate) fn groups(&self, axes: &[AxisRef]) -> Result<Vec<Vec<usize>>> {
        if self.sizes.is_empty() {
            return Err(Error::bad("groups along a mesh without axes"));
        }
        let mut along: Vec<DigitRange> = Vec::new();
        for (at, axis) in axes.iter().enumerate() {
            let part = self.part(axis)?;
            if axis.part.is_some() && (part.size < 2 || part.size == self.sizes[part.axis]) {
                let (axis, size) = (written(axis), self.sizes[part.axis]);
                let what = format!("{axis} is no proper part of an axis of size {size}");
                return Err(Error::bad(what));
            }
            if let Some(other) = along.iter().position(|known| !known.beside(part)) {
                let (first, second) = (written(&axes[other]), written(&axes[at]));
                return Err(Error::bad(format!("the axes {first} and {second} overlap")));
            }
            along.push(part);
        }
        let rest = self.rest(&along);
        let size = |parts: &[DigitRange]| parts.iter().map(|part| part.size).product::<usize>();
        let (members, count) = (size(&along), size(&rest));
        let mut groups = vec![vec![0; members]; count];
        for device in 0..self.places.len() {
            groups[self.number(device, &rest)][self.number(device, &along)] = device;
        }
        Ok(groups)
    }

    fn part(&self, axis: &AxisRef) -> Result<DigitRange> {
        let found = self.mesh.axes.iter().position(|(name, _)| *name == axis.name);
        let missing = || {
            let (axis, axes) = (written(axis), &self.mesh.axes);
            Error::bad(format!("axis {axis} of the mesh {axes:?}"))
        };
        let at = found.ok_or_else(missing)?;
        let whole = self.sizes[at];
        let Some((before, size)) = axis.part else {
            return Ok(DigitRange { axis: at, before: 1, size: whole });
        };
        let (before, size) = (usize::try_from(before).ok(), usize::try_from(size).ok());
        let part = before.zip(size).filter(|&(before, size)| {
            let taken = before.checked_mul(size).unwrap_or(0);
            taken > 0 && whole.is_multiple_of(taken)
        });
        let (before, size) = part.ok_or_else(missing)?;
        Ok(DigitRange { axis: at, before, size })
    }

    fn place(&self, device: usize, part: DigitRange) -> usize {
        let inner = self.sizes[part.axis] / (part.before * part.size);
        self.places[device][part.axis] / inner % part.size
    }

    /// The number that a device's places along some parts make, the last counting fastest.
    fn number(&self, device: usize, parts: &[DigitRange]) -> usize {
        parts.iter().fold(0, |number, &part| number * part.size + self.place(device, part))
    }

    /// What of the mesh is in none of these parts, in its order.
    fn rest(&self, taken: &[DigitRange]) -> Vec<DigitRange> {
        let mut rest = Vec::new();
        for (axis, &whole) in self.sizes.iter().enumerate() {
            let mut here: Vec<DigitRange> =
                taken.iter().filter(|part| part.axis == axis).copied().collect();
            here.sort_by_key(|part| part.before);
            let mut before = 1;
            for end in here.iter().map(|part| part.before).chain([whole]) {
                if end > before {
                    rest.push(DigitRange { axis, before, size: end / before });
                }
                let inside = here.iter().find(|part| part.before == end);
                before = inside.map_or(end, |part| part.before * part.size);
            }
        }
        rest
    }
}

impl DigitRange {
    /// Whether an axis can be split so that both are whole pieces of it.
    fn beside(self, other: Self) -> bool {
        let (first, second) =
            if self.before <= other.before { (self, other) } else { (other, self) };
        self.axis != other.axis
            || (second.before >= first.before * first.size
                && second.before % (first.before * first.size) == 0
                && first.before != second.before)
    }
}

/// An axis as Shardy writes it.
fn written(axis: &AxisRef) -> String {
    match axis.part {
        None => format!("{:?}", axis.name),
        Some((before, size)) => format!("{:?}:({before}){size}", axis.name),
    }
}

/// The digits of a number, major first.
pub(crate) fn digits(mut number: usize, sizes: &[usize]) -> Vec<usize> {
    let mut digits = vec![0; sizes.len()];
    for (digit, &size) in digits.iter_mut().zip(sizes).rev() {
        *digit = number % size.max(1);
        number /= size.max(1);
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mesh(axes: &[(&str, i64)], device_ids: &[i64]) -> Mesh {
        let axes = axes.iter().map(|&(name, size)| (name.into(), size)).collect();
        Mesh { axes, device_ids: device_ids.to_vec() }
    }

    fn axis(name: &str, part: Option<(i64, i64)>) -> AxisRef {
        AxisRef { name: name.into(), part }
    }

    fn groups(mesh: &Mesh, axes: &[AxisRef]) -> Result<Vec<Vec<usize>>> {
        Grid::new(mesh, 8)?.groups(axes)
    }

    #[test]
    fn a_group_counts_along_its_axes_in_their_order() {
        let mesh = mesh(&[("a", 2), ("b", 4)], &[]);
        let (a, b) = (axis("a", None), axis("b", None));
        let of = |axes: &[AxisRef]| groups(&mesh, axes).unwrap();
        assert_eq!(of(std::slice::from_ref(&a)), [[0, 4], [1, 5], [2, 6], [3, 7]]);
        assert_eq!(of(std::slice::from_ref(&b)), [[0, 1, 2, 3], [4, 5, 6, 7]]);
        assert_eq!(of(&[a.clone(), b.clone()]), [[0, 1, 2, 3, 4, 5, 6, 7]]);
        assert_eq!(of(&[b, a]), [[0, 4, 1, 5, 2, 6, 3, 7]]);
        assert_eq!(of(&[]).len(), 8);
    }

    #[test]
    fn parts_of_an_axis_are_axes_of_their_own() {
        let of = |mesh: &Mesh, axes: &[AxisRef]| groups(mesh, axes).unwrap();
        let line = mesh(&[("a", 8)], &[]);
        let (major, middle, minor) =
            (axis("a", Some((1, 2))), axis("a", Some((2, 2))), axis("a", Some((4, 2))));
        assert_eq!(of(&line, std::slice::from_ref(&major)), [[0, 4], [1, 5], [2, 6], [3, 7]]);
        assert_eq!(of(&line, std::slice::from_ref(&middle)), [[0, 2], [1, 3], [4, 6], [5, 7]]);
        assert_eq!(of(&line, &[minor, major]), [[0, 4, 1, 5], [2, 6, 3, 7]]);
    }

    #[test]
    fn devices_stand_where_the_mesh_puts_them() {
        let mesh = mesh(&[("a", 2), ("b", 4)], &[7, 6, 5, 4, 3, 2, 1, 0]);
        let of = groups(&mesh, &[axis("a", None)]).unwrap();
        assert_eq!(of, [[7, 3], [6, 2], [5, 1], [4, 0]]);
    }

    #[test]
    fn axes_that_are_none_or_overlap_are_errors_with_both_numbers() {
        let two = mesh(&[("a", 2), ("b", 4)], &[]);
        let line = mesh(&[("a", 8)], &[]);
        for (mesh, axes, expected) in [
            (&two, vec![axis("z", None)], "axis \"z\" of the mesh [(\"a\", 2), (\"b\", 4)]"),
            (&two, vec![axis("a", None), axis("a", None)], "\"a\" and \"a\" overlap"),
            (&two, vec![axis("b", Some((1, 3)))], "axis \"b\":(1)3 of the mesh"),
            (&two, vec![axis("b", Some((0, 2)))], "axis \"b\":(0)2 of the mesh"),
            (&two, vec![axis("b", Some((i64::MAX, 2)))], "of the mesh"),
            (&two, vec![axis("b", Some((1, 1)))], "no proper part of an axis of size 4"),
            (&two, vec![axis("b", Some((1, 4)))], "no proper part of an axis of size 4"),
            (&two, vec![axis("b", Some((1, 2))), axis("b", None)], "overlap"),
            (&line, vec![axis("a", Some((1, 4))), axis("a", Some((2, 2)))], "overlap"),
            (&line, vec![axis("a", Some((2, 2))), axis("a", Some((1, 4)))], "overlap"),
        ] {
            let error = groups(mesh, &axes).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        for bad in [
            mesh(&[("a", 4)], &[]),
            mesh(&[("a", 0), ("b", 8)], &[]),
            mesh(&[("a", -2), ("b", -4)], &[]),
            mesh(&[("a", 2), ("a", 4)], &[]),
            mesh(&[("a", 8)], &[0, 1]),
            mesh(&[("a", 8)], &[0, 1, 2, 3, 4, 5, 6, 6]),
            mesh(&[("a", 8)], &[0, 1, 2, 3, 4, 5, 6, 8]),
            mesh(&[], &[]),
        ] {
            assert!(groups(&bad, &[axis("a", None)]).is_err(), "{bad:?}");
        }
    }
}
