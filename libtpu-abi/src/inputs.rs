//! `SE_ExecutionInput`: the arguments of a run.
use crate::abi::Abi;
use crate::memory::At;
use crate::shape::{MOST, Shape};
use crate::sys::{SE_DeviceMemoryAllocator, SE_MaybeOwningDeviceMemory};
use std::mem::offset_of;
use std::ptr;
use tpu_emu::hbm::spec::{ArraySpec, Specs};
use tpu_emu::{Error, Result};

/// One argument: the memory of all nodes of its shape.
#[derive(Debug)]
pub(crate) struct Input {
    /// The arrays, from the left.
    pub(crate) leaves: Vec<Leaf>,
    /// The tables of tuples, which the machine has no use for.
    pub(crate) tables: Vec<SE_MaybeOwningDeviceMemory>,
}

/// One array of an argument.
#[derive(Debug)]
pub(crate) struct Leaf {
    /// What the client says that it is.
    shape: Shape,
    /// Where it is, and whether the client gives it up.
    pub(crate) memory: SE_MaybeOwningDeviceMemory,
}

impl Leaf {
    /// Whether it is of the type that the program takes. The layout may be another: the bytes are
    /// in row-major order in all of them.
    ///
    /// # Errors
    /// `BadArgument` with both types.
    pub(crate) fn check(&self, specs: &Specs, wanted: &ArraySpec) -> Result<()> {
        if !self.shape.is_array() {
            return Ok(());
        }
        let given = self.shape.spec(specs)?;
        if given.dtype != wanted.dtype || given.dims != wanted.dims {
            let (given, wanted) = (given.text(), wanted.text());
            return Err(Error::bad(format!("{given} was given for {wanted}")));
        }
        Ok(())
    }
}

/// Reads the arguments of a run.
///
/// # Errors
/// `Null`, and what [`Shape::read`] refuses.
pub(crate) fn inputs(abi: &Abi, places: &[At<'_>]) -> Result<Vec<Input>> {
    let mut left = MOST;
    places.iter().map(|&at| input(abi, at, &mut left)).collect()
}

fn input(abi: &Abi, at: At<'_>, left: &mut usize) -> Result<Input> {
    let fields = &abi.fields.execution_input;
    let shape = Shape::read_within(abi, at.inner(fields.shape), left)?;
    let buffers = at.follow(fields.buffers, "buffers of an argument")?;
    let mut input = Input { leaves: Vec::new(), tables: Vec::new() };
    for (index, node) in shape.nodes().into_iter().enumerate() {
        let memory = memory(buffers.inner(index * size_of::<SE_MaybeOwningDeviceMemory>()));
        if node.is_tuple() {
            input.tables.push(memory);
        } else {
            input.leaves.push(Leaf { shape: node.clone(), memory });
        }
    }
    Ok(input)
}

/// Reads one node's memory. Who owns it is read only where the client gives it up: otherwise it
/// leaves that unwritten.
fn memory(at: At<'_>) -> SE_MaybeOwningDeviceMemory {
    let memory = at.read(offset_of!(SE_MaybeOwningDeviceMemory, memory));
    if at.read_bool(offset_of!(SE_MaybeOwningDeviceMemory, owned)) {
        return SE_MaybeOwningDeviceMemory {
            memory,
            owned: true,
            device_ordinal: at.read(offset_of!(SE_MaybeOwningDeviceMemory, device_ordinal)),
            allocator: at.read(offset_of!(SE_MaybeOwningDeviceMemory, allocator)),
        };
    }
    let (platform, ctx) = (ptr::null_mut(), ptr::null_mut());
    let allocator = SE_DeviceMemoryAllocator { platform, ctx, allocate: None, deallocate: None };
    SE_MaybeOwningDeviceMemory { memory, owned: false, device_ordinal: -1, allocator }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::ROWS;
    use crate::client::words;
    use crate::launcher::{INC, LaunchCall, Pool, UNWRITTEN, code, f32s, held, pair, program};
    use crate::sys::SE_DeviceMemoryBase;

    const SWAP: &str = "HloModule swap
        ENTRY main {
          p = (f32[2], f32[2]) parameter(0)
          y = f32[2] parameter(1)
          a = f32[2] get-tuple-element(p), index=0
          b = f32[2] get-tuple-element(p), index=1
          d = f32[2] subtract(b, a)
          ROOT r = f32[2] multiply(d, y)
        }";

    #[test]
    fn a_tuple_of_arguments_is_its_arrays() {
        let (executable, mut pool) = (program(&code(SWAP)), Pool::new(0));
        let [a, b, y] = [[1.0, 2.0], [5.0, 7.0], [10.0, 100.0]].map(|values| held(0, &values));
        let root = held(0, &[]);
        let nodes = [(root.base, true), (a.base, false), (b.base, false)];
        let mut call = LaunchCall::new(executable, &mut pool, 0)
            .with(&Shape::tuple(vec![f32s(&[2]), f32s(&[2])]), &nodes)
            .with(&f32s(&[2]), &[(y.base, false)]);
        let output = call.run().unwrap();
        assert_eq!(pair(output.bases[0]), [40.0, 500.0]);
        // The table that was given up goes back.
        let [back] = output.released[..] else { panic!("{output:?}") };
        assert_eq!(back.memory.opaque, root.base.opaque);
    }

    #[test]
    fn arguments_are_what_the_program_takes_or_refused() {
        let (executable, x, mut pool) = (program(&code(INC)), held(0, &[1.0, 2.0]), Pool::new(0));
        let elsewhere = held(1, &[1.0, 2.0]);
        let node = |change: &dyn Fn(&mut SE_DeviceMemoryBase)| {
            let mut base = x.base;
            change(&mut base);
            base
        };
        let freed = held(0, &[1.0]).base;
        let s32 = Shape::array(4, vec![2]);
        for (shape, base, why) in [
            (f32s(&[3]), x.base, "parameter 0"),
            (s32, x.base, "s32[2]"),
            (f32s(&[2, 1]), x.base, "f32[2,1]"),
            (f32s(&[-2]), x.base, "-2"),
            (f32s(&[2]), node(&|base| base.size = 7), "7 B"),
            (f32s(&[2]), node(&|base| base.size = 1 << 40), "were given"),
            (f32s(&[2]), node(&|base| base.opaque = ptr::null_mut()), "0x0"),
            (f32s(&[2]), elsewhere.base, "TPU_1"),
            (f32s(&[2]), freed, "block"),
        ] {
            let mut call = LaunchCall::new(executable, &mut pool, 0).with(&shape, &[(base, false)]);
            let error = call.run().unwrap_err();
            assert!(error.contains(why), "{error}, without {why}");
            assert!(pool.live.is_empty());
        }
    }

    #[test]
    fn an_argument_may_have_another_layout() {
        let text = "HloModule m ENTRY main { ROOT x = f32[2,3]{1,0} parameter(0) }";
        let (executable, mut pool) = (program(&code(text)), Pool::new(0));
        let x = held(0, &[1.0, 2.0]);
        for order in [[0, 1], [1, 0]] {
            let layout = crate::layout::CLayout {
                minor_to_major: order.to_vec(),
                ..crate::layout::CLayout::row_major(0)
            };
            let shape = Shape { layout: Some(layout), ..f32s(&[2, 3]) };
            let call = LaunchCall::new(executable, &mut pool, 0);
            let output = call.with(&shape, &[(x.base, false)]).run().unwrap();
            assert_eq!(pair(output.bases[0]), [1.0, 2.0]);
        }
    }

    #[test]
    fn the_count_of_arguments_fits_the_program() {
        let (executable, x, mut pool) = (program(&code(INC)), held(0, &[1.0, 2.0]), Pool::new(0));
        let call = |count: usize| {
            let mut call = LaunchCall::new(executable, &mut pool, 0);
            for _ in 0..count {
                call = call.with(&f32s(&[2]), &[(x.base, false)]);
            }
            call
        };
        let mut call = call;
        for count in [0, 2] {
            let error = call(count).run().unwrap_err();
            assert!(error.contains(&format!("takes 1 arrays; {count} were given")), "{error}");
        }
        for count in [-1, i32::MIN, i32::MAX] {
            let mut call = call(1);
            call.count = Some(count);
            let error = call.run().unwrap_err();
            assert!(error.contains(&format!("{count} arguments")), "{error}");
        }
    }

    #[test]
    fn arguments_are_read_in_every_dialect() {
        let shape = Shape::tuple(vec![f32s(&[2]), f32s(&[])]);
        for abi in ROWS {
            let fields = &abi.fields.execution_input;
            let mut nodes = vec![UNWRITTEN; 3 * 8];
            for index in 0..3 {
                let at = At::of(&mut nodes).inner(index * 64);
                at.write(
                    0,
                    SE_DeviceMemoryBase { size: index as u64, ..SE_DeviceMemoryBase::NULL },
                );
                at.write(24, index == 1);
            }
            let mut input = words(fields.size);
            let at = At::of(&mut input);
            shape.write(abi, at.inner(fields.shape));
            at.write(fields.buffers, nodes.as_mut_ptr());
            let read = inputs(abi, &[at]).unwrap().remove(0);
            crate::client::free_shape(abi, at.inner(fields.shape));
            let said = |memory: &SE_MaybeOwningDeviceMemory| (memory.memory.size, memory.owned);
            let tables: Vec<_> = read.tables.iter().map(said).collect();
            let leaves: Vec<_> = read.leaves.iter().map(|leaf| said(&leaf.memory)).collect();
            assert_eq!((tables, leaves), (vec![(0, false)], vec![(1, true), (2, false)]));
        }
    }
}
