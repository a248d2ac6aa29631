//! `CompileOptionsProto`: how a client wants its program compiled.
use tpu_emu::executable::CompileOptions;
use tpu_emu::{Error, Result};
use tpu_proto::Message;
use tpu_proto::xla::{
    CompileOptionsProto, DeviceAssignmentProto, ExecutableBuildOptionsProto, ShapeProto,
};

mod overrides;

/// The most replicas times partitions that are read; no slice has as many devices.
const MOST_DEVICES: usize = 1 << 20;

/// Options as they were sent, in the machine's words.
#[derive(Debug, PartialEq)]
pub(crate) struct Decoded {
    pub(crate) options: CompileOptions,
    /// Whether the program may run on any one device.
    pub(crate) portable: bool,
}

/// Reads options; no bytes at all are the defaults.
///
/// # Errors
/// `BadArgument` for bytes that are no message, impossible counts and assignments, and options
/// without a meaning here; `Unimplemented` for those that would change results.
pub(crate) fn decode(bytes: &[u8]) -> Result<Decoded> {
    let message = CompileOptionsProto::decode(bytes).map_err(|error| {
        let size = bytes.len();
        Error::bad(format!("{size} bytes of compile options are no CompileOptionsProto: {error}"))
    })?;
    overrides::check(&message.env_option_overrides)?;
    if message.matrix_unit_operand_precision != 0 {
        let precision = message.matrix_unit_operand_precision;
        let what = format!("compile option matrix_unit_operand_precision = {precision}");
        return Err(Error::Unimplemented(what));
    }
    for layout in &message.argument_layouts {
        check_row_major("argument_layouts", layout)?;
    }
    let portable = message.compile_portable_executable;
    let build = message.executable_build_options.unwrap_or_default();
    if let Some(layout) = &build.result_layout {
        check_row_major("result_layout", layout)?;
    }
    let options = build_options(&build, portable)?;
    let tupled_arguments = message.parameter_is_tupled_arguments;
    Ok(Decoded { options: CompileOptions { tupled_arguments, ..options }, portable })
}

fn build_options(build: &ExecutableBuildOptionsProto, portable: bool) -> Result<CompileOptions> {
    let replicas = count("num_replicas", build.num_replicas)?;
    let partitions = count("num_partitions", build.num_partitions)?;
    let wanted = replicas.checked_mul(partitions).filter(|&wanted| wanted <= MOST_DEVICES);
    if wanted.is_none() {
        let most = format!("at most {MOST_DEVICES} devices are accepted");
        return Err(Error::bad(format!("{replicas} replicas of {partitions} partitions; {most}")));
    }
    let devices = match &build.device_assignment {
        None => Vec::new(),
        Some(_) if portable => {
            let what = "compile_portable_executable together with a device_assignment";
            return Err(Error::bad(what));
        }
        Some(assignment) => devices(assignment, replicas, partitions)?,
    };
    if portable && wanted != Some(1) {
        let what = format!("a portable executable of {replicas} replicas, {partitions} partitions");
        return Err(Error::bad(what));
    }
    Ok(CompileOptions {
        replicas,
        partitions,
        devices,
        tupled_arguments: false,
        propagate_to_parameters: build.allow_spmd_sharding_propagation_to_parameters.clone(),
        propagate_to_results: build.allow_spmd_sharding_propagation_to_output.clone(),
    })
}

/// 0 says nothing, which is one.
fn count(name: &str, number: i64) -> Result<usize> {
    let said = if number == 0 { 1 } else { number };
    usize::try_from(said).map_err(|_| Error::bad(format!("compile option {name} is {number}")))
}

/// The devices replica by replica; the message lists them partition by partition.
fn devices(
    assignment: &DeviceAssignmentProto,
    replicas: usize,
    partitions: usize,
) -> Result<Vec<i64>> {
    let lists = &assignment.computation_devices;
    let named = (assignment.replica_count, assignment.computation_count);
    let says = |counted: i32, wanted: usize| usize::try_from(counted) == Ok(wanted);
    let whole = lists.iter().all(|list| list.replica_device_ids.len() == replicas);
    if !says(named.0, replicas) || !says(named.1, partitions) || lists.len() != partitions || !whole
    {
        let lengths: Vec<usize> =
            lists.iter().take(8).map(|list| list.replica_device_ids.len()).collect();
        return Err(Error::bad(format!(
            "a device assignment of {} replicas and {} partitions, with lists of {lengths:?} \
             devices, for {replicas} replicas and {partitions} partitions",
            named.0, named.1
        )));
    }
    let devices: Vec<i64> = (0..replicas)
        .flat_map(|replica| lists.iter().map(move |list| list.replica_device_ids[replica]))
        .collect();
    let mut sorted = devices.clone();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Error::bad(format!("device {} is assigned twice", pair[0]))),
        None => Ok(devices),
    }
}

/// A layout that a client asks for besides the program's own words must be the plain one.
fn check_row_major(name: &str, shape: &ShapeProto) -> Result<()> {
    // Protobuf's own limit on nesting bounds the depth.
    shape.tuple_shapes.iter().try_for_each(|part| check_row_major(name, part))?;
    let Some(layout) = &shape.layout else { return Ok(()) };
    let order = &layout.minor_to_major;
    let plain = layout.tiles.is_empty() && order.windows(2).all(|pair| pair[0] > pair[1]);
    if plain {
        return Ok(());
    }
    Err(Error::Unimplemented(format!("compile option {name} with the layout {order:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tpu_proto::xla::LayoutProto;
    use tpu_proto::xla::device_assignment_proto::ComputationDevice;

    fn assigned(lists: &[&[i64]], replicas: i32, partitions: i32) -> CompileOptionsProto {
        let computation_devices = lists
            .iter()
            .map(|list| ComputationDevice { replica_device_ids: list.to_vec() })
            .collect();
        let device_assignment = Some(DeviceAssignmentProto {
            replica_count: replicas,
            computation_count: partitions,
            computation_devices,
        });
        let executable_build_options = Some(ExecutableBuildOptionsProto {
            num_replicas: replicas.into(),
            num_partitions: partitions.into(),
            device_assignment,
            ..<_>::default()
        });
        CompileOptionsProto { executable_build_options, ..<_>::default() }
    }

    fn read(message: &CompileOptionsProto) -> Result<Decoded> {
        decode(&message.encode_to_vec())
    }

    fn refusal(message: &CompileOptionsProto) -> String {
        read(message).unwrap_err().to_string()
    }

    #[test]
    fn no_options_are_one_replica_of_one_partition_anywhere() {
        let decoded = decode(&[]).unwrap();
        let one = CompileOptions { replicas: 1, partitions: 1, ..<_>::default() };
        assert_eq!(decoded, Decoded { options: one, portable: false });
    }

    #[test]
    fn devices_are_in_the_order_of_replicas() {
        let decoded = read(&assigned(&[&[0, 1, 2], &[3, 4, 5]], 3, 2)).unwrap();
        assert_eq!(decoded.options.devices, [0, 3, 1, 4, 2, 5]);
    }

    #[test]
    fn an_assignment_of_another_shape_or_with_a_device_twice_is_refused() {
        let mut short = assigned(&[&[0, 1], &[2]], 2, 2);
        assert!(refusal(&short).contains("lists of [2, 1] devices, for 2 replicas"));
        let build = short.executable_build_options.as_mut().unwrap();
        build.device_assignment.as_mut().unwrap().replica_count = -1;
        assert!(refusal(&short).contains("of -1 replicas"));
        assert_eq!(refusal(&assigned(&[&[0, 1, 0]], 3, 1)), "device 0 is assigned twice");
    }

    #[test]
    fn counts_that_nothing_has_are_refused_before_anything_is_made() {
        for (replicas, partitions) in [(-1, 1), (1, i64::MIN), (i64::MAX, 4), (1 << 20, 2)] {
            let build = ExecutableBuildOptionsProto {
                num_replicas: replicas,
                num_partitions: partitions,
                ..<_>::default()
            };
            let message =
                CompileOptionsProto { executable_build_options: Some(build), ..<_>::default() };
            assert!(read(&message).is_err(), "{replicas} {partitions}");
        }
    }

    #[test]
    fn a_portable_program_has_one_device_and_names_none() {
        let portable = CompileOptionsProto { compile_portable_executable: true, ..<_>::default() };
        assert!(read(&portable).unwrap().portable);
        let named =
            CompileOptionsProto { compile_portable_executable: true, ..assigned(&[&[0]], 1, 1) };
        assert!(refusal(&named).contains("together with a device_assignment"));
    }

    #[test]
    fn layouts_are_the_plain_ones_or_refused_by_name() {
        let shape = |order: &[i64]| ShapeProto {
            layout: Some(LayoutProto { minor_to_major: order.to_vec(), ..<_>::default() }),
            ..<_>::default()
        };
        let with = |order: &[i64]| CompileOptionsProto {
            argument_layouts: vec![shape(order)],
            ..<_>::default()
        };
        assert!(read(&with(&[1, 0])).is_ok());
        let refused = refusal(&with(&[0, 1]));
        assert_eq!(refused, "compile option argument_layouts with the layout [0, 1]");
    }

    #[test]
    fn what_is_no_message_is_refused_and_fields_without_a_reader_are_passed_over() {
        assert!(decode(b"\xff").unwrap_err().to_string().starts_with("1 bytes"));
        // Field 3000, four bytes; field 1 of the build options, cut off.
        assert!(decode(b"\xc2\xbb\x01\x04abcd").is_ok());
        assert!(decode(b"\x1a\x02\x08").is_err());
    }

    #[test]
    fn an_exactness_that_would_change_results_is_refused() {
        let message = CompileOptionsProto { matrix_unit_operand_precision: 2, ..<_>::default() };
        assert!(refusal(&message).contains("matrix_unit_operand_precision = 2"));
    }
}
