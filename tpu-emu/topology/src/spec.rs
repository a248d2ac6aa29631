//! A topology in one line of text: `v5e:4x4,chips_per_host_bounds=2x4x1,num_slices=2`.
use super::{OptionValue, Topology, accelerator, mesh};
use tpu_base::error::{Error, Result};

/// The longest line that is looked at.
const MAX_SPEC: usize = 1024;
/// The key of a topology that was cut out of a larger one. Only lines know it.
const SUBSLICE: &str = "subslice";
/// The key of a topology whose devices one process has, whatever the hosts and slices.
const PROCESSES: &str = "processes";

impl Topology {
    /// Reads a name and its options from one line.
    ///
    /// The name comes first, or an accelerator type as `v5p-256`, then `key=value` after commas: `chips_per_host_bounds` and `wrap` as
    /// `2x4x1`, `num_slices` as a number, `chip_config_name` as text, `processes=1` where one
    /// process has all hosts and slices.
    /// Errors: as [`Topology::create`], and `BadArgument` for a value that cannot be read.
    pub fn parse(spec: &str) -> Result<Self> {
        if spec.len() > MAX_SPEC {
            let length = spec.len();
            let message = format!("a topology of {length} bytes is past the limit of {MAX_SPEC}");
            return Err(Error::bad(message));
        }
        let mut pieces = spec.split(',').map(str::trim);
        let name = pieces.next().unwrap_or_default();
        let mut options = Vec::new();
        let (mut subslice, mut together) = (false, false);
        for piece in pieces {
            let Some((key, value)) = piece.split_once('=') else {
                return Err(Error::bad(format!(
                    "topology \"{spec}\": \"{piece}\" is no key=value"
                )));
            };
            let (key, value) = (key.trim(), value.trim());
            match (key, value) {
                (SUBSLICE, "1") => subslice = true,
                (PROCESSES, "1") => together = true,
                _ => options.push((key.to_owned(), read(spec, key, value)?)),
            }
        }
        let mut topology = match accelerator::options_of(name) {
            Some((name, mut given)) => {
                // Of an option given twice the last one counts.
                given.extend(options);
                Self::create(&name, &given)?
            }
            None => Self::create(name, &options)?,
        };
        topology.shape.subslice = subslice;
        Ok(if together { topology.in_one_process() } else { topology })
    }

    /// The one line that equal topologies share; [`Self::parse`] makes an equal one of it.
    pub fn canonical_spec(&self) -> String {
        let shape = &self.shape;
        let bounds = mesh::text(shape.bounds);
        let twisted = if shape.twist { "_twisted" } else { "" };
        let host = mesh::text(shape.host);
        let family = shape.generation.family;
        let mut spec = format!("{family}:{bounds}{twisted},chips_per_host_bounds={host}");
        if shape.wrap != [false; 3] {
            let wrap = mesh::text(shape.wrap.map(i32::from));
            spec += &format!(",wrap={wrap}");
        }
        if shape.slices > 1 {
            spec += &format!(",num_slices={}", shape.slices);
        }
        let config = shape.generation.configs.first().filter(|config| !config.is_empty());
        if let Some(config) = config {
            spec += &format!(",chip_config_name={config}");
        }
        if shape.together {
            spec += &format!(",{PROCESSES}=1");
        }
        if shape.subslice {
            spec += &format!(",{SUBSLICE}=1");
        }
        spec
    }

    /// A number that equal topologies share and others do not: FNV-1a of the canonical line.
    #[doc(alias = "PJRT_TopologyDescription_Fingerprint")]
    pub fn fingerprint(&self) -> u64 {
        self.canonical_spec().bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
        })
    }
}

fn read(spec: &str, key: &str, value: &str) -> Result<OptionValue> {
    let wrong = |wanted: &str| {
        Error::bad(format!("topology \"{spec}\": {key} wants {wanted}, not \"{value}\""))
    };
    match key {
        "num_slices" => value.parse().map(OptionValue::Int).map_err(|_| wrong("a number")),
        "chips_per_host_bounds" | "wrap" => value
            .split('x')
            .map(|side| side.parse().map_err(|_| wrong("three numbers such as 2x2x1")))
            .collect::<Result<_>>()
            .map(OptionValue::Ints),
        _ => Ok(OptionValue::Text(value.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_text_is_a_name_and_its_options() {
        let line = "v5e:4x4,chips_per_host_bounds=2x4x1,num_slices=2,wrap=1x1x0";
        let topology = Topology::parse(line).unwrap();
        let options = [
            ("chips_per_host_bounds".to_owned(), OptionValue::Ints(vec![2, 4, 1])),
            ("num_slices".to_owned(), OptionValue::Int(2)),
            ("wrap".to_owned(), OptionValue::Ints(vec![1, 1, 0])),
        ];
        assert_eq!(topology, Topology::create("v5e:4x4", &options).unwrap());
        assert_eq!(Topology::parse("v5e:2x4 , chips_per_host_bounds = 2x4x1"), {
            Ok(Topology::common_host())
        });
    }

    #[test]
    fn the_canonical_line_is_read_back_and_tells_topologies_apart() {
        let lines = [
            "",
            "v3-8",
            "v2:4x4",
            "v4:2x2x3",
            "v4:2x2x3,chip_config_name=megacore",
            "v4 lite:2x2",
            "v5e:4x4",
            "v5e:4x4,num_slices=2",
            "v5e:4x4,num_slices=3",
            "v5e:4x4,chips_per_host_bounds=1x1x1",
            "v5e:16x16,wrap=1x1x0",
            "v5p:4x4x8_twisted,wrap=1x1x1",
            "v5p:4x4x8,wrap=1x1x1",
            "v6e:2x2",
            "v6e:2x2,subslice=1",
            "v6e:2x2,num_slices=2,processes=1",
            "v6e:2x2,num_slices=2",
            "tpu7x:2x2x1",
        ];
        let topologies = lines.map(|line| Topology::parse(line).unwrap());
        for (i, topology) in topologies.iter().enumerate() {
            let spec = topology.canonical_spec();
            assert_eq!(Topology::parse(&spec).as_ref(), Ok(topology), "{spec}");
            for other in &topologies[..i] {
                assert_ne!(topology.fingerprint(), other.fingerprint(), "{spec}");
            }
        }
        let same = Topology::parse("TPU v5:2x2,chip_config_name=megacore").unwrap();
        assert_eq!(same.canonical_spec(), "v5p:2x2x1,chips_per_host_bounds=2x2x1");
    }

    #[test]
    fn an_accelerator_type_is_the_name_of_its_slice() {
        let spec = |line: &str| Topology::parse(line).unwrap().canonical_spec();
        assert_eq!(spec("v5p-256"), "v5p:4x4x8,chips_per_host_bounds=2x2x1");
        assert_eq!(spec("v5litepod-8"), "v5e:2x4x1,chips_per_host_bounds=2x4x1");
        let slices = spec("v6e-16,num_slices=2,chips_per_host_bounds=2x4x1");
        assert_eq!(slices, "v6e:4x4x1,chips_per_host_bounds=2x4x1,num_slices=2");
        assert!(spec("v4-16").ends_with(",chip_config_name=megacore"));
        // What the real library reads means the same here.
        assert_eq!(Topology::parse("v4-8").unwrap().devices().len(), 8);
        let text = Topology::parse("v5p-7").unwrap_err().to_string();
        assert!(text.starts_with("Your TPU topology name v5p-7 is invalid"), "{text}");
    }

    #[test]
    fn a_line_that_cannot_be_read_says_which_piece() {
        let refused = |line: &str| Topology::parse(line).unwrap_err().to_string();
        let text = "topology \"v5e:2x2,wrap\": \"wrap\" is no key=value";
        assert_eq!(refused("v5e:2x2,wrap"), text);
        let text = "topology \"v5e:2x2,num_slices=two\": num_slices wants a number, not \"two\"";
        assert_eq!(refused("v5e:2x2,num_slices=two"), text);
        assert_eq!(refused("v5e:2x2,foo=1"), "Unexpected arguments: foo");
        assert!(refused("v5e:2x2,wrap=axbxc").contains("wants three numbers such as 2x2x1"));
        assert!(refused(&"v".repeat(2000)).contains("2000 bytes"));
    }
}
