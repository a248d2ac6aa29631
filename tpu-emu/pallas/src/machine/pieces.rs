//! Pieces with their loads and stores. What lies side by side is read and written where it is;
//! anything else goes through the staging memory of the instance.
use super::instance::Instance;
use super::memory::{Place, poison};
use super::view::View;
use super::{Failure, Machine};
use crate::form::{Access, Input, Output, Register, Run};
use crate::piece::Piece;
use tpu_base::tensor::DType;
use tpu_kernels::aligned::Aligned;
use tpu_mosaic::ir::LocationId;
use tpu_program::interpret::frame::Frame;
use tpu_program::interpret::step::Interpreter;

/// The staging memory of a piece, given out from its start.
struct Staging {
    place: Place,
    used: usize,
}

impl Staging {
    fn take(&mut self, bytes: usize) -> Place {
        let place = self.place.part(self.used, bytes);
        self.used += bytes.next_multiple_of(64);
        place
    }
}

/// What a piece has written to staging memory, and where it is to go.
enum After<'r> {
    Nothing,
    Inside(&'r Access, LocationId),
    Scalar(Register, DType),
    Store(View),
}

impl Machine<'_> {
    pub(super) fn run_piece(&mut self, instance: &mut Instance, run: &Run) -> Result<(), Failure> {
        let piece = &*run.piece;
        let arrays = piece.parameters.iter().chain(&piece.results);
        let staging: usize = arrays.map(|shape| shape.bytes().next_multiple_of(64)).sum();
        let staging = staging + piece.plan.arena;
        if instance.staging.bytes().len() < staging {
            instance.staging = Aligned::zeros(staging);
        }
        let mut staging = Staging { place: Place::of_mut(instance.staging.bytes_mut()), used: 0 };
        let mut memories = Vec::with_capacity(2 + run.inputs.len() + run.outputs.len());
        memories.push(staging.take(piece.plan.arena));
        memories.push(Place::of(piece.pool.bytes()));
        for ((input, place), shape) in run.inputs.iter().zip(&piece.parameters) {
            memories.push(match input {
                Input::Slot(slot) => instance.slot(*slot),
                Input::Scalar(int, dtype) => {
                    let place = staging.take(dtype.host_bytes());
                    let bytes = instance.int(*int).to_le_bytes();
                    place.bytes_mut().copy_from_slice(&bytes[..dtype.host_bytes()]);
                    place
                }
                Input::Load(access) => {
                    let view = match part(instance, access) {
                        Ok(view) => view,
                        Err(_) if !self.program.bounds_checks => {
                            let to = staging.take(shape.bytes());
                            poison(to, shape.dtype);
                            self.each_inside(instance, (access, *place), to, false)?;
                            memories.push(to);
                            continue;
                        }
                        Err(what) => {
                            let what = format!("load {what}");
                            return Err(Failure { what, place: *place });
                        }
                    };
                    self.share_reads(&view, *place)?;
                    // A store that keeps some elements loads them.
                    let keeps = |of: &(Output, LocationId)| {
                        of.1 == *place && matches!(of.0, Output::Store(_))
                    };
                    if self.watch.is_some() && !run.outputs.iter().any(keeps) {
                        self.touched(instance, &view, *place, false)?;
                    }
                    memories.push(match view.side_by_side(&self.bank) {
                        Some(place) if place.is_aligned(shape.dtype.host_bytes()) => place,
                        _ => {
                            let place = staging.take(shape.bytes());
                            view.read(&self.bank, place);
                            place
                        }
                    });
                    continue;
                }
            });
        }
        let mut after = Vec::with_capacity(run.outputs.len());
        for (number, ((output, place), shape)) in run.outputs.iter().zip(&piece.results).enumerate()
        {
            let (memory, then) = match output {
                Output::Slot(slot) => (instance.slot(*slot), After::Nothing),
                Output::Scalar(to, dtype) => {
                    (staging.take(dtype.host_bytes()), After::Scalar(*to, *dtype))
                }
                Output::Store(access) => {
                    let donor = piece.donated.iter().position(|&to| to == Some(number));
                    let donor = donor.map(|donor| memories[2 + donor]);
                    let view = match part(instance, access) {
                        Ok(view) => view,
                        Err(_) if !self.program.bounds_checks => {
                            let to = staging.take(shape.bytes());
                            if let Some(donor) = donor {
                                to.copy_from(donor);
                            }
                            memories.push(to);
                            after.push((to, After::Inside(access, *place)));
                            continue;
                        }
                        Err(what) => {
                            let what = format!("store {what}");
                            return Err(Failure { what, place: *place });
                        }
                    };
                    self.share_writes(&view);
                    self.touched(instance, &view, *place, true)?;
                    let direct = view
                        .side_by_side(&self.bank)
                        .filter(|place| place.is_aligned(shape.dtype.host_bytes()));
                    let free = |place: &Place| {
                        let read = memories[2..2 + run.inputs.len()].iter().enumerate();
                        !read.clone().any(|(input, other)| {
                            piece.donated[input] != Some(number) && other.overlaps(*place)
                        })
                    };
                    match (direct.filter(free), donor) {
                        (Some(place), _) => (place, After::Nothing),
                        (None, None) => (staging.take(shape.bytes()), After::Store(view)),
                        // In place, in a copy of what is updated.
                        (None, Some(donor)) => {
                            let place = staging.take(shape.bytes());
                            place.copy_from(donor);
                            (place, After::Store(view))
                        }
                    }
                }
            };
            memories.push(memory);
            after.push((memory, then));
        }
        let frame = Frame::new(memories).with_windows(piece.plan.windows);
        let mut interpreter = Interpreter::alone(&frame);
        interpreter.until_open(&piece.plan, 0).map_err(|error| {
            let place = run.inputs.first().map(|(_, place)| *place);
            let place = place.or_else(|| run.outputs.first().map(|(_, place)| *place));
            Failure { what: error.to_string(), place: place.unwrap_or(LocationId::UNKNOWN) }
        })?;
        for (memory, then) in after {
            match then {
                After::Nothing => {}
                After::Scalar(to, dtype) => instance.set(to, scalar(memory, dtype)),
                After::Store(view) => view.write(&self.bank, memory),
                After::Inside(access, place) => {
                    self.each_inside(instance, (access, place), memory, true)?;
                }
            }
        }
        Ok(())
    }
}

impl Machine<'_> {
    /// Moves the elements of an access that are inside of its memory, one by one, where those
    /// outside are no error: they are read as nothing and written nowhere.
    fn each_inside(
        &mut self,
        instance: &Instance,
        (access, place): (&Access, LocationId),
        elements: Place,
        stores: bool,
    ) -> Result<(), Failure> {
        let view = instance.view(access.view).map_err(|what| Failure { what, place })?;
        let first = instance.ints(&access.indices);
        let size = view.dtype.host_bytes();
        let ones = vec![1; first.len()];
        for number in 0..elements.len() / size.max(1) {
            let mut rest = number;
            let mut at = first.clone();
            for (axis, &extent) in access.dims.iter().enumerate().rev() {
                let stride = access.strides.as_ref().map_or(1, |strides| strides[axis]);
                let step = i64::try_from(rest % extent * stride).unwrap_or(i64::MAX);
                at[axis] = at[axis].saturating_add(step);
                rest /= extent;
            }
            let Ok(one) = view.slice(&at, &ones, None) else { continue };
            self.touched(instance, &one, place, stores)?;
            let element = elements.part(number * size, size);
            if stores { one.write(&self.bank, element) } else { one.read(&self.bank, element) }
        }
        Ok(())
    }
}

/// Runs a piece by itself.
///
/// # Errors
/// What the machine says.
pub(crate) fn run_alone(piece: &Piece, inputs: &[Place], outputs: &[Place]) -> Result<(), String> {
    let mut arena = Aligned::zeros(piece.plan.arena);
    let mut memories = vec![Place::of_mut(arena.bytes_mut()), Place::of(piece.pool.bytes())];
    memories.extend_from_slice(inputs);
    memories.extend_from_slice(outputs);
    let frame = Frame::new(memories).with_windows(piece.plan.windows);
    let mut interpreter = Interpreter::alone(&frame);
    let ran = interpreter.until_open(&piece.plan, 0);
    ran.map(|_| ()).map_err(|error| error.to_string())
}

/// The part of a memory that is loaded or stored.
fn part(instance: &Instance, access: &Access) -> Result<View, String> {
    let view = instance.view(access.view)?;
    let of = |axis: usize| (instance.int(access.indices[axis]), access.dims[axis]);
    view.part(&of, access.strides.as_deref())
}

/// The integer in a place.
fn scalar(place: Place, dtype: DType) -> i64 {
    let mut bytes = [0; 8];
    let from = place.bytes();
    bytes[..from.len()].copy_from_slice(from);
    let of = dtype.element();
    super::scalar::wrap(of.bits * of.parts, i64::from_le_bytes(bytes))
}
