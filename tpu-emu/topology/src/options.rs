//! Options of a topology, as a client passes them beside its name.
use super::mesh::Bounds;
use tpu_base::error::{Error, Result};

/// The value of one option.
#[derive(Debug, Clone, PartialEq)]
pub enum OptionValue {
    /// A number.
    Int(i64),
    /// A list of numbers.
    Ints(Vec<i64>),
    /// A text.
    Text(String),
    /// A truth value.
    Bool(bool),
    /// A number with a fraction.
    Float(f32),
}

/// The names of the options, in the order in which a spec lists them.
pub(super) const NAMES: [&str; 4] =
    ["chips_per_host_bounds", "wrap", "num_slices", "chip_config_name"];

/// The options, read and checked one by one.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) host: Option<Bounds>,
    pub(super) wrap: Option<[bool; 3]>,
    pub(super) slices: Option<i64>,
    pub(super) config: Option<String>,
}

impl Options {
    /// Of an option given twice the last one counts.
    ///
    /// Errors: `BadArgument` in the words of libtpu 0.0.51, mangled type names included.
    pub(super) fn read(given: &[(String, OptionValue)]) -> Result<Self> {
        let mut options = Self::default();
        let mut unknown = Vec::new();
        for (name, value) in given {
            match (name.as_str(), value) {
                ("chips_per_host_bounds", value) => options.host = Some(host(name, value)?),
                ("wrap", value) => options.wrap = Some(three(name, value)?.map(|n| n != 0)),
                ("num_slices", OptionValue::Int(slices)) => options.slices = Some(*slices),
                ("num_slices", _) => return Err(mistyped(name, "l")),
                ("chip_config_name", OptionValue::Text(config)) => {
                    options.config = Some(config.clone());
                }
                ("chip_config_name", _) => return Err(mistyped(name, "s_6403")),
                (name, _) => unknown.push(name),
            }
        }
        if !unknown.is_empty() {
            let unknown = unknown.join(", ");
            return Err(Error::bad(format!("Unexpected arguments: {unknown}")));
        }
        Ok(options)
    }
}

fn host(name: &str, value: &OptionValue) -> Result<Bounds> {
    let given = three(name, value)?;
    let sides = given.map(|side| i32::try_from(side).unwrap_or(0));
    if sides.iter().any(|&side| side < 1) {
        let [x, y, z] = given;
        return Err(Error::bad(format!("Invalid chips_per_host_bounds: {x},{y},{z}")));
    }
    Ok(sides)
}

fn three(name: &str, value: &OptionValue) -> Result<[i64; 3]> {
    let OptionValue::Ints(list) = value else {
        return Err(mistyped(name, "s_6404"));
    };
    list.as_slice().try_into().map_err(|_| {
        let size = list.len();
        Error::bad(format!(
            "GetTpuTopologyDescription: {name} must be a list of 3 integers. \
             Got a list of size {size}."
        ))
    })
}

fn mistyped(name: &str, mangled: &str) -> Error {
    Error::bad(format!("GetTpuTopologyDescription: {name} must be a {mangled}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(name: &str, value: OptionValue) -> String {
        Options::read(&[(name.to_owned(), value)]).unwrap_err().to_string()
    }

    #[test]
    fn a_wrong_option_is_refused_in_the_words_of_the_real_library() {
        use OptionValue::{Float, Int, Ints, Text};
        let prefix = "GetTpuTopologyDescription: ";
        assert_eq!(refused("foo", Float(1.0)), "Unexpected arguments: foo");
        let text = refused("num_slices", Text("2".into()));
        assert_eq!(text, format!("{prefix}num_slices must be a l."));
        let text = refused("wrap", Int(1));
        assert_eq!(text, format!("{prefix}wrap must be a s_6404."));
        let text = refused("chip_config_name", Int(1));
        assert_eq!(text, format!("{prefix}chip_config_name must be a s_6403."));
        let text = refused("wrap", Ints(vec![1, 1]));
        let wanted = "wrap must be a list of 3 integers. Got a list of size 2.";
        assert_eq!(text, format!("{prefix}{wanted}"));
        let text = refused("chips_per_host_bounds", Ints(vec![2, 2, 0]));
        assert_eq!(text, "Invalid chips_per_host_bounds: 2,2,0");
        let text = refused("chips_per_host_bounds", Ints(vec![1 << 40, 2, 1]));
        assert_eq!(text, "Invalid chips_per_host_bounds: 1099511627776,2,1");
    }
}
