//! Writes a trace of as many changes as are asked for, in the shape that training has: steps that
//! take and give back some forty blocks from a few stacks, and a line that keeps a block now and
//! then. For measurements: `cargo run --release -p tpu-trace --example big_trace 1000000 FILE`.
use std::fs::File;
use std::io::{self, BufWriter, Write};

/// Stacks that take blocks.
const STACKS: u64 = 40;
/// Frames of each.
const DEPTH: u64 = 60;

fn main() -> io::Result<()> {
    let mut words = std::env::args().skip(1);
    let changes = words.next().and_then(|word| word.parse().ok());
    let (Some(changes), Some(path)) = (changes, words.next()) else {
        return Err(io::Error::other("big_trace CHANGES FILE"));
    };
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    out.write_all(b"TPUEMUTR\x01\x00\x05\x00")?;
    definitions(&mut out)?;
    steps(changes, &mut out)?;
    out.flush()
}

/// The process, a space, array types, frames, stacks and labels.
fn definitions(out: &mut impl Write) -> io::Result<()> {
    let mut process = Vec::new();
    for value in [4711, 9] {
        number(&mut process, value);
    }
    text(&mut process, "0.1.0");
    text(&mut process, "v5e:1x1");
    record(out, 1, &process)?;
    let mut space = Vec::new();
    for value in [0, 1] {
        number(&mut space, value);
    }
    text(&mut space, "TPU_0");
    text(&mut space, "device");
    number(&mut space, 16 << 30);
    record(out, 2, &space)?;
    for spec in 0..STACKS {
        let mut array = Vec::new();
        number(&mut array, spec);
        text(&mut array, "f32");
        for value in [2, 64 * (spec + 1), 100] {
            number(&mut array, value);
        }
        text(&mut array, "{1,0:T(8,128)}");
        for value in [64 * (spec + 1) * 400, 64 * (spec + 1) * 512] {
            number(&mut array, value);
        }
        record(out, 3, &array)?;
        let mut label = Vec::new();
        number(&mut label, spec + 1);
        text(&mut label, &format!("result {spec} of jit_step: stablehlo.add at train.py:{spec}"));
        record(out, 10, &label)?;
        for depth in 0..DEPTH {
            let own = spec * DEPTH + depth;
            let mut frame = Vec::new();
            let is_python = u64::from(depth % 3 == 0);
            for value in [own, 1, is_python] {
                number(&mut frame, value);
            }
            text(&mut frame, &format!("function_{own}"));
            let file =
                if depth > 50 { "/home/u/train.py" } else { "/v/site-packages/jax/_src/a.py" };
            text(&mut frame, file);
            number(&mut frame, own % 900);
            text(&mut frame, "libjaxlib.so");
            record(out, 4, &frame)?;
            let mut stack = Vec::new();
            let caller = if depth == 0 { 0 } else { own };
            for value in [own + 1, caller, own] {
                number(&mut stack, value);
            }
            record(out, 5, &stack)?;
        }
    }
    Ok(())
}

/// Takes and gives back the blocks of one step after the other; each hundredth stays.
fn steps(changes: u64, out: &mut impl Write) -> io::Result<()> {
    let (mut sequence, mut end, mut held) = (0, STACKS << 24, 0_u64);
    while sequence + 2 * STACKS <= changes {
        for kind in [6, 7] {
            for place in 0..STACKS {
                sequence += 1;
                let stays = place == 7 && held.is_multiple_of(100) && kind == 6;
                let address = if stays { end } else { place << 24 };
                if place == 7 && kind == 7 && held.is_multiple_of(100) {
                    // The block that stays is not given back: one of the same size comes and goes.
                    change(out, 6, sequence, place << 24, place)?;
                    sequence += 1;
                }
                change(out, kind, sequence, address, place)?;
                end += if stays { 64 * (place + 1) * 512 } else { 0 };
            }
        }
        held += 1;
    }
    Ok(())
}

fn change(out: &mut impl Write, kind: u8, at: u64, address: u64, place: u64) -> io::Result<()> {
    let mut fields = Vec::with_capacity(64);
    let size = 64 * (place + 1) * 512;
    let stack = (place + 1) * DEPTH;
    let time = 1_000_000_000 + at * 3000;
    for value in [0, at, address, size, place, stack, 4711, time] {
        number(&mut fields, value);
    }
    text(&mut fields, "PJRT_LoadedExecutable_Execute");
    number(&mut fields, if kind == 6 { place + 1 } else { 0 });
    record(out, kind, &fields)
}

fn record(out: &mut impl Write, kind: u8, payload: &[u8]) -> io::Result<()> {
    let length = u32::try_from(payload.len()).map_err(io::Error::other)?;
    out.write_all(&[kind])?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(payload)
}

fn number(out: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

fn text(out: &mut Vec<u8>, value: &str) {
    number(out, value.len() as u64);
    out.extend(value.as_bytes());
}
