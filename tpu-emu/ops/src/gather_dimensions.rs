//! The dimension numbers that `gather` and `dynamic_gather` share.
use super::access::unique;
use super::{Cost, Cx, Kernel, Lowered, Site};
use std::sync::Arc;
use tpu_base::error::Result;
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::movement::block_copy::BlockCopy;
use tpu_kernels::movement::gather::{Batch, Gather};
use tpu_kernels::movement::index::{Component, Outside, Placer, placer};

/// Which axis of what is which.
#[derive(Debug, Clone)]
pub(super) struct Dimensions {
    /// Axes of the result that run inside a slice.
    offset: Vec<usize>,
    /// Axes of the operand that slices have one index of, and the result none.
    collapsed: Vec<usize>,
    /// Axes of the operand that run with axes of the indices.
    operand_batching: Vec<usize>,
    /// Those axes of the indices.
    indices_batching: Vec<usize>,
    /// The axis of the operand that each component of an index vector counts along.
    map: Vec<usize>,
    /// The axis of the indices along which a vector lies; their rank for scalars.
    vector: usize,
    /// Extents of a slice.
    sizes: Vec<usize>,
}

impl Dimensions {
    /// From the attributes, with the extents of a slice.
    pub(super) fn of(site: &Site<'_>, sizes: Vec<usize>) -> Result<Self> {
        Ok(Self {
            offset: site.optional_indices("offset_dims")?,
            collapsed: site.optional_indices("collapsed_slice_dims")?,
            operand_batching: site.optional_indices("operand_batching_dims")?,
            indices_batching: site.optional_indices("start_indices_batching_dims")?,
            map: site.optional_indices("start_index_map")?,
            vector: site.index("index_vector_dim")?,
            sizes,
        })
    }

    /// The shape of the result.
    ///
    /// # Errors
    /// `Constraint` C1 to C22 of `gather`.
    pub(super) fn result(
        &self,
        site: &Site<'_>,
        operand: &Shape,
        indices: &Shape,
    ) -> Result<Shape> {
        self.check_operand(site, operand)?;
        self.check_indices(site, operand, indices)?;
        let batch = indices.rank() - usize::from(self.vector < indices.rank());
        let rank = batch + self.offset.len();
        if !unique(&self.offset) || !self.offset.is_sorted() {
            return Err(site.violates("C4", format!("offset_dims {:?}", self.offset)));
        }
        if self.offset.iter().any(|&axis| axis >= rank) {
            let what = format!("offset_dims {:?} of a result of {rank} axes", self.offset);
            return Err(site.violates("C5", what));
        }
        let mut vectors = self.vectors(indices).map(|axis| indices.dims[axis]);
        let mut inside = self.inside().map(|axis| self.sizes[axis]);
        let mut dims = Vec::with_capacity(rank);
        for axis in 0..rank {
            let next = if self.offset.contains(&axis) { inside.next() } else { vectors.next() };
            dims.push(next.unwrap_or(1));
        }
        site.shape(operand.dtype, dims)
    }

    fn check_operand(&self, site: &Site<'_>, operand: &Shape) -> Result<()> {
        let Self { offset, collapsed, operand_batching, sizes, .. } = self;
        let axes = offset.len() + collapsed.len() + operand_batching.len();
        if axes != operand.rank() {
            return Err(site.violates("C1", format!("{axes} axes named of {operand}")));
        }
        let both = [&collapsed[..], &operand_batching[..]].concat();
        if !unique(&both) {
            return Err(site.violates("C6", format!("collapsed and batching axes {both:?}")));
        }
        for (list, order, inside) in [(collapsed, "C7", "C8"), (operand_batching, "C10", "C11")] {
            if !list.is_sorted() {
                return Err(site.violates(order, format!("axes {list:?}")));
            }
            if list.iter().any(|&axis| axis >= operand.rank()) {
                return Err(site.violates(inside, format!("axes {list:?} of {operand}")));
            }
        }
        if sizes.len() != operand.rank() {
            let what = format!("{} slice_sizes for {operand}", sizes.len());
            return Err(site.violates("C20", what));
        }
        for (list, label) in [(collapsed, "C9"), (operand_batching, "C12")] {
            if let Some(axis) = list.iter().find(|&&axis| sizes[axis] > 1) {
                let what = format!("a slice of {} along axis {axis}", sizes[*axis]);
                return Err(site.violates(label, what));
            }
        }
        if sizes.iter().zip(&operand.dims).any(|(size, dim)| size > dim) {
            return Err(site.violates("C21", format!("slice_sizes {sizes:?} of {operand}")));
        }
        Ok(())
    }

    fn check_indices(&self, site: &Site<'_>, operand: &Shape, indices: &Shape) -> Result<()> {
        let Self { operand_batching, indices_batching, map, vector, .. } = self;
        if placer(indices.dtype, Outside::Clamp).is_none() {
            return Err(site.violates("C2", format!("start indices {indices}")));
        }
        if *vector > indices.rank() {
            return Err(site.violates("C2", format!("index_vector_dim {vector} of {indices}")));
        }
        let components = indices.dims.get(*vector).copied().unwrap_or(1);
        if map.len() != components {
            let what = format!("{} axes for {components} components", map.len());
            return Err(site.violates("C3", what));
        }
        if !unique(indices_batching) {
            return Err(site.violates("C13", format!("axes {indices_batching:?}")));
        }
        if indices_batching.iter().any(|&axis| axis >= indices.rank()) {
            return Err(site.violates("C14", format!("axes {indices_batching:?} of {indices}")));
        }
        if indices_batching.contains(vector) {
            return Err(site.violates("C15", format!("axis {vector} is both")));
        }
        if operand_batching.len() != indices_batching.len() {
            let what = format!("axes {operand_batching:?} with {indices_batching:?}");
            return Err(site.violates("C16", what));
        }
        for (&a, &b) in operand_batching.iter().zip(indices_batching) {
            if operand.dims[a] != indices.dims[b] {
                let what = format!("axis {a} of {operand} with axis {b} of {indices}");
                return Err(site.violates("C17", what));
            }
        }
        let mapped = [&map[..], &operand_batching[..]].concat();
        if !unique(&mapped) {
            return Err(site.violates("C18", format!("mapped and batching axes {mapped:?}")));
        }
        if map.iter().any(|&axis| axis >= operand.rank()) {
            return Err(site.violates("C19", format!("axes {map:?} of {operand}")));
        }
        Ok(())
    }

    /// Axes of the indices that count vectors.
    fn vectors(&self, indices: &Shape) -> impl Iterator<Item = usize> {
        let vector = self.vector;
        (0..indices.rank()).filter(move |&axis| axis != vector)
    }

    /// Axes of the operand that the result has.
    fn inside(&self) -> impl Iterator<Item = usize> {
        (0..self.sizes.len())
            .filter(|axis| !self.collapsed.contains(axis) && !self.operand_batching.contains(axis))
    }

    /// The operation, its shapes checked.
    ///
    /// # Errors
    /// `Unimplemented` for elements that are in no slice: an axis with a slice of no index is
    /// left out of a result that has elements.
    pub(super) fn lower(
        &self,
        site: &Site<'_>,
        operand: &Shape,
        indices: &Shape,
        result: &Shape,
    ) -> Result<Lowered> {
        if result.elements() != 0 && self.sizes.contains(&0) {
            let what = format!("slice_sizes {:?} for {result}", self.sizes);
            return Err(site.unimplemented(what));
        }
        let placer = placer(indices.dtype, Outside::Clamp)
            .ok_or_else(|| site.unimplemented(format!("indices {indices}")))?;
        let shapes = [operand, indices, result].map(Shape::clone);
        let picked = Picked { dimensions: self.clone(), placer, shapes };
        Ok(Lowered::Kernel(Box::new(Take::new(picked.into(), operand.dtype))))
    }

    /// The slices, of elements of so many bytes.
    fn slices(
        &self,
        placer: Placer,
        [operand, indices, result]: [&Shape; 3],
        width: usize,
    ) -> Gather {
        let (from, to) = (operand.strides(), result.strides());
        let counts = indices.strides();
        let batch_axes = (0..result.rank()).filter(|axis| !self.offset.contains(axis));
        let batches = self.vectors(indices).zip(batch_axes).map(|(axis, out)| {
            let same = self.indices_batching.iter().position(|&batching| batching == axis);
            Batch {
                count: indices.dims[axis],
                indices: counts[axis],
                operand: same.map_or(0, |at| from[self.operand_batching[at]] * width),
                result: to[out] * width,
            }
        });
        let components = self.map.iter().map(|&axis| Component {
            starts: operand.dims[axis] - self.sizes[axis] + 1,
            step: from[axis] * width,
        });
        let (sizes, strides): (Vec<usize>, Vec<usize>) =
            self.inside().map(|axis| (self.sizes[axis], from[axis])).unzip();
        let places: Vec<usize> = self.offset.iter().map(|&axis| to[axis]).collect();
        let mut gather = Gather {
            placer,
            batches: batches.collect(),
            components: components.collect(),
            component_step: counts.get(self.vector).copied().unwrap_or(0),
            slice: BlockCopy::new(width, &sizes, &strides, &places),
        };
        gather.merge();
        gather
    }
}

/// Which elements of an array a gather takes.
#[derive(Debug)]
struct Picked {
    dimensions: Dimensions,
    placer: Placer,
    /// Those of operand, indices and result.
    shapes: [Shape; 3],
}

impl Picked {
    /// The axis of the operand that each axis of the result runs along from its first index on, where
    /// the indices do not move it; `None` for axes of which slices leave indices out.
    fn kept(&self) -> Vec<Option<usize>> {
        let Self { dimensions, shapes: [operand, indices, result], .. } = self;
        let mut inside = dimensions.inside();
        let mut vectors = dimensions.vectors(indices);
        let whole = |axis: usize| dimensions.sizes[axis] == operand.dims[axis];
        (0..result.rank())
            .map(|axis| {
                if dimensions.offset.contains(&axis) {
                    return inside.next().filter(|&axis| whole(axis));
                }
                let vector = vectors.next()?;
                let batching = &dimensions.indices_batching;
                let at = batching.iter().position(|&batching| batching == vector)?;
                Some(dimensions.operand_batching[at])
            })
            .collect()
    }
}

/// Slices of operand 0 at the places that operand 1 gives.
#[derive(Debug)]
pub(super) struct Take {
    gather: Arc<Gather>,
    /// What it takes; `None` of a look-up that is told by its loops alone.
    picked: Option<Arc<Picked>>,
}

impl Take {
    /// The look-up with these loops.
    pub(super) fn by(gather: Gather) -> Self {
        Self { gather: gather.into(), picked: None }
    }

    fn new(picked: Arc<Picked>, dtype: DType) -> Self {
        let [operand, indices, result] = &picked.shapes;
        let shapes = [operand, indices, result];
        let gather = picked.dimensions.slices(picked.placer, shapes, dtype.host_bytes());
        Self { gather: gather.into(), picked: Some(picked) }
    }
}

impl Kernel for Take {
    fn run(&self, _: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        self.gather.run(operands[0], operands[1], results[0]);
        Ok(())
    }

    fn lookup(&self) -> Option<Arc<Gather>> {
        Some(Arc::clone(&self.gather))
    }

    fn picks(&self) -> Option<Vec<Option<usize>>> {
        Some(self.picked.as_ref()?.kept())
    }

    fn picking(&self, dtype: DType) -> Option<Arc<dyn Kernel>> {
        Some(Arc::new(Self::new(Arc::clone(self.picked.as_ref()?), dtype)))
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }
}
