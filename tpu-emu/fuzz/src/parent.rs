//! The process that stays: it starts children, hears what they do, and keeps what killed them.
use crate::child::{ENDLESS, SLOW};
use crate::folder;
use std::collections::BTreeMap;
use std::env::current_exe;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Programs of one child: tables of the machine grow with each, and a new one begins afresh.
const PROGRAMS: u64 = 4000;

/// Memory of its own that a child may have, in KiB. HBM is shared memory and no part of it.
const MEMORY: u64 = 3 << 20;

/// What the children said.
#[derive(Default)]
struct Sums {
    /// Where programs are kept.
    place: PathBuf,
    refused: u64,
    large: u64,
    ran: u64,
    endless: u64,
    /// What was found, and how often.
    found: BTreeMap<String, u64>,
}

/// Lets children work for `seconds`, with damage that follows from `seed`.
///
/// # Errors
/// What was found, or why no child could be started.
pub(crate) fn watch(seconds: u64, seed: u64, planted: Option<&str>) -> Result<(), String> {
    let (begin, limit) = (Instant::now(), Duration::from_secs(seconds));
    let place = folder(if planted.is_some() { "planted" } else { "found" });
    fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    let place = place.canonicalize().map_err(|error| error.to_string())?;
    let mut sums = Sums { place, ..Sums::default() };
    for number in 0.. {
        let left = limit.saturating_sub(begin.elapsed());
        if left.is_zero() || planted.is_some() && !sums.found.is_empty() {
            break;
        }
        let child = start(seed.wrapping_mul(1 << 20).wrapping_add(number), planted)?;
        let working = folder("working").join(child.id().to_string());
        follow(child, left, &mut sums)?;
        // What is found was moved; there is nothing where the child did not come so far.
        let _ = fs::remove_dir_all(working);
    }
    let Sums { place, refused, large, ran, endless, found } = sums;
    let all = refused + large + ran + endless;
    let done = format!(
        "{all} damaged programs: {refused} refused, {large} compiled and not run for their size, \
         {ran} ran, {endless} ran without an end"
    );
    if found.is_empty() {
        eprintln!("{done}");
        return Ok(());
    }
    let lines: Vec<String> =
        found.iter().map(|(what, times)| format!("{times} × {what}")).collect();
    Err(format!("{done}\nfound, with programs in {}:\n{}", place.display(), lines.join("\n")))
}

fn start(seed: u64, planted: Option<&str>) -> Result<Child, String> {
    let program = current_exe().map_err(|error| error.to_string())?;
    // The shell sets the limit: a program of ours would need unsafe code for it.
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("ulimit -d {MEMORY}; ulimit -c 0; exec \"$@\"")).arg("fuzz");
    command.arg(program).args(["child".to_owned(), seed.to_string(), PROGRAMS.to_string()]);
    command.args(planted);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().map_err(|error| format!("no child: {error}"))
}

fn lines(of: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(of).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    receive
}

/// Hears a child until it ends or the time is over.
fn follow(mut child: Child, left: Duration, sums: &mut Sums) -> Result<(), String> {
    let end = Instant::now() + left;
    let (Some(out), Some(errors)) = (child.stdout.take(), child.stderr.take()) else {
        return Err("a child without its pipes".to_owned());
    };
    let (heard, errors) = (lines(out), lines(errors));
    let mut program = PathBuf::new();
    let mut slow = String::new();
    loop {
        match heard.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) => match line.split_once(' ').unwrap_or((&line, "")) {
                ("begin", path) => program = path.into(),
                ("found", what) => sums.keep(&program, what),
                ("slow", what) => slow = format!("too slow: {what}"),
                ("count", numbers) => sums.count(numbers),
                _ => return Err(format!("a child that said {line}")),
            },
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                let _ = child.kill();
                let _ = child.wait();
                return Ok(());
            }
        }
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    match status.code() {
        Some(0) => {}
        Some(ENDLESS) => {
            sums.endless += 1;
        }
        Some(SLOW) => sums.keep(&program, &slow),
        _ => {
            let last: Vec<String> = errors.iter().collect();
            sums.keep(&program, &format!("{}: {}", ended(status), last.join(" | ")));
        }
    }
    Ok(())
}

fn ended(status: ExitStatus) -> String {
    status.signal().map_or_else(|| status.to_string(), |signal| format!("died of signal {signal}"))
}

impl Sums {
    fn count(&mut self, numbers: &str) {
        let mut numbers = numbers.split(' ').map(|number| number.parse().unwrap_or(0));
        let mut next = || numbers.next().unwrap_or(0);
        self.refused += next();
        self.large += next();
        self.ran += next();
    }

    /// Moves the program to what was found; of each kind the first three are kept.
    fn keep(&mut self, program: &Path, what: &str) {
        let first = what.split("\\n").next().unwrap_or_default();
        // Numbers differ from program to program where the fault is the same.
        let (place, rest) = match first.find(": ") {
            Some(at) if first.starts_with("panic at ") => first.split_at(at),
            _ => ("", first),
        };
        let kind: String = rest.chars().filter(|c| !c.is_ascii_digit()).take(160).collect();
        let times = self.found.entry(format!("{place}{kind}")).or_default();
        *times += 1;
        if *times > 3 {
            return;
        }
        let Some(name) = program.file_name() else { return };
        let kept = self.place.join(name);
        let moved = fs::rename(program, &kept);
        let text = format!("{what}\nagain: cargo run -p tpu-fuzz -- one {}\n", kept.display());
        let written = fs::write(kept.with_extension("txt"), text.replace("\\n", "\n"));
        eprintln!("{} {what}", kept.display());
        if let Some(error) = moved.and(written).err() {
            eprintln!("the program cannot be kept: {error}");
        }
    }
}
