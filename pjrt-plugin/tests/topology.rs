//! Topologies, through the table.
#![expect(unsafe_code, reason = "deleters of C")]
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

mod c;

use c::contract::contract;
use c::{Client, Failure, INVALID, assert_refused, call, list, text};
use pjrt_sys::PJRT_TopologyDescription;

fn create(name: &str) -> Result<*mut PJRT_TopologyDescription, Failure> {
    let made = call!(PJRT_TopologyDescription_Create,
        topology_name: name.as_ptr().cast(), topology_name_size: name.len())?;
    Ok(made.topology)
}

fn destroy(topology: *mut PJRT_TopologyDescription) {
    call!(PJRT_TopologyDescription_Destroy, topology: topology).unwrap();
}

/// What a topology is as bytes; the library's copy is given back.
fn serialize(topology: *mut PJRT_TopologyDescription) -> Vec<u8> {
    let args = call!(PJRT_TopologyDescription_Serialize, topology: topology).unwrap();
    let bytes = list(args.serialized_bytes.cast(), args.serialized_bytes_size);
    // SAFETY: the deleter and its object are of one answer, used once.
    unsafe { args.serialized_topology_deleter.unwrap()(args.serialized_topology) };
    bytes
}

fn deserialize(bytes: &[u8]) -> Result<*mut PJRT_TopologyDescription, Failure> {
    let made = call!(PJRT_TopologyDescription_Deserialize,
        serialized_topology: bytes.as_ptr().cast(), serialized_topology_size: bytes.len())?;
    Ok(made.topology)
}

fn fingerprint(topology: *mut PJRT_TopologyDescription) -> u64 {
    call!(PJRT_TopologyDescription_Fingerprint, topology: topology).unwrap().fingerprint
}

#[test]
fn every_function_keeps_the_contract() {
    let of = create("v4:2x2x2").unwrap();
    contract!(PJRT_TopologyDescription_Create(-, topology) => |args| destroy(args.topology));
    contract!(PJRT_TopologyDescription_Destroy(topology, topology),
        topology: create("v5e:2x2").unwrap());
    contract!(PJRT_TopologyDescription_PlatformName(topology, platform_name_size), topology: of);
    contract!(PJRT_TopologyDescription_PlatformVersion(topology, platform_version_size),
        topology: of);
    contract!(PJRT_TopologyDescription_GetDeviceDescriptions(topology, num_descriptions),
        topology: of);
    contract!(PJRT_TopologyDescription_Serialize(topology, serialized_topology_deleter),
    topology: of => |args| {
        // SAFETY: the deleter and its object are of one answer, used once.
        unsafe { args.serialized_topology_deleter.unwrap()(args.serialized_topology) };
    });
    let bytes = serialize(of);
    contract!(PJRT_TopologyDescription_Deserialize(-, topology),
        serialized_topology: bytes.as_ptr().cast(), serialized_topology_size: bytes.len()
        => |args| destroy(args.topology));
    contract!(PJRT_TopologyDescription_Attributes(topology, num_attributes), topology: of);
    contract!(PJRT_TopologyDescription_Fingerprint(topology, fingerprint), topology: of);
    contract!(PJRT_TopologyDescription_GetMemorySpaceKindIds(topology, num_memory_space_kind_ids),
        topology: of);
    destroy(of);
}

#[test]
fn a_topology_is_described_without_its_hardware() {
    let topology = create("v4:2x2x2").unwrap();
    let name = call!(PJRT_TopologyDescription_PlatformName, topology: topology).unwrap();
    assert_eq!(text(name.platform_name, name.platform_name_size), "tpu");
    let version = call!(PJRT_TopologyDescription_PlatformVersion, topology: topology).unwrap();
    let version = text(version.platform_version, version.platform_version_size);
    assert!(version.starts_with("TFRT TPU v4\n"), "{version}");
    let devices =
        call!(PJRT_TopologyDescription_GetDeviceDescriptions, topology: topology).unwrap();
    let devices = list(devices.descriptions, devices.num_descriptions);
    assert_eq!(devices.len(), 16, "each core of a v4 is a device");
    let kind = call!(PJRT_DeviceDescription_Kind, device_description: devices[7]).unwrap();
    assert_eq!(text(kind.device_kind, kind.device_kind_size), "TPU v4");
    let attributes = call!(PJRT_TopologyDescription_Attributes, topology: topology).unwrap();
    let names: Vec<_> = list(attributes.attributes, attributes.num_attributes)
        .iter()
        .map(|value| text(value.name, value.name_size))
        .collect();
    assert_eq!(names, ["device_memory_bytes_limit", "twist", "wrap"]);
    destroy(topology);
    let answer = call!(PJRT_DeviceDescription_Kind, device_description: devices[7]);
    assert_refused(answer, INVALID, &["device description handle", "stale"]);
}

#[test]
fn a_name_that_is_none_is_refused() {
    for name in ["v99:2x2", "v5e", "v5e:0x4", "v5e:axb", "v5e:1000000x1000000", "\u{ff}", "v5e:"] {
        let answer = create(name);
        assert_refused(answer, INVALID, &["PJRT_TopologyDescription_Create"]);
    }
    let answer = call!(PJRT_TopologyDescription_Create, topology_name_size: 4);
    assert_refused(answer, INVALID, &["null topology_name"]);
}

#[test]
fn bytes_and_back_are_the_same_topology() {
    for name in ["v5e:4x4", "v4:2x2x4", "v5p:2x2x1"] {
        let topology = create(name).unwrap();
        let back = deserialize(&serialize(topology)).unwrap();
        assert_eq!(fingerprint(back), fingerprint(topology));
        assert_eq!(serialize(back), serialize(topology));
        destroy(back);
        destroy(topology);
    }
}

#[test]
fn the_clients_topology_is_like_one_of_the_same_name() {
    let client = Client::new();
    let of_client = call!(PJRT_Client_TopologyDescription, client: client.raw).unwrap().topology;
    let back = deserialize(&serialize(of_client)).unwrap();
    assert_eq!(fingerprint(back), fingerprint(of_client));
    destroy(back);
    let other = create("v4:2x2x2").unwrap();
    assert_ne!(fingerprint(other), fingerprint(of_client));
    destroy(other);
}

#[test]
fn bytes_that_end_early_are_another_topology_or_refused() {
    let topology = create("v4:2x2x4").unwrap();
    let bytes = serialize(topology);
    let mut refused = 0;
    for length in 0..bytes.len() {
        match deserialize(&bytes[..length]) {
            Ok(other) => destroy(other),
            Err(failure) => {
                assert_eq!(failure.code, INVALID, "{length}");
                refused += 1;
            }
        }
    }
    assert!(refused > 20, "{refused}");
    destroy(topology);
}

#[test]
fn bytes_of_another_library_are_refused() {
    for bytes in [&b""[..], b"\x08\x01", &[0xff; 64]] {
        assert_refused(deserialize(bytes), INVALID, &["another library's?"]);
    }
}

#[test]
fn a_topology_is_destroyed_once() {
    let topology = create("v5e:2x2").unwrap();
    destroy(topology);
    let again = call!(PJRT_TopologyDescription_Destroy, topology: topology);
    assert_refused(again, INVALID, &["topology handle", "stale"]);
}
