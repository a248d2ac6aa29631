//! What the small kernels of `golden` take of their core's memories.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::path::Path;
use tpu_mosaic::Config;
use tpu_mosaic::ir::MemorySpace::{Semaphore, Smem, Vmem};
use tpu_mosaic::ir::{Module, Op, Operation};
use tpu_mosaic::memory::{Budget, Call, Role, Taken, Tiling, budgets};

const NEW: Tiling = Tiling::Rows { least_words: 1 };

fn budget(name: &str, config: &Config, operands: &[Vec<i64>], results: &[Vec<i64>]) -> Budget {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let body = std::fs::read(path.with_extension("mlirbc")).unwrap();
    let module = tpu_mosaic::read(&body, None).unwrap();
    budgets(&module, config, Call { operands, results }, NEW).swap_remove(0)
}

fn plain(name: &str, operands: &[Vec<i64>], results: &[Vec<i64>]) -> Budget {
    budget(name, &Config::default(), operands, results)
}

#[test]
fn windows_that_move_have_two_buffers_and_scratch_has_one() {
    let whole = vec![256, 256];
    let found =
        plain("matmul_0_10_2", &[whole.clone(), whole.clone()], std::slice::from_ref(&whole));
    let rows: Vec<_> =
        found.taken.iter().map(|taken| (taken.role, taken.buffers, taken.size)).collect();
    let block = 128 * 128 * 2;
    assert_eq!(
        rows,
        [
            (Role::Input(0), 2, 2 * block),
            (Role::Input(1), 2, 2 * block),
            (Role::Output(0), 2, 2 * block),
            (Role::Scratch(0), 1, 2 * block),
        ]
    );
    assert_eq!(found.total(Vmem), 8 * block);
    assert_eq!(found.taken[0].whole, Some(whole));
    assert_eq!(found.largest(Vmem).len(), 4);
}

#[test]
fn a_window_of_one_point_has_one_buffer_and_scalars_are_in_scalar_memory() {
    let found = plain("loop_0_10_2", &[vec![1], vec![64, 128]], &[vec![8, 128]]);
    assert_eq!(found.total(Smem), 512);
    assert_eq!(found.total(Vmem), (64 + 8) * 512);
    let roles: Vec<Role> = found.taken.iter().map(|taken| taken.role).collect();
    assert_eq!(roles, [Role::Scalar(0), Role::Input(1), Role::Output(0)]);
}

#[test]
fn arrays_that_stay_where_they_are_take_nothing() {
    let found = plain("copy_0_10_2", &[vec![8, 128]], &[vec![8, 128]]);
    assert_eq!((found.total(Vmem), found.total(Semaphore)), (4096, 1));
    let config = Config { internal_scratch_bytes: Some(8192), ..Config::default() };
    let found = budget("copy_0_10_2", &config, &[vec![8, 128]], &[vec![8, 128]]);
    assert_eq!(found.total(Vmem), 4096 + 8192);
}

#[test]
fn scopes_give_back_what_they_have_taken() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/control.mlirbc");
    let module = tpu_mosaic::read(&std::fs::read(path).unwrap(), None).unwrap();
    let smem = |module: &Module| {
        let call = Call { operands: &[], results: &[] };
        let found = budgets(module, &Config::default(), call, NEW).swap_remove(0);
        found.taken.iter().filter(|taken| taken.role == Role::Allocated).cloned().collect()
    };
    let before: Vec<Taken> = smem(&module);
    assert_eq!(before.len(), 2, "{before:?}");
    assert!(before.iter().any(|taken| taken.memory == Smem && taken.size == 512));
    assert!(before.iter().any(|taken| taken.memory == Semaphore && taken.size == 1));

    // Two scopes one after the other need no more than one.
    let function = module.functions.iter().position(|of| of.kernel.is_some()).unwrap();
    let scope = |of: &Operation| of.op == Op::TpuRegion;
    let mut twice = module.clone();
    let operations = &mut twice.functions[function].body.operations;
    let at = operations.iter().position(scope).unwrap();
    let again = operations[at].clone();
    operations.insert(at, again);
    assert_eq!(smem(&twice), before);

    // Two allocations of one scope need twice as much.
    let mut two = module.clone();
    let operations = &mut two.functions[function].body.operations;
    let at = operations.iter().position(scope).unwrap();
    let inner = &mut operations[at].regions[0].block.as_mut().unwrap().operations;
    let first = inner.iter().position(|of| of.op == Op::MemrefAlloca).unwrap();
    let again = inner[first].clone();
    inner.insert(first, again);
    assert_eq!(smem(&two).len(), 3);
}
