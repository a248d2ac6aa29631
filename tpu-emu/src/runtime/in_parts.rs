//! One run of a program over several devices, where these have nothing to exchange: each set of
//! devices that have the same runs its part of the program where its arrays lie.
use super::custom_call::Launch;
use super::job::{Job, aligned};
use super::loaded::LoadedExecutable;
use super::run_memory::RunMemory;
use crate::buffer::Hold;
use parking_lot::Mutex;
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::units::{Bytes, to_u64};
use tpu_kernels::aligned::Aligned;
use tpu_program::interpret::custom_call::LaunchServices;
use tpu_program::interpret::frame::Frame;
use tpu_program::interpret::step::{Interpreter, StepWatch};

impl LoadedExecutable {
    /// The devices in sets that have the same, where each set is to run its part by itself;
    /// `None` where the program is to run over whole arrays.
    pub(super) fn classes(&self) -> Option<&[Vec<usize>]> {
        self.classes.get_or_init(|| self.found_classes()).as_deref()
    }

    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn found_classes(&self) -> Option<Vec<Vec<usize>>> {
        let own = self.own.as_ref().filter(|own| own.runs)?;
        let io = self.io_shardings.as_ref()?;
        // A result with one element takes no memory until somebody writes to it.
        if io.results.iter().any(|io| io.element.is_some()) {
            return None;
        }
        let classes = io.classes();
        // What all have alike would be computed by each set: it may take as long as joining and
        // splitting the arrays.
        let arrays = io.parameters.iter().chain(&io.results);
        let moved: u64 = arrays.fold(0, |sum, io| sum.saturating_add(to_u64(io.whole.bytes())));
        let most = self.plan.work + 2.0 * moved as f64;
        (own.plan.work * classes.len() as f64 <= most).then_some(classes)
    }
}

impl Job {
    /// Runs the part of each set of devices on the first of them, and gives the others what that
    /// has made.
    pub(super) fn run_in_parts(mut self, sources: &[Option<Hold>]) -> Result<()> {
        let executable = Arc::clone(&self.executable);
        let (Some(own), Some(io), Some(classes)) =
            (&executable.own, &executable.io_shardings, executable.classes())
        else {
            return Err(Error::bad(format!("{} is not taken apart", executable.name)));
        };
        let results = &executable.results;
        self.results.iter().filter_map(Hold::place).for_each(|place| place.set_content(None));
        let new = results.iter().filter(|result| result.alias.is_none());
        let new = new.fold(0_u64, |sum, result| sum.saturating_add(result.spec.padded.0));
        let wanted = new.saturating_mul(to_u64(self.devices.len()));
        let wanted = Bytes(wanted.saturating_add(to_u64(own.plan.arena)));
        let held = self.results.iter().filter_map(Hold::region);
        self.machine.room_for(wanted, "results and temporaries", held)?;
        let arena = Arc::new(Mutex::new(Aligned::try_zeros(own.plan.arena)?));
        let pool = Arc::new(Mutex::new(Aligned::of(&own.plan.pool)));
        let watch = self.watch.take();
        let _mode = executable.numerics.subnormals().enter();
        for class in classes {
            let Some((&first, others)) = class.split_first() else { continue };
            self.machine.poison(arena.lock().bytes_mut());
            let memories = self.memories(first, sources, [&arena, &pool])?;
            let watch = watch.as_deref().map(|watch| watch.among(class));
            let recorded = !executable.kernels.is_empty() && self.machine.ledger().is_heard();
            let launch = recorded.then(|| {
                let on = (vec![self.devices[first]], self.number);
                Launch::new(&self.machine, on, self.origin, &executable.name, None, 0)
            });
            let frame = Frame::new(memories).with_windows(own.plan.windows);
            let mut run = Interpreter {
                locations: Some(&executable.module.locations),
                launch: launch.as_ref().map(|launch| launch as &dyn LaunchServices),
                watch: watch.as_ref().map(|watch| watch as &dyn StepWatch),
                ..Interpreter::alone(&frame)
            };
            if run.until_open(&own.plan, 0)?.is_some() {
                return Err(Error::WrongState(format!("{} calls somebody", executable.name)));
            }
            for (index, result) in results.iter().enumerate() {
                let place = |device: usize| self.results[device * results.len() + index].region();
                for &other in others {
                    if let (Some(from), Some(to)) = (place(first), place(other)) {
                        from.copy_to(to, result.spec.logical)?;
                    }
                }
            }
        }
        io.results.iter().enumerate().for_each(|(index, io)| self.note_contents(index, io));
        Ok(())
    }

    /// The memories of the run of a device's part.
    fn memories(
        &self,
        device: usize,
        sources: &[Option<Hold>],
        shared: [&Arc<Mutex<Aligned>>; 2],
    ) -> Result<Vec<RunMemory>> {
        let (parameters, results) = (&self.executable.parameters, &self.executable.results);
        let sources = &sources[device * parameters.len()..][..parameters.len()];
        let places = &self.results[device * results.len()..][..results.len()];
        for (place, result) in places.iter().zip(results) {
            let from = result.alias.and_then(|at| Some((at, sources[at].as_ref()?.region()?)));
            // A donated parameter that could not be taken over is copied to where the plan
            // expects it.
            if let (Some(to), Some((at, from))) = (place.region(), from) {
                from.copy_to(to, parameters[at].spec.logical)?;
            }
        }
        let mut memories: Vec<RunMemory> =
            shared.into_iter().map(|memory| RunMemory::Shared(Arc::clone(memory))).collect();
        for source in sources {
            memories.push(aligned(source.clone())?);
        }
        memories.extend(places.iter().cloned().map(RunMemory::Held));
        Ok(memories)
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;
    use crate::executable::{CompileOptions, Format};
    use crate::runtime::Emulator;

    const ROWS: &str = "[{\"i\"}, {}]";
    const WHOLE: &str = "[{}, {}]";

    /// How many sets of devices run a part of their own; none for a run over whole arrays.
    fn sets(takes: &str, gives: &str, body: &str) -> Option<usize> {
        let of = "tensor<8x64xf32>";
        let sharding = |axes: &str| format!("{{sdy.sharding = #sdy.sharding<@line, {axes}>}}");
        let text = format!(
            "module {{
               sdy.mesh @line = <[\"i\"=8]>
               func.func @main(%x: {of} {}, %y: {of} {}) -> ({of} {}) {{
                 %z = stablehlo.constant dense<0.0> : tensor<f32>
                 {body}
                 return %r : {of}
               }}
             }}",
            sharding(takes),
            sharding(ROWS),
            sharding(gives)
        );
        let machine = Emulator::new(Config::plain()).unwrap();
        let options = CompileOptions { partitions: 8, ..CompileOptions::default() };
        let program = machine.compile(Format::Mlir, text.as_bytes(), options).unwrap();
        program.classes().map(<[_]>::len)
    }

    #[test]
    fn devices_that_compute_elements_of_their_own_run_their_parts() {
        let of = "tensor<8x64xf32>";
        let body = format!(
            "%0 = stablehlo.tanh %x : {of}
             %r = stablehlo.add %0, %y : {of}"
        );
        assert_eq!(sets(ROWS, ROWS, &body), Some(8));
        let manual = |inside: &str| {
            format!(
                "%r = sdy.manual_computation(%x, %y) in_shardings=[<@line, {ROWS}>, <@line, {ROWS}>] out_shardings=[<@line, {ROWS}>] manual_axes={{\"i\"}} (%a: tensor<1x64xf32>, %b: tensor<1x64xf32>) {{
                   %n = stablehlo.constant dense<0.0> : tensor<f32>
                   {inside}
                   sdy.return %c : tensor<1x64xf32>
                 }} : ({of}, {of}) -> {of}"
            )
        };
        // What is written per device has its own shapes already.
        let sum = manual(
            "%s = stablehlo.reduce(%a init: %n) applies stablehlo.add across dimensions = [1] : (tensor<1x64xf32>, tensor<f32>) -> tensor<1xf32>
             %t = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<1xf32>) -> tensor<1x64xf32>
             %c = stablehlo.add %t, %b : tensor<1x64xf32>",
        );
        assert_eq!(sets(ROWS, ROWS, &sum), Some(8));
        let number = manual(
            "%i = stablehlo.partition_id : tensor<ui32>
             %f = stablehlo.convert %i : (tensor<ui32>) -> tensor<f32>
             %g = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<1x64xf32>
             %c = stablehlo.add %g, %b : tensor<1x64xf32>",
        );
        assert_eq!(sets(ROWS, ROWS, &number), None);
    }

    #[test]
    fn devices_that_exchange_in_their_own_code_run_over_whole_arrays() {
        let of = "tensor<8x64xf32>";
        let one = "tensor<1x64xf32>";
        let all = "dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>";
        let add = "({ ^bb0(%p: tensor<f32>, %q: tensor<f32>): %o = stablehlo.add %p, %q : tensor<f32> stablehlo.return %o : tensor<f32> })";
        let channel = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>";
        let all_reduce = format!(
            "%c = \"stablehlo.all_reduce\"(%a) {add} {{replica_groups = {all}, {channel}, use_global_device_ids}} : ({one}) -> {one}"
        );
        let permute = format!(
            "%c = \"stablehlo.collective_permute\"(%a) {{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>, {channel}}} : ({one}) -> {one}"
        );
        let ragged = format!(
            "%k = stablehlo.constant dense<0> : tensor<8xi32>
             %c = stablehlo.custom_call @ragged_all_to_all(%a, %b, %k, %k, %k, %k) {{api_version = 4 : i32, backend_config = {{replica_groups = {all}, channel_id = 1 : i64}}}} : ({one}, {one}, tensor<8xi32>, tensor<8xi32>, tensor<8xi32>, tensor<8xi32>) -> {one}"
        );
        for exchange in [all_reduce, permute, ragged] {
            let body = format!(
                "%r = sdy.manual_computation(%x, %y) in_shardings=[<@line, {ROWS}>, <@line, {ROWS}>] out_shardings=[<@line, {ROWS}>] manual_axes={{\"i\"}} (%a: {one}, %b: {one}) {{
                   {exchange}
                   sdy.return %c : {one}
                 }} : ({of}, {of}) -> {of}"
            );
            assert_eq!(sets(ROWS, ROWS, &body), None, "{exchange}");
        }
    }

    #[test]
    fn what_devices_exchange_or_tell_by_their_numbers_runs_over_whole_arrays() {
        let of = "tensor<8x64xf32>";
        let add = format!("%r = stablehlo.add %x, %y : {of}");
        assert_eq!(sets(WHOLE, ROWS, &add), None, "each device takes its rows of the whole");
        assert_eq!(sets(ROWS, WHOLE, &add), None, "each device gets the rows of all");
        let counts = format!(
            "%0 = stablehlo.iota dim = 0 : {of}
             %r = stablehlo.add %0, %y : {of}"
        );
        assert_eq!(sets(ROWS, ROWS, &counts), None);
        let sum = format!(
            "%0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : ({of}, tensor<f32>) -> tensor<8xf32>
             %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<8xf32>) -> {of}
             %r = stablehlo.add %1, %y : {of}"
        );
        assert_eq!(sets(ROWS, ROWS, &sum), None, "a sum of other shapes may round in another way");
        let same = format!("%r = stablehlo.constant dense<1.0> : {of}");
        assert_eq!(sets(ROWS, ROWS, &same), None, "nobody writes what has one element");
    }
}
