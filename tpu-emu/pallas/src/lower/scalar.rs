//! Scalar integers: computed when the kernel is compiled, or by steps of their own.
use super::code::{Refused, storage, width};
use super::values::{Home, Val};
use super::{Lowering, scalar_integer};
use crate::form::{Int, Question, Scalar, ScalarOp, Step};
use tpu_mosaic::ir::{Attribute, Element, Elements, Op, Operation, Type, Vector};

/// The operation on scalars that an operation is.
fn scalar_op(operation: &Operation) -> Option<ScalarOp> {
    Some(match operation.op {
        Op::ArithAddi => ScalarOp::Add,
        Op::ArithSubi => ScalarOp::Sub,
        Op::ArithMuli => ScalarOp::Mul,
        Op::ArithDivsi => ScalarOp::DivS,
        Op::ArithRemsi => ScalarOp::RemS,
        Op::ArithDivui => ScalarOp::DivU,
        Op::ArithRemui => ScalarOp::RemU,
        Op::ArithCeildivsi => ScalarOp::CeilDivS,
        Op::ArithCeildivui => ScalarOp::CeilDivU,
        Op::ArithFloordivsi => ScalarOp::FloorDivS,
        Op::ArithAndi => ScalarOp::And,
        Op::ArithOri => ScalarOp::Or,
        Op::ArithXori => ScalarOp::Xor,
        Op::ArithShli => ScalarOp::Shl,
        Op::ArithShrsi => ScalarOp::ShrS,
        Op::ArithShrui => ScalarOp::ShrU,
        Op::ArithMaxsi => ScalarOp::MaxS,
        Op::ArithMinsi => ScalarOp::MinS,
        Op::ArithMaxui => ScalarOp::MaxU,
        Op::ArithMinui => ScalarOp::MinU,
        Op::MathAbsi => ScalarOp::Abs,
        Op::MathCtpop => ScalarOp::CountOnes,
        Op::MathCtlz => ScalarOp::LeadingZeros,
        Op::ArithCmpi => match operation.integer("predicate")? {
            0 => ScalarOp::Eq,
            1 => ScalarOp::Ne,
            2 => ScalarOp::LtS,
            3 => ScalarOp::LeS,
            4 => ScalarOp::GtS,
            5 => ScalarOp::GeS,
            6 => ScalarOp::LtU,
            7 => ScalarOp::LeU,
            8 => ScalarOp::GtU,
            9 => ScalarOp::GeU,
            _ => return None,
        },
        _ => return None,
    })
}

/// Operations that a chip's scalar unit has for 32 bits (and booleans) alone.
fn wants_32_bits(op: ScalarOp) -> bool {
    !matches!(
        op,
        ScalarOp::Eq
            | ScalarOp::Ne
            | ScalarOp::LtS
            | ScalarOp::LeS
            | ScalarOp::GtS
            | ScalarOp::GeS
            | ScalarOp::LtU
            | ScalarOp::LeU
            | ScalarOp::GtU
            | ScalarOp::GeU
    )
}

impl<'m> Lowering<'m> {
    /// An operation on scalar integers; whether it is one.
    pub(super) fn scalar(&mut self, operation: &'m Operation) -> Refused<bool> {
        if operation.op == Op::ArithConstant {
            self.constant(operation)?;
            return Ok(true);
        }
        let [result] = operation.results[..] else { return Ok(false) };
        let Some(element) = scalar_integer(self.type_of(result)?) else { return Ok(false) };
        let question = match operation.op {
            Op::TpuDeviceId => Some(Question::Device),
            Op::TpuCoreId => Some(Question::Core),
            Op::TpuSubcoreId => Some(Question::Subcore),
            Op::TpuIterationBound => {
                let dim = operation.integer("dim").unwrap_or(0);
                let dim = usize::try_from(dim).map_err(|_| format!("dimension {dim}"))?;
                Some(Question::Bound(dim))
            }
            _ => None,
        };
        if let Some(what) = question {
            let to = self.register();
            self.step(Step::Ask { what, to });
            self.bind(result, Val::Int(Int::In(to)))?;
            return Ok(true);
        }
        // What a piece computes stays there.
        let all = operation.operands.iter().map(|&operand| self.peek(operand));
        if !all.collect::<Refused<Vec<Val>>>()?.iter().all(|of| matches!(of, Val::Int(_))) {
            return Ok(false);
        }
        let Some(bits) = width(element) else { return Ok(false) };
        let value = match operation.op {
            Op::ArithSelect => {
                let [condition, a, b] = self.exactly(operation)?;
                match condition {
                    Int::Known(0) => b,
                    Int::Known(_) => a,
                    condition if a == b => {
                        let _ = condition;
                        a
                    }
                    condition => {
                        let to = self.register();
                        self.step(Step::Choose { condition, a, b, to });
                        Int::In(to)
                    }
                }
            }
            Op::ArithExtsi | Op::ArithTrunci | Op::ArithIndexCast => {
                let [a] = self.exactly(operation)?;
                let from = self.bits_of(operation)?;
                match operation.op {
                    // A boolean's one bit is its sign.
                    Op::ArithExtsi if from == 1 => self.emit(ScalarOp::Sub, bits, Int::Known(0), a),
                    _ if bits >= from && from > 1 => a,
                    _ => self.emit(ScalarOp::Signed, bits, a, Int::Known(0)),
                }
            }
            Op::ArithExtui | Op::ArithIndexCastui => {
                let [a] = self.exactly(operation)?;
                let from = self.bits_of(operation)?;
                if from == 1 {
                    a
                } else {
                    self.emit(ScalarOp::Unsigned(from), bits, a, Int::Known(0))
                }
            }
            Op::TpuAssumeMultiple => self.promised(operation)?,
            _ => {
                let Some(op) = scalar_op(operation) else { return Ok(false) };
                let bits = self.bits_of(operation)?;
                if wants_32_bits(op) && !matches!(bits, 1 | 32 | 64) {
                    let name = operation.op.row().name;
                    return Err(format!(
                        "Not implemented: Only i32 {name} is supported for scalars, not i{bits}"
                    ));
                }
                match operation.operands[..] {
                    [_] => {
                        let [a] = self.exactly(operation)?;
                        self.emit(op, bits, a, Int::Known(0))
                    }
                    _ => {
                        let [a, b] = self.exactly(operation)?;
                        self.emit(op, bits, a, b)
                    }
                }
            }
        };
        self.bind(result, Val::Int(value))?;
        Ok(true)
    }

    /// What a value stands for, without a use of it.
    pub(super) fn peek(&self, value: tpu_mosaic::ir::Value) -> Refused<Val> {
        let scope = self.scopes.last().ok_or("code outside of a function")?;
        match scope.values.get(value.0 as usize).copied().flatten() {
            Some(Val::Missing) => Err(String::new()),
            Some(found) => Ok(found),
            None => Err(format!("value {} is used before it is defined", value.0)),
        }
    }

    fn exactly<const N: usize>(&mut self, operation: &'m Operation) -> Refused<[Int; N]> {
        let all = self.ints(&operation.operands)?;
        all.try_into().map_err(|all: Vec<Int>| {
            format!("{} with {} operands", operation.op.row().name, all.len())
        })
    }

    /// Bits of the first operand.
    fn bits_of(&self, operation: &'m Operation) -> Refused<u32> {
        let [first, ..] = operation.operands[..] else { return Err("no operand".to_owned()) };
        let element = scalar_integer(self.type_of(first)?);
        element.and_then(width).ok_or_else(|| "an operand that is no integer".to_owned())
    }

    /// Computes a scalar, at once where it is known.
    pub(super) fn emit(&mut self, op: ScalarOp, bits: u32, a: Int, b: Int) -> Int {
        if let (Int::Known(a), Int::Known(b)) = (a, b) {
            return Int::Known(crate::machine::scalar::compute(op, bits, a, b));
        }
        match (op, a, b) {
            (ScalarOp::Add | ScalarOp::Sub | ScalarOp::Or | ScalarOp::Xor, a, Int::Known(0)) => {
                return a;
            }
            (ScalarOp::Add, Int::Known(0), b) => return b,
            (ScalarOp::Mul | ScalarOp::DivS | ScalarOp::DivU, a, Int::Known(1)) => return a,
            _ => {}
        }
        let to = self.register();
        self.step(Step::Scalar(Scalar { op, bits, a, b, to }));
        Int::In(to)
    }

    /// `assume_multiple`: the operand, of which something is promised.
    fn promised(&mut self, operation: &'m Operation) -> Refused<Int> {
        let [value] = self.exactly(operation)?;
        let multiple = operation.integer("multiple").unwrap_or(1);
        if multiple > 1 {
            let rest = self.emit(ScalarOp::RemS, 64, value, Int::Known(multiple));
            let condition = self.emit(ScalarOp::Eq, 64, rest, Int::Known(0));
            if condition != Int::Known(1) {
                let message = format!("a promised multiple of {multiple} is none").into();
                self.step(Step::Assert { condition, message });
            }
        }
        Ok(value)
    }

    fn constant(&mut self, operation: &'m Operation) -> Refused<()> {
        let [result] = operation.results[..] else {
            return Err("a constant without a result".to_owned());
        };
        let of = self.type_of(result)?;
        let value = operation.attributes.get("value");
        let val = match (of, value) {
            (Type::Scalar(element), Some(Attribute::Bool(value))) if *element == Element::Pred => {
                Val::Int(Int::Known((*value).into()))
            }
            (Type::Scalar(element), Some(Attribute::Integer(value, _)))
                if super::code::is_integer(*element) =>
            {
                Val::Int(Int::Known(*value))
            }
            (Type::Scalar(element), Some(Attribute::Float(bits, _))) => {
                let bytes = bits.to_le_bytes();
                let width = element.bytes().ok_or_else(|| format!("elements of {element:?}"))?;
                let of = Vector { element: *element, dims: Vec::new() };
                let known = Elements { of, data: bytes[..width].into(), splat: true };
                let home = Home::Known(known);
                Val::Vector(self.vector(*element, Vec::new(), home))
            }
            (Type::Vector(vector), Some(Attribute::Elements(elements))) => {
                let home = Home::Known(elements.clone());
                Val::Vector(self.vector(storage(vector.element), vector.dims.clone(), home))
            }
            (_, other) => return Err(format!("a constant of {other:?}")),
        };
        self.bind(result, val)
    }
}
