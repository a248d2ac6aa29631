//! Clients that speak no HTTP/2, half of it, too much of it or none to the end: the service answers
//! others as before, and takes neither time nor memory for them.
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]
use std::fs::{read_dir, read_to_string};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::park_timeout;
use std::time::Duration;
use tpu_metrics::{Client, Device, Reading, Source, serve};

/// What every connection begins with, and the frame behind it.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// Kinds of frames.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW: u8 = 8;
const CONTINUATION: u8 = 9;
/// Flags of frames.
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

#[derive(Debug)]
struct Eight;

impl Source for Eight {
    fn look(&self) -> Reading {
        let device = Device { total: 1 << 34, in_use: 7, ..Device::default() };
        Reading {
            topology: "v5e:2x4".to_owned(),
            process: 1,
            devices: vec![device; 8],
            duty: vec![1.0; 8],
        }
    }
}

/// The tests take turns: what one of them counts is not the others'.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The port of the one service of this process.
fn port() -> u16 {
    static PORT: OnceLock<u16> = OnceLock::new();
    *PORT.get_or_init(|| {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        serve(free.port(), Arc::new(Eight)).unwrap();
        free.port()
    })
}

fn connected() -> TcpStream {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port())).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(10))).unwrap();
    stream
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = length[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// A header as it stands, in no table.
fn header(name: &str, value: &str) -> Vec<u8> {
    let mut bytes = vec![0];
    for text in [name, value] {
        bytes.push(u8::try_from(text.len()).unwrap());
        bytes.extend(text.bytes());
    }
    bytes
}

/// The headers of a call.
fn call(method: &str, path: &str) -> Vec<u8> {
    [
        header(":method", method),
        header(":scheme", "http"),
        header(":authority", "localhost"),
        header(":path", path),
        header("content-type", "application/grpc"),
    ]
    .concat()
}

const STATUS: &str = "/tpu.monitoring.runtime.RuntimeMetricService/GetTpuRuntimeStatus";

/// Sends bytes, of which the service need not take all.
fn send(stream: &mut TcpStream, bytes: &[u8]) {
    match stream.write_all(bytes) {
        Ok(()) => {}
        Err(why) => assert!(
            matches!(why.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset),
            "{why}"
        ),
    }
}

/// What the service says until it ends the connection.
fn heard(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Ok(_) => {}
        Err(why) => assert_eq!(why.kind(), ErrorKind::ConnectionReset, "{why}"),
    }
    bytes
}

/// The kinds of frames that were heard, with their flags.
fn frames(mut heard: &[u8]) -> Vec<(u8, u8)> {
    let mut found = Vec::new();
    while heard.len() >= 9 {
        let length = heard[..3].iter().fold(0, |length, &byte| length << 8 | usize::from(byte));
        found.push((heard[3], heard[4]));
        heard = &heard[(9 + length).min(heard.len())..];
    }
    found
}

/// What is heard until it is enough.
fn hear(stream: &mut TcpStream, enough: impl Fn(&[(u8, u8)]) -> bool) -> Vec<(u8, u8)> {
    let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
    while !enough(&frames(&bytes)) {
        let count = stream.read(&mut part).unwrap();
        assert!(count > 0, "{:?}", frames(&bytes));
        bytes.extend(&part[..count]);
    }
    frames(&bytes)
}

fn is_well() {
    let reading = Client::new(port(), Duration::from_secs(30)).read().unwrap();
    assert_eq!((reading.devices.len(), reading.devices[7].in_use), (8, 7));
}

/// Hundredths of a second that the service's thread has worked, and kibibytes of the process.
fn taken() -> (u64, u64) {
    let mut tasks = read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
    let is_it = |name: String| name.trim() == "tpu-emu-metrics";
    let task = tasks.find(|task| read_to_string(task.join("comm")).is_ok_and(is_it)).unwrap();
    let stat = read_to_string(task.join("stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let work = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    let status = read_to_string("/proc/self/status").unwrap();
    let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    (work, memory.split_whitespace().next().unwrap().parse().unwrap())
}

/// Asserts that the service has nothing to do, whoever is connected.
fn assert_rests() {
    let (before, _) = taken();
    park_timeout(Duration::from_millis(500));
    let (after, _) = taken();
    assert!(after - before <= 5, "{} hundredths of a second in half a one", after - before);
}

/// Everything a client may send that is no call.
fn rubbish() -> Vec<Vec<u8>> {
    let preface = |rest: Vec<u8>| [PREFACE.to_vec(), rest].concat();
    let begun = frame(HEADERS, 0, 1, &call("POST", STATUS));
    let mut all = vec![
        Vec::new(),
        vec![0],
        vec![0xff; 100_000],
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        PREFACE[..5].to_vec(),
        PREFACE[..24].to_vec(),
        // A first frame that is none of settings.
        [&PREFACE[..24], &frame(PING, 0, 0, &[0; 8])].concat(),
        // A length without a payload, and one past every limit.
        preface(vec![0, 0x40, 0, DATA, 0, 0, 0, 0, 1]),
        preface(vec![0xff, 0xff, 0xff, HEADERS, END_HEADERS, 0, 0, 0, 1]),
        // Headers that are no headers, that never end, that are too many, and of stream 0 or 2.
        preface(frame(HEADERS, END_HEADERS, 1, &[0xff; 64])),
        preface(begun.clone()),
        preface([begun.clone(), frame(PING, 0, 0, &[0; 8])].concat()),
        preface(frame(HEADERS, END_HEADERS, 0, &call("POST", STATUS))),
        preface(frame(HEADERS, END_HEADERS, 2, &call("POST", STATUS))),
        preface(frame(DATA, END_STREAM, 1, b"early")),
        // Settings and windows that no peer may have.
        preface(frame(SETTINGS, 0, 0, &[0, 4, 0xff, 0xff, 0xff, 0xff])),
        preface(frame(SETTINGS, 0, 0, &[1, 2, 3])),
        preface(frame(WINDOW, 0, 0, &[0; 4])),
        preface(frame(WINDOW, 0, 0, &[0x7f, 0xff, 0xff, 0xff])),
        preface(frame(PING, 0, 0, b"short")),
        // Frames that nobody knows.
        preface(frame(0xee, 0xff, 77, &[7; 1000])),
    ];
    let more = frame(CONTINUATION, 0, 1, &header("x", &"y".repeat(120)).repeat(100));
    all.push(preface([begun, more.repeat(100)].concat()));
    let reset = |stream: u32| {
        [
            frame(HEADERS, END_HEADERS, stream, &call("POST", STATUS)),
            frame(RESET, 0, stream, &[0; 4]),
        ]
        .concat()
    };
    all.push(preface((0..2000).flat_map(|stream| reset(2 * stream + 1)).collect()));
    all
}

#[test]
fn what_is_no_call_ends_its_connection_and_no_other() {
    let _turn = turn();
    for bytes in rubbish() {
        let mut stream = connected();
        send(&mut stream, &bytes);
        // Some end it themselves, and the service hears of it; of others nothing more comes.
        let _ = stream.shutdown(Shutdown::Write);
        heard(&mut stream);
        let mut gone = connected();
        send(&mut gone, &bytes);
        drop(gone);
    }
    is_well();
    assert_rests();
}

#[test]
fn other_methods_other_paths_and_long_requests_are_refused_on_a_connection_that_lives() {
    let _turn = turn();
    let mut stream = connected();
    send(&mut stream, PREFACE);
    let calls = [
        ("GET", STATUS, &b""[..]),
        ("DELETE", "/", &b""[..]),
        ("POST", "/nothing", &[0; 5][..]),
        ("POST", STATUS, &[0, 0xff, 0xff, 0xff, 0xff][..]),
        ("POST", STATUS, &[1, 0, 0, 0, 0][..]),
        ("POST", STATUS, &b"abc"[..]),
        // The last one is a call.
        ("POST", STATUS, &[0; 5][..]),
    ];
    for (at, (method, path, body)) in (0..).zip(calls) {
        send(&mut stream, &frame(HEADERS, END_HEADERS, 2 * at + 1, &call(method, path)));
        send(&mut stream, &frame(DATA, END_STREAM, 2 * at + 1, body));
    }
    let ended = |frames: &[(u8, u8)]| {
        frames.iter().filter(|&&frame| frame == (HEADERS, END_HEADERS | END_STREAM)).count()
    };
    let answered = hear(&mut stream, |frames| ended(frames) == calls.len());
    assert_eq!(answered.iter().filter(|(kind, _)| *kind == DATA).count(), 1, "{answered:?}");
    // Longer than any request, in pieces that the windows let through.
    send(&mut stream, &frame(HEADERS, END_HEADERS, 101, &call("POST", STATUS)));
    send(&mut stream, &frame(DATA, 0, 101, &[0; 15_000]).repeat(4));
    hear(&mut stream, |frames| frames.iter().any(|(kind, _)| *kind == WINDOW));
    send(&mut stream, &frame(DATA, 0, 101, &[0; 15_000]));
    hear(&mut stream, |frames| ended(frames) == 1);
    is_well();
}

#[test]
fn a_client_that_takes_no_answers_costs_no_time() {
    let _turn = turn();
    let mut stream = connected();
    send(&mut stream, PREFACE);
    stream.set_nonblocking(true).unwrap();
    let ping = frame(PING, 0, 0, &[7; 8]);
    let pings = ping.repeat(4096);
    let (mut sent, mut waited) = (0, 0);
    // Until both directions are full for as long as it takes to see it.
    while waited < 10 {
        match stream.write(&pings[sent % ping.len()..]) {
            Ok(count) => (sent, waited) = (sent + count, 0),
            Err(why) if why.kind() == ErrorKind::WouldBlock => {
                waited += 1;
                park_timeout(Duration::from_millis(20));
            }
            Err(why) => panic!("{why}"),
        }
    }
    assert_rests();
    is_well();
}

#[test]
fn a_thousand_connections_leave_no_descriptor_and_little_memory() {
    let _turn = turn();
    let open = || read_dir("/proc/self/fd").unwrap().count();
    is_well();
    let rubbish = rubbish();
    let mut before = None;
    for round in 0..5 {
        let mut kept: Vec<TcpStream> = Vec::new();
        for (at, bytes) in (0..200).zip(rubbish.iter().cycle()) {
            let mut stream = connected();
            stream.set_nonblocking(true).unwrap();
            // What does not fit is not sent.
            let _ = stream.write(bytes);
            if at % 2 == 0 {
                kept.push(stream);
            }
        }
        is_well();
        drop(kept);
        is_well();
        let (_, memory) = taken();
        if round == 1 {
            before = Some((memory, open()));
        }
    }
    let ((_, memory), (kept, descriptors)) = (taken(), before.unwrap());
    assert!(memory < kept + 8192, "{kept} KiB became {memory}");
    assert!(open() <= descriptors + 16, "{descriptors} descriptors became {}", open());
    assert_rests();
}
