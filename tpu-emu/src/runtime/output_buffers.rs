//! Memory of a client for the results of a run.
use super::request::LaunchOptions;
use crate::buffer::{Buffer, Hold};
use crate::executable::Executable;
use crate::hbm::Region;
use crate::memory::Memory;
use std::ops::Range;
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::units::to_usize;
use tpu_program::plan::ALIGN;

/// The client's memory for the results of a run on one device, after its checks.
#[derive(Debug, Clone)]
pub(super) struct OutputBuffers {
    /// By result.
    pub(super) results: Vec<Hold>,
    /// Numbers of the arguments that a result takes over where they lie.
    pub(super) in_place: Vec<usize>,
}

impl OutputBuffers {
    /// Waits for the arguments and checks the results' memory against theirs.
    pub(super) fn of(
        executable: &Executable,
        device: usize,
        arguments: &[Arc<Buffer>],
        results: &[Arc<Buffer>],
        options: &LaunchOptions,
    ) -> Result<Self> {
        let sources: Result<Vec<Hold>> = arguments
            .iter()
            .map(|argument| argument.ready_event().wait().and_then(|()| argument.hold()))
            .collect();
        let (sources, results) = (sources?, held(executable, device, results)?);
        let in_place = taken_over(executable, &sources, &results, options)?;
        Ok(Self { results, in_place })
    }
}

/// The results' memory, each large enough.
fn held(executable: &Executable, device: usize, results: &[Arc<Buffer>]) -> Result<Vec<Hold>> {
    let (name, wanted, given) = (&executable.name, executable.results.len(), results.len());
    if wanted != given {
        let message = format!("{name} has {wanted} results; memory for {given} was given");
        return Err(Error::bad(message));
    }
    let places = results.iter().zip(&executable.results).enumerate();
    let checked = places.map(|(index, (place, result))| {
        let (had, wanted) = (place.memory(), Memory { device, kind: result.kind });
        if had != wanted {
            let text =
                |memory: Memory| format!("{} of device {}", memory.kind.name(), memory.device);
            let (had, wanted) = (text(had), text(wanted));
            let message = format!("{name}: result {index} is to be in {had}, not in {wanted}");
            return Err(Error::bad(message));
        }
        let hold = place.hold()?;
        let size = hold.region().map(Region::size).unwrap_or_default();
        if size < result.spec.logical {
            let (text, needed) = (result.spec.text(), result.spec.logical);
            let message = format!(
                "{name}: result {index} is {text}, which takes {needed}; {size} were given"
            );
            return Err(Error::bad(message));
        }
        let unaligned = |region: &&Region| !region.as_ptr().addr().is_multiple_of(ALIGN);
        if let Some(region) = hold.region().filter(unaligned) {
            let at = region.as_ptr().addr();
            let message =
                format!("{name}: result {index} at {at:#x}, which is no multiple of {ALIGN}");
            return Err(Error::bad(message));
        }
        Ok(hold)
    });
    checked.collect()
}

/// Whether every result has memory of its own; gives the arguments that results take over where
/// they lie.
fn taken_over(
    executable: &Executable,
    sources: &[Hold],
    results: &[Hold],
    options: &LaunchOptions,
) -> Result<Vec<usize>> {
    let name = &executable.name;
    let numbered = results.iter().enumerate();
    let mut taken: Vec<(Range<usize>, usize)> =
        numbered.filter_map(|(index, hold)| Some((addresses(hold)?, index))).collect();
    taken.sort_by_key(|(range, _)| range.start);
    for pair in taken.windows(2) {
        let [(low, first), (high, second)] = pair else { continue };
        if low.end > high.start {
            let (start, end) = (high.start, low.end.min(high.end));
            return Err(Error::bad(format!(
                "{name}: results {first} and {second} are both to be in the bytes from \
                 {start:#x} to {end:#x}"
            )));
        }
    }
    let mut in_place = Vec::new();
    for (index, source) in sources.iter().enumerate() {
        let Some(range) = addresses(source) else { continue };
        let before_end = taken.partition_point(|(taken, _)| taken.start < range.end);
        let meets =
            taken[..before_end].iter().rev().take_while(|(taken, _)| taken.end > range.start);
        for (taken, result) in meets {
            let alias = executable.results[*result].alias == Some(index);
            if alias && taken.start == range.start && options.gives(executable, index) {
                in_place.push(index);
                continue;
            }
            let start = taken.start.max(range.start);
            return Err(Error::bad(format!(
                "{name}: result {result} is to be in the bytes of argument {index} at {start:#x}, \
                 which it does not take over"
            )));
        }
    }
    Ok(in_place)
}

/// Where bytes lie in this process; `None` for no bytes.
fn addresses(hold: &Hold) -> Option<Range<usize>> {
    let region = hold.region()?;
    let (start, size) = (region.as_ptr().addr(), to_usize(region.size().0));
    (size > 0).then_some(start..start + size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::executable::{CompileOptions, Format};
    use crate::memory::MemoryKind;
    use crate::runtime::{DeviceRequest, Emulator, LaunchRequest, LoadedExecutable};
    use tpu_base::error::Code;
    use tpu_base::units::Bytes;

    /// `(x + y, x * y)`; the first result takes over `x`.
    const PROGRAM: &str = "module @main { func.func public @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
        %s = stablehlo.add %x, %y : tensor<4xf32>
        %p = stablehlo.multiply %x, %y : tensor<4xf32>
        return %s, %p : tensor<4xf32>, tensor<4xf32>
    } }";

    struct Client {
        machine: Arc<Emulator>,
        program: Arc<LoadedExecutable>,
    }

    impl Client {
        fn new() -> Self {
            let machine = Emulator::new(Config::plain()).unwrap();
            let options = CompileOptions::default();
            let program = machine.compile(Format::Mlir, PROGRAM.as_bytes(), options).unwrap();
            Self { machine, program }
        }

        /// A block of 4 KiB that begins with these numbers.
        fn block(&self, values: [f32; 4]) -> usize {
            let address = self.machine.allocate_raw(0, Bytes(4096)).unwrap();
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            self.machine.write_raw(address, &bytes).unwrap();
            address
        }

        fn buffer(&self, address: usize) -> Arc<Buffer> {
            let spec = &self.program.results[0].spec;
            self.machine.raw_buffer(0, address, spec.padded, spec).unwrap()
        }

        fn read(&self, address: usize) -> [f32; 4] {
            let mut bytes = [0; 16];
            self.machine.read_raw(address, &mut bytes).unwrap();
            let mut four = bytes.chunks_exact(4);
            [(); 4].map(|()| f32::from_le_bytes(four.next().unwrap().try_into().unwrap()))
        }

        fn launch(
            &self,
            arguments: &[Arc<Buffer>],
            results: &[Arc<Buffer>],
            options: &LaunchOptions,
        ) -> Result<()> {
            let one = DeviceRequest { results: Some(results), ..DeviceRequest::new(0, arguments) };
            let request = LaunchRequest { executable: &self.program, devices: &[one], options };
            self.machine.launch(&request)?.remove(0).done.wait()
        }

        fn run(&self, arguments: [usize; 2], results: [usize; 2], kept: &[usize]) -> Result<()> {
            let options = LaunchOptions { not_donated: kept.to_vec(), ..LaunchOptions::default() };
            let buffers = |at: [usize; 2]| at.map(|at| self.buffer(at));
            let (arguments, results) = (buffers(arguments), buffers(results));
            self.launch(&arguments, &results, &options)
        }
    }

    impl Drop for Client {
        fn drop(&mut self) {
            self.machine.end_raw();
        }
    }

    const SUM: [f32; 4] = [11.0, 12.0, 13.0, 14.0];
    const PRODUCT: [f32; 4] = [10.0, 20.0, 30.0, 40.0];

    #[test]
    fn results_are_where_the_client_wants_them() {
        let client = Client::new();
        let [x, y] = [[1.0, 2.0, 3.0, 4.0], [10.0; 4]].map(|values| client.block(values));
        let places = [[0.0; 4]; 2].map(|values| client.block(values));
        // Given up or not: `x` has a block of its own and stays as it is.
        for kept in [&[][..], &[0]] {
            client.run([x, y], places, kept).unwrap();
            assert_eq!(places.map(|at| client.read(at)), [SUM, PRODUCT]);
            assert_eq!(client.read(x), [1.0, 2.0, 3.0, 4.0]);
        }
        let memory = Memory { device: 0, kind: MemoryKind::Device };
        assert_eq!(client.machine.memory_stats(memory).bytes_in_use, Bytes(4 * 4096));
    }

    #[test]
    fn a_result_takes_over_the_bytes_of_its_argument_where_they_lie() {
        let client = Client::new();
        let [x, y] = [[1.0, 2.0, 3.0, 4.0], [10.0; 4]].map(|values| client.block(values));
        let product = client.block([0.0; 4]);
        client.run([x, y], [x, product], &[]).unwrap();
        assert_eq!([x, product].map(|at| client.read(at)), [SUM, PRODUCT]);
    }

    #[test]
    fn memory_that_is_in_use_otherwise_is_refused() {
        let client = Client::new();
        let [x, y, z] = [[1.0; 4], [2.0; 4], [0.0; 4]].map(|values| client.block(values));
        let refused = |arguments, results, kept| {
            let error = client.run(arguments, results, kept).unwrap_err();
            assert_eq!(error.code(), Code::InvalidArgument);
            error.to_string()
        };
        let of = |result: usize, argument: usize, at: usize| {
            format!(
                "main: result {result} is to be in the bytes of argument {argument} at {at:#x}, \
                 which it does not take over"
            )
        };
        // The client keeps it; another argument; the wrong result; the same bytes once more.
        assert_eq!(refused([x, y], [x, z], &[0]), of(0, 0, x));
        assert_eq!(refused([x, y], [z, y], &[]), of(1, 1, y));
        assert_eq!(refused([x, y], [z, x], &[]), of(1, 0, x));
        assert_eq!(refused([x, x], [x, z], &[]), of(0, 1, x));
        assert_eq!(refused([x, y], [x + 64, z], &[]), of(0, 0, x + 64));
        let twice = refused([x, y], [z, z + 64], &[]);
        let end = z + to_usize(client.program.results[0].spec.padded.0);
        let range = format!("from {:#x} to {end:#x}", z + 64);
        let text = format!("main: results 0 and 1 are both to be in the bytes {range}");
        assert_eq!(twice, text);
        assert_eq!([x, y].map(|at| client.read(at)), [[1.0; 4], [2.0; 4]]);
    }

    #[test]
    fn memory_is_refused_that_is_short_elsewhere_or_unaligned() {
        let client = Client::new();
        let (machine, program) = (&client.machine, &client.program);
        let [x, y, z] = [[1.0; 4], [2.0; 4], [0.0; 4]].map(|values| client.block(values));
        let arguments = [x, y].map(|at| client.buffer(at));
        let refused = |results: &[Arc<Buffer>]| {
            let options = LaunchOptions::default();
            client.launch(&arguments, results, &options).unwrap_err().to_string()
        };
        assert_eq!(refused(&[]), "main has 2 results; memory for 0 was given");
        let small = machine.describe(tpu_base::tensor::DType::F32, &[3], <_>::default()).unwrap();
        let small = machine.raw_buffer(0, z, Bytes(12), &small).unwrap();
        let text = refused(&[small, client.buffer(z + 1024)]);
        assert!(text.ends_with("which takes 16 B; 12 B were given"), "{text}");
        let other = machine.allocate_raw(1, Bytes(4096)).unwrap();
        let spec = &program.results[0].spec;
        let other = machine.raw_buffer(1, other, Bytes(4096), spec).unwrap();
        let text = refused(&[client.buffer(z), other]);
        let places = "device of device 1, not in device of device 0";
        assert_eq!(text, format!("main: result 1 is to be in {places}"));
        let text = refused(&[client.buffer(z + 4), client.buffer(z + 2048)]);
        assert!(text.ends_with("which is no multiple of 64"), "{text}");
    }
}
