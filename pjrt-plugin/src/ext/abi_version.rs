//! Extension 20: whether an executable of another build runs here.
use super::{extension_functions, leak};
use crate::boundary::{Caller, c_args, give_bytes, handle_of, id_of, take_bytes};
use crate::programs::EXECUTABLES;
use crate::state::client;
use crate::sys::{
    PJRT_AbiVersion_Extension, PJRT_Client_RuntimeAbiVersion_Args,
    PJRT_Executable_GetAbiVersion_Args, PJRT_ExecutableAbiVersion,
    PJRT_ExecutableAbiVersion_Destroy_Args, PJRT_ExecutableAbiVersion_FromProto_Args,
    PJRT_ExecutableAbiVersion_PlatformId_Args, PJRT_ExecutableAbiVersion_ToProto_Args,
    PJRT_Extension_Base, PJRT_Extension_Type, PJRT_RuntimeAbiVersion,
    PJRT_RuntimeAbiVersion_Destroy_Args, PJRT_RuntimeAbiVersion_FromProto_Args,
    PJRT_RuntimeAbiVersion_IsCompatibleWithExecutable_Args,
    PJRT_RuntimeAbiVersion_IsCompatibleWithRuntime_Args, PJRT_RuntimeAbiVersion_PlatformId_Args,
    PJRT_RuntimeAbiVersion_ToProto_Args,
};
use std::sync::Arc;
use tpu_emu::{Error, Result, Table};
use tpu_proto::xla::{PjRtExecutableAbiVersionProto, PjRtRuntimeAbiVersionProto};
use tpu_proto::{DecodeError, Message};

c_args!(
    PJRT_Client_RuntimeAbiVersion_Args,
    PJRT_Executable_GetAbiVersion_Args,
    PJRT_RuntimeAbiVersion_Destroy_Args,
    PJRT_RuntimeAbiVersion_IsCompatibleWithRuntime_Args,
    PJRT_RuntimeAbiVersion_IsCompatibleWithExecutable_Args,
    PJRT_RuntimeAbiVersion_ToProto_Args,
    PJRT_RuntimeAbiVersion_PlatformId_Args,
    PJRT_ExecutableAbiVersion_Destroy_Args,
    PJRT_ExecutableAbiVersion_ToProto_Args,
    PJRT_ExecutableAbiVersion_PlatformId_Args,
    PJRT_RuntimeAbiVersion_FromProto_Args,
    PJRT_ExecutableAbiVersion_FromProto_Args,
);

extension_functions! {
    PJRT_Client_RuntimeAbiVersion =>
        call(super::of_client, PJRT_Client_RuntimeAbiVersion_Args, abi_version),
    PJRT_Executable_GetAbiVersion =>
        call(super::of_executable, PJRT_Executable_GetAbiVersion_Args, abi_version),
    PJRT_RuntimeAbiVersion_Destroy =>
        call(super::destroy_runtime, PJRT_RuntimeAbiVersion_Destroy_Args, abi_version),
    PJRT_RuntimeAbiVersion_IsCompatibleWithRuntime => call(
        super::compare_with_runtime,
        PJRT_RuntimeAbiVersion_IsCompatibleWithRuntime_Args,
        other_abi_version
    ),
    PJRT_RuntimeAbiVersion_IsCompatibleWithExecutable => call(
        super::compare_with_executable,
        PJRT_RuntimeAbiVersion_IsCompatibleWithExecutable_Args,
        executable_abi_version
    ),
    PJRT_RuntimeAbiVersion_ToProto => call(
        super::runtime_to_proto, PJRT_RuntimeAbiVersion_ToProto_Args, serialized_proto_deleter
    ),
    PJRT_RuntimeAbiVersion_PlatformId =>
        call(super::runtime_platform, PJRT_RuntimeAbiVersion_PlatformId_Args, platform_id),
    PJRT_ExecutableAbiVersion_Destroy =>
        call(super::destroy_executable, PJRT_ExecutableAbiVersion_Destroy_Args, abi_version),
    PJRT_ExecutableAbiVersion_ToProto => call(
        super::executable_to_proto, PJRT_ExecutableAbiVersion_ToProto_Args, serialized_proto_deleter
    ),
    PJRT_ExecutableAbiVersion_PlatformId =>
        call(super::executable_platform, PJRT_ExecutableAbiVersion_PlatformId_Args, platform_id),
    PJRT_RuntimeAbiVersion_FromProto =>
        call(super::runtime_from_proto, PJRT_RuntimeAbiVersion_FromProto_Args, abi_version),
    PJRT_ExecutableAbiVersion_FromProto =>
        call(super::executable_from_proto, PJRT_ExecutableAbiVersion_FromProto_Args, abi_version),
}

pub(super) fn extension(next: *mut PJRT_Extension_Base) -> *mut PJRT_Extension_Base {
    leak(PJRT_AbiVersion_Extension {
        base: PJRT_Extension_Base {
            struct_size: size_of::<PJRT_AbiVersion_Extension>(),
            type_: PJRT_Extension_Type::PJRT_Extension_Type_AbiVersion,
            next,
        },
        client_runtime_abi_version: Some(table::PJRT_Client_RuntimeAbiVersion),
        executable_get_abi_version: Some(table::PJRT_Executable_GetAbiVersion),
        runtime_abi_version_destroy: Some(table::PJRT_RuntimeAbiVersion_Destroy),
        runtime_abi_version_is_compatible_with_runtime: Some(
            table::PJRT_RuntimeAbiVersion_IsCompatibleWithRuntime,
        ),
        runtime_abi_version_is_compatible_with_executable: Some(
            table::PJRT_RuntimeAbiVersion_IsCompatibleWithExecutable,
        ),
        runtime_abi_version_to_proto: Some(table::PJRT_RuntimeAbiVersion_ToProto),
        runtime_abi_version_platform_id: Some(table::PJRT_RuntimeAbiVersion_PlatformId),
        executable_abi_version_destroy: Some(table::PJRT_ExecutableAbiVersion_Destroy),
        executable_abi_version_to_proto: Some(table::PJRT_ExecutableAbiVersion_ToProto),
        executable_abi_version_platform_id: Some(table::PJRT_ExecutableAbiVersion_PlatformId),
        runtime_abi_version_from_proto: Some(table::PJRT_RuntimeAbiVersion_FromProto),
        executable_abi_version_from_proto: Some(table::PJRT_ExecutableAbiVersion_FromProto),
    })
}

static RUNTIMES: Table<PjRtRuntimeAbiVersionProto> = Table::new("runtime ABI version", 20);
static EXECUTABLE_VERSIONS: Table<PjRtExecutableAbiVersionProto> =
    Table::new("executable ABI version", 21);

/// `FarmHash::Fingerprint64("tpu")`, by which XLA knows the platform.
const PLATFORM: u64 = fingerprint(b"tpu");

/// What this build says of itself. It changes when serialized executables do.
const VERSION: &[u8] = b"tpu-emu executables 1";

/// FarmHash's 64-bit fingerprint of three bytes.
///
/// Source: the published algorithm, the case of one to three bytes.
const fn fingerprint(text: &[u8; 3]) -> u64 {
    const K0: u64 = 0xc3a5_c85c_97cb_3127;
    const K2: u64 = 0x9ae1_6a3b_2f90_404f;
    let [first, middle, last] = [text[0] as u64, text[1] as u64, text[2] as u64];
    let mixed = (first + (middle << 8)).wrapping_mul(K2) ^ (3 + (last << 2)).wrapping_mul(K0);
    (mixed ^ (mixed >> 47)).wrapping_mul(K2)
}

fn runtime(handle: *const PJRT_RuntimeAbiVersion) -> Result<Arc<PjRtRuntimeAbiVersionProto>> {
    RUNTIMES.get(id_of(handle, "runtime ABI version")?)
}

fn executable(
    handle: *const PJRT_ExecutableAbiVersion,
) -> Result<Arc<PjRtExecutableAbiVersionProto>> {
    EXECUTABLE_VERSIONS.get(id_of(handle, "executable ABI version")?)
}

/// The version of this build.
fn of_client(_: &Caller, args: &mut PJRT_Client_RuntimeAbiVersion_Args) -> Result<()> {
    client(args.client)?;
    let version = PjRtRuntimeAbiVersionProto { platform: PLATFORM, version: VERSION.to_vec() };
    args.abi_version = handle_of(RUNTIMES.insert(version));
    Ok(())
}

/// What the executable needs of a runtime that is to load it: this build's version, because its
/// serialized form is read by builds of the same one. It outlives the executable.
fn of_executable(_: &Caller, args: &mut PJRT_Executable_GetAbiVersion_Args) -> Result<()> {
    EXECUTABLES.with(id_of(args.executable, "executable")?, |_| ())?;
    let version = PjRtExecutableAbiVersionProto { platform: PLATFORM, version: VERSION.to_vec() };
    args.abi_version = handle_of(EXECUTABLE_VERSIONS.insert(version));
    Ok(())
}

fn destroy_runtime(_: &Caller, args: &mut PJRT_RuntimeAbiVersion_Destroy_Args) -> Result<()> {
    RUNTIMES.remove(id_of(args.abi_version, "runtime ABI version")?).map(drop)
}

fn destroy_executable(_: &Caller, args: &mut PJRT_ExecutableAbiVersion_Destroy_Args) -> Result<()> {
    EXECUTABLE_VERSIONS.remove(id_of(args.abi_version, "executable ABI version")?).map(drop)
}

/// Says no, where two runtimes differ, with an error.
fn compare_with_runtime(
    _: &Caller,
    args: &mut PJRT_RuntimeAbiVersion_IsCompatibleWithRuntime_Args,
) -> Result<()> {
    let (ours, theirs) = (runtime(args.abi_version)?, runtime(args.other_abi_version)?);
    compare(&ours, theirs.platform, &theirs.version, "the other runtime is of")
}

/// Says no, where an executable is not for a runtime, with an error.
fn compare_with_executable(
    _: &Caller,
    args: &mut PJRT_RuntimeAbiVersion_IsCompatibleWithExecutable_Args,
) -> Result<()> {
    let ours = runtime(args.abi_version)?;
    let theirs = executable(args.executable_abi_version)?;
    compare(&ours, theirs.platform, &theirs.version, "the executable is for")
}

fn compare(
    ours: &PjRtRuntimeAbiVersionProto,
    platform: u64,
    version: &[u8],
    theirs: &str,
) -> Result<()> {
    if ours.platform != platform {
        let ours = ours.platform;
        return Err(Error::WrongState(format!(
            "this runtime is of platform {ours:#x}, {theirs} platform {platform:#x}"
        )));
    }
    if ours.version != version {
        let (ours, version) = (ours.version.escape_ascii(), version.escape_ascii());
        return Err(Error::WrongState(format!(
            "this runtime is of version \"{ours}\", {theirs} version \"{version}\""
        )));
    }
    Ok(())
}

fn runtime_to_proto(_: &Caller, args: &mut PJRT_RuntimeAbiVersion_ToProto_Args) -> Result<()> {
    let bytes = runtime(args.abi_version)?.encode_to_vec();
    (args.serialized_proto, args.serialized_proto_size, args.serialized_proto_holder) =
        give_bytes(bytes);
    args.serialized_proto_deleter = Some(take_bytes);
    Ok(())
}

fn executable_to_proto(
    _: &Caller,
    args: &mut PJRT_ExecutableAbiVersion_ToProto_Args,
) -> Result<()> {
    let bytes = executable(args.abi_version)?.encode_to_vec();
    (args.serialized_proto, args.serialized_proto_size, args.serialized_proto_holder) =
        give_bytes(bytes);
    args.serialized_proto_deleter = Some(take_bytes);
    Ok(())
}

fn runtime_platform(_: &Caller, args: &mut PJRT_RuntimeAbiVersion_PlatformId_Args) -> Result<()> {
    args.platform_id = runtime(args.abi_version)?.platform;
    Ok(())
}

fn executable_platform(
    _: &Caller,
    args: &mut PJRT_ExecutableAbiVersion_PlatformId_Args,
) -> Result<()> {
    args.platform_id = executable(args.abi_version)?.platform;
    Ok(())
}

fn runtime_from_proto(
    caller: &Caller,
    args: &mut PJRT_RuntimeAbiVersion_FromProto_Args,
) -> Result<()> {
    let size = args.serialized_proto_size;
    let bytes = caller.bytes(args.serialized_proto.cast(), size, "serialized_proto")?;
    let version = PjRtRuntimeAbiVersionProto::decode(bytes).map_err(|why| unread(size, &why))?;
    args.abi_version = handle_of(RUNTIMES.insert(version));
    Ok(())
}

fn executable_from_proto(
    caller: &Caller,
    args: &mut PJRT_ExecutableAbiVersion_FromProto_Args,
) -> Result<()> {
    let size = args.serialized_proto_size;
    let bytes = caller.bytes(args.serialized_proto.cast(), size, "serialized_proto")?;
    let version = PjRtExecutableAbiVersionProto::decode(bytes).map_err(|why| unread(size, &why))?;
    args.abi_version = handle_of(EXECUTABLE_VERSIONS.insert(version));
    Ok(())
}

fn unread(size: usize, why: &DecodeError) -> Error {
    Error::bad(format!("{size} bytes that are no ABI version: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Source: the farmhash library.
    #[test]
    fn the_platform_is_known_by_its_fingerprint() {
        assert_eq!(PLATFORM, 0x83d7_1adb_a779_68aa);
    }
}
