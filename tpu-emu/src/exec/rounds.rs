//! Loops whose condition and body are operations on single elements, as one piece of code.
use super::frame::Frame;
use crate::kernels::lanes::{LaneProgram, LaneStep, Register};
use crate::kernels::native::{Loop, Rounds, knows};
use crate::kernels::simd::{Level, level};
use crate::program::fuse::{Fused, Load};
use crate::program::plan::{Compiled, Op, Slot, Step};
use crate::tensor::DType;
use std::cell::Cell;
use std::sync::OnceLock;

/// Steps of a loop that becomes one piece of code.
const STEPS: usize = 256;

/// Runs a loop to its end, if it has become code or, when it is asked to, can become some.
pub(super) fn run_rounds(
    frame: &Frame,
    code: &OnceLock<Option<Compiled>>,
    (condition, decision, body): (&[Step], Slot, &[Step]),
    carried: &[Slot],
    make: bool,
) -> bool {
    if level() < Level::Avx512 {
        return false;
    }
    let compile = || compile(condition, decision, body, carried);
    let code = if make { Some(code.get_or_init(compile)) } else { code.get() };
    let Some(Some(Compiled { rounds, variables })) = code else { return false };
    let variables: Vec<&[Cell<u8>]> = variables.iter().map(|&slot| frame.cells(slot)).collect();
    rounds.run(&variables);
    true
}

fn compile(
    condition: &[Step],
    decision: Slot,
    body: &[Step],
    carried: &[Slot],
) -> Option<Compiled> {
    let mut writer = Writer::default();
    for &slot in carried.iter().filter(|slot| dtype(slot).is_some()) {
        writer.read(slot, None)?;
    }
    writer.steps(condition)?;
    if !(0..writer.slots.len()).all(|index| writer.next(index) == Some(Register::Parameter(index)))
    {
        return None;
    }
    let tested = writer.program.steps.len();
    let decision = writer.read(decision, Some(DType::Pred))?;
    writer.steps(body)?;
    let next: Vec<Register> =
        (0..writer.slots.len()).map(|index| writer.next(index)).collect::<Option<_>>()?;
    // What changes must be what the loop carries, or somebody behind it would miss it.
    let known = |(index, &next): (usize, &Register)| {
        next == Register::Parameter(index) || carried.contains(&writer.slots[index])
    };
    if !next.iter().enumerate().all(known) || writer.untold(carried) {
        return None;
    }
    let all = Loop { program: writer.program, condition: tested, decision, next };
    Some(Compiled { rounds: Rounds::new(&all)?, variables: writer.slots })
}

/// The type of an element of a slot's bytes, when nothing is known but that.
fn dtype(slot: &Slot) -> Option<DType> {
    match slot.bytes {
        1 => Some(DType::U8),
        2 => Some(DType::U16),
        4 => Some(DType::U32),
        8 => Some(DType::U64),
        _ => None,
    }
}

fn overlap(a: &Slot, b: &Slot) -> bool {
    a.base == b.base && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes
}

/// Follows the values of a round through the slots.
#[derive(Default)]
struct Writer {
    program: LaneProgram,
    /// Where each parameter of the program lies.
    slots: Vec<Slot>,
    /// What lies in each slot that has been read or written.
    values: Vec<(Slot, Register)>,
    /// Slots that have been written.
    written: Vec<Slot>,
}

impl Writer {
    /// What lies in a slot now.
    fn read(&mut self, slot: Slot, known: Option<DType>) -> Option<Register> {
        if let Some((_, register)) = self.values.iter().find(|(other, _)| *other == slot) {
            return Some(*register);
        }
        let partly = self.written.iter().any(|other| overlap(other, &slot))
            || self.slots.iter().any(|other| overlap(other, &slot));
        let dtype = known.filter(|known| known.host_bytes() == slot.bytes).or(dtype(&slot))?;
        if partly || self.slots.len() >= STEPS {
            return None;
        }
        self.program.parameters.push(dtype);
        self.slots.push(slot);
        let register = Register::Parameter(self.slots.len() - 1);
        self.values.push((slot, register));
        Some(register)
    }

    fn write(&mut self, slot: Slot, register: Register) {
        self.values.retain(|(other, _)| !overlap(other, &slot));
        self.values.push((slot, register));
        self.written.push(slot);
    }

    /// What a parameter's slot holds now, if that is one value.
    fn next(&self, index: usize) -> Option<Register> {
        let slot = self.slots[index];
        self.values.iter().find(|(other, _)| *other == slot).map(|(_, register)| *register)
    }

    /// Whether something that is carried has been written in part.
    fn untold(&self, carried: &[Slot]) -> bool {
        let told = |slot: &&Slot| self.slots.contains(slot);
        carried
            .iter()
            .filter(|slot| !told(slot))
            .any(|slot| self.written.iter().any(|written| overlap(written, slot)))
    }

    fn steps(&mut self, steps: &[Step]) -> Option<()> {
        steps.iter().try_for_each(|step| match &step.op {
            Op::Fused(fused) => self.fused(fused, step),
            Op::Copies(copies) => copies.iter().try_for_each(|&(from, to)| {
                let bytes = from.bytes.min(to.bytes);
                let register = self.read(Slot { bytes, ..from }, None)?;
                self.write(Slot { bytes, ..to }, register);
                Some(())
            }),
            _ => None,
        })
    }

    fn fused(&mut self, fused: &Fused, step: &Step) -> Option<()> {
        let program = fused.code.program();
        if fused.elements != 1 || self.program.steps.len() + program.steps.len() > STEPS {
            return None;
        }
        if !program.steps.iter().all(|step| knows(&step.op)) {
            return None;
        }
        let mut inputs = Vec::with_capacity(fused.loads.len());
        for (load, &dtype) in fused.loads.iter().zip(&program.parameters) {
            let (slot, at) = match load {
                Load::Dense(operand) => (step.operands[*operand], 0),
                Load::Map(operand, map) => (step.operands[*operand], map.one_element()?),
                Load::Iota(..) => return None,
            };
            let bytes = dtype.host_bytes();
            let offset = slot.offset + at * bytes;
            inputs.push(self.read(Slot { base: slot.base, offset, bytes }, Some(dtype))?);
        }
        let (first, constants) = (self.program.steps.len(), self.program.constants.len());
        self.program.constants.extend(program.constants.iter().cloned());
        let here = |register: &Register| match *register {
            Register::Parameter(index) => inputs[index],
            Register::Constant(index) => Register::Constant(constants + index),
            Register::Step(index) => Register::Step(first + index),
        };
        for step in &program.steps {
            let inputs = step.inputs.iter().map(here).collect();
            self.program.steps.push(LaneStep { op: step.op, inputs });
        }
        for (&slot, result) in step.results.iter().zip(&program.results) {
            let register = here(result);
            if slot.bytes != self.program.dtype(register).host_bytes() {
                return None;
            }
            self.write(slot, register);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::differential::{plan_of, results};
    use super::*;
    use crate::kernels::simd::at_every_level;
    use crate::program::tactics::Tactics;

    /// A loop of `rounds` rounds over an i32 counter and what else `types` says.
    fn text(rounds: usize, types: &[&str], condition: &str, body: &str) -> String {
        let names = |prefix: &str| -> Vec<String> {
            (0..=types.len()).map(|at| format!("%{prefix}{at}")).collect()
        };
        let all: Vec<String> = std::iter::once("i32")
            .chain(types.iter().copied())
            .map(|of| format!("tensor<{of}>"))
            .collect();
        let typed = |prefix: &str| -> Vec<String> {
            names(prefix).iter().zip(&all).map(|(name, of)| format!("{name}: {of}")).collect()
        };
        let pairs: Vec<String> =
            names("b").iter().zip(names("a")).map(|(b, a)| format!("{b} = {a}")).collect();
        let outputs: Vec<String> = (0..all.len()).map(|at| format!("%w#{at}")).collect();
        let (list, pairs, outputs) = (all.join(", "), pairs.join(", "), outputs.join(", "));
        let parameters = typed("p").join(", ");
        let copies: Vec<String> = (1..all.len())
            .map(|at| format!("%a{at} = stablehlo.add %p{at}, %p{at} : {}\n", all[at]))
            .collect();
        format!(
            "func.func public @main({parameters}) -> ({list}) {{
            %a0 = stablehlo.constant dense<0> : tensor<i32>
            {}
            %w:{} = stablehlo.while({pairs}) : {list}
            cond {{
              %n = stablehlo.constant dense<{rounds}> : tensor<i32>
              %less = stablehlo.compare LT, %b0, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
              {condition}
            }} do {{
              %one = stablehlo.constant dense<1> : tensor<i32>
              %next = stablehlo.add %b0, %one : tensor<i32>
              {body}
            }}
            func.return {outputs} : {list}
            }}\n",
            copies.concat(),
            all.len(),
        )
    }

    fn check(text: &str, whole: bool) {
        let plan = plan_of(text);
        let found = plan.steps.iter().find_map(|step| match &step.op {
            Op::While { condition, decision, body, carried, .. } => {
                Some(compile(condition, *decision, body, carried).is_some())
            }
            _ => None,
        });
        if level() == Level::Avx512 {
            assert_eq!(found, Some(whole), "{text}");
        }
        let kept = [None; 8];
        let plain = Tactics { fuse: false, join: false };
        let wanted = std::cell::OnceCell::new();
        at_every_level(|_| {
            for tactics in [plain, Tactics::FAST] {
                let got = results(text, &kept, tactics);
                assert_eq!(wanted.get_or_init(|| got.clone()), &got, "{tactics:?}\n{text}");
            }
        });
    }

    const GO: &str = "stablehlo.return %less : tensor<i1>";

    #[test]
    fn a_loop_of_scalars_is_one_piece_of_code() {
        let body = "%x = stablehlo.multiply %b1, %b2 : tensor<f32>
            %y = stablehlo.add %b2, %b1 : tensor<f32>
            stablehlo.return %next, %y, %b1 : tensor<i32>, tensor<f32>, tensor<f32>";
        for rounds in [0, 1, 31, 32, 33, 34, 100] {
            check(&text(rounds, &["f32", "f32"], GO, body), true);
        }
    }

    #[test]
    fn variables_change_at_once_and_types_mix() {
        let body = "%h = stablehlo.convert %b1 : (tensor<f32>) -> tensor<bf16>
            %p = stablehlo.compare GT, %b1, %b2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
            %s = stablehlo.select %p, %b1, %b2 : tensor<i1>, tensor<f32>
            %t = stablehlo.select %p, %b2, %b1 : tensor<i1>, tensor<f32>
            %u = stablehlo.convert %h : (tensor<bf16>) -> tensor<f32>
            %v = stablehlo.subtract %t, %u : tensor<f32>
            stablehlo.return %next, %s, %v : tensor<i32>, tensor<f32>, tensor<f32>";
        check(&text(100, &["f32", "f32"], GO, body), true);
        let body = "stablehlo.return %next, %b2, %b3, %b1 :
            tensor<i32>, tensor<f32>, tensor<f32>, tensor<f32>";
        check(&text(100, &["f32", "f32", "f32"], GO, body), true);
    }

    #[test]
    fn what_the_condition_computes_may_end_the_loop_and_be_used_in_the_body() {
        let condition = "%limit = stablehlo.constant dense<1.0e9> : tensor<f32>
            %small = stablehlo.compare LT, %b1, %limit, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
            %both = stablehlo.and %less, %small : tensor<i1>
            stablehlo.return %both : tensor<i1>";
        let body = "%x = stablehlo.add %b1, %b1 : tensor<f32>
            stablehlo.return %next, %x : tensor<i32>, tensor<f32>";
        check(&text(1000, &["f32"], condition, body), true);
    }

    #[test]
    fn a_loop_with_calls_stays_steps() {
        let body = "%x = stablehlo.cosine %b1 : tensor<f32>
            stablehlo.return %next, %x : tensor<i32>, tensor<f32>";
        check(&text(50, &["f32"], GO, body), false);
        let body = "%x = stablehlo.add %b1, %b1 : tensor<4xf32>
            stablehlo.return %next, %x : tensor<i32>, tensor<4xf32>";
        check(&text(50, &["4xf32"], GO, body), false);
    }
}
