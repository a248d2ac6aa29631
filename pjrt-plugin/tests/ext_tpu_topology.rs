//! Extension 16 through the C table.
//!
//! Source of the values of four topologies: the same functions of libtpu 0.0.51.
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]
mod ext;

use ext::{
    INVALID_ARGUMENT, NOT_FOUND, STALE, UNIMPLEMENTED, Value, api, args, bytes, call, extension,
    refuses_what_is_missing, topology,
};
use pjrt_sys::{
    PJRT_Extension_Type, PJRT_TopologyDescription, PJRT_TopologyDescription_Destroy_Args,
    PJRT_TpuTopology_Extension, PJRT_TpuTopology_SliceConfig,
};

fn table() -> &'static PJRT_TpuTopology_Extension {
    extension(PJRT_Extension_Type::PJRT_Extension_Type_TpuTopology)
}

fn destroy(topology: *mut PJRT_TopologyDescription) {
    let mut destroy: PJRT_TopologyDescription_Destroy_Args = args();
    destroy.topology = topology;
    call(api().PJRT_TopologyDescription_Destroy, &raw mut destroy).unwrap();
}

/// Calls a function of one topology and gives one field of the answer.
macro_rules! ask {
    ($function:ident, $args:ident { $($field:ident: $value:expr),* }, $answer:ident) => {{
        let mut question: pjrt_sys::$args = args();
        $(question.$field = $value;)*
        call(table().$function, &raw mut question).map(|()| question.$answer)
    }};
}

fn counts(topology: *const PJRT_TopologyDescription) -> [i32; 9] {
    [
        ask!(
            process_count,
            PJRT_TpuTopology_ProcessCount_Args { topology: topology },
            process_count
        ),
        ask!(
            chips_per_process,
            PJRT_TpuTopology_ChipsPerProcess_Args { topology: topology },
            chips_per_process
        ),
        ask!(
            core_count_per_chip,
            PJRT_TpuTopology_CoreCountPerChip_Args { topology: topology },
            core_count_of_default_type_per_chip
        ),
        ask!(chip_count, PJRT_TpuTopology_ChipCount_Args { topology: topology }, chip_count),
        ask!(
            core_count,
            PJRT_TpuTopology_CoreCount_Args { topology: topology },
            core_count_of_default_type
        ),
        ask!(
            logical_device_count,
            PJRT_TpuTopology_LogiDeviceCount_Args { topology: topology },
            logical_device_count_of_default_type
        ),
        ask!(
            logical_device_count_per_process,
            PJRT_TpuTopology_LogiDeviceCountPerProcess_Args { topology: topology },
            logical_device_count_of_default_type_per_process
        ),
        ask!(
            logical_device_count_per_chip,
            PJRT_TpuTopology_LogiDeviceCountPerChip_Args { topology: topology },
            logical_device_count_of_default_type_per_chip
        ),
        ask!(
            core_count_per_process,
            PJRT_TpuTopology_CoreCountPerProcess_Args { topology: topology },
            core_count_of_default_type_per_process
        ),
    ]
    .map(|answer| answer.unwrap())
}

fn bounds(topology: *const PJRT_TopologyDescription) -> [[i32; 3]; 3] {
    let mut all = [[0; 3]; 3];
    let [per_process, chips, processes] = &mut all;
    let ranks = [
        ask!(
            chips_per_process_bounds,
            PJRT_TpuTopology_ChipsPerProcessBounds_Args {
                topology: topology,
                chip_per_process_bounds: per_process.as_mut_ptr(),
                chip_per_process_bounds_max_dims: 3
            },
            chip_per_process_bounds_num_dims
        ),
        ask!(
            chip_bounds,
            PJRT_TpuTopology_ChipBounds_Args {
                topology: topology,
                chip_bounds: chips.as_mut_ptr(),
                chip_bounds_max_dims: 3
            },
            chip_bounds_num_dims
        ),
        ask!(
            process_bounds,
            PJRT_TpuTopology_ProcessBounds_Args {
                topology: topology,
                process_bounds: processes.as_mut_ptr(),
                process_bounds_max_dims: 3
            },
            process_bounds_num_dims
        ),
    ];
    assert_eq!(ranks, [Ok(3), Ok(3), Ok(3)]);
    all
}

fn flags(topology: *const PJRT_TopologyDescription) -> [u8; 3] {
    [
        ask!(
            is_subslice_topology,
            PJRT_TpuTopology_IsSubsliceTopology_Args { topology: topology },
            is_subslice_topology
        ),
        ask!(
            is_enhanced_barrier_enabled,
            PJRT_TpuTopology_IsEnhancedBarrierEnabled_Args { topology: topology },
            is_enhanced_barrier_enabled
        ),
        ask!(
            has_limited_ici_connectivity,
            PJRT_TpuTopology_HasLimitedIciConnectivity_Args { topology: topology },
            has_limited_ici_connectivity
        ),
    ]
    .map(|answer| answer.unwrap())
}

fn check(name: &str, options: &[(&str, Value)], numbers: [i32; 9], sides: [[i32; 3]; 3]) {
    let topology = topology(name, options);
    assert_eq!(counts(topology), numbers, "{name}");
    assert_eq!(bounds(topology), sides, "{name}");
    assert_eq!(flags(topology), [0, 1, 0], "{name}");
    destroy(topology);
}

#[test]
fn counts_and_bounds_are_those_of_the_real_library() {
    let line = [1, 1, 1];
    check("v5e:2x2", &[], [1, 4, 1, 4, 4, 4, 4, 1, 4], [[2, 2, 1], [2, 2, 1], line]);
    let cube = [[2, 2, 1], [2, 2, 2], [1, 1, 2]];
    check("v5p:2x2x2", &[], [2, 4, 2, 8, 16, 8, 4, 1, 8], cube);
    let megacore = [("chip_config_name", Value::Text("megacore"))];
    check("v4:2x2x2", &megacore, [2, 4, 2, 8, 16, 8, 4, 1, 8], cube);
    let host = [("chips_per_host_bounds", Value::Ints(&[2, 4, 1]))];
    let sides = [[2, 4, 1], [4, 4, 1], [2, 1, 1]];
    check("v5e:4x4", &host, [2, 8, 1, 16, 16, 16, 8, 1, 8], sides);
}

#[test]
fn several_slices_are_not_one() {
    let two = topology("v5e:2x2", &[("num_slices", Value::Int(2))]);
    let count =
        ask!(process_count, PJRT_TpuTopology_ProcessCount_Args { topology: two }, process_count);
    assert_eq!(count.unwrap_err().0, UNIMPLEMENTED);
    let flag = ask!(
        is_subslice_topology,
        PJRT_TpuTopology_IsSubsliceTopology_Args { topology: two },
        is_subslice_topology
    );
    assert_eq!(flag.unwrap_err().0, UNIMPLEMENTED);
    destroy(two);
}

#[test]
fn a_topology_that_is_gone_is_told() {
    let gone = topology("v5e:2x2", &[]);
    destroy(gone);
    let count = ask!(chip_count, PJRT_TpuTopology_ChipCount_Args { topology: gone }, chip_count);
    let (code, message) = count.unwrap_err();
    assert_eq!(code, STALE);
    assert!(message.contains("is stale"), "{message}");
}

#[test]
fn places_and_ids_go_both_ways() {
    let topology = topology("v5p:2x2x2", &[]);
    let mut ids = [0; 8];
    let count = ask!(
        process_ids,
        PJRT_TpuTopology_ProcessIds_Args {
            topology: topology,
            max_process_ids: 8,
            process_ids: ids.as_mut_ptr()
        },
        num_process_ids
    );
    assert_eq!((count, &ids[..2]), (Ok(2), &[0, 1][..]));
    let count = ask!(
        logical_device_ids_on_process,
        PJRT_TpuTopology_LogiDeviceIdsOnProcess_Args {
            topology: topology,
            process_id: 1,
            max_logical_device_ids: 8,
            logical_device_of_default_type_ids: ids.as_mut_ptr()
        },
        num_logical_device_ids
    );
    assert_eq!((count, &ids[..4]), (Ok(4), &[4, 5, 6, 7][..]));
    let mut coords = [9; 3];
    let rank = ask!(
        process_coord_from_id,
        PJRT_TpuTopology_ProcessCoordFromId_Args {
            topology: topology,
            process_id: 1,
            coords_max_dims: 3,
            coords: coords.as_mut_ptr()
        },
        coords_num_dims
    );
    assert_eq!((rank, coords), (Ok(3), [0, 0, 1]));
    for device in 0..8 {
        let index = ask!(
            chip_coord_and_idx_for_logi_device,
            PJRT_TpuTopology_ChipCoordAndIdxForLogiDevice_Args {
                topology: topology,
                device_id: device,
                chip_coords_max_dims: 3,
                chip_coords: coords.as_mut_ptr()
            },
            device_index_on_chip
        );
        assert_eq!(index, Ok(0));
        let chip = ask!(
            chip_id_from_coord,
            PJRT_TpuTopology_ChipIdFromCoord_Args {
                topology: topology,
                coords: coords.as_ptr(),
                coords_num_dims: 3
            },
            chip_id
        );
        assert_eq!(chip, Ok(device));
        let back = ask!(
            logical_device_id_from_chip_coord_and_idx,
            PJRT_TpuTopology_LogiDeviceIdFromChipCoordAndIdx_Args {
                topology: topology,
                chip_coords: coords.as_ptr(),
                chip_coords_num_dims: 3
            },
            logical_device_of_default_type_id
        );
        assert_eq!(back, Ok(device));
        let process = ask!(
            proc_id_and_idx_on_proc_for_chip,
            PJRT_TpuTopology_ProcIdAndIdxOnProcForChip_Args { topology: topology, chip_id: device },
            process_id
        );
        assert_eq!(process, Ok(device / 4));
        let index = ask!(
            proc_id_and_idx_on_proc_for_logi_device,
            PJRT_TpuTopology_ProcIdAndIdxOnProcForLogiDevice_Args {
                topology: topology,
                device_id: device
            },
            index_on_process
        );
        assert_eq!(index, Ok(device % 4));
    }
    let reachable = ask!(
        is_reachable_over_limited_ici,
        PJRT_TpuTopology_IsReachableOverLimitedIci_Args { topology: topology, dest_chip_id: 7 },
        is_reachable_over_limited_ici
    );
    assert_eq!(reachable, Ok(0));
    destroy(topology);
}

#[test]
fn an_array_is_filled_whole_or_not_at_all() {
    let topology = topology("v5e:2x2", &[]);
    let mut sides = [9; 3];
    let rank = ask!(
        chip_bounds,
        PJRT_TpuTopology_ChipBounds_Args {
            topology: topology,
            chip_bounds: sides.as_mut_ptr(),
            chip_bounds_max_dims: 2
        },
        chip_bounds_num_dims
    );
    let (code, message) = rank.unwrap_err();
    assert_eq!((code, sides), (INVALID_ARGUMENT, [9; 3]));
    assert!(message.starts_with("chip_bounds has room for 2 values; there are 3"), "{message}");
    let null = ask!(
        chip_bounds,
        PJRT_TpuTopology_ChipBounds_Args { topology: topology, chip_bounds_max_dims: 3 },
        chip_bounds_num_dims
    );
    assert_eq!(null.unwrap_err().0, INVALID_ARGUMENT);
    let counted = ask!(
        chip_bounds,
        PJRT_TpuTopology_ChipBounds_Args { topology: topology },
        chip_bounds_num_dims
    );
    assert_eq!(counted, Ok(3));
    let negative = ask!(
        process_ids,
        PJRT_TpuTopology_ProcessIds_Args { topology: topology, max_process_ids: -1 },
        num_process_ids
    );
    assert_eq!(negative.unwrap_err().0, INVALID_ARGUMENT);
    destroy(topology);
}

#[test]
fn the_routing_strategy_is_copied_to_the_callers_room_or_is_ours() {
    let topology = topology("v5e:2x2", &[]);
    let mut ours: pjrt_sys::PJRT_TpuTopology_GetRoutingStrategy_Args = args();
    ours.topology = topology;
    call(table().get_routing_strategy, &raw mut ours).unwrap();
    assert_eq!(bytes(ours.routing_strategy.cast(), ours.routing_strategy_len), b"mesh");
    let mut room = [0_u8; 8];
    let mut theirs = ours;
    (theirs.routing_strategy, theirs.routing_strategy_len) = (room.as_mut_ptr().cast(), 8);
    call(table().get_routing_strategy, &raw mut theirs).unwrap();
    assert_eq!((&room, theirs.routing_strategy_len), (b"mesh\0\0\0\0", 4));
    theirs.routing_strategy_len = 3;
    assert_eq!(
        call(table().get_routing_strategy, &raw mut theirs).unwrap_err().0,
        INVALID_ARGUMENT
    );
    destroy(topology);
}

#[test]
fn slices_are_cut_and_changed() {
    let whole = topology("v5e:4x4", &[]);
    let (host, hosts) = ([2, 2, 1], [1, 2, 1]);
    let part = ask!(
        subslice,
        PJRT_TpuTopology_Subslice_Args {
            topology: whole,
            chips_per_host_bounds: host.as_ptr(),
            chips_per_host_bounds_num_dims: 3,
            host_bounds: hosts.as_ptr(),
            host_bounds_num_dims: 3
        },
        subslice_topology
    )
    .unwrap();
    assert_eq!(bounds(part), [[2, 2, 1], [2, 4, 1], [1, 2, 1]]);
    assert_eq!(flags(part)[0], 1);
    let origin = [2, 0, 0];
    let id = |device| {
        ask!(
            subslice_device_id_from_full_device_id,
            PJRT_TpuTopology_SubsliceDeviceIdFromFullDeviceId_Args {
                client_topology: whole,
                subslice_topology: part,
                subslice_origin: origin.as_ptr(),
                subslice_origin_dim_num: 3,
                full_device_id: device
            },
            subslice_device_id
        )
    };
    assert_eq!([2, 3, 6].map(id), [Ok(0), Ok(1), Ok(2)]);
    assert_eq!(id(0).unwrap_err().0, INVALID_ARGUMENT);
    let changed = ask!(
        replace_host_bounds,
        PJRT_TpuTopology_ReplaceHostBounds_Args {
            topology: part,
            host_bounds: [2, 2, 1].as_ptr(),
            host_bounds_dim_num: 3
        },
        new_topology
    )
    .unwrap();
    assert_eq!(bounds(changed)[2], [2, 2, 1]);
    for topology in [whole, part, changed] {
        destroy(topology);
    }
}

#[test]
fn a_platform_lists_its_slices() {
    let platform = "TPU7x";
    let mut all: pjrt_sys::PJRT_TpuTopology_GetSliceConfigs_Args = args();
    all.platform_type_name = platform.as_ptr().cast();
    all.platform_type_name_len = platform.len();
    call(table().get_slice_configs, &raw mut all).unwrap();
    assert_eq!(all.num_slice_configs, 446);
    let none =
        PJRT_TpuTopology_SliceConfig { dim_size: 0, dimensions: [9; 4], wrap: [9; 4], twist: 9 };
    let mut configs = vec![none; 446];
    (all.slice_configs, all.max_slice_configs) = (configs.as_mut_ptr(), 445);
    assert_eq!(call(table().get_slice_configs, &raw mut all).unwrap_err().0, INVALID_ARGUMENT);
    all.max_slice_configs = 446;
    call(table().get_slice_configs, &raw mut all).unwrap();
    assert_eq!((configs[0].dim_size, configs[0].dimensions), (3, [1, 1, 1, 0]));
    assert!(configs.iter().all(|config| config.dim_size == 3));

    let (mut one, slice) = (none, "4x4x8_twisted");
    let mut find: pjrt_sys::PJRT_TpuTopology_GetSliceConfig_Args = args();
    find.platform_type_name = platform.as_ptr().cast();
    find.platform_type_name_len = platform.len();
    find.slice_name = slice.as_ptr().cast();
    find.slice_name_len = slice.len();
    assert_eq!(call(table().get_slice_config, &raw mut find).unwrap_err().0, INVALID_ARGUMENT);
    find.slice_config = &raw mut one;
    call(table().get_slice_config, &raw mut find).unwrap();
    assert_eq!((one.dimensions, one.wrap, one.twist), ([4, 4, 8, 0], [1, 1, 1, 0], 1));
    find.slice_name_len = 2;
    assert_eq!(call(table().get_slice_config, &raw mut find).unwrap_err().0, NOT_FOUND);

    let mut trays: pjrt_sys::PJRT_TpuTopology_GetDefaultPlatformConfig_Args = args();
    trays.platform_type_name = platform.as_ptr().cast();
    trays.platform_type_name_len = platform.len();
    call(table().get_default_platform_config, &raw mut trays).unwrap();
    assert_eq!((trays.num_chips_per_tray, trays.num_trays), (4, 1));
}

#[test]
fn what_is_missing_is_told() {
    let table = table();
    refuses_what_is_missing(table.subslice);
    refuses_what_is_missing(table.is_subslice_topology);
    refuses_what_is_missing(table.subslice_device_id_from_full_device_id);
    refuses_what_is_missing(table.replace_host_bounds);
    refuses_what_is_missing(table.is_enhanced_barrier_enabled);
    refuses_what_is_missing(table.has_limited_ici_connectivity);
    refuses_what_is_missing(table.is_reachable_over_limited_ici);
    refuses_what_is_missing(table.process_count);
    refuses_what_is_missing(table.chips_per_process);
    refuses_what_is_missing(table.core_count_per_chip);
    refuses_what_is_missing(table.chip_count);
    refuses_what_is_missing(table.core_count);
    refuses_what_is_missing(table.logical_device_count_per_process);
    refuses_what_is_missing(table.logical_device_count);
    refuses_what_is_missing(table.logical_device_count_per_chip);
    refuses_what_is_missing(table.core_count_per_process);
    refuses_what_is_missing(table.process_ids);
    refuses_what_is_missing(table.logical_device_ids_on_process);
    refuses_what_is_missing(table.proc_id_and_idx_on_proc_for_chip);
    refuses_what_is_missing(table.proc_id_and_idx_on_proc_for_logi_device);
    refuses_what_is_missing(table.process_coord_from_id);
    refuses_what_is_missing(table.chip_id_from_coord);
    refuses_what_is_missing(table.logical_device_id_from_chip_coord_and_idx);
    refuses_what_is_missing(table.chip_coord_and_idx_for_logi_device);
    refuses_what_is_missing(table.chips_per_process_bounds);
    refuses_what_is_missing(table.chip_bounds);
    refuses_what_is_missing(table.process_bounds);
    refuses_what_is_missing(table.get_routing_strategy);
    refuses_what_is_missing(table.get_slice_config);
    refuses_what_is_missing(table.get_slice_configs);
    refuses_what_is_missing(table.get_default_platform_config);
}
