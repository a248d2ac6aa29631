//! The configuration of a custom call `tpu_custom_call`: JSON around the module.
use crate::base64;
use crate::error::Error;
use serde_json::{Map, Value};

/// What a call says of its kernel.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Config {
    /// The module, as bytecode.
    pub body: Vec<u8>,
    /// Where its operations were written, as bytecode: JAX since 0.12 keeps it apart.
    pub debug_locations: Option<Vec<u8>>,
    /// Whether several devices run together.
    pub has_communication: bool,
    /// Which barrier the devices share.
    pub collective_id: Option<i64>,
    /// What the user said that it costs.
    pub cost_estimate: Option<CostEstimate>,
    /// Bytes of the scratch that `tpu.internal_scratch` gives.
    pub internal_scratch_bytes: Option<u64>,
    /// In which memory results lie.
    pub output_colors: Vec<Color>,
    /// In which memory operands lie.
    pub input_colors: Vec<Color>,
    /// Whether accesses out of bounds are no errors.
    pub disable_bounds_checks: bool,
    /// Whether semaphores that are not zero at the end are no errors.
    pub disable_semaphore_checks: bool,
    /// Whether it runs on SparseCores.
    pub sparse_core: bool,
    /// Whether arrays have the tiles of a TensorCore there, too.
    pub compact_arrays: bool,
    /// How much VMEM it may take.
    pub vmem_limit_bytes: Option<u64>,
}

/// What a kernel costs, by its author.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CostEstimate {
    /// Operations on floats.
    pub flops: i64,
    /// Transcendental functions among them.
    pub transcendentals: i64,
    /// Bytes of memory that are read or written.
    pub bytes_accessed: i64,
    /// Bytes that are sent to other devices.
    pub remote_bytes_transferred: i64,
}

/// In which memory an operand or result lies: 0 HBM, 1 VMEM, 2 semaphores, 4 SMEM, 5 the host, 8
/// semaphores of the scalar subcore, 10 of the vector subcores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Color {
    /// Which operand or result.
    pub index: usize,
    /// The memory.
    pub color: i64,
}

/// The one form of the module that is known.
const FORMAT: i64 = 1;
/// The memory that a limit is given for.
const VMEM: i64 = 1;
/// Keys that change nothing that is computed.
const IGNORED: &[&str] = &[
    "needs_layout_passes",
    "allow_input_fusion",
    "skip_device_barrier",
    "shape_invariant_numerics",
    "serialization_format",
    "body",
];
/// The same outside of `custom_call_config`.
const IGNORED_OUTSIDE: &[&str] = &[
    "megachip_parallelism_config",
    "flag_configs",
    "custom_call_config",
    // Of older JAX: that the call runs on each device by itself, as it does.
    "implicit_sharding",
];

impl Config {
    /// Reads the configuration of a call.
    ///
    /// # Errors
    /// No JSON, a value of another kind, or a key that is not known: it could change what the
    /// kernel computes.
    pub fn read(text: &str) -> Result<Self, Error> {
        let json: Value = serde_json::from_str(text)
            .map_err(|error| Error::Config(format!("it is no JSON: {error}")))?;
        let outside = object("the whole", &json)?;
        let inside = object(
            "custom_call_config",
            outside.get("custom_call_config").unwrap_or(&Value::Null),
        )?;
        let format =
            inside.get("serialization_format").map(|of| integer("serialization_format", of));
        match format.transpose()? {
            Some(FORMAT) => {}
            other => {
                let format = other.map_or_else(|| "none".to_owned(), |format| format.to_string());
                let what = format!("serialization_format is {format}, {FORMAT} is known");
                return Err(Error::Config(what));
            }
        }
        let body = inside.get("body").ok_or_else(|| Error::Config("it has no body".to_owned()))?;
        let mut config = Self { body: bytes("body", body)?, ..Self::default() };
        for (key, value) in inside {
            config.inside(key, value)?;
        }
        for (key, value) in outside {
            config.outside(key, value)?;
        }
        Ok(config)
    }

    fn inside(&mut self, key: &str, value: &Value) -> Result<(), Error> {
        match key {
            "debug_locations" => self.debug_locations = Some(bytes(key, value)?),
            "has_communication" => self.has_communication = boolean(key, value)?,
            "collective_id" => self.collective_id = Some(integer(key, value)?),
            "cost_estimate" => self.cost_estimate = Some(cost(object(key, value)?)?),
            "internal_scratch_in_bytes" => {
                self.internal_scratch_bytes = Some(size(key, value)?);
            }
            "output_memory_space_colors" => self.output_colors = colors(key, value)?,
            "input_memory_space_colors" => self.input_colors = colors(key, value)?,
            // A list of numbers, one for each result, up to JAX 0.7.
            "output_memory_colors" => {
                let color = |(index, color): (usize, &Value)| {
                    Ok(Color { index, color: integer(key, color)? })
                };
                self.output_colors = list(key, value)?
                    .iter()
                    .enumerate()
                    .map(color)
                    .collect::<Result<_, Error>>()?;
            }
            "disable_bounds_checks" => self.disable_bounds_checks = boolean(key, value)?,
            "disable_semaphore_checks" => self.disable_semaphore_checks = boolean(key, value)?,
            "needs_hlo_passes" => {
                if boolean(key, value)? {
                    let what = "needs_hlo_passes: StableHLO inside of a kernel is not supported";
                    return Err(Error::Config(what.to_owned()));
                }
            }
            key if IGNORED.contains(&key) => {}
            key => return Err(Error::Config(format!("{key} is not known"))),
        }
        Ok(())
    }

    fn outside(&mut self, key: &str, value: &Value) -> Result<(), Error> {
        match key {
            "device_type" => match value.as_str() {
                Some("DEVICE_TYPE_SPARSECORE") => self.sparse_core = true,
                _ => return Err(Error::Config(format!("device_type is {value}"))),
            },
            "scoped_memory_configs" => {
                for item in list(key, value)? {
                    let item = object(key, item)?;
                    let memory = item.get("memory_space").unwrap_or(&Value::Null);
                    if integer("memory_space", memory)? != VMEM {
                        return Err(Error::Config(format!("{key} of memory {memory}")));
                    }
                    let bytes = item.get("size").unwrap_or(&Value::Null);
                    self.vmem_limit_bytes = Some(size("size", bytes)?);
                }
            }
            "sparse_core_config" => {
                let tiling = object(key, value)?.get("tiling").and_then(Value::as_str);
                self.compact_arrays = tiling == Some("TILING_COMPACT");
            }
            key if IGNORED_OUTSIDE.contains(&key) => {}
            key => return Err(Error::Config(format!("{key} is not known"))),
        }
        Ok(())
    }
}

/// The configuration as a compiled program shows it: with the bytes of vector memory that the
/// kernel takes, and without blanks. `None` for what is no JSON.
pub fn described(text: &str, used_vmem: u64) -> Option<String> {
    let mut json: Value = serde_json::from_str(text).ok()?;
    let used = serde_json::json!([{
        "memory_space": VMEM.to_string(), "offset": "0", "size": used_vmem.to_string(),
    }]);
    json.as_object_mut()?.insert("used_scoped_memory_configs".to_owned(), used);
    Some(json.to_string())
}

fn wrong(key: &str, value: &Value, expected: &str) -> Error {
    let mut text = value.to_string();
    if let Some((at, _)) = text.char_indices().nth(80) {
        text.truncate(at);
        text.push('…');
    }
    Error::Config(format!("{key} is {text}, {expected} is expected"))
}

fn object<'a>(key: &str, value: &'a Value) -> Result<&'a Map<String, Value>, Error> {
    value.as_object().ok_or_else(|| wrong(key, value, "an object"))
}

fn list<'a>(key: &str, value: &'a Value) -> Result<&'a Vec<Value>, Error> {
    value.as_array().ok_or_else(|| wrong(key, value, "a list"))
}

fn integer(key: &str, value: &Value) -> Result<i64, Error> {
    value.as_i64().ok_or_else(|| wrong(key, value, "an integer"))
}

fn size(key: &str, value: &Value) -> Result<u64, Error> {
    value.as_u64().ok_or_else(|| wrong(key, value, "a size"))
}

fn boolean(key: &str, value: &Value) -> Result<bool, Error> {
    value.as_bool().ok_or_else(|| wrong(key, value, "a boolean"))
}

fn bytes(key: &str, value: &Value) -> Result<Vec<u8>, Error> {
    let text = value.as_str().ok_or_else(|| wrong(key, value, "a text"))?;
    base64::decode(text).ok_or_else(|| Error::Config(format!("{key} is no base64")))
}

fn cost(named: &Map<String, Value>) -> Result<CostEstimate, Error> {
    let mut cost = CostEstimate::default();
    for (key, value) in named {
        let number = integer(key, value)?;
        match key.as_str() {
            "flops" => cost.flops = number,
            "transcendentals" => cost.transcendentals = number,
            "bytes_accessed" => cost.bytes_accessed = number,
            "remote_bytes_transferred" => cost.remote_bytes_transferred = number,
            key => return Err(Error::Config(format!("cost_estimate has {key}"))),
        }
    }
    Ok(cost)
}

/// `[{"color": 1, "shape_index": [0]}]` or `[{"color": 1, "operand_index": 0}]`.
fn colors(key: &str, value: &Value) -> Result<Vec<Color>, Error> {
    let mut colors = Vec::new();
    for item in list(key, value)? {
        let item = object(key, item)?;
        let color = integer("color", item.get("color").unwrap_or(&Value::Null))?;
        let index = match (item.get("operand_index"), item.get("shape_index")) {
            (None, None) => 0,
            (Some(index), None) => size("operand_index", index)?,
            (None, Some(path)) => match list("shape_index", path)?.as_slice() {
                [] => 0,
                [index] => size("shape_index", index)?,
                _ => return Err(wrong("shape_index", path, "one index")),
            },
            _ => return Err(wrong(key, value, "an operand or a result")),
        };
        let index = usize::try_from(index)
            .map_err(|_| Error::Config(format!("{key} of number {index}")))?;
        if let Some(other) = item
            .keys()
            .find(|key| !["color", "operand_index", "shape_index"].contains(&key.as_str()))
        {
            return Err(Error::Config(format!("{key} has {other}")));
        }
        colors.push(Color { index, color });
    }
    Ok(colors)
}

#[cfg(test)]
mod tests {
    use super::{Color, Config};

    fn read(inside: &str, outside: &str) -> Result<Config, String> {
        let text = format!(
            r#"{{"custom_call_config": {{"body": "TUzvUg==", "serialization_format": 1{inside}}}{outside}}}"#
        );
        Config::read(&text).map_err(|error| error.to_string())
    }

    #[test]
    fn what_jax_writes_is_read() {
        let config = read(
            r#", "needs_layout_passes": true, "has_communication": true, "collective_id": 7,
               "cost_estimate": {"flops": 1, "transcendentals": 2, "bytes_accessed": 3,
                                 "remote_bytes_transferred": 4},
               "output_memory_space_colors": [{"color": 1, "shape_index": [1]}],
               "input_memory_space_colors": [{"operand_index": 2, "color": 0}],
               "internal_scratch_in_bytes": 4096, "disable_bounds_checks": true"#,
            r#", "device_type": "DEVICE_TYPE_SPARSECORE",
               "sparse_core_config": {"tiling": "TILING_COMPACT"},
               "scoped_memory_configs": [{"memory_space":1, "offset": 0, "size": 1048576}]"#,
        )
        .unwrap();
        assert_eq!(config.body, b"ML\xefR");
        assert!(config.has_communication && config.disable_bounds_checks && config.sparse_core);
        assert!(config.compact_arrays);
        assert_eq!(config.collective_id, Some(7));
        assert_eq!(config.cost_estimate.unwrap().remote_bytes_transferred, 4);
        assert_eq!(config.output_colors, [Color { index: 1, color: 1 }]);
        assert_eq!(config.input_colors, [Color { index: 2, color: 0 }]);
        assert_eq!(config.internal_scratch_bytes, Some(4096));
        assert_eq!(config.vmem_limit_bytes, Some(1 << 20));
        let older = read(r#", "output_memory_colors": [0, 1]"#, "").unwrap();
        assert_eq!(older.output_colors[1], Color { index: 1, color: 1 });
    }

    #[test]
    fn what_could_change_a_kernel_is_refused_by_name() {
        for (inside, outside, expected) in [
            (r#", "moon": 1"#, "", "moon is not known"),
            ("", r#", "moon": 1"#, "moon is not known"),
            (r#", "needs_hlo_passes": true"#, "", "needs_hlo_passes"),
            (r#", "collective_id": "x""#, "", "an integer is expected"),
            ("", r#", "device_type": "DEVICE_TYPE_MOON""#, "DEVICE_TYPE_MOON"),
            ("", ", ", "no JSON"),
        ] {
            let error = read(inside, outside).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        for text in ["", "[]", "{}", r#"{"custom_call_config": 1}"#] {
            assert!(Config::read(text).is_err());
        }
        let deep = "[".repeat(100_000);
        assert!(Config::read(&deep).is_err());
    }

    #[test]
    fn a_compiled_call_says_how_much_vector_memory_it_takes() {
        let text = super::described(r#"{"b": {"x": 1},  "a": [{"color": 0}]}"#, 4096).unwrap();
        let used = r#"[{"memory_space":"1","offset":"0","size":"4096"}]"#;
        let rest = r#""a":[{"color":0}],"b":{"x":1}"#;
        assert_eq!(text, format!(r#"{{{rest},"used_scoped_memory_configs":{used}}}"#));
        assert_eq!(super::described("[", 1), None);
        assert_eq!(super::described("[]", 1), None);
    }

    #[test]
    fn another_form_of_the_module_is_refused() {
        let text = r#"{"custom_call_config": {"body": "", "serialization_format": 2}}"#;
        let error = Config::read(text).unwrap_err().to_string();
        assert!(error.contains("serialization_format is 2"), "{error}");
    }
}
