//! Damages the small programs of the tests and reads them for a number of seconds (argument 1,
//! otherwise 10). The damage follows a seed (argument 2), so that what it finds can be repeated.
//! A panic or a read that takes too long ends it with an error.
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use tpu_stablehlo::bytecode::read;

/// A read of a small program that takes longer is a fault.
const SLOW: Duration = Duration::from_secs(2);

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below a limit that is not zero.
    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap_or(0) % limit
    }

    fn byte(&mut self) -> u8 {
        let [byte, ..] = (self.next() >> 24).to_le_bytes();
        byte
    }
}

/// One to eight changes: bits, bytes, parts moved, removed or repeated.
fn damage(random: &mut Random, bytes: &mut Vec<u8>, others: &[Vec<u8>]) {
    for _ in 0..=random.below(8) {
        if bytes.is_empty() {
            return;
        }
        let at = random.below(bytes.len());
        let count = random.below(bytes.len() - at).min(random.below(32));
        match random.below(7) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.byte(),
            2 => bytes[at] = [0x00, 0x01, 0x03, 0x7F, 0x80, 0xFF][random.below(6)],
            3 => drop(bytes.drain(at..at + count)),
            4 => {
                let part = bytes[at..at + count].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, part);
            }
            5 => {
                let other = &others[random.below(others.len())];
                let from = random.below(other.len());
                let end = (from + count).min(other.len());
                bytes.splice(at..at + count, other[from..end].iter().copied());
            }
            _ => {
                let byte = random.byte();
                bytes[at..at + count].fill(byte);
            }
        }
    }
}

#[expect(clippy::print_stderr, reason = "a command for people and CI")]
#[expect(clippy::disallowed_methods, reason = "a command has a clock")]
fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let mut number =
        |default| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(default);
    let seconds = Duration::from_secs(number(10));
    let mut random = Random(number(1).max(1));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut seeds = Vec::new();
    for file in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if file.path().extension().is_some_and(|extension| extension == "mlirbc") {
            seeds.extend(std::fs::read(file.path()).ok().map(|bytes| (file.path(), bytes)));
        }
    }
    // The order of a folder is not the same everywhere; the seed shall be.
    seeds.sort();
    let seeds: Vec<Vec<u8>> = seeds.into_iter().map(|(_, bytes)| bytes).collect();
    if seeds.is_empty() {
        eprintln!("no programs to damage");
        return ExitCode::FAILURE;
    }
    let begin = std::time::Instant::now();
    let (mut reads, mut good) = (0_u64, 0_u64);
    while begin.elapsed() < seconds {
        let mut bytes = seeds[random.below(seeds.len())].clone();
        let state = random.0;
        damage(&mut random, &mut bytes, &seeds);
        let start = std::time::Instant::now();
        let read = std::panic::catch_unwind(|| read(&bytes).is_ok());
        reads += 1;
        if read.is_err() || start.elapsed() > SLOW {
            eprintln!("panic or {:?} at random state {state}: {bytes:?}", start.elapsed());
            return ExitCode::FAILURE;
        }
        good += u64::from(read.unwrap_or(false));
    }
    eprintln!("{reads} damaged programs, {good} of them still read");
    ExitCode::SUCCESS
}
