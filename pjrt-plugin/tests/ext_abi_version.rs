//! Extension 20 through the C table.
// UNSAFETY: gives serialized messages back by their deleter.
#![expect(unsafe_code, reason = "a C client")]
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]
#![expect(clippy::duplicate_mod, reason = "both kits for tests load the library")]
mod c;
mod ext;

use ext::{
    FAILED_PRECONDITION, Failure, INVALID_ARGUMENT, STALE, args, bytes, call, client,
    destroy_client, extension, refuses_what_is_missing,
};
use pjrt_sys::{
    PJRT_AbiVersion_Extension, PJRT_Client_RuntimeAbiVersion_Args,
    PJRT_Executable_GetAbiVersion_Args, PJRT_ExecutableAbiVersion,
    PJRT_ExecutableAbiVersion_Destroy_Args, PJRT_ExecutableAbiVersion_FromProto_Args,
    PJRT_ExecutableAbiVersion_PlatformId_Args, PJRT_ExecutableAbiVersion_ToProto_Args,
    PJRT_Extension_Type, PJRT_RuntimeAbiVersion, PJRT_RuntimeAbiVersion_Destroy_Args,
    PJRT_RuntimeAbiVersion_FromProto_Args, PJRT_RuntimeAbiVersion_IsCompatibleWithExecutable_Args,
    PJRT_RuntimeAbiVersion_IsCompatibleWithRuntime_Args, PJRT_RuntimeAbiVersion_PlatformId_Args,
    PJRT_RuntimeAbiVersion_ToProto_Args,
};
use tpu_proto::Message;
use tpu_proto::xla::{PjRtExecutableAbiVersionProto, PjRtRuntimeAbiVersionProto};

fn table() -> &'static PJRT_AbiVersion_Extension {
    extension(PJRT_Extension_Type::PJRT_Extension_Type_AbiVersion)
}

fn of_client() -> *mut PJRT_RuntimeAbiVersion {
    let client = client();
    let mut of: PJRT_Client_RuntimeAbiVersion_Args = args();
    of.client = client;
    call(table().client_runtime_abi_version, &raw mut of).unwrap();
    destroy_client(client);
    of.abi_version
}

fn runtime_to_proto(version: *mut PJRT_RuntimeAbiVersion) -> Result<Vec<u8>, Failure> {
    let mut to: PJRT_RuntimeAbiVersion_ToProto_Args = args();
    to.abi_version = version;
    call(table().runtime_abi_version_to_proto, &raw mut to)?;
    let proto = bytes(to.serialized_proto.cast(), to.serialized_proto_size);
    // SAFETY: what the call gave, once.
    unsafe { to.serialized_proto_deleter.unwrap()(to.serialized_proto_holder) };
    Ok(proto)
}

fn runtime(proto: &[u8]) -> Result<*mut PJRT_RuntimeAbiVersion, Failure> {
    let mut from: PJRT_RuntimeAbiVersion_FromProto_Args = args();
    from.serialized_proto = proto.as_ptr().cast();
    from.serialized_proto_size = proto.len();
    call(table().runtime_abi_version_from_proto, &raw mut from).map(|()| from.abi_version)
}

fn executable(proto: &[u8]) -> Result<*mut PJRT_ExecutableAbiVersion, Failure> {
    let mut from: PJRT_ExecutableAbiVersion_FromProto_Args = args();
    from.serialized_proto = proto.as_ptr().cast();
    from.serialized_proto_size = proto.len();
    call(table().executable_abi_version_from_proto, &raw mut from).map(|()| from.abi_version)
}

fn with_runtime(
    ours: *mut PJRT_RuntimeAbiVersion,
    other: *mut PJRT_RuntimeAbiVersion,
) -> Result<(), Failure> {
    let mut compare: PJRT_RuntimeAbiVersion_IsCompatibleWithRuntime_Args = args();
    (compare.abi_version, compare.other_abi_version) = (ours, other);
    call(table().runtime_abi_version_is_compatible_with_runtime, &raw mut compare)
}

fn with_executable(
    ours: *mut PJRT_RuntimeAbiVersion,
    executable: *mut PJRT_ExecutableAbiVersion,
) -> Result<(), Failure> {
    let mut compare: PJRT_RuntimeAbiVersion_IsCompatibleWithExecutable_Args = args();
    (compare.abi_version, compare.executable_abi_version) = (ours, executable);
    call(table().runtime_abi_version_is_compatible_with_executable, &raw mut compare)
}

fn destroy_runtime(version: *mut PJRT_RuntimeAbiVersion) -> Result<(), Failure> {
    let mut destroy: PJRT_RuntimeAbiVersion_Destroy_Args = args();
    destroy.abi_version = version;
    call(table().runtime_abi_version_destroy, &raw mut destroy)
}

fn destroy_executable(version: *mut PJRT_ExecutableAbiVersion) -> Result<(), Failure> {
    let mut destroy: PJRT_ExecutableAbiVersion_Destroy_Args = args();
    destroy.abi_version = version;
    call(table().executable_abi_version_destroy, &raw mut destroy)
}

#[test]
fn a_runtime_is_compatible_with_itself_through_its_message() {
    let ours = of_client();
    let proto = runtime_to_proto(ours).unwrap();
    let back = runtime(&proto).unwrap();
    assert_eq!(with_runtime(ours, back), Ok(()));
    assert_eq!(runtime_to_proto(back).unwrap(), proto);
    let mut platform: PJRT_RuntimeAbiVersion_PlatformId_Args = args();
    platform.abi_version = back;
    call(table().runtime_abi_version_platform_id, &raw mut platform).unwrap();
    let message = PjRtRuntimeAbiVersionProto::decode(&*proto).unwrap();
    assert_eq!(platform.platform_id, message.platform);
    assert_ne!(message.platform, 0);
    destroy_runtime(ours).unwrap();
    destroy_runtime(back).unwrap();
}

#[test]
fn an_executable_of_this_build_is_compatible_and_others_are_not() {
    let ours = of_client();
    let message = PjRtRuntimeAbiVersionProto::decode(&*runtime_to_proto(ours).unwrap()).unwrap();
    let PjRtRuntimeAbiVersionProto { platform, version } = message;
    let same = PjRtExecutableAbiVersionProto { platform, version: version.clone() };
    let later = PjRtExecutableAbiVersionProto { platform, version: b"later".to_vec() };
    let foreign = PjRtExecutableAbiVersionProto { platform: 1, version };
    let [same, later, foreign] =
        [same, later, foreign].map(|message| executable(&message.encode_to_vec()).unwrap());
    assert_eq!(with_executable(ours, same), Ok(()));
    let (code, message) = with_executable(ours, later).unwrap_err();
    assert_eq!(code, FAILED_PRECONDITION);
    assert!(message.contains("the executable is for version \"later\""), "{message}");
    let (code, message) = with_executable(ours, foreign).unwrap_err();
    assert_eq!(code, FAILED_PRECONDITION);
    assert!(message.contains("the executable is for platform 0x1"), "{message}");
    let mut platform: PJRT_ExecutableAbiVersion_PlatformId_Args = args();
    platform.abi_version = foreign;
    call(table().executable_abi_version_platform_id, &raw mut platform).unwrap();
    assert_eq!(platform.platform_id, 1);
    for version in [same, later, foreign] {
        destroy_executable(version).unwrap();
    }
    destroy_runtime(ours).unwrap();
}

#[test]
fn an_executables_message_goes_both_ways() {
    let message = PjRtExecutableAbiVersionProto { platform: 9, version: b"x".to_vec() };
    let version = executable(&message.encode_to_vec()).unwrap();
    let mut to: PJRT_ExecutableAbiVersion_ToProto_Args = args();
    to.abi_version = version;
    call(table().executable_abi_version_to_proto, &raw mut to).unwrap();
    let proto = bytes(to.serialized_proto.cast(), to.serialized_proto_size);
    // SAFETY: what the call gave, once.
    unsafe { to.serialized_proto_deleter.unwrap()(to.serialized_proto_holder) };
    assert_eq!(PjRtExecutableAbiVersionProto::decode(&*proto).unwrap(), message);
    destroy_executable(version).unwrap();
}

#[test]
fn bytes_that_are_no_message_are_refused() {
    let (code, message) = runtime(b"\0").unwrap_err();
    assert_eq!(code, INVALID_ARGUMENT);
    assert!(message.starts_with("1 bytes that are no ABI version"), "{message}");
    assert_eq!(executable(b"\xff").unwrap_err().0, INVALID_ARGUMENT);
}

#[test]
fn a_version_dies_once() {
    let ours = of_client();
    destroy_runtime(ours).unwrap();
    assert_eq!(destroy_runtime(ours).unwrap_err().0, STALE);
    assert_eq!(runtime_to_proto(ours).unwrap_err().0, STALE);
    assert_eq!(with_runtime(ours, ours).unwrap_err().0, STALE);
    let version = executable(b"").unwrap();
    assert_eq!(with_executable(ours, version).unwrap_err().0, STALE);
    destroy_executable(version).unwrap();
    assert_eq!(destroy_executable(version).unwrap_err().0, STALE);
    let crossed = of_client();
    assert_eq!(destroy_executable(crossed.cast()).unwrap_err().0, STALE);
    destroy_runtime(crossed).unwrap();
}

#[test]
fn what_is_missing_is_told() {
    let table = table();
    refuses_what_is_missing(table.client_runtime_abi_version);
    refuses_what_is_missing(table.runtime_abi_version_destroy);
    refuses_what_is_missing(table.runtime_abi_version_is_compatible_with_runtime);
    refuses_what_is_missing(table.runtime_abi_version_is_compatible_with_executable);
    refuses_what_is_missing(table.runtime_abi_version_to_proto);
    refuses_what_is_missing(table.runtime_abi_version_platform_id);
    refuses_what_is_missing(table.executable_abi_version_destroy);
    refuses_what_is_missing(table.executable_abi_version_to_proto);
    refuses_what_is_missing(table.executable_abi_version_platform_id);
    refuses_what_is_missing(table.executable_get_abi_version);
}

#[test]
fn an_executable_needs_the_version_of_the_runtime_that_compiled_it() {
    let client = c::Client::new();
    let loaded = c::programs::compile(&client, c::programs::DOUBLE);
    let compiled = c::programs::executable_of(loaded);
    let mut of: PJRT_Executable_GetAbiVersion_Args = args();
    of.executable = compiled;
    call(table().executable_get_abi_version, &raw mut of).unwrap();
    // The version outlives what it was asked of.
    c::programs::end_executable(compiled);
    c::programs::end(loaded);
    let version = of.abi_version;
    let ours = of_client();
    assert_eq!(with_executable(ours, version), Ok(()));
    let mut platforms = [0, 0];
    let mut platform: PJRT_ExecutableAbiVersion_PlatformId_Args = args();
    platform.abi_version = version;
    call(table().executable_abi_version_platform_id, &raw mut platform).unwrap();
    platforms[0] = platform.platform_id;
    let mut platform: PJRT_RuntimeAbiVersion_PlatformId_Args = args();
    platform.abi_version = ours;
    call(table().runtime_abi_version_platform_id, &raw mut platform).unwrap();
    platforms[1] = platform.platform_id;
    assert_eq!(platforms[0], platforms[1]);
    let later = PjRtRuntimeAbiVersionProto { platform: platforms[0], version: b"later".to_vec() };
    let later = runtime(&later.encode_to_vec()).unwrap();
    let (code, message) = with_executable(later, version).unwrap_err();
    assert_eq!(code, FAILED_PRECONDITION);
    assert!(message.contains("this runtime is of version \"later\""), "{message}");
    destroy_executable(version).unwrap();
    assert_eq!(destroy_executable(version).unwrap_err().0, STALE);
    destroy_runtime(later).unwrap();
    destroy_runtime(ours).unwrap();
    assert_eq!(call(table().executable_get_abi_version, &raw mut of).unwrap_err().0, STALE);
}
