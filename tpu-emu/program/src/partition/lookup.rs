//! Elements that are looked up in a table of which each device has a piece: every device takes what
//! its piece has, and nothing for the other indices.
use super::emit::Emitter;
use super::pieces::list;
use tpu_base::error::Result;
use tpu_ops::factors::LookedUp;
use tpu_ops::{AND, BROADCAST_IN_DIM, CLAMP, COMPARE, CONCATENATE, RESHAPE, SELECT, SUBTRACT};
use tpu_stablehlo::ir::{
    Attribute, Attributes, Element, Elements, Operation, TensorType, Type, Value,
};

/// An axis of the table, by whose axes of the devices it is split and how many elements a piece
/// and the whole have.
pub(super) struct TablePiece {
    pub(super) lookup: LookedUp,
    pub(super) axes: Vec<u8>,
    pub(super) part: i64,
    pub(super) whole: i64,
}

/// Indices into a device's piece.
pub(super) struct PieceIndices {
    pub(super) indices: Value,
    /// Which of them are in the piece.
    pub(super) inside: Option<Value>,
}

impl Emitter<'_> {
    /// Indices into the device's piece of a table. Those that are past the table's ends mean its
    /// first and last elements where `clamped`, and none otherwise.
    pub(super) fn found(
        &mut self,
        indices: Value,
        (vector, clamped): (usize, bool),
        pieces: &[TablePiece],
    ) -> Result<PieceIndices> {
        let of = self.tensor(indices)?;
        let count = of.dims.get(vector).copied().unwrap_or(1);
        let mut places = of.clone();
        let mut one = of.clone();
        if vector < of.dims.len() {
            places.dims.remove(vector);
            one.dims[vector] = 1;
        }
        let (mut inside, mut components) = (None, Vec::new());
        for component in 0..usize::try_from(count).unwrap_or_default() {
            let number = if count == 1 {
                indices
            } else {
                {
                    let place = i64::try_from(component).unwrap_or_default();
                    self.cut_out(indices, vector, place..place + 1)?
                }
            };
            let lookup = |piece: &&TablePiece| piece.lookup.component == component;
            let Some(piece) = pieces.iter().find(lookup) else {
                components.push(number);
                continue;
            };
            let number = self.shaped(number, &places);
            let (local, own) = self.in_piece(number, &places, clamped, piece)?;
            inside = Some(match inside {
                None => own,
                Some(before) => {
                    let of = self.written(own).clone();
                    self.simple(&AND, vec![before, own], of, Attributes::default())
                }
            });
            components.push(self.shaped(local, &one));
        }
        let indices = match components[..] {
            [single] => single,
            _ => {
                let at = Attribute::Integer(vector.try_into().unwrap_or_default(), Element::S64);
                let attributes = Attributes(vec![("dimension".into(), at)]);
                self.simple(&CONCATENATE, components, Type::Tensor(of), attributes)
            }
        };
        Ok(PieceIndices { indices, inside: inside.filter(|_| clamped) })
    }

    /// An array with other extents.
    fn shaped(&mut self, value: Value, to: &TensorType) -> Value {
        if self.written(value).tensor() == Some(to) {
            return value;
        }
        self.simple(&RESHAPE, vec![value], Type::Tensor(to.clone()), Attributes::default())
    }

    /// Numbers along one axis of the table as those of the device's piece, and which are in it.
    fn in_piece(
        &mut self,
        mut number: Value,
        of: &TensorType,
        clamped: bool,
        piece: &TablePiece,
    ) -> Result<(Value, Value)> {
        let like = Type::Tensor(of.clone());
        let zero = self.scalar(of.element, 0);
        if clamped {
            let last = self.scalar(of.element, piece.whole - 1);
            let operands = vec![zero, number, last];
            number = self.simple(&CLAMP, operands, like.clone(), Attributes::default());
        }
        let start = self.start(&piece.axes, piece.part);
        let start = self.converted(start, of.element);
        let attributes = Attributes(vec![list("broadcast_dimensions", Vec::new())]);
        let start = self.simple(&BROADCAST_IN_DIM, vec![start], like.clone(), attributes);
        let local =
            self.simple(&SUBTRACT, vec![number, start], like.clone(), Attributes::default());
        let last = self.scalar(of.element, piece.part - 1);
        let nearest = self.simple(&CLAMP, vec![zero, local, last], like, Attributes::default());
        let truth = Type::Tensor(TensorType::new(Element::Pred, of.dims.clone()));
        let equal = Attribute::Word("EQ".into());
        let attributes = Attributes(vec![("comparison_direction".into(), equal)]);
        Ok((local, self.simple(&COMPARE, vec![nearest, local], truth, attributes)))
    }

    /// What was looked up where the index is in the device's piece, and zeros elsewhere.
    pub(super) fn masked(
        &mut self,
        operation: &Operation,
        value: Value,
        inside: Value,
    ) -> Result<Value> {
        let of = self.tensor(value)?;
        let offsets = operation.attributes.integers("offset_dims").unwrap_or_default();
        let axes = 0..i64::try_from(of.dims.len()).unwrap_or_default();
        let axes = axes.filter(|axis| !offsets.contains(axis)).collect();
        let attributes = Attributes(vec![list("broadcast_dimensions", axes)]);
        let truth = Type::Tensor(TensorType::new(Element::Pred, of.dims.clone()));
        let inside = self.simple(&BROADCAST_IN_DIM, vec![inside], truth, attributes);
        let data = vec![0; of.element.bytes().unwrap_or(1)].into();
        let zeros = self.splat(&Elements { of: of.clone(), data, splat: true }, of.clone());
        let operands = vec![inside, value, zeros];
        Ok(self.simple(&SELECT, operands, Type::Tensor(of), Attributes::default()))
    }
}
