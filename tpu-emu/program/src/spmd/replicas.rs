//! Programs over replicas: the whole program is code that runs once per device. An argument of
//! the program that is loaded has the arguments of all replicas as its rows.
use super::super::graph::{NodeKind, Subgraph};
use super::super::import::control::bind_all;
use super::super::import::scope::{Binding, Scope};
use super::super::import::{Loader, fits, one_block};
pub(crate) use super::manual::Participants;
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::movement::strided_view::Access;
use tpu_ops::across;
use tpu_stablehlo::ir::{Attributes, Function, LocationId, Operation};

impl<'m> Loader<'m> {
    /// The entry, once per replica; gives the shapes of the results with their rows.
    pub(crate) fn replicated_entry(
        &mut self,
        entry: &'m Function,
        main: &mut Subgraph,
    ) -> Result<Vec<Shape>> {
        if let Some(shapes) = self.replicas_in_rows(entry, main) {
            return Ok(shapes);
        }
        let block = one_block(&entry.body, &entry.name)?;
        let count = self.devices.count;
        let operation = Operation { location: entry.location, ..of_parameters() };
        let mut scopes: Vec<Scope<'m>> = (0..count).map(|_| Scope::new(entry)).collect();
        for &argument in &block.arguments {
            let of = super::super::import::types::declared(scopes[0].type_of(argument)?)?;
            let unknown = || Error::Unimplemented("a parameter with an unknown extent".to_owned());
            let row = of.shape().ok_or_else(unknown)?;
            let rows = rows(&row, count)?;
            let value = self.graph.add(rows.clone());
            main.parameters.push(value);
            for (replica, scope) in scopes.iter_mut().enumerate() {
                let strides = row.strides();
                let strides = strides.iter().map(|&one| isize::try_from(one).unwrap_or(isize::MAX));
                let offset = replica * row.elements();
                let work = NodeKind::Access(Access { offset, strides: strides.collect() });
                let id = self.node(&operation, work, vec![(value, rows.clone())], &row, main)?;
                scope.bind(argument, Binding::Array(id, row.clone()))?;
            }
        }
        let mut participants = Participants::each(count, scopes);
        let results = self.lockstep(&mut participants, block, main)?;
        self.partition = 0;
        results.iter().try_for_each(|results| fits(results, entry))?;
        let mut shapes = Vec::new();
        for index in 0..entry.results.len() {
            let mut values = Vec::new();
            for results in &results {
                let (id, shape) = results[index].array()?;
                // A row of the whole: the same bytes with one more axis.
                values.push((id, row(shape)));
            }
            let whole = rows(results[0][index].array()?.1, count)?;
            let mut shards = vec![1; whole.rank()];
            shards[0] = count;
            let kernel = across::join(&values[0].1, &whole, &shards);
            let id = self.kernel(&operation, kernel, values, &whole, main)?;
            main.results.push(id);
            shapes.push(whole);
        }
        Ok(shapes)
    }

    /// The number of the replica or of the partition, in a program over replicas.
    pub(super) fn device_number(
        &mut self,
        scope: &mut Scope<'m>,
        operation: &'m Operation,
        number: usize,
        into: &mut Subgraph,
    ) -> Result<()> {
        let number = u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes();
        let (bytes, shape): (Arc<[u8]>, _) = (number.into(), Shape::scalar(DType::U32));
        let work = NodeKind::Constant(Arc::clone(&bytes));
        let id = self.node(operation, work, Vec::new(), &shape, into)?;
        self.graph.values[id.index()].known = Some(bytes);
        bind_all(scope, operation, vec![Binding::Array(id, shape)])
    }
}

/// The operation that takes parameters apart.
pub(super) fn of_parameters() -> Operation {
    Operation {
        name: "parameter".into(),
        operands: Vec::new(),
        results: Vec::new(),
        attributes: Attributes::default(),
        regions: Vec::new(),
        location: LocationId::UNKNOWN,
    }
}

/// The shape with an axis of one in front.
fn row(shape: &Shape) -> Shape {
    let dims: Vec<usize> = std::iter::once(1).chain(shape.dims.iter().copied()).collect();
    Shape::new(shape.dtype, dims)
}

/// The shape of so many rows.
fn rows(row: &Shape, count: usize) -> Result<Shape> {
    let dims: Vec<usize> = std::iter::once(count).chain(row.dims.iter().copied()).collect();
    let fits = row.bytes().checked_mul(count).is_some_and(|bytes| isize::try_from(bytes).is_ok());
    if fits {
        return Ok(Shape::new(row.dtype, dims));
    }
    Err(Error::bad(format!("{row} of {count} replicas is past 2^63 bytes")))
}
