//! Small operations over parts: what is cut out of them, put side by side and chosen among them.
use super::emit::Emitter;
use std::ops::Range;
use tpu_base::error::Result;
use tpu_ops::{
    ADD, AND, BROADCAST_IN_DIM, COMPARE, CONCATENATE, DYNAMIC_SLICE, IOTA, MULTIPLY, PAD, SELECT,
    SLICE,
};
use tpu_stablehlo::ir::{Attribute, Attributes, Element, Elements, TensorType, Type, Value};

/// A list of integers as an attribute.
pub(super) fn list(name: &'static str, all: Vec<i64>) -> (tpu_stablehlo::ir::Name, Attribute) {
    (name.into(), Attribute::Integers(all))
}

fn axis_attribute(name: &'static str, axis: usize) -> Attributes {
    let axis = Attribute::Integer(i128::try_from(axis).unwrap_or_default(), Element::S64);
    Attributes(vec![(name.into(), axis)])
}

impl Emitter<'_> {
    /// A part of an array along an axis.
    pub(super) fn cut_out(&mut self, value: Value, axis: usize, part: Range<i64>) -> Result<Value> {
        let mut of = self.tensor(value)?;
        if part == (0..of.dims[axis]) {
            return Ok(value);
        }
        let (mut starts, mut limits) = (vec![0; of.dims.len()], of.dims.clone());
        (starts[axis], limits[axis]) = (part.start, part.end);
        of.dims[axis] = part.end - part.start;
        let attributes = Attributes(vec![
            list("limit_indices", limits),
            list("start_indices", starts),
            list("strides", vec![1; of.dims.len()]),
        ]);
        Ok(self.simple(&SLICE, vec![value], Type::Tensor(of), attributes))
    }

    /// So many elements of an array along an axis, from a place on that each device has its own of.
    pub(super) fn read_at(
        &mut self,
        value: Value,
        (axis, start): (usize, Value),
        length: i64,
    ) -> Result<Value> {
        let mut of = self.tensor(value)?;
        let zero = self.scalar(Element::S32, 0);
        let mut operands = vec![zero; of.dims.len() + 1];
        (operands[0], operands[axis + 1]) = (value, start);
        of.dims[axis] = length;
        let attributes = Attributes(vec![list("slice_sizes", of.dims.clone())]);
        Ok(self.simple(&DYNAMIC_SLICE, operands, Type::Tensor(of), attributes))
    }

    /// Arrays side by side.
    pub(super) fn concatenated(&mut self, parts: Vec<Value>, axis: usize) -> Result<Value> {
        if let [one] = parts[..] {
            return Ok(one);
        }
        let mut of = self.tensor(parts[0])?;
        of.dims[axis] = 0;
        for &part in &parts {
            of.dims[axis] += self.tensor(part)?.dims[axis];
        }
        let attributes = axis_attribute("dimension", axis);
        Ok(self.simple(&CONCATENATE, parts, Type::Tensor(of), attributes))
    }

    /// An array with so many zeros before and behind it along an axis.
    pub(super) fn extended(
        &mut self,
        value: Value,
        axis: usize,
        [before, behind]: [i64; 2],
    ) -> Result<Value> {
        let mut of = self.tensor(value)?;
        let zero = self.scalar(of.element, 0);
        let at = |amount: i64| {
            let mut all = vec![0; of.dims.len()];
            all[axis] = amount;
            all
        };
        let attributes = Attributes(vec![
            list("edge_padding_high", at(behind)),
            list("edge_padding_low", at(before)),
            list("interior_padding", at(0)),
        ]);
        of.dims[axis] += before + behind;
        Ok(self.simple(&PAD, vec![value, zero], Type::Tensor(of), attributes))
    }

    /// A scalar: a whole number of a type of integers, or zero of any.
    pub(super) fn scalar(&mut self, element: Element, number: i64) -> Value {
        let of = TensorType::new(element, Vec::new());
        let mut data = number.to_le_bytes().to_vec();
        data.resize(element.bytes().unwrap_or(1), 0);
        self.splat(&Elements { of: of.clone(), data: data.into(), splat: false }, of)
    }

    /// A place that is `first` on the first device along some axes and `step` more on each next one.
    pub(super) fn place_at(&mut self, axes: &[u8], [first, step]: [i64; 2]) -> Value {
        let scalar = Type::Tensor(TensorType::new(Element::S32, Vec::new()));
        if axes.is_empty() || step == 0 {
            return self.scalar(Element::S32, first);
        }
        let mut place = self.number(axes);
        for (entry, with, nothing) in [(&MULTIPLY, step, 1), (&ADD, first, 0)] {
            if with != nothing {
                let with = self.scalar(Element::S32, with);
                let operands = vec![place, with];
                place = self.simple(entry, operands, scalar.clone(), Attributes::default());
            }
        }
        place
    }

    /// The places of so many elements in a row, from one that each device has its own of.
    fn places(&mut self, axes: &[u8], place: [i64; 2], length: i64) -> Value {
        let of = Type::Tensor(TensorType::new(Element::S32, vec![length]));
        let attributes = axis_attribute("iota_dimension", 0);
        let count = self.simple(&IOTA, Vec::new(), of.clone(), attributes);
        let start = self.place_at(axes, place);
        let attributes = Attributes(vec![list("broadcast_dimensions", Vec::new())]);
        let start = self.simple(&BROADCAST_IN_DIM, vec![start], of.clone(), attributes);
        self.simple(&ADD, vec![count, start], of, Attributes::default())
    }

    /// Which places compare so with a number.
    fn compared(&mut self, places: Value, way: &'static str, with: i64) -> Result<Value> {
        let mut of = self.tensor(places)?;
        let number = self.scalar(Element::S32, with);
        let attributes = Attributes(vec![list("broadcast_dimensions", Vec::new())]);
        let number =
            self.simple(&BROADCAST_IN_DIM, vec![number], Type::Tensor(of.clone()), attributes);
        of.element = Element::Pred;
        let attributes =
            Attributes(vec![("comparison_direction".into(), Attribute::Word(way.into()))]);
        Ok(self.simple(&COMPARE, vec![places, number], Type::Tensor(of), attributes))
    }

    /// What is true of places along an axis, for each element of an array like `like`.
    fn along_axis(&mut self, row: Value, (like, axis): (Value, usize)) -> Result<Value> {
        let of = TensorType::new(Element::Pred, self.tensor(like)?.dims);
        let axis = i64::try_from(axis).unwrap_or_default();
        let attributes = Attributes(vec![list("broadcast_dimensions", vec![axis])]);
        Ok(self.simple(&BROADCAST_IN_DIM, vec![row], Type::Tensor(of), attributes))
    }

    /// The first where something is true, and else the second.
    pub(super) fn selected(&mut self, truth: Value, first: Value, second: Value) -> Value {
        let of = self.written(first).clone();
        self.simple(&SELECT, vec![truth, first, second], of, Attributes::default())
    }

    /// Which elements of pieces with `own` elements lie at a place of the whole, or behind it.
    pub(super) fn behind_place(
        &mut self,
        (axis, axes): (usize, &[u8]),
        (like, own): (Value, i64),
        place: i64,
    ) -> Result<Value> {
        let places = self.places(axes, [0, own], own);
        let there = self.compared(places, "GE", place)?;
        self.along_axis(there, (like, axis))
    }

    /// An array with another element where its places lie outside of `0..size`: `fill`, or zero.
    /// `place` is that of its first element on the first device, and how much more on each next.
    pub(super) fn bounded(
        &mut self,
        value: Value,
        (axis, axes): (usize, &[u8]),
        (place, size): ([i64; 2], i64),
        fill: Option<Value>,
    ) -> Result<Value> {
        let of = self.tensor(value)?;
        let length = of.dims[axis];
        let [first, step] = place;
        let last = first + step * (self.count(axes) - 1);
        let (below, above) = (first.min(last) < 0, first.max(last) + length > size);
        if !below && !above {
            return Ok(value);
        }
        let places = self.places(axes, place, length);
        let mut inside = None;
        for (way, number) in [("GE", 0), ("LT", size)] {
            if !(if number == 0 { below } else { above }) {
                continue;
            }
            let more = self.compared(places, way, number)?;
            inside = Some(match inside {
                None => more,
                Some(before) => {
                    let of = self.written(more).clone();
                    self.simple(&AND, vec![before, more], of, Attributes::default())
                }
            });
        }
        let Some(inside) = inside else { return Ok(value) };
        let inside = self.along_axis(inside, (value, axis))?;
        let fill = match fill {
            Some(fill) => fill,
            None => self.scalar(of.element, 0),
        };
        let attributes = Attributes(vec![list("broadcast_dimensions", Vec::new())]);
        let fill = self.simple(&BROADCAST_IN_DIM, vec![fill], Type::Tensor(of), attributes);
        Ok(self.selected(inside, value, fill))
    }
}
