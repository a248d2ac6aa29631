//! Compiled programs: what can be asked about them.
use crate::boundary::{Caller, end_of, give_bytes, give_slice, give_text, id_of, take_bytes};
use crate::programs::{Answer, EXECUTABLES, executable};
use crate::sys::{
    PJRT_Executable_Destroy_Args, PJRT_Executable_Fingerprint_Args,
    PJRT_Executable_GetCompileOptions_Args, PJRT_Executable_GetCompiledMemoryStats_Args,
    PJRT_Executable_GetCostAnalysis_Args, PJRT_Executable_Name_Args,
    PJRT_Executable_NumOutputs_Args, PJRT_Executable_NumPartitions_Args,
    PJRT_Executable_NumReplicas_Args, PJRT_Executable_OptimizedProgram_Args,
    PJRT_Executable_OutputDimensions_Args, PJRT_Executable_OutputElementTypes_Args,
    PJRT_Executable_OutputMemoryKinds_Args, PJRT_Executable_ParameterMemoryKinds_Args,
    PJRT_Executable_SizeOfGeneratedCodeInBytes_Args, PJRT_Program,
};
use tpu_aot::MemoryStats;
use tpu_emu::units::Bytes;
use tpu_emu::{Error, Result};

/// Ends the life of one handle of a program. Others, and loaded executables, are not touched.
pub(super) fn destroy(_: &Caller, args: &mut PJRT_Executable_Destroy_Args) -> Result<()> {
    if args.executable.is_null() {
        return Ok(());
    }
    EXECUTABLES.remove(id_of(args.executable, "executable")?).map(drop)
}

/// The module's name.
pub(super) fn name(_: &Caller, args: &mut PJRT_Executable_Name_Args) -> Result<()> {
    let entry = executable(args.executable)?;
    let name = &entry.executable.name;
    give_text(name, &mut args.executable_name, &mut args.executable_name_size);
    Ok(())
}

/// Copies that run on different data.
pub(super) fn num_replicas(_: &Caller, args: &mut PJRT_Executable_NumReplicas_Args) -> Result<()> {
    let id = id_of(args.executable, "executable")?;
    args.num_replicas = EXECUTABLES.with(id, |entry| entry.executable.options.replicas)?;
    Ok(())
}

/// Devices that share the work of one copy.
pub(super) fn num_partitions(
    _: &Caller,
    args: &mut PJRT_Executable_NumPartitions_Args,
) -> Result<()> {
    let id = id_of(args.executable, "executable")?;
    args.num_partitions = EXECUTABLES.with(id, |entry| entry.executable.options.partitions)?;
    Ok(())
}

/// Results on each device.
pub(super) fn num_outputs(_: &Caller, args: &mut PJRT_Executable_NumOutputs_Args) -> Result<()> {
    let id = id_of(args.executable, "executable")?;
    args.num_outputs = EXECUTABLES.with(id, |entry| entry.executable.results.len())?;
    Ok(())
}

/// Bytes of the plan.
pub(super) fn code_size(
    _: &Caller,
    args: &mut PJRT_Executable_SizeOfGeneratedCodeInBytes_Args,
) -> Result<()> {
    args.size_in_bytes = signed(executable(args.executable)?.executable.memory.code);
    Ok(())
}

/// Names and values of a run's work.
pub(super) fn cost_analysis(
    _: &Caller,
    args: &mut PJRT_Executable_GetCostAnalysis_Args,
) -> Result<()> {
    let entry = executable(args.executable)?;
    give_slice(entry.cost.as_slice(), &mut args.properties, &mut args.num_properties);
    Ok(())
}

/// Bytes that one device needs. Fields of newer headers are written where the caller has them.
pub(super) fn memory_stats(
    _: &Caller,
    args: &mut PJRT_Executable_GetCompiledMemoryStats_Args,
) -> Result<()> {
    let entry = executable(args.executable)?;
    if let Some(real) = &entry.real {
        give_real(&real.memory, args);
        return Ok(());
    }
    let memory = entry.executable.memory;
    args.generated_code_size_in_bytes = signed(memory.code);
    args.argument_size_in_bytes = signed(memory.arguments);
    args.output_size_in_bytes = signed(memory.outputs);
    args.alias_size_in_bytes = signed(memory.alias);
    args.temp_size_in_bytes = signed(memory.temporaries);
    args.host_generated_code_size_in_bytes = 0;
    args.host_argument_size_in_bytes = signed(memory.host_arguments);
    args.host_output_size_in_bytes = signed(memory.host_outputs);
    args.host_alias_size_in_bytes = signed(memory.host_alias);
    args.host_temp_size_in_bytes = signed(memory.host_temporaries);
    args.peak_memory_in_bytes = signed(memory.peak);
    args.total_size_in_bytes = signed(memory.total());
    args.total_allocation_bytes = signed(memory.total());
    args.indefinite_allocations = signed(memory.lasting());
    args.peak_unpadded_heap_bytes = signed(memory.temporaries);
    Ok(())
}

/// Gives the sizes that the real compiler says.
fn give_real(memory: &MemoryStats, args: &mut PJRT_Executable_GetCompiledMemoryStats_Args) {
    args.generated_code_size_in_bytes = memory.code;
    args.argument_size_in_bytes = memory.arguments;
    args.output_size_in_bytes = memory.outputs;
    args.alias_size_in_bytes = memory.alias;
    args.temp_size_in_bytes = memory.temporaries;
    args.host_generated_code_size_in_bytes = memory.host_code;
    args.host_argument_size_in_bytes = memory.host_arguments;
    args.host_output_size_in_bytes = memory.host_outputs;
    args.host_alias_size_in_bytes = memory.host_alias;
    args.host_temp_size_in_bytes = memory.host_temporaries;
    args.peak_memory_in_bytes = memory.peak;
    args.total_size_in_bytes = memory.total;
    args.total_allocation_bytes = memory.total_allocation;
    args.indefinite_allocations = memory.indefinite;
    args.peak_unpadded_heap_bytes = memory.peak_unpadded_heap;
}

fn signed(bytes: Bytes) -> i64 {
    i64::try_from(bytes.0).unwrap_or(i64::MAX)
}

/// The element type of each result.
pub(super) fn output_element_types(
    _: &Caller,
    args: &mut PJRT_Executable_OutputElementTypes_Args,
) -> Result<()> {
    let entry = executable(args.executable)?;
    args.output_types = entry.output_types.as_ptr().cast_mut();
    args.num_output_types = entry.output_types.len();
    Ok(())
}

/// The shape of each result.
pub(super) fn output_dimensions(
    _: &Caller,
    args: &mut PJRT_Executable_OutputDimensions_Args,
) -> Result<()> {
    let entry = executable(args.executable)?;
    args.num_outputs = entry.output_ranks.len();
    args.dims = entry.output_dims.as_ptr();
    args.dim_sizes = entry.output_ranks.as_ptr();
    Ok(())
}

/// The kind of memory that each result will be in.
pub(super) fn output_memory_kinds(
    _: &Caller,
    args: &mut PJRT_Executable_OutputMemoryKinds_Args,
) -> Result<()> {
    let entry = executable(args.executable)?;
    let sizes = &mut args.memory_kind_sizes;
    entry.output_kinds.give(&mut args.memory_kinds, sizes, &mut args.num_outputs);
    Ok(())
}

/// The kind of memory that each parameter must be in.
pub(super) fn parameter_memory_kinds(
    _: &Caller,
    args: &mut PJRT_Executable_ParameterMemoryKinds_Args,
) -> Result<()> {
    let entry = executable(args.executable)?;
    let sizes = &mut args.memory_kind_sizes;
    entry.parameter_kinds.give(&mut args.memory_kinds, sizes, &mut args.num_parameters);
    Ok(())
}

/// A hash of program, options and version.
pub(super) fn fingerprint(_: &Caller, args: &mut PJRT_Executable_Fingerprint_Args) -> Result<()> {
    let entry = executable(args.executable)?;
    give_text(
        &entry.executable.fingerprint,
        &mut args.executable_fingerprint,
        &mut args.executable_fingerprint_size,
    );
    Ok(())
}

/// The options as they came.
pub(super) fn compile_options(
    _: &Caller,
    args: &mut PJRT_Executable_GetCompileOptions_Args,
) -> Result<()> {
    let options = executable(args.executable)?.options.to_vec();
    (args.serialized_bytes, args.serialized_bytes_size, args.serialized_compile_options) =
        give_bytes(options);
    args.serialized_compile_options_deleter = Some(take_bytes);
    Ok(())
}

/// The program in a form that clients read. The first call, with a null `code`, asks for the
/// size; the second brings the room.
pub(super) fn optimized_program(
    caller: &Caller,
    args: &mut PJRT_Executable_OptimizedProgram_Args,
) -> Result<()> {
    let entry = executable(args.executable)?;
    let Answer { format, code } = entry.answer()?;
    let size = code.len();
    let needed = end_of!(PJRT_Program, format_size);
    let mut program = caller.read_sized(args.program.cast_const(), needed)?;
    let given = program.code_size;
    program.code_size = size;
    give_text(format, &mut program.format, &mut program.format_size);
    if !program.code.is_null() {
        if given < size {
            return Err(Error::bad(format!("room for {given} bytes of a program of {size}")));
        }
        caller.write_all(program.code.cast(), &code, "code")?;
    }
    caller.write(args.program, program, "program")
}
