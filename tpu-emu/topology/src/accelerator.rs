//! Accelerator types, `v5p-256`: a family and a number of TensorCores or chips.
use super::generations::{GENERATIONS, Generation};
use super::mesh::{self, Bounds};
use super::{OptionValue, Topology, cores, name};
use tpu_base::error::{Error, Result};

/// What accelerator types and the labels of clusters call each family; whole words.
///
/// Source: the pages "TPU v2" to "TPU7x" of the Cloud TPU documentation, and the labels of nodes
/// in the documentation of GKE.
const FAMILIES: [(&str, &str); 19] = [
    ("v2", "v2"),
    ("v3", "v3"),
    ("v4", "v4"),
    ("tpu-v4-podslice", "v4"),
    ("v4lite", "v4 lite"),
    ("v5e", "v5e"),
    ("v5lite", "v5e"),
    ("v5litepod", "v5e"),
    ("tpu-v5-lite-podslice", "v5e"),
    ("tpu-v5-lite-device", "v5e"),
    ("v5", "v5p"),
    ("v5p", "v5p"),
    ("tpu-v5p-slice", "v5p"),
    ("v6e", "v6e"),
    ("tpu-v6e-slice", "v6e"),
    ("tpu-v6e-device", "v6e"),
    ("tpu7x", "tpu7x"),
    ("tpu7", "tpu7x"),
    ("v7x", "tpu7x"),
];

/// Chips that one host has where a slice has no more.
const LARGEST_HOST: i64 = 8;

/// A topology's name and the options that belong to it.
pub(super) type Named = (String, Vec<(String, OptionValue)>);

impl Topology {
    /// The slice of an accelerator type: `v5p-256`, which is 128 chips, or `v5litepod-16`; in the
    /// shape `bounds` if that is known.
    ///
    /// Types of v2, v3, v4, v5p and TPU7x count TensorCores, those of the others chips. Hosts
    /// have four chips, but up to eight of a planar v5e or v6e slice are one host. Both cores of
    /// a v4 chip are one device, as on machines of the Cloud.
    ///
    /// Errors: `BadArgument` for an unknown family, a number that no slice has, or bounds with
    /// another number of chips.
    pub fn of_accelerator(accelerator: &str, bounds: Option<&str>) -> Result<Self> {
        let (name, options) = named(accelerator, bounds)?;
        Self::create(&name, &options)
    }
}

/// The name and the options of an accelerator type, unless the real library knows it as a name.
pub(super) fn options_of(accelerator: &str) -> Option<Named> {
    let known = name::is_whole(accelerator);
    if known { None } else { named(accelerator, None).ok() }
}

fn named(accelerator: &str, bounds: Option<&str>) -> Result<Named> {
    let lower = accelerator.to_ascii_lowercase();
    let whole = |word: &str| {
        let row = FAMILIES.iter().find(|(name, _)| *name == word)?;
        GENERATIONS.iter().rfind(|generation| generation.family == row.1)
    };
    let (row, number) = match (whole(&lower), lower.rsplit_once('-')) {
        (Some(row), _) => (Some(row), None),
        (None, Some((family, number))) => (whole(family), Some(number)),
        (None, None) => (None, None),
    };
    let row = row.ok_or_else(|| {
        Error::bad("no accelerator type: wanted is FAMILY-NUMBER, as v5litepod-8 or v5p-256")
    })?;
    let given = bounds.map(read_bounds).transpose()?;
    let bounds = match (number, given) {
        (None, Some(bounds)) => bounds,
        (None, None) => return Err(Error::bad("a family without a number of chips")),
        (Some(number), given) => numbered(row, number, given)?,
    };
    let host = match row.axes == 2 && mesh::volume(bounds) <= LARGEST_HOST {
        true => bounds,
        false => mesh::zip(row.host, bounds, i32::min),
    };
    let (family, shape) = (row.family, mesh::text(bounds));
    let mut options = vec![(
        "chips_per_host_bounds".to_owned(),
        OptionValue::Ints(host.iter().map(|&side| side.into()).collect()),
    )];
    if let Some(config) = row.configs.first().filter(|config| !config.is_empty()) {
        let config = OptionValue::Text((*config).to_owned());
        options.push(("chip_config_name".to_owned(), config));
    }
    Ok((format!("{family}:{shape}"), options))
}

/// The shape of a number of cores or chips of a family, which is `given` if it fits.
fn numbered(row: &Generation, number: &str, given: Option<Bounds>) -> Result<Bounds> {
    let cores: i64 = number.parse().map_err(|_| Error::bad("its number is no number"))?;
    let per_chip = i64::from(row.cores_per_chip());
    let counted = if per_chip == 1 { "chips" } else { "TensorCores" };
    if let Some(bounds) = given {
        let chips = mesh::volume(bounds);
        let shape = mesh::text(bounds);
        return match chips.checked_mul(per_chip) == Some(cores) {
            true => Ok(bounds),
            false => Err(Error::bad(format!(
                "{cores} {counted}, where {shape} chips have {}",
                chips.saturating_mul(per_chip)
            ))),
        };
    }
    let wrong = || Error::bad(format!("no slice of {} has {cores} {counted}", row.family));
    cores::shape_of(row, cores).ok_or_else(wrong)
}

/// Sides as `4x4x8`, the last one 1 if it is left out.
fn read_bounds(text: &str) -> Result<Bounds> {
    name::parse_bounds(text)
        .ok_or_else(|| Error::bad(format!("\"{text}\" is no shape as 2x4 or 4x4x8")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(accelerator: &str, bounds: Option<&str>) -> String {
        Topology::of_accelerator(accelerator, bounds).unwrap().canonical_spec()
    }

    #[test]
    fn an_accelerator_type_is_the_slice_of_the_documentation() {
        let rows = [
            ("v2-8", "v2:2x2x1"),
            ("v2-32", "v2:4x4x1"),
            ("v3-8", "v3:2x2x1"),
            ("v3-64", "v3:4x8x1"),
            ("v3-2048", "v3:32x32x1"),
            ("v4-8", "v4:2x2x1"),
            ("v4-16", "v4:2x2x2"),
            ("v4-32", "v4:2x2x4"),
            ("v4-64", "v4:2x4x4"),
            ("v4-128", "v4:4x4x4"),
            ("v4-256", "v4:4x4x8"),
            ("v4-4096", "v4:8x16x16"),
            ("v5litepod-1", "v5e:1x1x1"),
            ("v5litepod-4", "v5e:2x2x1"),
            ("v5litepod-8", "v5e:2x4x1"),
            ("v5litepod-16", "v5e:4x4x1"),
            ("v5litepod-32", "v5e:4x8x1"),
            ("v5e-256", "v5e:16x16x1"),
            ("v5p-8", "v5p:2x2x1"),
            ("v5p-256", "v5p:4x4x8"),
            ("v5p-1536", "v5p:8x8x12"),
            ("v5p-3072", "v5p:8x12x16"),
            ("v5p-6144", "v5p:12x16x16"),
            ("v5p-12288", "v5p:16x16x24"),
            ("v5p-17920", "v5p:16x20x28"),
            ("v6e-1", "v6e:1x1x1"),
            ("v6e-8", "v6e:2x4x1"),
            ("v6e-128", "v6e:8x16x1"),
            ("tpu7x-8", "tpu7x:2x2x1"),
            ("TPU7x-128", "tpu7x:4x4x4"),
        ];
        for (accelerator, start) in rows {
            let spec = spec(accelerator, None);
            assert!(spec.starts_with(&format!("{start},")), "{accelerator}: {spec}");
        }
    }

    #[test]
    fn a_host_has_four_chips_and_a_small_planar_slice_is_one_host() {
        let hosts = |accelerator| Topology::of_accelerator(accelerator, None).unwrap();
        assert_eq!(hosts("v5litepod-8").process_count(), 1);
        assert_eq!(hosts("v6e-16").process_count(), 4);
        assert_eq!(hosts("v5p-256").process_count(), 32);
        assert_eq!(hosts("v4-16").devices().len(), 8);
    }

    #[test]
    fn a_shape_beside_the_type_is_taken_if_it_has_as_many_chips() {
        assert_eq!(spec("v5p-32", Some("4x2x2")), "v5p:4x2x2,chips_per_host_bounds=2x2x1");
        assert_eq!(spec("tpu-v6e-slice", Some("4x4")), "v6e:4x4x1,chips_per_host_bounds=2x2x1");
        let refused = |accelerator, bounds| {
            Topology::of_accelerator(accelerator, bounds).unwrap_err().to_string()
        };
        let text = "32 TensorCores, where 2x2x2 chips have 16";
        assert_eq!(refused("v5p-32", Some("2x2x2")), text);
        assert_eq!(refused("v5p-32", Some("big")), "\"big\" is no shape as 2x4 or 4x4x8");
        assert_eq!(refused("v5p-7", None), "no slice of v5p has 7 TensorCores");
        assert_eq!(refused("v5e-0", None), "no slice of v5e has 0 chips");
        assert_eq!(refused("tpu-v6e-slice", None), "a family without a number of chips");
        assert!(refused("v9-8", None).starts_with("no accelerator type"));
        assert!(refused("v5e-99999999999999999999", None).contains("no number"));
        assert!(refused("", None).starts_with("no accelerator type"));
    }
}
