//! Addresses follow from the order of the client's calls, however long its runs take.
use super::machine::{HBM, f32s, get, i32s, launch, machine, put};
use crate::machine::compile;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tpu_emu::origin::Clock;
use tpu_emu::runtime::LoadedExecutable;
use tpu_emu::units::{Bytes, DevAddr, Nanos};
use tpu_emu::{Buffer, Config, Emulator, Memory};

/// A loop over a product, so that runs have temporaries and take their time on another thread;
/// `alias` is an attribute of the first parameter.
fn program(machine: &Arc<Emulator>, alias: &str) -> Arc<LoadedExecutable> {
    let t = "tensor<32x32xf32>";
    let text = format!(
        "func.func public @main(%x: {t}{alias}, %rounds: tensor<i32>) -> {t} {{
          %zero = stablehlo.constant dense<0> : tensor<i32>
          %one = stablehlo.constant dense<1> : tensor<i32>
          %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, {t}
          cond {{
            %p = stablehlo.compare LT, %i, %rounds : (tensor<i32>, tensor<i32>) -> tensor<i1>
            stablehlo.return %p : tensor<i1>
          }} do {{
            %next = stablehlo.add %i, %one : tensor<i32>
            %d = stablehlo.dot_general %v, %v, contracting_dims = [1] x [0] : ({t}, {t}) -> {t}
            %h = stablehlo.tanh %d : {t}
            stablehlo.return %next, %h : tensor<i32>, {t}
          }}
          return %r#1 : {t}
        }}"
    );
    compile(machine, &text).unwrap()
}

/// As [`program`] with one round, without a loop: so short that whoever launches it runs it, unless
/// that client runs ahead of its devices. It reads what tells [`program`] its rounds, so that both
/// have the same arguments.
fn short_program(machine: &Arc<Emulator>, alias: &str) -> Arc<LoadedExecutable> {
    let t = "tensor<32x32xf32>";
    let text = format!(
        "func.func public @main(%x: {t}{alias}, %rounds: tensor<i32>) -> {t} {{
          %d = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : ({t}, {t}) -> {t}
          %r = stablehlo.convert %rounds : (tensor<i32>) -> tensor<f32>
          %a = stablehlo.broadcast_in_dim %r, dims = [] : (tensor<f32>) -> {t}
          %s = stablehlo.add %d, %a : {t}
          %e = stablehlo.dot_general %s, %x, contracting_dims = [1] x [0] : ({t}, {t}) -> {t}
          %f = stablehlo.dot_general %e, %s, contracting_dims = [1] x [0] : ({t}, {t}) -> {t}
          %g = stablehlo.dot_general %f, %e, contracting_dims = [1] x [0] : ({t}, {t}) -> {t}
          %h = stablehlo.tanh %g : {t}
          return %h : {t}
        }}"
    );
    compile(machine, &text).unwrap()
}

/// Every change of every space, in its order: address, size and whether it was an allocation.
type Changes = BTreeMap<(u32, u64), (DevAddr, Bytes, String)>;

/// Compiles a program of a matrix and a number, whose first parameter has an attribute.
type Compile = fn(&Arc<Emulator>, &str) -> Arc<LoadedExecutable>;

/// A loop of training with donation, evaluation and what is kept of it, copies, and deletes while
/// runs are under way; `each` is called with what is ready when a run has ended.
fn train(of: Compile, rounds: i32, each: &dyn Fn(&Buffer)) -> (Changes, Vec<u64>, Vec<u8>) {
    train_on(&machine(), of, rounds, each)
}

fn train_on(
    machine: &Arc<Emulator>,
    of: Compile,
    rounds: i32,
    each: &dyn Fn(&Buffer),
) -> (Changes, Vec<u64>, Vec<u8>) {
    let step = of(machine, " {tf.aliasing_output = 0 : i32}");
    let evaluate = of(machine, "");
    let count = put(machine, &i32s(&[], &[rounds]));
    let mut state = put(machine, &f32s(&[32, 32], &[0.01; 1024]));
    let (mut kept, mut stats) = (Vec::new(), Vec::new());
    for turn in 0..12_u8 {
        let run = |program, state: &Arc<Buffer>| {
            let arguments = [Arc::clone(state), Arc::clone(&count)];
            let made = launch(machine, program, &arguments).unwrap().results.remove(0);
            each(&made);
            Arc::new(made)
        };
        let seen = run(&evaluate, &state);
        state = run(&step, &state);
        let batch = put(
            machine,
            &f32s(&[64 + i64::from(turn) * 100], &vec![1.0; 64 + usize::from(turn) * 100]),
        );
        let other = Memory { device: 1, ..HBM };
        let copy = seen.copy_to(other).unwrap();
        each(&copy);
        if turn % 3 == 0 {
            kept.push(batch);
        }
        if turn % 4 == 1 {
            kept.push(seen);
        }
        if turn % 5 == 4 {
            kept.remove(kept.len() / 2).delete();
        }
        let now = machine.memory_stats(HBM);
        stats.extend(
            [now.bytes_in_use, now.peak_bytes_in_use, now.largest_free_block_bytes]
                .map(|bytes| bytes.0),
        );
    }
    let state = Arc::into_inner(state).unwrap();
    let values = get(state).unwrap().bytes;
    drop(kept);
    let past = machine.ledger().past();
    let change = |past: &tpu_emu::origin::Past| {
        ((past.space, past.sequence), (past.address, past.size, format!("{:?}", past.kind)))
    };
    (past.iter().map(change).collect(), stats, values)
}

#[test]
fn runs_that_take_long_leave_every_address_as_it_is_when_each_is_waited_for() {
    let waited = train(program, 40, &|made| made.ready_event().wait().unwrap());
    let ahead = train(program, 40, &|_| {});
    assert!(waited.0.len() > 60, "{}", waited.0.len());
    assert_eq!(ahead, waited);
    // However long they take.
    let short = train(program, 1, &|_| {});
    assert_eq!((&short.0, &short.1), (&waited.0, &waited.1));
    // Also where they are run by who launches them, once one has been short.
    let quick = || Emulator::new(Config { clock: Arc::<Ticks>::default(), ..Config::plain() });
    let waited = train_on(&quick().unwrap(), program, 1, &|made| made.awaited().wait().unwrap());
    assert_eq!(waited, short);
    assert_eq!(train_on(&quick().unwrap(), program, 1, &|_| {}), short);
}

/// A clock that goes on by a nanosecond each time that it is read: all runs are short by it.
#[derive(Debug, Default)]
struct Ticks(AtomicU64);

impl Clock for Ticks {
    fn now(&self) -> Nanos {
        Nanos(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

#[test]
fn short_runs_of_a_client_that_does_not_wait_give_what_they_give_to_one_that_does() {
    let waited = train(short_program, 3, &|made| made.awaited().wait().unwrap());
    assert_eq!(train(short_program, 3, &|_| {}), waited);
}

#[test]
fn what_a_run_reads_and_writes_stays_its_own_when_its_bytes_have_a_new_owner() {
    let machine = machine();
    let evaluate = program(&machine, "");
    let input = f32s(&[32, 32], &[0.02; 1024]);
    let count = put(&machine, &i32s(&[], &[100]));
    let run = |of: &Arc<Buffer>| {
        let arguments = [Arc::clone(of), Arc::clone(&count)];
        launch(&machine, &evaluate, &arguments).unwrap().results.remove(0)
    };
    let first = put(&machine, &input);
    let address = first.region().unwrap().unwrap().addr();
    let expected = get(run(&first)).unwrap();
    let made = run(&first);
    first.delete();
    drop(first);
    // Where the run's argument still is: these are written when the run has read it, one after
    // the other, although the first is gone by then.
    drop(put(&machine, &f32s(&[32, 32], &[5.0; 1024])));
    let sevens = f32s(&[32, 32], &[7.0; 1024]);
    let next = put(&machine, &sevens);
    assert_eq!(next.region().unwrap().unwrap().addr(), address);
    assert_eq!(get(made).unwrap(), expected);
    assert_eq!(get(next.copy_to(HBM).unwrap()).unwrap(), sevens);
    // A result that nobody wants has a new owner at once, whose run comes behind.
    drop(run(&next));
    let again = put(&machine, &input);
    assert_eq!(get(run(&again)).unwrap(), expected);
}
