//! Device descriptions, through the table.
#![expect(unsafe_code, reason = "unions of values")]

mod c;

use c::contract::contract;
use c::{Client, call, list, text};

#[test]
fn every_function_keeps_the_contract() {
    let client = Client::new();
    let of = client.description(0);
    contract!(PJRT_DeviceDescription_Id(device_description, id), device_description: of);
    contract!(PJRT_DeviceDescription_ProcessIndex(device_description, process_index),
        device_description: of);
    contract!(PJRT_DeviceDescription_Attributes(device_description, attributes),
        device_description: of);
    contract!(PJRT_DeviceDescription_Kind(device_description, device_kind_size),
        device_description: of);
    contract!(PJRT_DeviceDescription_DebugString(device_description, debug_string_size),
        device_description: of);
    contract!(PJRT_DeviceDescription_ToString(device_description, to_string_size),
        device_description: of);
}

#[test]
fn a_description_is_of_one_chip_of_a_v5e_host() {
    let client = Client::new();
    let of = client.description(3);
    assert_eq!(call!(PJRT_DeviceDescription_Id, device_description: of).unwrap().id, 3);
    let process = call!(PJRT_DeviceDescription_ProcessIndex, device_description: of).unwrap();
    assert_eq!(process.process_index, 0);
    let kind = call!(PJRT_DeviceDescription_Kind, device_description: of).unwrap();
    assert_eq!(text(kind.device_kind, kind.device_kind_size), "TPU v5 lite");
    let debug = call!(PJRT_DeviceDescription_DebugString, device_description: of).unwrap();
    let debug = text(debug.debug_string, debug.debug_string_size);
    assert_eq!(debug, "TPU_3(process=0,(1,1,0,0))");
    let shown = call!(PJRT_DeviceDescription_ToString, device_description: of).unwrap();
    assert_eq!(
        text(shown.to_string, shown.to_string_size),
        "TpuDevice(id=3, process_index=0, coords=(1,1,0), core_on_chip=0)"
    );
}

#[test]
fn ids_and_places_are_distinct() {
    let client = Client::new();
    let mut places: Vec<(i32, Vec<i64>)> = (0..8)
        .map(|index| {
            let of = client.description(index);
            let id = call!(PJRT_DeviceDescription_Id, device_description: of).unwrap().id;
            let args = call!(PJRT_DeviceDescription_Attributes, device_description: of).unwrap();
            let values = list(args.attributes, args.num_attributes);
            assert_eq!(text(values[0].name, values[0].name_size), "coords");
            // SAFETY: `coords` is a list.
            let coords = unsafe { values[0].anon_1.int64_array_value };
            (id, list(coords, values[0].value_size))
        })
        .collect();
    let ids: Vec<i32> = places.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, [0, 1, 2, 3, 4, 5, 6, 7]);
    places.sort_by(|a, b| a.1.cmp(&b.1));
    places.dedup_by(|a, b| a.1 == b.1);
    assert_eq!(places.len(), 8);
}
