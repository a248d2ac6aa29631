//! The service that tells how full and how busy the devices are, where it is asked for.
use crate::busy::Busy;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;
use tpu_emu::runtime::LaunchWatch;
use tpu_emu::topology::DeviceInfo;
use tpu_emu::units::Nanos;
use tpu_emu::{Emulator, Memory, MemoryKind};
use tpu_metrics::{Device, Reading, Source, Timings};

/// Generations whose chips are counted as one where `tpu-info` shows how busy they are.
const CHIPS_TOGETHER: [&str; 2] = ["v2", "v3"];

/// Serves the metrics of a machine at a port, or says why it cannot.
pub(crate) fn serve(asked: &str, machine: &Arc<Emulator>) {
    let served = match asked.parse::<u16>().ok().filter(|&port| port > 0) {
        None => Err("a port is a number from 1 to 65535".to_owned()),
        Some(port) => {
            let watched = Arc::new(Watched::new(machine));
            let source = Arc::new(OwnDevices { machine: Arc::clone(machine), watched });
            let watch = Arc::clone(&source.watched);
            let served = tpu_metrics::serve(port, source).map_err(|why| match why.kind() {
                ErrorKind::AddrInUse => "another process has the port".to_owned(),
                _ => why.to_string(),
            });
            served.map(|()| machine.watch_launches(watch))
        }
    };
    if let Err(why) = served {
        crate::tell(&format!("TPU_EMU_METRICS={asked}: no metrics are served: {why}"));
    }
}

/// What the devices do.
#[derive(Debug)]
struct Watched {
    /// By number in the topology.
    devices: Vec<Mutex<Runs>>,
    /// By chip, in the order of their first devices.
    chips: Vec<Mutex<Busy>>,
    /// The chip of each device.
    chip_of: Vec<usize>,
}

/// What one device does.
#[derive(Debug)]
struct Runs {
    busy: Busy,
    /// Runs that were asked for and have not ended.
    queued: u64,
    timings: Timings,
}

impl Watched {
    fn new(machine: &Emulator) -> Self {
        let now = machine.ledger().now().0;
        let topology = machine.topology();
        let place = |device: &DeviceInfo| (device.slice_index, device.coords);
        let mut chips: Vec<_> = topology.devices().iter().map(place).collect();
        chips.dedup();
        let chip = |device| chips.iter().position(|&chip| chip == place(device)).unwrap_or(0);
        let runs = || Runs { busy: Busy::new(now), queued: 0, timings: Timings::default() };
        Self {
            devices: topology.devices().iter().map(|_| Mutex::new(runs())).collect(),
            chips: chips.iter().map(|_| Mutex::new(Busy::new(now))).collect(),
            chip_of: topology.devices().iter().map(chip).collect(),
        }
    }

    fn each(&self, devices: &[usize], mut what: impl FnMut(&mut Runs)) {
        let devices = devices.iter().filter_map(|&device| self.devices.get(device));
        devices.for_each(|device| what(&mut device.lock()));
    }

    /// The chips of some devices, each once.
    fn chips(&self, devices: &[usize], mut what: impl FnMut(&mut Busy)) {
        let chips = devices.iter().filter_map(|&device| self.chip_of.get(device));
        let chips: BTreeSet<usize> = chips.copied().collect();
        chips.into_iter().for_each(|chip| what(&mut self.chips[chip].lock()));
    }
}

impl LaunchWatch for Watched {
    fn asked(&self, devices: &[usize]) {
        self.each(devices, |runs| runs.queued += 1);
    }

    fn began(&self, devices: &[usize], now: Nanos) {
        self.each(devices, |runs| runs.busy.begin(now.0));
        self.chips(devices, |busy| busy.begin(now.0));
    }

    fn ended(&self, devices: &[usize], began: Option<Nanos>, now: Nanos) {
        self.each(devices, |runs| {
            runs.queued = runs.queued.saturating_sub(1);
            if let Some(began) = began {
                runs.busy.end(now.0);
                let took = Duration::from_nanos(now.0.saturating_sub(began.0));
                runs.timings.add(took.as_secs_f64() * 1e6);
            }
        });
        if began.is_some() {
            self.chips(devices, |busy| busy.end(now.0));
        }
    }
}

/// Who is asked.
#[derive(Debug)]
struct OwnDevices {
    machine: Arc<Emulator>,
    watched: Arc<Watched>,
}

impl Source for OwnDevices {
    fn look(&self) -> Reading {
        let machine = &self.machine;
        let (topology, now) = (machine.topology(), machine.ledger().now().0);
        let own =
            |(_, device): &(usize, &DeviceInfo)| device.process_index == machine.process_index();
        let own: Vec<(usize, &DeviceInfo)> =
            topology.devices().iter().enumerate().filter(own).collect();
        let per_chip = topology.generation().devices_per_chip.max(1);
        let devices = own.iter().map(|&(index, info)| {
            let stats = machine.memory_stats(Memory { device: index, kind: MemoryKind::Device });
            let mut runs = self.watched.devices[index].lock();
            Device {
                total: stats.bytes_limit.0,
                in_use: stats.bytes_in_use.0,
                duty: runs.busy.share(now),
                idle: Duration::from_nanos(runs.busy.idle(now)),
                queued: runs.queued,
                timings: runs.timings.clone(),
                chip: info.local_hardware_id / per_chip,
                core_on_chip: info.core_on_chip,
            }
        });
        let devices: Vec<Device> = devices.collect();
        let duty = if CHIPS_TOGETHER.contains(&topology.generation().family) {
            let chips: BTreeSet<usize> =
                own.iter().map(|&(index, _)| self.watched.chip_of[index]).collect();
            chips.into_iter().map(|chip| self.watched.chips[chip].lock().share(now)).collect()
        } else {
            devices.iter().map(|device| device.duty).collect()
        };
        let topology = topology.canonical_spec();
        Reading { topology, process: std::process::id(), devices, duty }
    }
}
