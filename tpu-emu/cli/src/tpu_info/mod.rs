//! The installed `tpu-info`, shown the emulated chips; or its table without it.
use crate::installed;
use crate::paint::Paint;
use crate::text::json;
use clap::Args;
use serde::Serialize;
use std::ffi::OsString;
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tpu_metrics::{AskError, Client, Reading};
use tpu_topology::Topology;

mod chips;
mod host;
mod table;

use chips::Chips;

/// The port that `tpu-info` asks at, and no other.
const PORT: u16 = 8431;
/// How long a program may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// How full each device's HBM is and how busy it is: runs the installed `tpu-info` and shows it the
/// emulated chips, or prints the same table. The program to look at runs with TPU_EMU_METRICS=8431.
#[derive(Debug, Args)]
pub(crate) struct TpuInfo {
    /// The port of the program's metrics.
    #[arg(long, default_value_t = PORT, value_parser = clap::value_parser!(u16).range(1..))]
    port: u16,
    /// The chips that are shown as long as no program serves metrics.
    #[arg(long, value_name = "TOPOLOGY", value_parser = Topology::parse)]
    topology: Option<Topology>,
    /// Prints the table itself, whether or not tpu-info is installed.
    #[arg(long)]
    own: bool,
    /// Prints it as JSON, for programs.
    #[arg(long, conflicts_with = "words")]
    json: bool,
    /// The Python whose tpu-info is run, if not the one beside this command or on the path.
    #[arg(long, value_name = "PROGRAM")]
    python: Option<PathBuf>,
    /// Arguments of the installed tpu-info.
    #[arg(last = true, value_name = "ARGUMENTS")]
    words: Vec<OsString>,
}

/// What is told for programs.
#[derive(Debug, Serialize)]
struct Told {
    port: u16,
    topology: String,
    kind: &'static str,
    /// `None` where no program serves metrics.
    process: Option<u32>,
    chips: usize,
    devices: Vec<Device>,
}

/// One device.
#[derive(Debug, Serialize)]
struct Device {
    device: usize,
    chip: usize,
    in_use: u64,
    total: u64,
    /// Hundredths of the last ten seconds in which it ran programs.
    duty: f64,
}

impl TpuInfo {
    /// Becomes the installed program, or gives the table.
    ///
    /// # Errors
    /// A sentence, where there is nothing to show.
    pub(crate) fn show(&self, paint: &Paint) -> Result<String, String> {
        let reading = match Client::new(self.port, PATIENCE).read() {
            Ok(reading) => Some(reading),
            Err(AskError::Io(why)) if why.kind() == ErrorKind::ConnectionRefused => None,
            Err(why) => {
                return Err(format!("port {} is no emulated TPU's: {why}", self.port));
            }
        };
        let topology = self.chips_of(reading.as_ref())?;
        let chips = Chips::new(&topology, reading.as_ref());
        if self.json {
            return Ok(json(&self.told(&topology, &chips, reading.as_ref())));
        }
        if !self.own {
            let why = self.become_installed(&chips, reading.as_ref());
            note(&format!("{why}; this is tpu-emu's own table"));
            if !self.words.is_empty() {
                return Err("without it nothing takes the words behind --".to_owned());
            }
        }
        if reading.is_none() {
            note(&format!(
                "no program serves metrics at port {0}: start one with TPU_EMU_METRICS={0}",
                self.port
            ));
        }
        Ok(table::text(&chips, reading.as_ref(), paint))
    }

    /// The topology of the program, or the one that a program of this environment would have.
    fn chips_of(&self, reading: Option<&Reading>) -> Result<Topology, String> {
        if let Some(reading) = reading {
            let told = &reading.topology;
            return Topology::parse(told).map_err(|why| format!("the topology {told:?}: {why}"));
        }
        if let Some(topology) = &self.topology {
            return Ok(topology.clone());
        }
        match crate::environment::text("TPU_EMU_TOPOLOGY") {
            Some(named) => {
                Topology::parse(&named).map_err(|why| format!("TPU_EMU_TOPOLOGY={named}: {why}"))
            }
            None => Ok(Topology::common_host()),
        }
    }

    fn told(&self, topology: &Topology, chips: &Chips, reading: Option<&Reading>) -> Told {
        let devices = reading.iter().flat_map(|reading| (0..).zip(&reading.devices));
        let devices = devices.map(|(at, device)| Device {
            device: at,
            chip: at / chips.devices_per_chip,
            in_use: device.in_use,
            total: device.total,
            duty: chips.duty(reading, at),
        });
        Told {
            port: self.port,
            topology: topology.canonical_spec(),
            kind: topology.device_kind(),
            process: reading.map(|reading| reading.process),
            chips: chips.count,
            devices: devices.collect(),
        }
    }

    /// Runs the installed program in the place of this one; gives why that cannot be.
    fn become_installed(&self, chips: &Chips, reading: Option<&Reading>) -> String {
        if self.port != PORT {
            return format!("the installed tpu-info asks at port {PORT} alone");
        }
        let Some(program) = self.program() else {
            return "tpu-info is not installed (pip install tpu-info)".to_owned();
        };
        let Some(ids) = chips.ids else {
            return format!("tpu-info does not know the {}", chips.name);
        };
        let process = reading.map(|reading| reading.process);
        if let Err(why) = host::show(chips, ids, process) {
            return format!("the installed tpu-info cannot be shown the chips here ({why})");
        }
        let why = Command::new(&program).args(&self.words).exec();
        format!("{}: {why}", program.display())
    }

    /// The installed program: beside the Python, or on the path.
    fn program(&self) -> Option<PathBuf> {
        let python = installed::python(self.python.as_deref());
        let beside = python.parent().map(|folder| folder.join("tpu-info"));
        let beside = beside.filter(|file| file.parent() != Some(Path::new("")) && file.is_file());
        beside.or_else(|| installed::on_path("tpu-info"))
    }
}

/// Says something beside the table.
fn note(words: &str) {
    // Nobody is left to hear of a standard error that is closed.
    let _ = writeln!(io::stderr(), "tpu-emu: {words}");
}
