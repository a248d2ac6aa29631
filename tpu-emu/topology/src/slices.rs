//! Slices that can be ordered, and the platform they are ordered from.
use super::generations::{self, Catalogue, Generation};
use super::mesh::{self, Bounds};
use super::name;
use tpu_base::error::{Error, Result};

/// One slice of a catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(alias = "PJRT_TpuTopology_SliceConfig")]
pub struct SliceConfig {
    /// Chips along each axis, in ascending order.
    pub bounds: Bounds,
    /// Which axes close to a ring.
    pub wrap: [bool; 3],
    /// Whether the torus is twisted.
    pub twist: bool,
}

/// Trays of a platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlatformConfig {
    /// Chips on a tray.
    pub chips_per_tray: i64,
    /// Trays.
    pub trays: i64,
}

/// Every slice of a platform, each once, by its axes.
///
/// Errors: `BadArgument` for an unknown platform, `Unimplemented` for one whose slices are not
/// known. Source: the 446 slices that libtpu 0.0.51 lists for TPU7x, in the same order; it
/// lists most of them twice.
#[doc(alias = "PJRT_TpuTopology_GetSliceConfigs")]
pub fn slice_configs(platform: &str) -> Result<Vec<SliceConfig>> {
    let catalogue = catalogue(platform)?;
    let plain = |&bounds| SliceConfig { bounds, wrap: [false; 3], twist: false };
    let mut configs: Vec<_> = catalogue.small.iter().map(plain).collect();
    let step = catalogue.cube;
    let axis = |from: i32| (from..=catalogue.max_axis).step_by(usize::try_from(step).unwrap_or(1));
    for x in axis(step) {
        for y in axis(x) {
            for z in axis(y) {
                push_torus(&mut configs, &catalogue, [x, y, z]);
            }
        }
    }
    Ok(configs)
}

fn push_torus(configs: &mut Vec<SliceConfig>, catalogue: &Catalogue, bounds: Bounds) {
    if mesh::volume(bounds) > catalogue.max_chips {
        return;
    }
    let torus = |twist| SliceConfig { bounds, wrap: [true; 3], twist };
    let [x, _, z] = bounds;
    match twists(bounds) && z <= catalogue.max_twisted_axis {
        false => configs.push(torus(false)),
        true if z == 2 * x => configs.extend([torus(true), torus(false)]),
        true => configs.extend([torus(false), torus(true)]),
    }
}

/// The slice of a platform that has this name, `4x4x8` or `4x4x8_twisted`.
///
/// Errors: as [`slice_configs`], and `NotFound` for a slice that it does not list.
/// Source: inferred; the real library's names for slices are not recorded.
#[doc(alias = "PJRT_TpuTopology_GetSliceConfig")]
pub fn slice_config(platform: &str, slice: &str) -> Result<SliceConfig> {
    let (shape, twist) = match slice.strip_suffix("_twisted") {
        Some(shape) => (shape, true),
        None => (slice.strip_suffix("_untwisted").unwrap_or(slice), false),
    };
    let bounds = name::parse_bounds(shape);
    let configs = slice_configs(platform)?;
    let found =
        configs.into_iter().find(|config| Some(config.bounds) == bounds && config.twist == twist);
    found.ok_or_else(|| Error::NotFound(format!("{platform} has no slice \"{slice}\"")))
}

/// The platform that a family's slices are ordered from where nobody names another.
///
/// Errors: as [`slice_configs`]. Source: libtpu 0.0.51 for TPU7x.
#[doc(alias = "PJRT_TpuTopology_GetDefaultPlatformConfig")]
pub fn platform_config(platform: &str) -> Result<PlatformConfig> {
    let Catalogue { chips_per_tray, trays, .. } = catalogue(platform)?;
    Ok(PlatformConfig { chips_per_tray, trays })
}

/// Whether a torus of these sides can be twisted: the axes, by length, are as 1:1:2 or as
/// 1:2:2, 1:2:4, 1:2:8, 1:2:16.
///
/// Source: the twisted ones among the slices that libtpu 0.0.51 lists for TPU7x.
pub(super) fn twists(bounds: Bounds) -> bool {
    let mut sides = bounds.map(i64::from);
    sides.sort_unstable();
    let [x, y, z] = sides;
    let flat = y == x && z == 2 * x;
    let steep = y == 2 * x && [2, 4, 8, 16].iter().any(|ratio| z == ratio * x);
    flat || steep
}

fn catalogue(platform: &str) -> Result<Catalogue> {
    let matches = |row: &&Generation| {
        let by_name = row.names.iter().any(|name| name.eq_ignore_ascii_case(platform));
        by_name || row.family.eq_ignore_ascii_case(platform)
    };
    let Some(row) = generations::GENERATIONS.iter().find(matches) else {
        return Err(Error::bad(format!("\"{platform}\" is no TPU platform")));
    };
    let family = row.family;
    row.catalogue
        .ok_or_else(|| Error::Unimplemented(format!("the slices of {family} are not known")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slices_of_tpu7x_are_as_many_as_recorded_and_none_comes_twice() {
        let configs = slice_configs("TPU7x").unwrap();
        assert_eq!(configs.len(), 446);
        assert_eq!(configs.iter().filter(|config| config.twist).count(), 12);
        assert_eq!(configs.iter().filter(|config| config.wrap == [false; 3]).count(), 6);
        for (position, config) in configs.iter().enumerate() {
            assert!(!configs[..position].contains(config), "{config:?}");
        }
    }

    #[test]
    fn a_slice_is_found_by_its_name() {
        let config = slice_config("tpu7x", "4x4x8_twisted").unwrap();
        assert_eq!(config, SliceConfig { bounds: [4, 4, 8], wrap: [true; 3], twist: true });
        assert_eq!(slice_config("tpu7x", "2x2x1").unwrap().wrap, [false; 3]);
        let error = slice_config("tpu7x", "4x4x5").unwrap_err();
        assert_eq!(error.to_string(), "tpu7x has no slice \"4x4x5\"");
        assert!(slice_config("tpu7x", "").is_err());
    }

    #[test]
    fn a_platform_that_is_not_known_says_so() {
        let trays = PlatformConfig { chips_per_tray: 4, trays: 1 };
        assert_eq!(platform_config("tpu7x"), Ok(trays));
        let error = platform_config("v5p").unwrap_err();
        assert_eq!(error, Error::Unimplemented("the slices of v5p are not known".to_owned()));
        assert_eq!(slice_configs("cpu").unwrap_err().to_string(), "\"cpu\" is no TPU platform");
    }
}
