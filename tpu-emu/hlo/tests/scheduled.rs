//! What compiled programs keep in memory, and when.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]
use tpu_hlo::{Scheduled, scheduled, text};
use tpu_proto::Message as _;
use tpu_proto::xla::hlo_schedule_proto::InstructionSequence;
use tpu_proto::xla::{HloModuleProto, HloModuleScheduleProto, HloProto, HloScheduleProto};

/// The values of a program whose instructions run in the order of the text.
fn values(program: &str) -> Scheduled {
    of(&text::parse(program).unwrap(), &[])
}

/// The values of a program; `orders` are the names of a computation's instructions as they run.
fn of(module: &HloModuleProto, orders: &[(&str, &[&str])]) -> Scheduled {
    let mut schedule = HloScheduleProto::default();
    for (name, order) in orders {
        let computation = module.computations.iter().find(|one| one.name == *name).unwrap();
        let id =
            |name: &&str| computation.instructions.iter().find(|one| one.name == *name).unwrap().id;
        let sequence = InstructionSequence { instruction_ids: order.iter().map(id).collect() };
        schedule.sequences.insert(computation.id, sequence);
    }
    let mut bytes = module.encode_to_vec();
    bytes.extend(HloModuleScheduleProto { schedule: Some(schedule) }.encode_to_vec());
    scheduled(&HloProto { hlo_module: bytes }.encode_to_vec()).unwrap()
}

/// Operation, first and last position of each.
fn lives(of: &Scheduled) -> Vec<(&str, u64, u64)> {
    of.values.iter().map(|value| (&*value.operation, value.first, value.last)).collect()
}

#[test]
fn values_live_from_what_makes_them_to_what_reads_them_last() {
    let found = values(
        "HloModule m
        ENTRY e {
          x = f32[100,3]{1,0:T(8,128)} parameter(0)
          y = f32[3,100]{1,0:T(8,128)} transpose(x), dimensions={1,0}
          z = f32[100,3]{1,0:T(8,128)} transpose(y), dimensions={1,0}
          w = f32[3,100]{1,0:T(8,128)} transpose(z), dimensions={1,0}
          ROOT r = f32[3,100]{1,0:T(8,128)} subtract(y, w)
        }",
    );
    // The difference is the result, whose memory is no temporary's.
    assert_eq!(lives(&found), [("transpose", 1, 4), ("transpose", 2, 3), ("transpose", 3, 4)]);
    let array = &found.values[1].array;
    assert_eq!((array.bytes, array.logical), (104 * 128 * 4, 1200));
    assert_eq!((&*array.dtype, &*array.layout), ("f32", "{1,0:T(8,128)}"));
    assert_eq!(found.positions, 5);
}

#[test]
fn a_value_takes_the_memory_of_an_operand_that_nobody_else_reads() {
    let found = values(
        "HloModule m
        ENTRY e {
          x = f32[64]{0} parameter(0)
          y = f32[64]{0} reverse(x), dimensions={0}
          z = f32[64]{0} negate(y)
          w = f32[64]{0} reverse(z), dimensions={0}
          ROOT r = f32[64]{0} reverse(w), dimensions={0}
        }",
    );
    assert_eq!(lives(&found), [("reverse", 1, 1), ("negate", 2, 3), ("reverse", 3, 4)]);
}

#[test]
fn the_schedule_says_the_order_and_names_read_nothing() {
    let module = text::parse(
        "HloModule m
        ENTRY e {
          x = f32[8]{0} parameter(0)
          a = f32[8]{0} reverse(x), dimensions={0}
          b = f32[8]{0} copy(x)
          both = (f32[8]{0}, f32[8]{0}) tuple(a, b)
          again = f32[8]{0} get-tuple-element(both), index=1
          c = f32[8]{0} reverse(a), dimensions={0}
          ROOT r = f32[8]{0} concatenate(again), dimensions={0}
        }",
    )
    .unwrap();
    assert_eq!(lives(&of(&module, &[])), [("reverse", 1, 5), ("copy", 2, 6), ("reverse", 5, 5)]);
    let order = ["x", "b", "a", "c", "both", "again", "r"];
    let found = of(&module, &[("e", &order)]);
    assert_eq!(lives(&found), [("copy", 1, 6), ("reverse", 2, 3), ("reverse", 3, 3)]);
}

#[test]
fn loops_and_updates_write_over_what_they_carry() {
    let found = values(
        "HloModule m
        body {
          p = (s32[], f32[64]{0}) parameter(0)
          i = s32[] get-tuple-element(p), index=0
          v = f32[64]{0} get-tuple-element(p), index=1
          big = f32[64]{0} reverse(v), dimensions={0}
          part = f32[2]{0} slice(big), slice={[0:2]}
          next = f32[64]{0} dynamic-update-slice(v, part, i)
          ROOT t = (s32[], f32[64]{0}) tuple(i, next)
        }
        condition {
          p = (s32[], f32[64]{0}) parameter(0)
          i = s32[] get-tuple-element(p), index=0
          ROOT less = pred[] compare(i, i), direction=LT
        }
        ENTRY e {
          x = f32[64]{0} parameter(0)
          n = s32[]{:S(2)} constant(0)
          carried = f32[64]{0} copy(x)
          t = (s32[]{:S(2)}, f32[64]{0}) tuple(n, carried)
          w = (s32[]{:S(2)}, f32[64]{0}) while(t), condition=condition, body=body
          v = f32[64]{0} get-tuple-element(w), index=1
          ROOT r = f32[64]{0} reverse(v), dimensions={0}
        }",
    );
    let found = lives(&found);
    // The loop's own positions stand where it does.
    assert_eq!(found, [("copy", 2, 13), ("reverse", 7, 8), ("slice", 8, 9)]);
}

#[test]
fn branches_write_one_result() {
    let found = values(
        "HloModule m
        left {
          p = f32[64]{0} parameter(0)
          ROOT r = f32[64]{0} reverse(p), dimensions={0}
        }
        right {
          p = f32[64]{0} parameter(0)
          far = f32[64]{0:S(1)} reverse(p), dimensions={0}
          near = f32[64]{0} copy(far)
          ROOT r = f32[64]{0} reverse(near), dimensions={0}
        }
        ENTRY e {
          x = f32[64]{0} parameter(0)
          c = pred[]{:S(2)} constant(true)
          b = f32[64]{0} conditional(c, x, x), branch_computations={right,left}
          ROOT r = f32[64]{0} reverse(b), dimensions={0}
        }",
    );
    assert_eq!(lives(&found), [("conditional", 2, 9), ("copy", 4, 5)]);
}

#[test]
fn a_fusion_that_updates_a_slice_writes_over_its_operand() {
    let found = values(
        "HloModule m
        inner {
          u = f32[2]{0} parameter(0)
          v = f32[64]{0} parameter(1)
          i = s32[] parameter(2)
          ROOT r = f32[64]{0} dynamic-update-slice(v, u, i)
        }
        ENTRY e {
          x = f32[64]{0} parameter(0)
          u = f32[2]{0} slice(x), slice={[0:2]}
          i = s32[]{:S(2)} constant(3)
          v = f32[64]{0} copy(x)
          f = f32[64]{0} fusion(u, v, i), kind=kLoop, calls=inner
          ROOT r = f32[64]{0} reverse(f), dimensions={0}
        }",
    );
    assert_eq!(lives(&found), [("slice", 1, 4), ("copy", 3, 5)]);
}

#[test]
fn what_is_started_lives_until_it_is_done_and_longer_where_it_is_read() {
    let mut module = text::parse(
        "HloModule m
        ENTRY e {
          x = f32[8]{0} parameter(0)
          a = f32[8]{0} reverse(x), dimensions={0}
          s = (f32[8]{0}, f32[8]{0}, u32[]{:S(2)}) tuple(a, a, a)
          d = f32[8]{0} copy(a)
          ROOT r = f32[8]{0} reverse(d), dimensions={0}
        }",
    )
    .unwrap();
    let instructions = &mut module.computations[0].instructions;
    for (start, done, wanted) in [
        ("copy-start", "copy-done", [("reverse", 1, 3), ("copy-start", 2, 4)]),
        ("all-gather-start", "all-gather-done", [("reverse", 1, 3), ("all-gather-start", 2, 4)]),
    ] {
        let instructions = &mut instructions.clone();
        let id = instructions[2].id;
        instructions[2].opcode = start.into();
        instructions[2].operand_ids.truncate(1);
        instructions[3].opcode = done.into();
        instructions[3].operand_ids = vec![id];
        let mut module = module_of(instructions);
        module.entry_computation_id = 1;
        assert_eq!(lives(&of(&module, &[])), wanted, "{start}");
    }
}

#[test]
fn a_reduction_over_devices_that_is_started_is_its_result_alone() {
    let module = text::parse(
        "HloModule m
        ENTRY e {
          x = f32[8]{0} parameter(0)
          a = f32[8]{0} reverse(x), dimensions={0}
          s = f32[8]{0} copy(a)
          d = f32[8]{0} copy(s)
          ROOT r = f32[8]{0} reverse(d), dimensions={0}
        }",
    )
    .unwrap();
    let mut instructions = module.computations[0].instructions.clone();
    instructions[2].opcode = "all-reduce-start".into();
    instructions[3].opcode = "all-reduce-done".into();
    let mut module = module_of(&instructions);
    module.entry_computation_id = 1;
    let found = of(&module, &[]);
    assert_eq!(lives(&found), [("reverse", 1, 1), ("all-reduce-start", 2, 4)]);
}

fn module_of(instructions: &[tpu_proto::xla::HloInstructionProto]) -> HloModuleProto {
    let computation = tpu_proto::xla::HloComputationProto {
        id: 1,
        name: "e".into(),
        root_id: instructions.last().unwrap().id,
        instructions: instructions.to_vec(),
        ..<_>::default()
    };
    HloModuleProto { computations: vec![computation], ..<_>::default() }
}

#[test]
fn damaged_programs_are_errors_or_something_else_and_never_a_crash() {
    for name in ["calls", "control", "fused", "tupled"] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/golden")
            .join(name)
            .with_extension("pb");
        let golden = std::fs::read(path).unwrap();
        let module = HloModuleProto::decode(&*golden).unwrap();
        of(&module, &[]);
        let mut refused = 0;
        for at in 0..golden.len() {
            for flip in [1, 0x40, 0xff] {
                let mut bytes = golden.clone();
                bytes[at] ^= flip;
                let bytes = HloProto { hlo_module: bytes }.encode_to_vec();
                refused += usize::from(scheduled(&bytes).is_err());
            }
        }
        assert!(refused > 0, "{name}");
    }
}
