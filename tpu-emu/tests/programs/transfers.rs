//! Programs that give data to their client and take data from it.
use super::machine::{Array, compile, f32s, get, i32s, launch_with, machine, put, refusal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use tpu_emu::host_transfer::{Channel, Direction, HostTransfers};
use tpu_emu::runtime::{LaunchOptions, Launched, LoadedExecutable};
use tpu_emu::{Buffer, Code, Emulator, Error, Event, Result};

/// What a client did with one array.
type Answer = Box<dyn Fn(&[u8]) -> Result<Vec<u8>> + Send + Sync>;

/// A client that serves channels 2 (out) and 3 (in), as a callback of one array and one result.
struct Client {
    name: &'static str,
    answer: Answer,
    given: Mutex<Vec<u8>>,
    /// What was called, shared by the clients of a test.
    log: Arc<Mutex<Vec<String>>>,
    channels: Vec<i64>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl HostTransfers for Client {
    fn serves(&self, channel: Channel) -> bool {
        self.channels.contains(&channel.id)
            && (channel.direction == Direction::ToHost) == (channel.id % 2 == 0)
    }

    fn send(&self, channel: i64, bytes: &[u8]) -> Result<()> {
        self.log.lock().unwrap().push(format!("{} send {channel} {bytes:?}", self.name));
        let given = (self.answer)(bytes)?;
        *self.given.lock().unwrap() = given;
        Ok(())
    }

    fn recv(&self, channel: i64, bytes: &mut [u8]) -> Result<()> {
        self.log.lock().unwrap().push(format!("{} recv {channel}", self.name));
        bytes.copy_from_slice(&self.given.lock().unwrap());
        Ok(())
    }
}

fn client(
    name: &'static str,
    log: &Arc<Mutex<Vec<String>>>,
    answer: impl Fn(&[u8]) -> Result<Vec<u8>> + Send + Sync + 'static,
) -> LaunchOptions {
    let (answer, channels): (Answer, _) = (Box::new(answer), vec![2, 3]);
    let client = Client { name, answer, given: Mutex::default(), log: Arc::clone(log), channels };
    LaunchOptions { transfers: vec![Arc::new(client)], ..LaunchOptions::default() }
}

fn start(
    machine: &Arc<Emulator>,
    program: &Arc<LoadedExecutable>,
    arguments: &[Array],
    options: &LaunchOptions,
) -> Result<Launched> {
    let arguments: Vec<Arc<Buffer>> = arguments.iter().map(|array| put(machine, array)).collect();
    launch_with(machine, program, &arguments, options)
}

fn only(launched: Launched) -> Result<Array> {
    get(launched.results.into_iter().next().unwrap())
}

const SEND: &str = "\"stablehlo.send\"";
const OUT: &str =
    "{channel_handle = #stablehlo.channel_handle<handle = 2, type = 2>, is_host_transfer = true}";
const IN: &str =
    "{channel_handle = #stablehlo.channel_handle<handle = 3, type = 3>, is_host_transfer = true}";

/// One callback: an array out, an array in.
fn callback(of: &str) -> String {
    format!(
        "func.func public @main(%x: {of}) -> {of} {{
    %t0 = stablehlo.create_token : !stablehlo.token
    %t1 = {SEND}(%x, %t0) {OUT} : ({of}, !stablehlo.token) -> !stablehlo.token loc(\"sent.py\":4:2)
    %r:2 = \"stablehlo.recv\"(%t1) {IN} : (!stablehlo.token) -> ({of}, !stablehlo.token) loc(\"sent.py\":5:2)
    return %r#0 : {of}
}}"
    )
}

/// A loop of three rounds, nobody reads its result: each round sends its number.
const LOOP: &str = "func.func public @main() -> tensor<f32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %three = stablehlo.constant dense<3> : tensor<i32>
    %half = stablehlo.constant dense<0.5> : tensor<f32>
    %n = stablehlo.while(%i = %zero) : tensor<i32>
    cond {
      %more = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %even = stablehlo.and %i, %one : tensor<i32>
      %odd = stablehlo.compare EQ, %even, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
      \"stablehlo.if\"(%odd) ({
        stablehlo.return
      }, {
        %t0 = stablehlo.create_token : !stablehlo.token
        %t1 = \"stablehlo.send\"(%i, %t0) {channel_handle = #stablehlo.channel_handle<handle = 2, type = 2>, is_host_transfer = true} : (tensor<i32>, !stablehlo.token) -> !stablehlo.token
        stablehlo.return
      }) : (tensor<i1>) -> ()
      %next = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %next : tensor<i32>
    }
    return %half : tensor<f32>
}";

#[test]
fn an_array_goes_out_and_another_comes_in_in_the_order_of_the_program() {
    let (machine, log) = (machine(), Arc::default());
    let program = compile(&machine, &callback("tensor<2xi32>")).unwrap();
    let options = client("a", &log, |bytes| Ok(bytes.iter().map(|byte| byte * 2).collect()));
    let run = start(&machine, &program, &[i32s(&[2], &[3, 4])], &options).unwrap();
    assert_eq!(only(run).unwrap(), i32s(&[2], &[6, 8]));
    assert_eq!(*log.lock().unwrap(), ["a send 2 [3, 0, 0, 0, 4, 0, 0, 0]", "a recv 3"]);
}

#[test]
fn what_nobody_reads_is_sent_all_the_same_as_often_as_the_loop_says() {
    let (machine, log) = (machine(), Arc::default());
    let program = compile(&machine, LOOP).unwrap();
    let options = client("a", &log, |_| Ok(Vec::new()));
    let run = start(&machine, &program, &[], &options).unwrap();
    assert_eq!(run.done.wait(), Ok(()));
    assert_eq!(*log.lock().unwrap(), ["a send 2 [0, 0, 0, 0]", "a send 2 [2, 0, 0, 0]"]);
    assert_eq!(only(run).unwrap(), f32s(&[], &[0.5]));
}

#[test]
fn an_error_of_the_client_ends_the_run_in_its_words_and_the_device_goes_on() {
    let (machine, log) = (machine(), Arc::default());
    let program = compile(&machine, &callback("tensor<2xi32>")).unwrap();
    let fails = |_: &[u8]| {
        Err(Error::Verbatim { code: Code::Aborted, message: "the client is tired".into() })
    };
    let options = client("a", &log, fails);
    let run = start(&machine, &program, &[i32s(&[2], &[3, 4])], &options).unwrap();
    let error = run.done.wait().unwrap_err();
    assert_eq!(error.code(), Code::Aborted);
    assert_eq!(error.to_string(), "sent.py:4:2: stablehlo.send: the client is tired");
    assert_eq!(only(run).unwrap_err(), error);
    assert_eq!(log.lock().unwrap().len(), 1);

    let panics = client("b", &log, |_: &[u8]| panic!("lost"));
    let run = start(&machine, &program, &[i32s(&[2], &[3, 4])], &panics).unwrap();
    assert!(matches!(run.done.wait(), Err(Error::Panic { .. })));
    let options = client("c", &log, |bytes| Ok(bytes.to_vec()));
    let run = start(&machine, &program, &[i32s(&[2], &[5, 6])], &options).unwrap();
    assert_eq!(only(run).unwrap(), i32s(&[2], &[5, 6]));
}

#[test]
fn a_launch_without_a_callback_for_a_channel_is_refused_before_anything_runs() {
    let (machine, log) = (machine(), Arc::default());
    let program = compile(&machine, &callback("tensor<2xi32>")).unwrap();
    let argument = i32s(&[2], &[3, 4]);
    let none = LaunchOptions::default();
    let error = start(&machine, &program, std::slice::from_ref(&argument), &none).unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition);
    assert_eq!(
        error.to_string(),
        "sent.py:4:2: the launch has no callback for the send of channel 2\n\
         sent.py:5:2: the launch has no callback for the recv of channel 3"
    );
    let (answer, channels): (Answer, _) = (Box::new(|_: &[u8]| Ok(Vec::new())), vec![2]);
    let given = Mutex::default();
    let half = Client { name: "half", answer, given, log: Arc::clone(&log), channels };
    let half = LaunchOptions { transfers: vec![Arc::new(half)], ..LaunchOptions::default() };
    let error = start(&machine, &program, &[argument], &half).unwrap_err().to_string();
    assert_eq!(error, "sent.py:5:2: the launch has no callback for the recv of channel 3");
    assert!(log.lock().unwrap().is_empty());
}

#[test]
fn runs_follow_one_another_and_only_an_argument_that_failed_lets_one_out() {
    let (machine, log) = (machine(), Arc::default());
    let program = compile(&machine, &callback("tensor<1xi32>")).unwrap();
    let gate = Event::pending();
    let first = {
        let gate = gate.clone();
        client("first", &log, move |bytes| gate.wait().map(|()| bytes.to_vec()))
    };
    let first = start(&machine, &program, &[i32s(&[1], &[1])], &first).unwrap();
    let second = client("second", &log, |bytes| Ok(bytes.to_vec()));
    let second = start(&machine, &program, &[i32s(&[1], &[2])], &second).unwrap();
    let third = client("third", &log, |bytes| Ok(bytes.to_vec()));
    let third = start(&machine, &program, &[i32s(&[1], &[3])], &third).unwrap();
    assert!(!second.done.is_ready() && !third.done.is_ready());
    gate.settle(Err(Error::bad("closed")));
    assert!(first.done.wait().is_err());
    assert_eq!((second.done.wait(), third.done.wait()), (Ok(()), Ok(())));
    let log = log.lock().unwrap();
    let names: Vec<&str> = log.iter().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, ["first", "second", "second", "third", "third"]);
}

#[test]
fn an_argument_that_failed_fails_the_run_before_any_callback() {
    let (machine, log) = (machine(), Arc::default());
    let program = compile(&machine, &callback("tensor<1xi32>")).unwrap();
    let failing = client("failing", &log, |_: &[u8]| Err(Error::bad("no")));
    let run = start(&machine, &program, &[i32s(&[1], &[1])], &failing).unwrap();
    let failed: Vec<Arc<Buffer>> = run.results.into_iter().map(Arc::new).collect();
    let next = client("next", &log, |bytes| Ok(bytes.to_vec()));
    let next = launch_with(&machine, &program, &failed, &next).unwrap();
    assert!(next.done.wait().unwrap_err().to_string().ends_with("stablehlo.send: no"));
    assert!(log.lock().unwrap().iter().all(|line| !line.starts_with("next")));
}

#[test]
fn a_callback_may_launch_the_same_program_and_wait_for_it() {
    let (machine, log) = (machine(), Arc::new(Mutex::new(Vec::new())));
    let program = compile(&machine, &callback("tensor<1xi32>")).unwrap();
    // Somebody queues a run meanwhile, which waits for the outer one.
    let queued: Arc<OnceLock<Event>> = Arc::default();
    let nested = Arc::new(AtomicBool::new(false));
    let outer = {
        let (machine, program, log) =
            (Arc::clone(&machine), Arc::clone(&program), Arc::clone(&log));
        let (queued, nested) = (Arc::clone(&queued), Arc::clone(&nested));
        move |_: &[u8]| {
            while queued.get().is_none() {
                std::thread::yield_now();
            }
            let inner = client("inner", &log, |bytes| Ok(vec![bytes[0] + 1, 0, 0, 0]));
            let inner = start(&machine, &program, &[i32s(&[1], &[6])], &inner)?;
            let result = only(inner)?;
            nested.store(true, Ordering::SeqCst);
            Ok(result.bytes)
        }
    };
    let run =
        start(&machine, &program, &[i32s(&[1], &[1])], &client("outer", &log, outer)).unwrap();
    let later = client("later", &log, |bytes| Ok(bytes.to_vec()));
    let later = start(&machine, &program, &[i32s(&[1], &[9])], &later).unwrap();
    queued.set(later.done.clone()).unwrap();
    assert_eq!(only(run).unwrap(), i32s(&[1], &[7]));
    assert!(nested.load(Ordering::SeqCst));
    assert_eq!(later.done.wait(), Ok(()));
    let log = log.lock().unwrap();
    let names: Vec<&str> = log.iter().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, ["outer", "inner", "inner", "outer", "later", "later"]);
}

#[test]
fn other_forms_are_refused_with_their_line() {
    let between = callback("tensor<2xi32>").replace(OUT, "{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, is_host_transfer = false}");
    let text = refusal(&between);
    assert!(text.starts_with("sent.py:4:2: "), "{text}");
    assert!(
        text.contains("stablehlo.send: a transfer between devices (channel 2, type 1)"),
        "{text}"
    );
    let reducing = format!(
        "func.func public @main(%x: tensor<2xi32>, %y: tensor<i32>) -> tensor<i32> {{
    %r = \"stablehlo.reduce\"(%x, %y) <{{dimensions = array<i64: 0>}}> ({{
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %t0 = stablehlo.create_token : !stablehlo.token
      %t1 = {SEND}(%a, %t0) {OUT} : (tensor<i32>, !stablehlo.token) -> !stablehlo.token
      %s = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }}) : (tensor<2xi32>, tensor<i32>) -> tensor<i32>
    return %r : tensor<i32>
}}"
    );
    let text = refusal(&reducing);
    assert!(
        text.contains("a send of channel 2 inside of a region that computes elements"),
        "{text}"
    );
}
