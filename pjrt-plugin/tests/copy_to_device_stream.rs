//! Programs that call their client back, and the streams by which it answers.
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

mod c;

use c::buffers::{Array, F32, destroy, get};
use c::callbacks::{DELETED, Host, Started, Stream, THROUGH_THE_HOST, chunk, start, start_through};
use c::contract::contract;
use c::programs::{compile, end};
use c::{ABORTED, Client, INVALID, UNIMPLEMENTED, WRONG_STATE, assert_refused, call, wait};
use pjrt_sys::{PJRT_Buffer, PJRT_LoadedExecutable};
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Sender, channel};

const ONE_TWO: [u8; 8] = [0, 0, 128, 63, 0, 0, 0, 64];
const THREE_FOUR: [u8; 8] = [0, 0, 64, 64, 0, 0, 128, 64];

fn argument(client: &Client) -> *mut PJRT_Buffer {
    Array::dense(F32, &[2], &ONE_TWO).put(client, client.hbm(0)).unwrap()
}

fn finish(started: Started) {
    // It may have failed, as some tests want it to.
    let _ = wait(started.done);
    destroy(started.result);
}

fn sender(to: Sender<Stream>) -> impl Fn(Stream) + Sync {
    let to = Mutex::new(to);
    move |stream| to.lock().unwrap().send(stream).unwrap()
}

/// A stream of a run that goes on, and what its test waits for.
struct Open<'a> {
    loaded: *mut PJRT_LoadedExecutable,
    argument: *mut PJRT_Buffer,
    host: &'a Host<'a>,
}

#[test]
fn every_function_keeps_the_contract() {
    let client = Client::new();
    let (loaded, argument) = (compile(&client, THROUGH_THE_HOST), argument(&client));
    let (to, streams) = channel();
    let host = Host::new(sender(to));
    let open = Open { loaded, argument, host: &host };
    let started = start_through(open.loaded, open.argument, open.host);
    let stream = streams.recv().unwrap();
    contract!(PJRT_CopyToDeviceStream_TotalBytes(stream, total_bytes), stream: stream.raw());
    contract!(PJRT_CopyToDeviceStream_CurrentBytes(stream, current_bytes), stream: stream.raw());
    contract!(PJRT_CopyToDeviceStream_GranuleSize(stream, granule_size_in_bytes),
        stream: stream.raw());
    let mut nothing = chunk(&[]);
    contract!(PJRT_CopyToDeviceStream_AddChunk(stream, transfer_complete),
        stream: stream.raw(), chunk: &raw mut nothing
        => |args| wait(args.transfer_complete).unwrap());
    stream.destroy().unwrap();
    finish(started);
    let mut runs = Vec::new();
    contract!(PJRT_CopyToDeviceStream_Destroy(stream, stream), stream: {
        runs.push(start_through(open.loaded, open.argument, open.host));
        streams.recv().unwrap().raw()
    });
    runs.into_iter().for_each(finish);
    destroy(argument);
    end(loaded);
}

#[test]
fn an_array_goes_to_the_client_and_what_it_gives_in_pieces_is_the_result() {
    let client = Client::new();
    let (loaded, argument) = (compile(&client, THROUGH_THE_HOST), argument(&client));
    let host = Host::new(|stream| {
        assert_eq!(stream.progress(), (0, 8));
        let granule = call!(PJRT_CopyToDeviceStream_GranuleSize, stream: stream.raw()).unwrap();
        assert_eq!(granule.granule_size_in_bytes, 1);
        stream.add(&THREE_FOUR[..3]).unwrap();
        assert_eq!(stream.progress(), (3, 8));
        stream.add(&THREE_FOUR[3..]).unwrap();
        stream.destroy().unwrap();
    });
    let started = start_through(loaded, argument, &host);
    assert_eq!(get(started.result).unwrap(), THREE_FOUR);
    finish(started);
    assert_eq!(host.log(), [format!("send {ONE_TWO:?} of 8, 1"), "recv".to_owned()]);
    destroy(argument);
    end(loaded);
}

#[test]
fn the_client_may_answer_later_and_from_another_thread() {
    let client = Client::new();
    let (loaded, argument) = (compile(&client, THROUGH_THE_HOST), argument(&client));
    let (to, streams) = channel();
    let host = Host::new(sender(to));
    let started = start_through(loaded, argument, &host);
    let stream = streams.recv().unwrap();
    assert!(!c::is_ready(started.done));
    std::thread::spawn(move || {
        stream.add(&THREE_FOUR).unwrap();
        stream.destroy().unwrap();
    })
    .join()
    .unwrap();
    assert_eq!(get(started.result).unwrap(), THREE_FOUR);
    finish(started);
    assert_refused(stream.destroy(), INVALID, &["stream", "stale"]);
    assert_refused(stream.add(&[]), INVALID, &["stream", "stale"]);
    destroy(argument);
    end(loaded);
}

#[test]
fn an_error_of_the_client_is_the_error_of_the_run_with_its_code_and_words() {
    let client = Client::new();
    let (loaded, argument) = (compile(&client, THROUGH_THE_HOST), argument(&client));
    let mut host = Host::new(|_| unreachable!());
    host.on_send = Box::new(|_| Err((ABORTED, "the client has had enough")));
    let started = start_through(loaded, argument, &host);
    assert_refused(get(started.result), ABORTED, &["the client has had enough"]);
    assert_refused(wait(started.done), ABORTED, &["the client has had enough"]);
    destroy(started.result);
    assert_eq!(host.log().len(), 1);
    let host = Host::new(|stream| {
        stream.add(&THREE_FOUR).unwrap();
        stream.destroy().unwrap();
    });
    let started = start_through(loaded, argument, &host);
    assert_eq!(get(started.result).unwrap(), THREE_FOUR);
    finish(started);
    destroy(argument);
    end(loaded);
}

#[test]
fn a_chunk_that_is_too_long_is_refused_and_deleted_and_the_stream_goes_on() {
    let client = Client::new();
    let (loaded, argument) = (compile(&client, THROUGH_THE_HOST), argument(&client));
    let host = Host::new(|stream| {
        stream.add(&THREE_FOUR[..6]).unwrap();
        let before = DELETED.load(Ordering::SeqCst);
        assert_refused(stream.add(&[0; 3]), INVALID, &["3 bytes after 6 of 8 bytes"]);
        assert!(DELETED.load(Ordering::SeqCst) > before);
        assert_eq!(stream.progress(), (6, 8));
        stream.add(&THREE_FOUR[6..]).unwrap();
        stream.destroy().unwrap();
    });
    let started = start_through(loaded, argument, &host);
    assert_eq!(get(started.result).unwrap(), THREE_FOUR);
    finish(started);
    destroy(argument);
    end(loaded);
}

#[test]
fn a_stream_that_is_destroyed_early_fails_the_run_with_both_numbers() {
    let client = Client::new();
    let (loaded, argument) = (compile(&client, THROUGH_THE_HOST), argument(&client));
    let host = Host::new(|stream| {
        stream.add(&THREE_FOUR[..5]).unwrap();
        stream.destroy().unwrap();
    });
    let started = start_through(loaded, argument, &host);
    assert_refused(wait(started.done), WRONG_STATE, &["destroyed after 5 of 8 bytes"]);
    destroy(started.result);
    destroy(argument);
    end(loaded);
}

#[test]
fn wrong_callbacks_are_refused_before_anything_runs() {
    let client = Client::new();
    let (loaded, argument) = (compile(&client, THROUGH_THE_HOST), argument(&client));
    let host = Host::new(|_| unreachable!());
    let send = host.send_info(1);
    let recv = host.recv_info(2);
    let with = |sends: &[_], recvs: &[_], row_major| {
        start(loaded, argument, &mut sends.to_vec(), &mut recvs.to_vec(), row_major).map(drop)
    };
    assert_refused(with(&[], &[], true), WRONG_STATE, &["send of channel 1", "recv of channel 2"]);
    assert_refused(with(&[send], &[], true), WRONG_STATE, &["recv of channel 2"]);
    let other = host.send_info(2);
    assert_refused(with(&[other], &[recv], true), WRONG_STATE, &["send of channel 1"]);
    assert_refused(with(&[send, send], &[recv], true), INVALID, &["two send", "channel 1"]);
    let none = pjrt_sys::PJRT_RecvCallbackInfo { recv_callback: None, ..recv };
    assert_refused(with(&[send], &[none], true), INVALID, &["null recv_callback"]);
    assert_refused(with(&[send], &[recv], false), UNIMPLEMENTED, &["major_to_minor"]);
    assert!(host.log().is_empty());
    destroy(argument);
    end(loaded);
}
