//! What variables ask for, and what is said of those that cannot be.
use super::*;

/// The place of variables, those of ours among them.
fn place(given: &[(&str, &str)]) -> Result<ProcessPlace> {
    with(given, Nodes::default())
}

fn with(given: &[(&str, &str)], nodes: Nodes) -> Result<ProcessPlace> {
    let ours = |name| given.iter().find(|pair| pair.0 == name).map(|pair| pair.1);
    let topology = ours("TPU_EMU_TOPOLOGY").map(|spec| Topology::parse(spec).unwrap());
    let process_index = ours(INDEX).map(|index| index.parse().unwrap());
    let others = given.iter().filter(|(name, value)| is_given(name, value));
    let given = others.map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    ProcessPlace::of(&Asked { topology: topology.as_ref(), process_index, given: &given, nodes })
}

/// The topology's line, the process and the number of processes.
#[track_caller]
fn check(given: &[(&str, &str)], spec: &str, index: i32, count: i32) {
    let place = place(given).unwrap();
    let found = (place.topology.canonical_spec(), place.process_index, place.process_count());
    assert_eq!(found, (spec.to_owned(), index, count), "{given:?}");
}

#[track_caller]
fn refused(given: &[(&str, &str)], words: &[&str]) {
    let text = place(given).unwrap_err().to_string();
    for word in words {
        assert!(text.contains(word), "{given:?}: {text}");
    }
}

#[test]
fn without_variables_it_is_the_common_host() {
    check(&[], "v5e:2x4x1,chips_per_host_bounds=2x4x1", 0, 1);
    let place = place(&[("TPU_WORKER_HOSTNAMES", ""), ("TPU_PROCESS_BOUNDS", " ")]).unwrap();
    assert!(place.is_alone() && place.addresses.is_empty() && place.chips.is_empty());
    assert_eq!(place.topology, Topology::common_host());
}

#[test]
fn a_slice_by_its_name_is_one_process_unless_something_says_that_there_are_others() {
    let emu = |spec| ("TPU_EMU_TOPOLOGY", spec);
    check(&[emu("v5p:8x8x4")], "v5p:8x8x4,chips_per_host_bounds=8x8x4", 0, 1);
    let two = "v5e:4x4x1,chips_per_host_bounds=4x4x1,num_slices=2,processes=1";
    check(&[emu("v5e:4x4,num_slices=2")], two, 0, 1);
    let local = [emu("v5e:4x4"), ("TPU_WORKER_HOSTNAMES", "localhost"), ("TPU_WORKER_ID", "0")];
    check(&local, "v5e:4x4x1,chips_per_host_bounds=4x4x1", 0, 1);
    let hosts = "v5e:4x4x1,chips_per_host_bounds=2x2x1";
    check(&[emu("v5e:4x4"), (INDEX, "0")], hosts, 0, 4);
    check(&[emu("v5e:4x4"), (INDEX, "3")], hosts, 3, 4);
    check(&[emu("v5e:4x4"), ("TPU_WORKER_ID", "2")], hosts, 2, 4);
    check(&[emu("v5e:4x4"), (INDEX, "2"), ("TPU_WORKER_HOSTNAMES", "localhost")], hosts, 2, 4);
    let names = [("TPU_WORKER_HOSTNAMES", "a,b,c,d"), ("TPU_WORKER_ID", "1"), emu("v5e:4x4")];
    check(&names, hosts, 1, 4);
    assert_eq!(place(&names).unwrap().addresses, ["a", "b", "c", "d"]);
    check(&names[..2], hosts, 1, 4);
}

#[test]
fn the_harness_of_jax_is_understood() {
    let of = |grid, chips, visible, task| {
        [
            ("TPU_PROCESS_BOUNDS", grid),
            ("TPU_CHIPS_PER_PROCESS_BOUNDS", chips),
            ("TPU_VISIBLE_CHIPS", visible),
            ("CLOUD_TPU_TASK_ID", task),
            (
                "TPU_PROCESS_ADDRESSES",
                "localhost:10000,localhost:10001,localhost:10002,localhost:10003",
            ),
            ("TPU_PROCESS_PORT", if task == "3" { "10003" } else { "10001" }),
        ]
    };
    let given = of("2,2,1", "1,1,1", "3", "3");
    check(&given, "v5e:2x2x1,chips_per_host_bounds=1x1x1", 3, 4);
    let place = place(&given).unwrap();
    assert_eq!((place.chips, place.addresses.len()), (vec![3], 4));
    check(&of("2,2,1", "1,2,1", "2,3", "1"), "v5e:2x4x1,chips_per_host_bounds=1x2x1", 1, 4);
    refused(&of("2,1,1", "1,2,1", "2,3", "1"), &["TPU_PROCESS_ADDRESSES", "4 addresses", "2 pro"]);
    refused(&of("2,2,1", "1,1,1", "2,3", "1"), &["TPU_VISIBLE_CHIPS=2,3", "2 chips", "has 1"]);
    refused(&of("2,2,1", "1,1,1", "2", "2"), &["TPU_PROCESS_PORT=10001", "10002 for process 2"]);
    refused(&of("2,2,1", "1,1,1", "9", "1"), &["no chip 9; there are 8"]);
    refused(&of("2,2,1", "1,1,1", "1", "4"), &["CLOUD_TPU_TASK_ID=4", "4 processes"]);
    refused(&given[..3], &["TPU_PROCESS_BOUNDS=2,2,1 asks for 4 processes", "CLOUD_TPU_TASK_ID"]);
}

#[test]
fn a_process_sees_the_chips_that_it_names() {
    let visible = |chips| ("TPU_VISIBLE_CHIPS", chips);
    check(&[visible("0,1")], "v5e:2x1x1,chips_per_host_bounds=2x1x1", 0, 1);
    check(&[("TPU_VISIBLE_DEVICES", "5")], "v5e:1x1x1,chips_per_host_bounds=1x1x1", 0, 1);
    check(&[visible("0,1,2,3")], "v5e:2x2x1,chips_per_host_bounds=2x2x1", 0, 1);
    let one = [("TPU_CHIPS_PER_HOST_BOUNDS", "1,2,1"), ("TPU_HOST_BOUNDS", "1,1,1")];
    let given = [one[0], one[1], visible("6,7")];
    check(&given, "v5e:1x2x1,chips_per_host_bounds=1x2x1", 0, 1);
    let emu = ("TPU_EMU_TOPOLOGY", "v5p:4x4x4");
    check(&[emu, visible("2,3")], "v5p:2x1x1,chips_per_host_bounds=2x1x1", 0, 1);
    check(
        &[emu, given[0], given[1], visible("2,3")],
        "v5p:1x2x1,chips_per_host_bounds=1x2x1",
        0,
        1,
    );
    check(
        &[visible("0"), ("TPU_PROCESS_BOUNDS", "1,1,1")],
        "v5e:1x1x1,chips_per_host_bounds=1x1x1",
        0,
        1,
    );
    for wrong in ["", "a", "0 1", "0,0", "-1", "0,", "0;1"] {
        refused(&[visible(wrong)], &["TPU_VISIBLE_CHIPS=", "different chips, as 0,1"]);
    }
    refused(&[visible("8")], &["TPU_VISIBLE_CHIPS=8: no chip 8", "has 8"]);
    refused(&[visible("0,3")], &["no box", "TPU_CHIPS_PER_PROCESS_BOUNDS"]);
    refused(&[visible("0,1,2")], &["no box"]);
    refused(&[one[0], one[1], visible("0")], &["1 chips", "TPU_CHIPS_PER_HOST_BOUNDS=1,2,1 has 2"]);
    check(&[visible("1, 0")], "v5e:2x1x1,chips_per_host_bounds=2x1x1", 0, 1);
}

#[test]
fn a_type_is_a_slice_and_ours_wins() {
    let kind = |kind| ("TPU_ACCELERATOR_TYPE", kind);
    check(&[kind("v5p-256")], "v5p:4x4x8,chips_per_host_bounds=4x4x8", 0, 1);
    check(&[kind("v5litepod-16")], "v5e:4x4x1,chips_per_host_bounds=4x4x1", 0, 1);
    let pod = [kind("v5litepod-16"), ("TPU_WORKER_ID", "3"), ("TPU_WORKER_HOSTNAMES", "a,b,c,d")];
    check(&pod, "v5e:4x4x1,chips_per_host_bounds=2x2x1", 3, 4);
    let pair = [pod[0], ("TPU_WORKER_ID", "1"), ("TPU_WORKER_HOSTNAMES", "a,b")];
    check(&pair, "v5e:4x4x1,chips_per_host_bounds=2x4x1", 1, 2);
    check(
        &[kind("v6e-16"), ("TPU_TOPOLOGY", "2x8")],
        "v6e:2x8x1,chips_per_host_bounds=2x8x1",
        0,
        1,
    );
    check(&[("TPU_TOPOLOGY", "4x4")], "v5e:4x4x1,chips_per_host_bounds=4x4x1", 0, 1);
    let cluster = [
        kind("v5p-16"),
        ("TPU_HOST_BOUNDS", "1,1,2"),
        ("TPU_CHIPS_PER_HOST_BOUNDS", "2,2,1"),
        ("TPU_WORKER_ID", "1"),
    ];
    check(&cluster, "v5p:2x2x2,chips_per_host_bounds=2x2x1", 1, 2);
    let ours = ("TPU_EMU_TOPOLOGY", "v6e:2x2");
    check(&[ours, kind("v5p-256"), cluster[2]], "v6e:2x2x1,chips_per_host_bounds=2x2x1", 0, 1);
    refused(&[kind("v9-8")], &["TPU_ACCELERATOR_TYPE=v9-8", "v5litepod-8"]);
    refused(&[kind("v5p-32"), ("TPU_TOPOLOGY", "4x4x4")], &["v5p-32", "TPU_TOPOLOGY=4x4x4", "128"]);
    refused(&[("TPU_TOPOLOGY", "4x4x4")], &["TPU_TOPOLOGY=4x4x4", "TPU_ACCELERATOR_TYPE"]);
    let three = [kind("v5litepod-16"), ("TPU_WORKER_ID", "0"), ("TPU_WORKER_HOSTNAMES", "a,b,c")];
    refused(&three, &["TPU_WORKER_HOSTNAMES=a,b,c", "3 processes", "4 hosts"]);
}

#[test]
fn slices_have_processes_of_their_own_where_one_is_named() {
    let (two, emu) = (("MEGASCALE_NUM_SLICES", "2"), ("TPU_EMU_TOPOLOGY", "v5e:2x2"));
    let together = "v5e:2x2x1,chips_per_host_bounds=2x2x1,num_slices=2,processes=1";
    check(&[two, emu], together, 0, 1);
    let apart = "v5e:2x2x1,chips_per_host_bounds=2x2x1,num_slices=2";
    let own = ("TPU_EMU_TOPOLOGY", "v5e:2x2,num_slices=2");
    check(&[own, (INDEX, "0")], apart, 0, 2);
    check(&[own, (INDEX, "1")], apart, 1, 2);
    check(&[two, emu, (INDEX, "1")], apart, 1, 2);
    refused(&[own, (INDEX, "2")], &["TPU_EMU_PROCESS_INDEX=2", "2 processes"]);
    let second = ("MEGASCALE_SLICE_ID", "1");
    let coordinator = ("MEGASCALE_COORDINATOR_ADDRESS", "host:8080");
    check(&[two, emu, second, coordinator], apart, 1, 2);
    assert_eq!(place(&[two, emu, second, coordinator]).unwrap().coordinator.unwrap(), "host:8080");
    let hosts = [two, ("TPU_EMU_TOPOLOGY", "v5e:4x4"), second, ("TPU_WORKER_ID", "2")];
    check(&hosts, "v5e:4x4x1,chips_per_host_bounds=2x2x1,num_slices=2", 6, 8);
    check(&hosts[..3], "v5e:4x4x1,chips_per_host_bounds=4x4x1,num_slices=2", 1, 2);
    refused(&[two, ("MEGASCALE_SLICE_ID", "2")], &["MEGASCALE_SLICE_ID=2", "2 slices"]);
    refused(&[("MEGASCALE_SLICE_ID", "1")], &["MEGASCALE_SLICE_ID=1", "1 slices"]);
    refused(&[hosts[0], hosts[1], hosts[3]], &["MEGASCALE_SLICE_ID must say", "2 slices"]);
    refused(&[("MEGASCALE_NUM_SLICES", "0")], &["MEGASCALE_NUM_SLICES=0", "from 1"]);
    let three = ("TPU_EMU_TOPOLOGY", "v5e:2x2,num_slices=3");
    check(&[two, three], "v5e:2x2x1,chips_per_host_bounds=2x2x1,num_slices=3,processes=1", 0, 1);
}

#[test]
fn bounds_that_cannot_be_are_refused_by_name() {
    for name in ["TPU_PROCESS_BOUNDS", "TPU_HOST_BOUNDS", "TPU_CHIPS_PER_PROCESS_BOUNDS"] {
        for wrong in ["0,0,0", "1,1", "1,1,1,1", "a,b,c", "1x1x1", "-1,1,1", "99999999999,1,1"] {
            refused(&[(name, wrong)], &[&format!("{name}={wrong}: "), "three numbers from 1"]);
        }
    }
    let grid = |text| ("TPU_PROCESS_BOUNDS", text);
    refused(&[grid("3,1,1")], &["TPU_PROCESS_BOUNDS=3,1,1", "does not divide the 2x4x1 chips"]);
    let huge = [grid("99999,99999,99999"), ("TPU_CHIPS_PER_PROCESS_BOUNDS", "99999,99999,99999")];
    refused(&huge, &["too many chips"]);
    let chips = ("TPU_CHIPS_PER_PROCESS_BOUNDS", "2,2,1");
    let emu = ("TPU_EMU_TOPOLOGY", "v5e:2x2");
    refused(&[grid("2,2,1"), chips, emu], &["asks for 16 chips", "v5e:2x2x1", "has 4"]);
    check(&[chips], "v5e:2x2x1,chips_per_host_bounds=2x2x1", 0, 1);
    check(&[chips, (INDEX, "1")], "v5e:2x4x1,chips_per_host_bounds=2x2x1", 1, 2);
    check(&[grid("1,1,1"), chips], "v5e:2x2x1,chips_per_host_bounds=2x2x1", 0, 1);
    check(&[grid("2,2,1"), (INDEX, "1")], "v5e:2x4x1,chips_per_host_bounds=1x2x1", 1, 4);
    refused(&[("TPU_PROCESS_PORT", "0")], &["TPU_PROCESS_PORT=0", "65535"]);
    let twice = ("TPU_PROCESS_ADDRESSES", "a:1,a:1");
    refused(&[twice], &["TPU_PROCESS_ADDRESSES=a:1,a:1", "different"]);
    refused(
        &[("TPU_WORKER_ID", "x"), ("CLOUD_TPU_TASK_ID", "-1")],
        &["TPU_WORKER_ID=x", "CLOUD_TPU_TASK_ID=-1"],
    );
}

#[test]
fn the_options_of_a_client_count_and_must_agree() {
    let nodes = |node, count| Nodes { node: Some(node), count, by_jax: false };
    let emu = ("TPU_EMU_TOPOLOGY", "v5e:4x4");
    let second = with(&[emu], nodes(1, Some(4))).unwrap();
    assert_eq!((second.process_index, second.process_count()), (1, 4));
    assert_eq!(with(&[emu], nodes(2, None)).unwrap().process_count(), 4);
    assert!(with(&[emu], nodes(0, Some(1))).unwrap().is_alone());
    let pair = with(&[], nodes(1, Some(2))).unwrap();
    assert_eq!(pair.topology.canonical_spec(), "v5e:2x4x1,chips_per_host_bounds=2x2x1");
    let slices = with(&[("TPU_EMU_TOPOLOGY", "v5e:2x2,num_slices=2")], nodes(1, Some(2))).unwrap();
    assert_eq!((slices.process_index, slices.process_count()), (1, 2));
    let refused = |given: &[_], nodes, words: &[&str]| {
        let text = with(given, nodes).unwrap_err().to_string();
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
    };
    refused(&[emu], nodes(1, Some(2)), &["num_nodes 2 says 2 processes", "has 4 hosts"]);
    refused(&[], nodes(1, None), &["option node_id is 1; this topology has 1 processes"]);
    refused(&[emu, (INDEX, "2")], nodes(1, None), &["TPU_EMU_PROCESS_INDEX=2", "node_id is 1"]);
    refused(
        &[emu, ("CLOUD_TPU_TASK_ID", "2")],
        nodes(1, None),
        &["CLOUD_TPU_TASK_ID=2", "node_id is 1"],
    );
    refused(
        &[("TPU_EMU_TOPOLOGY", "v5e:2x2,num_slices=2")],
        nodes(0, Some(3)),
        &["num_nodes is 3"],
    );
}
