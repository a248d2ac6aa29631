//! `SE_ExecutionOutput`: the memory of a run's results.
use crate::abi::Abi;
use crate::allocator::Taken;
use crate::compiled::Compiled;
use crate::inputs::Leaf;
use crate::memory::{At, given};
use crate::shape::Shape;
use crate::sys::{SE_DeviceMemoryBase, SE_MaybeOwningDeviceMemory, XLA_ShapeIndex};
use std::ffi::c_int;
use std::ptr;
use tpu_emu::units::{Bytes, to_u64};
use tpu_emu::{Error, Result};

/// What a run made for its client.
#[derive(Debug)]
pub(crate) struct MadeResults {
    /// The memory of every node of the result's shape, each tuple's table before its parts.
    pub(crate) bases: Vec<SE_DeviceMemoryBase>,
    /// Paths of the results that lie in an argument's memory.
    pub(crate) aliased: Vec<XLA_ShapeIndex>,
    /// Memory that the client gave up and no result has taken.
    pub(crate) released: Vec<SE_MaybeOwningDeviceMemory>,
}

/// The walk over the result's shape that finds memory for each node.
pub(crate) struct Nodes<'run, 'leaves> {
    program: &'run Compiled,
    leaves: &'leaves [&'leaves Leaf],
    /// What was taken for this run.
    pub(crate) taken: Taken<'run>,
    /// As in [`MadeResults`].
    pub(crate) bases: Vec<SE_DeviceMemoryBase>,
    /// The memory of the arrays, from the left.
    pub(crate) arrays: Vec<SE_DeviceMemoryBase>,
    /// As in [`MadeResults`].
    pub(crate) aliased: Vec<XLA_ShapeIndex>,
    /// Whether a result lies in each argument.
    pub(crate) used: Vec<bool>,
}

impl<'run, 'leaves> Nodes<'run, 'leaves> {
    /// A walk that has not begun. `leaves` are the program's arguments, one a parameter.
    pub(crate) fn new(
        program: &'run Compiled,
        leaves: &'leaves [&'leaves Leaf],
        taken: Taken<'run>,
    ) -> Self {
        Self {
            program,
            leaves,
            taken,
            bases: Vec::new(),
            arrays: Vec::new(),
            aliased: Vec::new(),
            used: vec![false; leaves.len()],
        }
    }

    /// Finds memory for a node of the result at `path` and for all that it holds, and writes the
    /// tables of tuples. Gives the node's own.
    ///
    /// # Errors
    /// The allocator's; `Unimplemented` for a donation too deep to be told.
    pub(crate) fn visit(
        &mut self,
        shape: &Shape,
        path: &mut Vec<i64>,
    ) -> Result<SE_DeviceMemoryBase> {
        if !shape.is_tuple() {
            let base = self.array(shape, path)?;
            self.bases.push(base);
            self.arrays.push(base);
            return Ok(base);
        }
        let parts = shape.tuple.len();
        let table = self.taken.take(Bytes(8 * to_u64(parts)))?;
        self.bases.push(table);
        let mut addresses = Vec::with_capacity(8 * parts);
        for (index, part) in (0..).zip(&shape.tuple) {
            path.push(index);
            let base = self.visit(part, path)?;
            path.pop();
            let address = to_u64(base.opaque.expose_provenance());
            addresses.extend_from_slice(&address.to_le_bytes());
        }
        let machine = &self.program.machine;
        machine.write_raw(table.opaque.expose_provenance(), &addresses)?;
        Ok(table)
    }

    /// Memory of one array: the argument's that it takes over, or new.
    fn array(&mut self, shape: &Shape, path: &[i64]) -> Result<SE_DeviceMemoryBase> {
        let number = self.arrays.len();
        let result = &self.program.executable.results[number];
        if let Some(argument) = result.alias
            && self.leaves[argument].memory.owned
        {
            self.used[argument] = true;
            self.aliased.push(index_of(path)?);
            return Ok(self.leaves[argument].memory.memory);
        }
        if !shape.is_array() {
            return Ok(SE_DeviceMemoryBase::NULL);
        }
        let spec = &self.program.result_specs[number];
        let executable = &self.program.executable;
        executable.for_result(number, spec, || self.taken.take(spec.padded))
    }
}

/// A path into a shape as the interface passes it.
fn index_of(path: &[i64]) -> Result<XLA_ShapeIndex> {
    let mut indices = [0; 8];
    let Some(place) = indices.get_mut(..path.len()) else {
        let depth = path.len();
        return Err(Error::Unimplemented(format!("a donation {depth} levels deep in a result")));
    };
    place.copy_from_slice(path);
    let count = i64::try_from(path.len()).unwrap_or(0);
    Ok(XLA_ShapeIndex { indices, count })
}

impl MadeResults {
    /// Writes it to an `SE_ExecutionOutput` of the client's, which frees what hangs on it.
    pub(crate) fn write(&self, abi: &Abi, output: At<'_>, shape: &Shape, ordinal: c_int) {
        let fields = &abi.fields.execution_output;
        output.clear(fields.size);
        let result = output.inner(fields.result);
        let own = &abi.fields.shaped_buffer;
        shape.write(abi, result.inner(own.on_device_shape));
        result.write(own.device_ordinal, ordinal);
        result.write(own.bases, array(&self.bases));
        result.write(own.count, self.bases.len());
        output.write(fields.to_be_released, array(&self.released));
        output.write(fields.to_be_released_size, count(&self.released));
        output.write(fields.aliased_indices, array(&self.aliased));
        output.write(fields.aliased_indices_size, count(&self.aliased));
    }
}

fn count<T>(values: &[T]) -> i32 {
    i32::try_from(values.len()).unwrap_or(0)
}

/// A copy of values for the client; null for none.
fn array<T: Copy>(values: &[T]) -> *mut u8 {
    if values.is_empty() {
        return ptr::null_mut();
    }
    let items = given(values.len(), size_of::<T>());
    for (index, &value) in values.iter().enumerate() {
        items.write(index * size_of::<T>(), value);
    }
    items.address()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::ROWS;
    use crate::launcher::{
        INC, LaunchCall, Output, Pool, code, f32s, held, inc_in_place, pair, program, table,
    };

    const TUPLES: &str = "HloModule tuples
        ENTRY main {
          x = f32[2] parameter(0)
          n = f32[2] negate(x)
          none = f32[0] slice(x), slice={[0:0]}
          inner = (f32[2], f32[0]) tuple(n, none)
          ROOT t = (f32[2], (f32[2], f32[0])) tuple(x, inner)
        }";

    #[test]
    fn a_tuple_s_table_comes_before_its_parts_and_has_their_addresses() {
        let (executable, x, mut pool) =
            (program(&code(TUPLES)), held(0, &[1.0, 2.0]), Pool::new(0));
        let mut call =
            LaunchCall::new(executable, &mut pool, 0).with(&f32s(&[2]), &[(x.base, false)]);
        let output = call.run().unwrap();
        assert_eq!((output.shape.text().as_str(), output.ordinal), ("(f32[2],(f32[2],f32[0]))", 0));
        let [root, first, inner, second, none] = output.bases[..] else { panic!("{output:?}") };
        assert_eq!(table(root, 2), [first.opaque.addr(), inner.opaque.addr()]);
        assert_eq!(table(inner, 2), [second.opaque.addr(), 0]);
        assert!(none.opaque.is_null());
        assert_eq!((pair(first), pair(second)), ([1.0, 2.0], [-1.0, -2.0]));
        assert!(output.released.is_empty() && output.aliased.is_empty());
        assert_eq!(pool.asked, [16, 512, 16, 512, 0]);
    }

    #[test]
    fn an_argument_that_is_given_up_becomes_the_result_that_takes_it_over() {
        let (executable, x, mut pool) =
            (program(&inc_in_place()), held(0, &[1.0, 2.0]), Pool::new(0));
        let mut call =
            LaunchCall::new(executable, &mut pool, 0).with(&f32s(&[2]), &[(x.base, true)]);
        let output = call.run().unwrap();
        assert_eq!(output.bases[0].opaque, x.base.opaque);
        assert_eq!(output.aliased, [Vec::<i64>::new()]);
        assert!(output.released.is_empty() && pool.asked.is_empty());
        assert_eq!(pair(x.base), [2.0, 3.0]);
    }

    #[test]
    fn an_argument_that_is_kept_is_not_taken_over() {
        let (executable, x, mut pool) =
            (program(&inc_in_place()), held(0, &[1.0, 2.0]), Pool::new(0));
        let mut call =
            LaunchCall::new(executable, &mut pool, 0).with(&f32s(&[2]), &[(x.base, false)]);
        let output = call.run().unwrap();
        assert_ne!(output.bases[0].opaque, x.base.opaque);
        assert_eq!((pair(x.base), pair(output.bases[0])), ([1.0, 2.0], [2.0, 3.0]));
        assert!(output.aliased.is_empty() && output.released.is_empty());
    }

    #[test]
    fn an_argument_that_is_given_up_and_nobody_takes_goes_back_with_its_allocator() {
        let (executable, x, mut pool) = (program(&code(INC)), held(0, &[1.0, 2.0]), Pool::new(0));
        let mut call =
            LaunchCall::new(executable, &mut pool, 0).with(&f32s(&[2]), &[(x.base, true)]);
        let output = call.run().unwrap();
        let [back] = output.released[..] else { panic!("{output:?}") };
        assert_eq!((back.memory.opaque, back.owned, back.device_ordinal), (x.base.opaque, true, 0));
        assert_eq!(back.allocator.ctx, call.options.allocator.ctx);
        assert_eq!((pair(x.base), pair(output.bases[0])), ([1.0, 2.0], [2.0, 3.0]));
    }

    #[test]
    fn what_a_run_gave_is_written_in_every_dialect() {
        let base = |at: usize| {
            let opaque = ptr::without_provenance_mut(at);
            SE_DeviceMemoryBase { opaque, size: 8, payload: 3 }
        };
        let shape = Shape::tuple(vec![f32s(&[2]), f32s(&[])]);
        let aliased = vec![index_of(&[1]).unwrap()];
        let made =
            MadeResults { bases: vec![base(8), base(16), base(24)], aliased, released: Vec::new() };
        for abi in ROWS {
            let mut words = crate::client::words(abi.fields.execution_output.size);
            made.write(abi, At::of(&mut words), &shape, 5);
            let output = Output::take(abi, &mut words);
            assert_eq!((output.shape.text(), output.ordinal), (shape.text(), 5), "{}", abi.name);
            let addresses: Vec<usize> =
                output.bases.iter().map(|base| base.opaque.addr()).collect();
            assert_eq!(addresses, [8, 16, 24]);
            assert_eq!((output.aliased, output.released.len()), (vec![vec![1]], 0));
        }
    }

    #[test]
    fn a_path_that_the_interface_cannot_say_is_refused() {
        let deepest = index_of(&[7; 8]).unwrap();
        assert_eq!((deepest.indices, deepest.count), ([7; 8], 8));
        let error = index_of(&[0; 9]).unwrap_err().to_string();
        assert!(error.contains("9 levels deep"), "{error}");
    }
}
