// UNSAFETY: the planted race writes to an argument's memory while launches read it.
//! Threads that compile, launch, wait, transfer, take snapshots and give up at once, into one trace.
//! The results are checked as they are; who accesses what without order is for ThreadSanitizer to
//! find (`make racecheck`), and `TPU_EMU_TEST_RACE` gives it something to find.
#![expect(unsafe_code, reason = "a race is planted")]
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]
#![expect(clippy::disallowed_methods, reason = "a test's own switch")]

use std::env::{current_exe, temp_dir, var_os};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use tpu_emu::buffer::{HostArray, HostTarget};
use tpu_emu::executable::{CompileOptions, Format};
use tpu_emu::hbm::spec::{ArraySpec, LayoutRequest};
use tpu_emu::host_transfer::{Channel, HostTransfers};
use tpu_emu::runtime::{DeviceRequest, LaunchOptions, LaunchRequest, Launched, LoadedExecutable};
use tpu_emu::tensor::DType;
use tpu_emu::units::Bytes;
use tpu_emu::{Buffer, Emulator, Error, Memory, MemoryKind};

const THREADS: usize = 4;
const KINDS: usize = 8;
const ROUNDS: usize = 3 * KINDS;
const SIDE: usize = 96;
const HBM: Memory = Memory { device: 0, kind: MemoryKind::Device };
const OTHER: Memory = Memory { device: 1, kind: MemoryKind::Device };

/// Long enough for a background thread and for several threads: a product, a sum, a loop.
const LONG: &str = "func.func public @main(%x: tensor<96x96xf32>, %y: tensor<96x96xf32> {jax.buffer_donor = true}) -> (tensor<96x96xf32>, tensor<96xf32>) {
    %p = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<96x96xf32>, tensor<96x96xf32>) -> tensor<96x96xf32>
    %s = stablehlo.add %p, %y : tensor<96x96xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %r = stablehlo.reduce(%s init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<96x96xf32>, tensor<f32>) -> tensor<96xf32>
    return %s, %r : tensor<96x96xf32>, tensor<96xf32>
  }";

/// Short enough for the caller's thread.
const SHORT: &str = "func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %y = stablehlo.add %x, %x : tensor<4xf32>
    return %y : tensor<4xf32>
  }";

/// Large enough for pieces on several threads.
const PIECES: &str = "func.func public @main(%x: tensor<64x4096xf32>) -> tensor<64xf32> {
    %y = stablehlo.add %x, %x : tensor<64x4096xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %r = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x4096xf32>, tensor<f32>) -> tensor<64xf32>
    return %r : tensor<64xf32>
  }";

/// Gives its argument to the client and takes another array for it.
const TALK: &str = "func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %t0 = stablehlo.create_token : !stablehlo.token
    %t1 = \"stablehlo.send\"(%x, %t0) {channel_handle = #stablehlo.channel_handle<handle = 2, type = 2>, is_host_transfer = true} : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
    %r:2 = \"stablehlo.recv\"(%t1) {channel_handle = #stablehlo.channel_handle<handle = 3, type = 3>, is_host_transfer = true} : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
    return %r#0 : tensor<4xf32>
  }";

/// Two devices give each other the sum of what they have.
const MEET: &str = "module @m {
  sdy.mesh @pair = <[\"i\"=2]>
  func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@pair, [{\"i\"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@pair, [{\"i\"}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@pair, [{\"i\"}]>] out_shardings=[<@pair, [{\"i\"}]>] manual_axes={\"i\"} (%a: tensor<4xf32>) {
      %1 = \"stablehlo.all_reduce\"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
      ^bb0(%l: tensor<f32>, %r: tensor<f32>):
        %s = stablehlo.add %l, %r : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<4xf32>) -> tensor<4xf32>
      sdy.return %1 : tensor<4xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}";

/// A client that gives back twice what it was given.
#[derive(Debug, Default)]
struct Doubling(Mutex<Vec<f32>>);

impl HostTransfers for Doubling {
    fn serves(&self, channel: Channel) -> bool {
        [2, 3].contains(&channel.id)
    }

    fn send(&self, _: i64, bytes: &[u8]) -> Result<(), Error> {
        *self.0.lock().unwrap() = floats(bytes);
        Ok(())
    }

    fn recv(&self, _: i64, bytes: &mut [u8]) -> Result<(), Error> {
        let given = self.0.lock().unwrap();
        for (four, value) in bytes.chunks_exact_mut(4).zip(&*given) {
            four.copy_from_slice(&(2.0 * value).to_le_bytes());
        }
        Ok(())
    }
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect()
}

#[derive(Debug)]
struct Target(Vec<u8>, Sender<Vec<u8>>);

impl HostTarget for Target {
    fn bytes(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.1.send(std::mem::take(&mut self.0)).unwrap();
    }
}

fn get(buffer: &Arc<Buffer>) -> Vec<f32> {
    let size = usize::try_from(buffer.spec().host_size().0).unwrap();
    let (back, bytes) = channel();
    buffer.get(None, Box::new(Target(vec![0; size], back))).unwrap().wait().unwrap();
    floats(&bytes.recv().unwrap())
}

fn bytes_of(value: f32, count: usize) -> Vec<u8> {
    value.to_le_bytes().repeat(count)
}

/// What all threads share.
struct Shared {
    machine: Arc<Emulator>,
    long: Arc<LoadedExecutable>,
    short: Arc<LoadedExecutable>,
    talk: Arc<LoadedExecutable>,
    meet: Arc<LoadedExecutable>,
    square: Arc<ArraySpec>,
    line: Arc<ArraySpec>,
    table: Arc<ArraySpec>,
    /// Ones, read by every launch.
    ones: Arc<Buffer>,
    heard: AtomicUsize,
}

impl Shared {
    fn new() -> Self {
        let machine = tpu_host::machine().unwrap();
        let compile = |text: &str, partitions: usize| {
            let options = CompileOptions { partitions, ..CompileOptions::default() };
            machine.compile(Format::Mlir, text.as_bytes(), options).unwrap()
        };
        let (long, short) = (compile(LONG, 1), compile(SHORT, 1));
        let (talk, meet) = (compile(TALK, 1), compile(MEET, 2));
        let spec = |dims: &[i64]| machine.describe(DType::F32, dims, LayoutRequest::Default);
        let [square, line, table] =
            [&[96, 96][..], &[4], &[64, 4096]].map(|dims| spec(dims).unwrap());
        let bytes = bytes_of(1.0, SIDE * SIDE);
        let array = HostArray { bytes: &bytes, low: 0, strides: None };
        let ones = Arc::new(machine.put(HBM, Arc::clone(&square), array).unwrap());
        let heard = AtomicUsize::new(0);
        Self { machine, long, short, talk, meet, square, line, table, ones, heard }
    }

    fn put(&self, spec: &Arc<ArraySpec>, value: f32) -> Arc<Buffer> {
        self.put_on(HBM, spec, value)
    }

    fn put_on(&self, memory: Memory, spec: &Arc<ArraySpec>, value: f32) -> Arc<Buffer> {
        let count = usize::try_from(spec.host_size().0).unwrap() / 4;
        let bytes = bytes_of(value, count);
        let array = HostArray { bytes: &bytes, low: 0, strides: None };
        Arc::new(self.machine.put(memory, Arc::clone(spec), array).unwrap())
    }

    fn launch(
        &self,
        executable: &Arc<LoadedExecutable>,
        arguments: &[Arc<Buffer>],
        options: &LaunchOptions,
    ) -> Launched {
        let devices = &[DeviceRequest::new(0, arguments)];
        let request = LaunchRequest { executable, devices, options };
        self.machine.launch(&request).unwrap().remove(0)
    }

    /// A launch of the long program, whose results another launch takes before they are there.
    fn launches(self: &Arc<Self>, value: f32) {
        let given = self.put(&self.square, value);
        let run = |argument: &Arc<Buffer>| {
            let arguments = [Arc::clone(&self.ones), Arc::clone(argument)];
            self.launch(&self.long, &arguments, &LaunchOptions::default())
        };
        let mut first = run(&given);
        assert!(given.is_deleted());
        let shared = Arc::clone(self);
        first.done.on_ready(move |outcome| {
            outcome.as_ref().unwrap();
            shared.heard.fetch_add(1, Ordering::Relaxed);
        });
        let between = Arc::new(first.results.remove(0));
        let second = run(&between);
        let [whole, sums] = <[Buffer; 2]>::try_from(second.results).unwrap();
        drop(whole);
        let waiting = {
            let done = second.done.clone();
            thread::spawn(move || done.wait().unwrap())
        };
        let expected = f32::from(u8::try_from(SIDE).unwrap()) * (192.0 + value);
        assert_eq!(get(&Arc::new(sums)), vec![expected; SIDE]);
        waiting.join().unwrap();
    }

    /// A short program, many times.
    fn short_launches(&self, value: f32) {
        let mut argument = self.put(&self.line, value);
        for _ in 0..4 {
            let arguments = [Arc::clone(&argument)];
            let mut run = self.launch(&self.short, &arguments, &LaunchOptions::default());
            argument = Arc::new(run.results.remove(0));
        }
        assert_eq!(get(&argument), vec![16.0 * value; 4]);
    }

    /// An array that comes in two pieces from two threads while a launch waits for it, and one
    /// whose transfer fails.
    fn transfers(&self, value: f32) {
        let specs = vec![Arc::clone(&self.line), Arc::clone(&self.line)];
        let manager = Arc::new(self.machine.begin_transfer(HBM, specs).unwrap());
        let [filled, failed] = [0, 1].map(|index| manager.retrieve(index).unwrap());
        let options = LaunchOptions::default();
        let launch = |argument| self.launch(&self.short, &[argument], &options);
        let [good, bad] = [filled, failed].map(launch);
        let bytes = bytes_of(value, 4);
        manager.write(0, Bytes::ZERO, &bytes[..8], false).unwrap();
        let other = Arc::clone(&manager);
        let writer = thread::spawn(move || {
            other.write(0, Bytes(8), &bytes[8..], true).unwrap();
            other.fail(1, Error::bad("it does not come")).unwrap();
        });
        assert!(bad.done.wait().unwrap_err().to_string().contains("it does not come"));
        let result = Arc::new(good.results.into_iter().next().unwrap());
        assert_eq!(get(&result), vec![2.0 * value; 4]);
        writer.join().unwrap();
    }

    /// Copies to another device and back, given up while they are under way.
    fn copies(&self, value: f32) {
        let source = self.put(&self.square, value);
        let there = Arc::new(source.copy_to(OTHER).unwrap());
        source.delete();
        let back = Arc::new(there.copy_to(HBM).unwrap());
        assert_eq!(get(&back)[SIDE], value);
    }

    /// A program that this thread compiles, in pieces on several threads.
    fn pieces(&self, value: f32) {
        let options = CompileOptions::default();
        let program = self.machine.compile(Format::Mlir, PIECES.as_bytes(), options).unwrap();
        let arguments = [self.put(&self.table, value)];
        let run = self.launch(&program, &arguments, &LaunchOptions::default());
        drop((program, arguments));
        let sums = run.results.into_iter().next().unwrap();
        assert_eq!(get(&Arc::new(sums)), vec![8192.0 * value; 64]);
    }

    /// An array that goes out of a running program and another that comes in.
    fn talks(&self, value: f32) {
        let transfers: Vec<Arc<dyn HostTransfers>> = vec![Arc::new(Doubling::default())];
        let options = LaunchOptions { transfers, ..LaunchOptions::default() };
        let arguments = [self.put(&self.line, value)];
        let run = self.launch(&self.talk, &arguments, &options);
        let result = run.results.into_iter().next().unwrap();
        assert_eq!(get(&Arc::new(result)), vec![2.0 * value; 4]);
    }

    /// Two devices whose values meet.
    fn meetings(&self, value: f32) {
        let arguments = [(HBM, value), (OTHER, 3.0)]
            .map(|(memory, value)| vec![self.put_on(memory, &self.line, value)]);
        let options = &LaunchOptions::default();
        let devices = [0, 1].map(|device| DeviceRequest::new(device, &arguments[device]));
        let request = LaunchRequest { executable: &self.meet, devices: &devices, options };
        for run in self.machine.launch(&request).unwrap() {
            let sum = run.results.into_iter().next().unwrap();
            assert_eq!(get(&Arc::new(sum)), vec![value + 3.0; 4]);
        }
    }

    /// What is allocated, while others allocate and free.
    fn snapshots(&self, value: f32) {
        let mine = self.put(&self.square, value);
        let bytes = self.machine.snapshot(&tpu_host::header().unwrap());
        assert!(bytes.len() > 100, "a snapshot of {} bytes", bytes.len());
        let stats = self.machine.memory_stats(HBM);
        assert!(stats.bytes_in_use >= self.ones.spec().host_size());
        mine.delete();
    }
}

/// A write that nothing orders, over and over: a fault on purpose.
#[inline(never)]
fn planted(shared: &Shared, over: &AtomicBool) {
    let first = shared.ones.host_pointer().unwrap().cast::<f32>();
    while !over.load(Ordering::Relaxed) {
        // SAFETY: the memory is there as long as the buffer; that others read it at the same time
        // is the fault that is planted.
        unsafe { first.write(1.0) };
        thread::yield_now();
    }
}

fn work() {
    let shared = Arc::new(Shared::new());
    let start = Arc::new(Barrier::new(THREADS));
    let over = Arc::new(AtomicBool::new(false));
    let culprit = var_os("TPU_EMU_TEST_RACE").map(|_| {
        let (shared, over) = (Arc::clone(&shared), Arc::clone(&over));
        thread::spawn(move || planted(&shared, &over))
    });
    let threads: Vec<_> = (0..THREADS)
        .map(|number| {
            let (shared, start) = (Arc::clone(&shared), Arc::clone(&start));
            thread::spawn(move || {
                start.wait();
                for round in 0..ROUNDS {
                    let value = f32::from(u8::try_from(number + round).unwrap());
                    match (number + round) % KINDS {
                        0 => shared.launches(value),
                        1 => shared.short_launches(value),
                        2 => shared.transfers(value),
                        3 => shared.pieces(value),
                        4 => shared.talks(value),
                        5 => shared.meetings(value),
                        6 => shared.snapshots(value),
                        _ => shared.copies(value),
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    over.store(true, Ordering::Relaxed);
    culprit.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(shared.heard.load(Ordering::Relaxed), THREADS * ROUNDS / KINDS);
}

/// The environment is read once a process, so a process of its own has the trace.
#[test]
fn threads_launch_transfer_and_copy_into_one_trace() {
    if var_os("TPU_EMU_TRACE").is_some() {
        return work();
    }
    let trace = temp_dir().join(format!("tpu-emu-races-{}", std::process::id()));
    let mut again = Command::new(current_exe().unwrap());
    again.args(["threads_launch", "--nocapture"]).env("TPU_EMU_TRACE", &trace);
    let said = again.output().unwrap();
    let length = std::fs::metadata(&trace).map_or(0, |trace| trace.len());
    let _ = std::fs::remove_file(&trace);
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    assert!(length > 10_000, "the trace has {length} bytes");
}
