//! Numbers and dense arrays.
use super::Printer;
use crate::float;
use crate::ir::{Element, Elements, Type};
use crate::text::dense;

/// Longer arrays are written as bytes.
const WRITTEN_OUT: usize = 64;

impl Printer<'_> {
    /// A number of a float type: in decimal where that reads back the same, else its bits.
    pub(super) fn float(&mut self, value: f64, of: Element) {
        match float::encode(value, of) {
            Some(bits) => self.float_bits(bits, of),
            None => self.push(&decimal(value, of)),
        }
    }

    fn float_bits(&mut self, bits: u64, of: Element) {
        if let Some(value) = float::decode(bits, of)
            && value.is_finite()
        {
            let text = decimal(value, of);
            if dense::bits(&text, of) == Some(bits) {
                return self.push(&text);
            }
        }
        let digits = float::width(of).map_or(16, |width| width.div_ceil(4)) as usize;
        self.push(&format!("0x{bits:0digits$X}"));
    }

    /// `dense<…> : type`.
    pub(super) fn elements(&mut self, elements: &Elements) {
        self.push("dense<");
        let count = elements.count().unwrap_or(0);
        let width = elements.of.element.bytes().unwrap_or(1);
        let whole = elements.data.len() / width;
        if elements.splat || count == 1 && elements.of.dims.is_empty() {
            self.one(elements, 0);
        } else if count > WRITTEN_OUT && elements.of.element != Element::Pred {
            self.bytes(elements);
        } else if count > 0 && whole >= count {
            let mut next = 0;
            self.nested(elements, &elements.of.dims, &mut next);
        }
        self.push("> : ");
        self.of(&Type::Tensor(elements.of.clone()));
    }

    fn bytes(&mut self, elements: &Elements) {
        let mask = match elements.of.element {
            Element::S2 | Element::U2 => 3,
            Element::S4 | Element::U4 => 0xf,
            _ => 0xff,
        };
        self.push("\"0x");
        for byte in elements.data.iter() {
            self.push(&format!("{:02X}", byte & mask));
        }
        self.push("\"");
    }

    fn nested(&mut self, elements: &Elements, dims: &[i64], next: &mut usize) {
        let Some((&extent, inner)) = dims.split_first() else {
            self.one(elements, *next);
            *next += 1;
            return;
        };
        self.push("[");
        self.commas(0..extent, |printer, _| printer.nested(elements, inner, next));
        self.push("]");
    }

    /// The element with this number.
    fn one(&mut self, elements: &Elements, index: usize) {
        let of = elements.of.element;
        let width = of.bytes().unwrap_or(1);
        let Some(bytes) = elements.data.get(index * width..(index + 1) * width) else { return };
        let bits =
            |bytes: &[u8]| bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
        match of {
            Element::C64 | Element::C128 => {
                let part = if of == Element::C64 { Element::F32 } else { Element::F64 };
                let (real, imaginary) = bytes.split_at(width / 2);
                self.push("(");
                self.float_bits(bits(real), part);
                self.push(", ");
                self.float_bits(bits(imaginary), part);
                self.push(")");
            }
            Element::Pred => self.push(if bytes == [0] { "false" } else { "true" }),
            _ => match of.integer_bits() {
                Some((_, true)) => {
                    let unused = 64 - 8 * u32::try_from(width.min(8)).unwrap_or(8);
                    self.push(&((bits(bytes) << unused).cast_signed() >> unused).to_string());
                }
                Some((_, false)) => self.push(&bits(bytes).to_string()),
                None => self.float_bits(bits(bytes), of),
            },
        }
    }
}

/// The shortest decimal of a number, with a point: of a narrow type as `f32` has it.
fn decimal(value: f64, of: Element) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "used only where nothing is lost")]
    let single = value as f32;
    let text = if of != Element::F64 && f64::from(single) == value {
        format!("{single:?}")
    } else {
        format!("{value:?}")
    };
    match text.split_once('e') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0e{exponent}"),
        _ => text,
    }
}
