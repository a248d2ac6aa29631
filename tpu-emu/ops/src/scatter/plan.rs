//! Where the windows of a scatter lie.
use crate::Site;
use tpu_base::error::Result;
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::movement::index::{Component, Placer, Vectors};
use tpu_kernels::movement::loop_nest::{Axis, collapse, rows};
use tpu_kernels::movement::move_list::Start;
use tpu_kernels::movement::tuning::OFFSET_BATCH_ELEMENTS;

/// The dimension numbers of a scatter.
#[derive(Debug)]
pub(super) struct Dimensions {
    /// Axes of the updates that run inside a window.
    pub(super) update_window: Vec<usize>,
    /// Axes of the inputs that a window does not have.
    pub(super) inserted: Vec<usize>,
    /// Axes of the inputs that go along with axes of the indices.
    pub(super) input_batching: Vec<usize>,
    /// Those axes of the indices.
    pub(super) indices_batching: Vec<usize>,
    /// The axis of the inputs that each component of an index counts along.
    pub(super) targets: Vec<usize>,
    /// The axis of the indices that holds the components; their rank for none.
    pub(super) vector: usize,
}

impl Dimensions {
    /// As the attributes say.
    pub(super) fn of(site: &Site<'_>) -> Result<Self> {
        Ok(Self {
            update_window: site.optional_indices("update_window_dims")?,
            inserted: site.optional_indices("inserted_window_dims")?,
            input_batching: site.optional_indices("input_batching_dims")?,
            indices_batching: site.optional_indices("scatter_indices_batching_dims")?,
            targets: site.optional_indices("scatter_dims_to_operand_dims")?,
            vector: site.index("index_vector_dim")?,
        })
    }

    /// Checks C2, C4 and C7 to C22.
    pub(super) fn check(
        &self,
        site: &Site<'_>,
        input: &Shape,
        indices: &Shape,
        update: &Shape,
    ) -> Result<()> {
        let broken = |constraint, what: String| Err(site.violates(constraint, what));
        let window_rank = self.inserted.len() + self.input_batching.len();
        if input.rank() != self.update_window.len() + window_rank {
            return broken("C2", format!("{input} for windows of {}", self.update_window.len()));
        }
        let both = |a: &[usize], b: &[usize]| [a, b].concat();
        let inserted = both(&self.inserted, &self.input_batching);
        let targets = both(&self.targets, &self.input_batching);
        for (constraint, axes, ordered, rank) in [
            ("C7", &self.update_window, true, update.rank()),
            ("C9", &inserted, false, input.rank()),
            ("C10", &self.inserted, true, input.rank()),
            ("C12", &self.input_batching, true, input.rank()),
            ("C14", &self.indices_batching, false, indices.rank()),
            ("C20", &targets, false, input.rank()),
        ] {
            let repeated = (1..axes.len()).any(|index| axes[..index].contains(&axes[index]));
            if repeated || (ordered && !axes.is_sorted()) || axes.iter().any(|&axis| axis >= rank) {
                return broken(constraint, format!("axes {axes:?} of {rank}"));
            }
        }
        if self.vector > indices.rank() {
            return broken("C22", format!("components along axis {} of {indices}", self.vector));
        }
        if self.indices_batching.contains(&self.vector) {
            return broken("C16", format!("axis {} of {indices} twice", self.vector));
        }
        if self.input_batching.len() != self.indices_batching.len() {
            let (a, b) = (&self.input_batching, &self.indices_batching);
            return broken("C17", format!("axes {a:?} go along with axes {b:?}"));
        }
        for (&of_input, &of_indices) in self.input_batching.iter().zip(&self.indices_batching) {
            if input.dims[of_input] != indices.dims[of_indices] {
                let what = format!("axis {of_input} of {input}, axis {of_indices} of {indices}");
                return broken("C18", what);
            }
        }
        let components = indices.dims.get(self.vector).copied().unwrap_or(1);
        if components != self.targets.len() {
            return broken("C19", format!("{components} components for axes {:?}", self.targets));
        }
        self.check_update(site, input, indices, update)
    }

    fn check_update(
        &self,
        site: &Site<'_>,
        input: &Shape,
        indices: &Shape,
        update: &Shape,
    ) -> Result<()> {
        let positions = self.positions(indices).map(|axis| indices.dims[axis]);
        let along: Vec<usize> = self.scattered(update).map(|axis| update.dims[axis]).collect();
        let fits = positions.eq(along);
        let windows = self.windowed(input).zip(&self.update_window);
        let larger = |(of_input, &of_update)| {
            let (input, update): (&usize, &usize) =
                (&input.dims[of_input], &update.dims[of_update]);
            update > input
        };
        if !fits || windows.into_iter().any(larger) {
            let what = format!("updates {update} for indices {indices} into {input}");
            return Err(site.violates("C4", what));
        }
        Ok(())
    }

    /// Axes of the indices that count windows.
    pub(super) fn positions(&self, indices: &Shape) -> impl Iterator<Item = usize> {
        let vector = self.vector;
        (0..indices.rank()).filter(move |&axis| axis != vector)
    }

    /// Axes of the updates that count windows.
    pub(super) fn scattered(&self, update: &Shape) -> impl Iterator<Item = usize> {
        (0..update.rank()).filter(|axis| !self.update_window.contains(axis))
    }

    /// Axes of the inputs that windows have.
    pub(super) fn windowed(&self, input: &Shape) -> impl Iterator<Item = usize> {
        (0..input.rank())
            .filter(|axis| !self.inserted.contains(axis) && !self.input_batching.contains(axis))
    }
}

/// What is called for runs of windows.
pub(super) type ScatterChunk<'a, E> = &'a mut dyn FnMut(usize, usize, &[usize]) -> Result<(), E>;

/// Where windows lie: steps over indices, updates and inputs.
#[derive(Debug)]
pub(super) struct ScatterPlan {
    placer: Placer,
    /// Elements in indices, updates, inputs from one window to the next.
    positions: Vec<Axis<3>>,
    /// Elements in updates and inputs inside a window.
    pub(super) window: Vec<Axis<2>>,
    components: Vec<Component>,
    /// Elements from one component of an index to the next.
    between: usize,
}

impl ScatterPlan {
    /// For checked dimension numbers.
    pub(super) fn new(
        placer: Placer,
        dimensions: &Dimensions,
        input: &Shape,
        indices: &Shape,
        update: &Shape,
    ) -> Self {
        let (input_steps, index_steps) = (input.strides(), indices.strides());
        let update_steps = update.strides();
        let position = |(of_indices, of_update): (usize, usize)| {
            let batching = dimensions.indices_batching.iter().position(|&axis| axis == of_indices);
            let along = batching.map_or(0, |at| input_steps[dimensions.input_batching[at]]);
            let steps = [index_steps[of_indices], update_steps[of_update], along];
            Axis { count: indices.dims[of_indices], steps }
        };
        let positions: Vec<_> =
            dimensions.positions(indices).zip(dimensions.scattered(update)).map(position).collect();
        let window: Vec<_> = dimensions
            .windowed(input)
            .zip(&dimensions.update_window)
            .map(|(of_input, &of_update)| Axis {
                count: update.dims[of_update],
                steps: [update_steps[of_update], input_steps[of_input]],
            })
            .collect();
        let component = |&axis: &usize| {
            let windowed = dimensions.windowed(input).position(|of_input| of_input == axis);
            let size = windowed.map_or(1, |at| update.dims[dimensions.update_window[at]]);
            // A window is not larger than the input, except along an axis of extent 0.
            let starts = (input.dims[axis] + 1).saturating_sub(size);
            Component { step: input_steps[axis], starts }
        };
        Self {
            placer,
            positions: collapse(positions),
            window: collapse(window),
            components: dimensions.targets.iter().map(component).collect(),
            between: index_steps.get(dimensions.vector).copied().unwrap_or(0),
        }
    }

    /// The elements of the only window, and where it begins, as parts of operand 1 with steps in
    /// elements. `None` where there are several windows, or where one does not lie side by side.
    pub(super) fn single(&self, indices: DType) -> Option<(usize, Vec<Start>)> {
        let elements = match self.window[..] {
            [] => 1,
            [axis] if axis.steps == [1, 1] => axis.count,
            _ => return None,
        };
        if self.positions.iter().any(|axis| axis.count != 1) {
            return None;
        }
        let start = |(number, component): (usize, &Component)| {
            let at = number * self.between * indices.host_bytes();
            let room = component.starts.checked_sub(1)?;
            Some(Start { operand: 1, at, dtype: indices, room, step: component.step })
        };
        let starts = self.components.iter().enumerate().map(start).collect::<Option<_>>()?;
        Some((elements, starts))
    }

    /// Calls `chunk` for runs of windows, in order: the offset of the first one in the updates,
    /// from one to the next there, and the offsets in the inputs, which are `NOWHERE` for windows
    /// that are not inside.
    ///
    /// # Errors
    /// The first one of `chunk`.
    pub(super) fn chunks<E>(&self, indices: &[u8], chunk: ScatterChunk<'_, E>) -> Result<(), E> {
        let mut room = [0; OFFSET_BATCH_ELEMENTS];
        rows(&self.positions, [0; 3], &mut |[index, update, input], count, steps| {
            for first in (0..count).step_by(OFFSET_BATCH_ELEMENTS) {
                let places = &mut room[..OFFSET_BATCH_ELEMENTS.min(count - first)];
                let vectors = Vectors {
                    first: index + first * steps[0],
                    step: steps[0],
                    between: self.between,
                };
                let base = [input + first * steps[2], steps[2]];
                (self.placer)(indices, vectors, &self.components, base, places);
                chunk(update + first * steps[1], steps[1], places)?;
            }
            Ok(())
        })
    }
}
