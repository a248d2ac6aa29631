//! `XLA_HloModule`: a program as bytes, and its config.
use crate::abi::{Abi, ModuleConfigFields};
use crate::memory::{At, count_of, given, given_bytes};
use crate::shape::{MOST, Shape};
use crate::sys::TpuSerializedProto;
use tpu_emu::executable::CompileOptions;
use tpu_emu::{Error, Result};
use tpu_proto::Message as _;
use tpu_proto::xla::{DeviceAssignmentProto, ExecutableBuildOptionsProto};

/// Parameters of a program, at most.
const MOST_PARAMETERS: usize = 1 << 16;

/// `XLA_HloModuleConfig`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ModuleConfig {
    seed: u64,
    launch_id: i32,
    replica_count: i64,
    num_partitions: i64,
    use_spmd: bool,
    use_auto_spmd: bool,
    mesh_shape: Vec<i64>,
    mesh_ids: Vec<i64>,
    debug_options: Vec<u8>,
    /// A serialized `DeviceAssignmentProto`.
    devices: Option<Vec<u8>>,
    /// Layouts of the parameters and of the result.
    pub(crate) entry: Option<(Vec<Shape>, Shape)>,
    to_parameters: Vec<u8>,
    to_output: Vec<u8>,
}

/// The bytes of a serialized message of the client's.
///
/// # Errors
/// `Null` for a missing pointer to more than nothing.
pub(crate) fn message<'a>(at: At<'a>, offset: usize, what: &'static str) -> Result<&'a [u8]> {
    let proto: TpuSerializedProto = at.read(offset);
    at.bytes(proto.bytes.cast(), proto.size, what)
}

/// An empty message that has bytes: its field 2, a flag, says what is the default anyway.
///
/// Clients end the process where a message has none.
const EMPTY: &[u8] = &[2 << 3, 0];

fn give_message(at: At<'_>, offset: usize, bytes: &[u8]) {
    let (size, bytes) = (bytes.len(), given_bytes(bytes).cast_const());
    at.write(offset, TpuSerializedProto { bytes, size });
}

impl ModuleConfig {
    /// The config of a test's program.
    #[cfg(test)]
    pub(crate) fn over(replica_count: i64, num_partitions: i64) -> Self {
        Self { replica_count, num_partitions, use_spmd: num_partitions > 1, ..Self::default() }
    }

    /// Reads a client's config.
    ///
    /// # Errors
    /// `Null`, and `BadArgument` for counts that no program has.
    pub(crate) fn read(abi: &Abi, at: At<'_>) -> Result<Self> {
        let fields = &abi.fields.module_config;
        let bytes = |offset: Option<usize>, what| {
            offset.map_or(Ok(Vec::new()), |offset| at.list::<u8>(offset, what))
        };
        let longs = |offset: Option<usize>, what| {
            offset.map_or(Ok(Vec::new()), |offset| at.list::<i64>(offset, what))
        };
        let devices = if at.read_bool(fields.has_static_device_assignment) {
            let what = "static_device_assignment";
            Some(message(at, fields.static_device_assignment, what)?.to_vec())
        } else {
            None
        };
        Ok(Self {
            seed: at.read(fields.seed),
            launch_id: at.read(fields.launch_id),
            replica_count: at.read(fields.replica_count),
            num_partitions: at.read(fields.num_partitions),
            use_spmd: at.read_bool(fields.use_spmd_partitioning),
            use_auto_spmd: fields
                .use_auto_spmd_partitioning
                .is_some_and(|offset| at.read_bool(offset)),
            mesh_shape: longs(fields.mesh_shape, "auto_spmd_partitioning_mesh_shape")?,
            mesh_ids: longs(fields.mesh_ids, "auto_spmd_partitioning_mesh_ids")?,
            debug_options: message(at, fields.debug_options, "debug_options")?.to_vec(),
            devices,
            entry: entry(abi, at, fields)?,
            to_parameters: bytes(fields.propagation_to_parameters, "propagation to parameters")?,
            to_output: bytes(fields.propagation_to_output, "propagation to output")?,
        })
    }

    /// Writes the config to a struct of the client's, which frees what hangs on it.
    pub(crate) fn write(&self, abi: &Abi, at: At<'_>) {
        let fields = &abi.fields.module_config;
        at.clear(fields.size);
        at.write(fields.seed, self.seed);
        at.write(fields.launch_id, self.launch_id);
        at.write(fields.replica_count, self.replica_count);
        at.write(fields.num_partitions, self.num_partitions);
        at.write(fields.use_spmd_partitioning, u8::from(self.use_spmd));
        let flag = fields.use_auto_spmd_partitioning;
        flag.inspect(|&offset| at.write(offset, u8::from(self.use_auto_spmd)));
        let lists = [(fields.mesh_shape, &self.mesh_shape), (fields.mesh_ids, &self.mesh_ids)];
        for (offset, values) in lists {
            offset.inspect(|&offset| at.write_list(offset, values));
        }
        let debug_options = &*self.debug_options;
        let debug_options = if debug_options.is_empty() { EMPTY } else { debug_options };
        give_message(at, fields.debug_options, debug_options);
        let has_devices = u8::from(self.devices.is_some());
        at.write(fields.has_static_device_assignment, has_devices);
        if let Some(devices) = &self.devices {
            give_message(at, fields.static_device_assignment, devices);
        }
        if let Some((parameters, result)) = &self.entry {
            at.write(fields.has_entry_computation_layout, 1_u8);
            let layout = at.inner(fields.entry_computation_layout);
            let own = &abi.fields.computation_layout;
            let count = i32::try_from(parameters.len()).unwrap_or(0);
            layout.write(own.parameter_count, count);
            let shapes = given(parameters.len(), abi.fields.shape.size);
            layout.write(own.parameter_layouts, shapes.address());
            for (index, parameter) in parameters.iter().enumerate() {
                parameter.write(abi, shapes.inner(index * abi.fields.shape.size));
            }
            result.write(abi, layout.inner(own.result_layout));
        }
        let flags = [
            (fields.propagation_to_parameters, &self.to_parameters),
            (fields.propagation_to_output, &self.to_output),
        ];
        for (offset, values) in flags {
            offset.inspect(|&offset| at.write_list(offset, values));
        }
    }

    /// What [`ModuleConfig::restored`] reads: what decides how the program runs.
    pub(crate) fn saved(&self) -> Vec<u8> {
        let flags: Vec<bool> = self.to_output.iter().map(|&flag| flag != 0).collect();
        let devices = self.devices.as_deref();
        ExecutableBuildOptionsProto {
            num_replicas: self.replica_count,
            num_partitions: self.num_partitions,
            use_spmd_partitioning: self.use_spmd,
            debug_options: self.debug_options.clone(),
            device_assignment: devices.and_then(|bytes| DeviceAssignmentProto::decode(bytes).ok()),
            allow_spmd_sharding_propagation_to_output: flags,
            ..ExecutableBuildOptionsProto::default()
        }
        .encode_to_vec()
    }

    /// The config that was saved. Layouts are the program's own then.
    ///
    /// # Errors
    /// `BadArgument` for bytes that are none.
    pub(crate) fn restored(bytes: &[u8]) -> Result<Self> {
        let proto = ExecutableBuildOptionsProto::decode(bytes)
            .map_err(|error| Error::bad(format!("the options of a program: {error}")))?;
        let flags = proto.allow_spmd_sharding_propagation_to_output;
        Ok(Self {
            replica_count: proto.num_replicas,
            num_partitions: proto.num_partitions,
            use_spmd: proto.use_spmd_partitioning,
            debug_options: proto.debug_options,
            devices: proto.device_assignment.map(|devices| devices.encode_to_vec()),
            to_output: flags.into_iter().map(u8::from).collect(),
            ..Self::default()
        })
    }

    /// The machine's options for a program with this config.
    ///
    /// # Errors
    /// `BadArgument` for counts below 0 and an assignment that does not fit them;
    /// `Unimplemented` for partitions of another kind than SPMD's.
    pub(crate) fn options(&self) -> Result<CompileOptions> {
        let count = |count: i64, what| count_of(count, what).map(|count| count.max(1));
        let replicas = count(self.replica_count, "replicas")?;
        let partitions = count(self.num_partitions, "partitions")?;
        if partitions > 1 && !self.use_spmd {
            let message = format!("a program over {partitions} partitions without SPMD");
            return Err(Error::Unimplemented(message));
        }
        let devices = match &self.devices {
            Some(bytes) if !bytes.is_empty() => assigned(bytes)?,
            _ => Vec::new(),
        };
        Ok(CompileOptions {
            replicas,
            partitions,
            devices,
            propagate_to_results: self.to_output.iter().map(|&flag| flag != 0).collect(),
            ..CompileOptions::default()
        })
    }
}

/// Ids of the devices of an assignment, replica by replica.
///
/// # Errors
/// `BadArgument` for bytes that are none, and for partitions with other counts than the message
/// says.
pub(crate) fn assigned(bytes: &[u8]) -> Result<Vec<i64>> {
    let proto = DeviceAssignmentProto::decode(bytes)
        .map_err(|error| Error::bad(format!("a device assignment: {error}")))?;
    let replicas = count_of(proto.replica_count.into(), "replicas")?;
    let lists = &proto.computation_devices;
    let fits = |list: &&_| {
        let list: &tpu_proto::xla::device_assignment_proto::ComputationDevice = list;
        list.replica_device_ids.len() == replicas
    };
    if let Some(list) = lists.iter().find(|list| !fits(list)) {
        let count = list.replica_device_ids.len();
        let message = format!("{count} devices for {replicas} replicas of an assignment");
        return Err(Error::bad(message));
    }
    let replica = |replica: usize| lists.iter().map(move |list| list.replica_device_ids[replica]);
    Ok((0..replicas).flat_map(replica).collect())
}

fn entry(
    abi: &Abi,
    at: At<'_>,
    fields: &ModuleConfigFields,
) -> Result<Option<(Vec<Shape>, Shape)>> {
    if !at.read_bool(fields.has_entry_computation_layout) {
        return Ok(None);
    }
    let layout = at.inner(fields.entry_computation_layout);
    let own = &abi.fields.computation_layout;
    let count = count_of(layout.read::<i32>(own.parameter_count).into(), "parameters")?;
    if count > MOST_PARAMETERS {
        return Err(Error::bad(format!("a program with {count} parameters")));
    }
    let mut left = MOST;
    let parameters = if count == 0 {
        Vec::new()
    } else {
        let shapes = layout.follow(own.parameter_layouts, "parameter_layouts")?;
        let shape =
            |index| Shape::read_within(abi, shapes.inner(index * abi.fields.shape.size), &mut left);
        (0..count).map(shape).collect::<Result<_>>()?
    };
    Ok(Some((parameters, Shape::read(abi, layout.inner(own.result_layout))?)))
}

/// The program and the config of a client's `XLA_HloModule`.
///
/// # Errors
/// As for [`ModuleConfig::read`].
pub(crate) fn read_module<'a>(abi: &Abi, at: At<'a>) -> Result<(&'a [u8], ModuleConfig)> {
    let fields = &abi.fields.module;
    let code = message(at, fields.proto, "proto")?;
    Ok((code, ModuleConfig::read(abi, at.inner(fields.module_config))?))
}

/// Writes an `XLA_HloModule` to a struct of the client's: its bytes, and its config if `config`.
pub(crate) fn write_module(abi: &Abi, at: At<'_>, code: &[u8], config: Option<&ModuleConfig>) {
    let fields = &abi.fields.module;
    give_message(at, fields.proto, code);
    if let Some(config) = config {
        config.write(abi, at.inner(fields.module_config));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::ROWS;
    use crate::launcher::free_module;
    use tpu_proto::xla::device_assignment_proto::ComputationDevice;

    fn assignment(lists: &[&[i64]]) -> Vec<u8> {
        let list = |ids: &&[i64]| ComputationDevice { replica_device_ids: ids.to_vec() };
        DeviceAssignmentProto {
            replica_count: i32::try_from(lists[0].len()).unwrap(),
            computation_count: i32::try_from(lists.len()).unwrap(),
            computation_devices: lists.iter().map(list).collect(),
        }
        .encode_to_vec()
    }

    #[test]
    fn a_config_goes_to_the_client_and_back_in_every_dialect() {
        let array = Shape::array(11, (1..9).collect());
        let config = ModuleConfig {
            seed: 5,
            launch_id: 6,
            replica_count: 2,
            num_partitions: 1,
            use_spmd: true,
            debug_options: vec![1, 2, 3],
            devices: Some(assignment(&[&[3, 4]])),
            entry: Some((vec![array.clone(), Shape::tuple(vec![array.clone()])], array)),
            ..ModuleConfig::default()
        };
        for abi in ROWS {
            let mut bytes = vec![0xff_u64; abi.fields.module.size / 8];
            let at = At::of(&mut bytes);
            write_module(abi, at, b"program", Some(&config));
            let (code, read) = read_module(abi, at).unwrap();
            assert_eq!((code, &read), (&b"program"[..], &config), "{}", abi.name);
            free_module(abi, at);
        }
    }

    #[test]
    fn partitions_are_those_of_spmd() {
        let config = ModuleConfig { use_spmd: false, ..ModuleConfig::over(1, 2) };
        let error = config.options().unwrap_err().to_string();
        assert!(error.contains("2 partitions without SPMD"), "{error}");
        assert_eq!(ModuleConfig::over(1, 2).options().unwrap().partitions, 2);
        assert_eq!(ModuleConfig::over(0, 0).options().unwrap().replicas, 1);
    }

    #[test]
    fn a_client_gets_no_empty_message() {
        for abi in ROWS {
            let mut bytes = vec![0xff_u64; abi.fields.module.size / 8];
            let at = At::of(&mut bytes);
            write_module(abi, at, b"program", Some(&ModuleConfig::default()));
            let read = read_module(abi, at).unwrap().1;
            assert_eq!((&*read.debug_options, &read.devices), (EMPTY, &None), "{}", abi.name);
            free_module(abi, at);
        }
    }

    #[test]
    fn what_was_saved_is_restored() {
        let config = ModuleConfig {
            replica_count: 2,
            num_partitions: 1,
            use_spmd: true,
            debug_options: vec![2 << 3, 1],
            devices: Some(assignment(&[&[3, 4]])),
            to_output: vec![1, 0],
            ..ModuleConfig::default()
        };
        assert_eq!(ModuleConfig::restored(&config.saved()), Ok(config));
        assert!(ModuleConfig::restored(b"\xff").is_err());
    }

    #[test]
    fn an_assignment_is_read_replica_by_replica() {
        assert_eq!(assigned(&assignment(&[&[0, 2], &[1, 3]])), Ok(vec![0, 1, 2, 3]));
        assert!(assigned(b"\xff").is_err());
        let mut short = DeviceAssignmentProto::decode(&*assignment(&[&[0, 2]])).unwrap();
        short.replica_count = 3;
        let error = assigned(&short.encode_to_vec()).unwrap_err().to_string();
        assert_eq!(error, "2 devices for 3 replicas of an assignment");
    }
}
