//! The process that damages, compiles and runs. It says what it does on its standard output, and
//! leaves the program that it works on in a file: who watches it can name what killed it.
use crate::folder;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::exit;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tpu_fuzz::check::{Checker, Outcome, Phase, Progress, Spread};
use tpu_fuzz::planted::{Fault, PROGRAM, registry};
use tpu_fuzz::random::Random;
use tpu_fuzz::seeds::{self, Form, Seed};
use tpu_fuzz::{bytes, kernels, text};

/// The end of a child whose program has a loop that goes on: that is the program's right.
pub(crate) const ENDLESS: i32 = 77;
/// The end of a child that took too long for anything else.
pub(crate) const SLOW: i32 = 78;

/// What a loop may take, in seconds of the processor.
const LOOP: f64 = 0.7;
/// What anything else may take, in seconds of the processor: a debug build is slow.
const WORK: f64 = 20.0;
/// Who has done next to nothing for so long is stuck, and does not wait for a busy machine.
const CLOCK: Duration = Duration::from_secs(60);
/// Next to nothing, in seconds of the processor: who watches needs some of it.
const NOTHING: f64 = 0.2;
/// Who has done next to nothing for so long is stuck, where a fault is planted and nothing else is
/// looked for.
const PLANTED_CLOCK: Duration = Duration::from_secs(2);

/// The first panic of a program, wherever it was met.
static PANIC: Mutex<Option<String>> = Mutex::new(None);

fn panic_seen() -> Option<String> {
    PANIC.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Keeps each panic's place, also of those that become errors. The machine puts its own hook before
/// the one that is there when it is first called, and this one is to come before the machine's.
fn listen() {
    let first: tpu_emu::Result<()> = tpu_emu::entry::enter(&"fuzz", || Ok(()));
    drop(first);
    let machine = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let mut seen = PANIC.lock().unwrap_or_else(PoisonError::into_inner);
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        let text = info.payload_as_str().unwrap_or("a panic without a text");
        seen.get_or_insert_with(|| format!("panic at {place}: {text}"));
        drop(seen);
        machine(info);
    }));
}

/// What is to be done to one program.
struct Case {
    form: Form,
    bytes: Vec<u8>,
    spread: Spread,
    seed: u64,
}

impl Case {
    /// The file's name says how the program is to be repeated.
    fn path(&self, folder: &Path) -> PathBuf {
        let Spread { replicas, partitions } = self.spread;
        let name = format!("{:016x}-{replicas}-{partitions}", self.seed);
        folder.join(name).with_extension(self.form.extension())
    }
}

/// Works until `until` programs were done, or for ever where that is 0.
///
/// # Errors
/// Programs that cannot be read or kept.
pub(crate) fn work(seed: u64, until: Option<u64>, planted: Option<&str>) -> Result<(), String> {
    listen();
    let said = |error: std::io::Error| error.to_string();
    let mut seeds = seeds::all().map_err(said)?;
    let mut targets = Arc::default();
    if let Some(name) = planted {
        let fault = Fault::named(name).ok_or("no such fault")?;
        targets = registry(fault).map_err(|error| error.to_string())?;
        let program = Seed { path: "planted.mlir".into(), form: Form::Text, bytes: PROGRAM.into() };
        seeds = vec![program];
    }
    let checker = Checker::new(&targets).map_err(|error| error.to_string())?;
    let working = folder("working").join(std::process::id().to_string());
    fs::create_dir_all(&working).map_err(said)?;
    let count = Arc::new(AtomicU64::new(0));
    let clock = if planted.is_some() { PLANTED_CLOCK } else { CLOCK };
    watch_over(Arc::clone(&checker.progress), Arc::clone(&count), clock);
    let mut random = Random::new(seed);
    let mut sums = [0_u64; 3];
    while until.is_none_or(|until| until == 0 || count.load(Ordering::Relaxed) < until) {
        let case = damaged(&mut random, &seeds);
        let path = case.path(&working);
        fs::write(&path, &case.bytes).map_err(said)?;
        println!("begin {}", path.display());
        let outcome = checker.check(case.form, &case.bytes, case.spread, case.seed);
        let number = count.fetch_add(1, Ordering::Relaxed) + 1;
        match (panic_seen(), outcome) {
            (Some(panic), _) => println!("found {}", panic.escape_debug()),
            (None, Err(fault)) => println!("found {}", fault.escape_debug()),
            (None, Ok(outcome)) => {
                sums[match outcome {
                    Outcome::Refused => 0,
                    Outcome::Large => 1,
                    Outcome::Ran => 2,
                }] += 1;
                let _ = fs::remove_file(&path);
            }
        }
        if number.is_multiple_of(50) {
            println!("count {} {} {}", sums[0], sums[1], sums[2]);
            sums = [0; 3];
        }
    }
    println!("count {} {} {}", sums[0], sums[1], sums[2]);
    Ok(())
}

fn damaged(random: &mut Random, seeds: &[Seed]) -> Case {
    let form =
        *random.pick(&[Form::Bytecode, Form::Text, Form::Text, Form::HloProto, Form::HloText]);
    let mut alike: Vec<&Seed> = seeds.iter().filter(|seed| seed.form == form).collect();
    if alike.is_empty() {
        alike = seeds.iter().collect();
    }
    let mut seed = *random.pick(&alike);
    if form == Form::Text && random.once_in(3) {
        // A third of the texts has kernels, few as those are.
        let kernels: Vec<&Seed> = alike.iter().copied().filter(|seed| seed.has_kernels()).collect();
        if !kernels.is_empty() {
            seed = *random.pick(&kernels);
        }
    }
    let bytes = match seed.text() {
        // One in eight, so that what is no text at all is tried too.
        Some(source) if !random.once_in(8) => {
            let others: Vec<&str> = alike.iter().filter_map(|other| other.text()).collect();
            let mut source = source.to_owned();
            if random.once_in(8) || !kernels::damage(random, &mut source, &others) {
                text::damage(random, &mut source, &others);
            }
            source.into_bytes()
        }
        _ => {
            let others: Vec<&[u8]> = alike.iter().map(|other| &*other.bytes).collect();
            let mut bytes = seed.bytes.clone();
            bytes::damage(random, &mut bytes, &others);
            bytes
        }
    };
    let one = Spread { replicas: 1, partitions: 1 };
    let several = [
        Spread { replicas: 1, partitions: 2 },
        Spread { replicas: 1, partitions: 8 },
        Spread { replicas: 2, partitions: 1 },
        Spread { replicas: 4, partitions: 1 },
    ];
    // A program that says for how many devices it is gets them mostly.
    let said = seed.text().and_then(|text| text.split_once("mhlo.num_partitions = "));
    let said = said.and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
    let usual = said.map_or(one, |partitions| Spread { replicas: 1, partitions });
    let spread = if random.once_in(8) { *random.pick(&several) } else { usual };
    Case { form: seed.form, bytes, spread, seed: random.bits() }
}

/// Ends the process where a program takes too long.
fn watch_over(progress: Arc<Progress>, count: Arc<AtomicU64>, clock: Duration) {
    std::thread::spawn(move || {
        let mut since = (u64::MAX, Phase::Compile, Instant::now(), 0.0);
        loop {
            std::thread::sleep(Duration::from_millis(50));
            let (number, phase) = (count.load(Ordering::Relaxed), progress.phase());
            let spent = processor_seconds();
            if (number, phase) != (since.0, since.1) {
                since = (number, phase, Instant::now(), spent);
                continue;
            }
            let worked = spent - since.3;
            if phase == Phase::Loop && worked > LOOP {
                exit(ENDLESS);
            }
            if worked > WORK || since.2.elapsed() > clock && worked < NOTHING {
                println!("slow {phase:?} {worked:.1} s of work, {:.1?}", since.2.elapsed());
                exit(SLOW);
            }
        }
    });
}

/// What this process has had of the processors.
fn processor_seconds() -> f64 {
    let line = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name in brackets: the 12th and 13th fields, in hundredths.
    let fields = line.rsplit(')').next().unwrap_or_default().split_whitespace();
    let spent: f64 = fields.skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    spent / 100.0
}

/// Repeats one program: its file, and optionally seed, replicas and partitions where the file's
/// name does not say them.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn one(words: &[&str]) -> Result<(), String> {
    let path = Path::new(words.first().ok_or("no file")?);
    let form = Form::of(path).ok_or("the file's name does not say its form")?;
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let parts: Vec<&str> = stem.split('-').collect();
    let seed = parts.first().and_then(|part| u64::from_str_radix(part, 16).ok()).unwrap_or(1);
    let part = |at: usize| parts.get(at).and_then(|part| usize::from_str(part).ok()).unwrap_or(1);
    let spread = Spread { replicas: part(1), partitions: part(2) };
    let targets = match words.get(1) {
        Some(name) => registry(Fault::named(name).ok_or("no such fault")?),
        None => Ok(Arc::default()),
    };
    let targets = targets.map_err(|error| error.to_string())?;
    let checker = Checker::new(&targets).map_err(|error| error.to_string())?;
    let outcome = checker.check(form, &bytes, spread, seed)?;
    println!("{outcome:?}");
    Ok(())
}
