//! Launching the replicas of a program whose client calls once for each.
use super::emulator::Emulator;
use super::loaded::LoadedExecutable;
use super::request::{LaunchRequest, Launched};
use crate::executable::OtherCompiler;
use std::sync::Arc;
use tpu_base::error::Result;
use tpu_base::units::Nanos;

impl Emulator {
    /// Starts the run of one replica, which meets the others in its collectives.
    ///
    /// # Errors
    /// As for [`Emulator::join`].
    pub(super) fn start_replica(
        self: &Arc<Self>,
        request: &LaunchRequest<'_>,
        replica: usize,
        run: i64,
    ) -> Result<Launched> {
        let LaunchRequest { executable, devices, options } = *request;
        let names = executable.devices.iter().map(|&device| self.device_name(device));
        let names = names.collect::<Result<Vec<String>>>()?;
        let (now, patience) = (self.ledger().now(), self.call_timeout());
        let joined = self.replica_runs.join(executable, (replica, run), names, (now, patience));
        let launched = self.of_replica(executable, replica).and_then(|own| {
            let request = LaunchRequest { executable: &own, devices, options };
            self.check(&request)?;
            self.start_one(&request, Some(joined.participant(self, replica)))
        });
        let machine = Arc::downgrade(self);
        let ended = move |outcome: &Result<()>| {
            let now = machine.upgrade().map_or(Nanos(0), |machine| machine.ledger().now());
            joined.ended(replica, outcome, now);
        };
        match &launched {
            Ok(launched) => launched.done.on_ready(ended),
            Err(error) => ended(&Err(error.clone())),
        }
        launched
    }

    /// The program of one replica, which is compiled where it first runs.
    fn of_replica(
        self: &Arc<Self>,
        executable: &LoadedExecutable,
        replica: usize,
    ) -> Result<Arc<LoadedExecutable>> {
        if let Some(known) = executable.replicas.lock().get(&replica) {
            return Ok(Arc::clone(known));
        }
        let (format, code) = &executable.source;
        let source = (*format, Arc::clone(code));
        let (module, options) = (Arc::clone(&executable.module), executable.options.clone());
        let other = executable.other.as_ref().map(|other| other as &dyn OtherCompiler);
        let own = self.compile_for(module, source, options, Some(replica), other)?;
        Ok(Arc::clone(executable.replicas.lock().entry(replica).or_insert(own)))
    }
}
