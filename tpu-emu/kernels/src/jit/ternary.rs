//! Two operations of logic in one instruction of three operands, as only AVX-512 has it.
use super::encode::Opcode;
use super::inst::{Form, LoopBody, Micro, Value};
use super::opcodes::{VPANDD, VPANDQ, VPORD, VPORQ, VPTERNLOGD, VPXORD, VPXORQ};

/// What each operand of `vpternlogd` is in the eight lines of its table.
const LINES: [u8; 3] = [0xf0, 0xcc, 0xaa];

type Logic = fn(u8, u8) -> u8;

fn logic(op: Opcode) -> Option<Logic> {
    Some(match op {
        VPANDD | VPANDQ => |a, b| a & b,
        VPORD | VPORQ => |a, b| a | b,
        VPXORD | VPXORQ => |a, b| a ^ b,
        _ => return None,
    })
}

/// An operation of logic on two whole vectors, and these.
fn operation(micro: &Micro) -> Option<(Logic, [Value; 2])> {
    let ([Some(a), Some(b), None], None, Form::Binary) = (micro.operands, micro.mask, micro.form)
    else {
        return None;
    };
    Some((logic(micro.op)?, [a, b]))
}

impl LoopBody {
    /// Does an operation of logic together with the one that makes an operand for it alone, which
    /// nothing reads then.
    pub(super) fn fuse_logic(&mut self) {
        let mut readers = vec![0_u32; self.values.len()];
        let stored = self.stores.iter().map(|(value, ..)| *value);
        let read = self.code.iter().flat_map(Micro::reads).chain(stored);
        read.for_each(|value| readers[value.index()] += 1);
        let mut made_at = vec![None; self.values.len()];
        for at in 0..self.code.len() {
            if let Some(both) = self.with_operand(at, &readers, &made_at) {
                self.code[at] = both;
            }
            made_at[self.code[at].result.index()] = Some(at);
        }
    }

    /// The instruction at a place with one that makes an operand of it.
    fn with_operand(&self, at: usize, readers: &[u32], made_at: &[Option<usize>]) -> Option<Micro> {
        let outer = &self.code[at];
        let (join, [left, right]) = operation(outer)?;
        [(left, right), (right, left)].into_iter().find_map(|(made, third)| {
            let inner = &self.code[made_at[made.index()]?];
            let (first, [a, b]) = operation(inner)?;
            let alone = readers[made.index()] == 1 && inner.length == outer.length;
            if !alone || a == b || a == third || b == third {
                return None;
            }
            let mut operands = [a, b, third];
            let mut lines = LINES;
            // The result takes the register of the first, best of one that ends here.
            let ends = operands
                .iter()
                .position(|value| readers[value.index()] == 1 && made_at[value.index()].is_some());
            if let Some(ends) = ends {
                operands.swap(0, ends);
                lines.swap(0, ends);
            }
            Some(Micro {
                op: VPTERNLOGD,
                form: Form::Ternary,
                immediate: Some(join(first(lines[0], lines[1]), lines[2])),
                operands: operands.map(Some),
                start: Some(operands[0]),
                ..*outer
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::opcodes::VPADDD;
    use super::*;

    /// Code over three loads, by the numbers of the values that it reads and makes.
    fn fused(steps: &[(Opcode, usize, usize)], stored: &[usize]) -> Vec<Micro> {
        let mut body = LoopBody::new(16);
        let mut values: Vec<Value> = (0..3).map(|array| body.load(array, 4)).collect();
        for &(op, a, b) in steps {
            let result = body.binary(op, 2, values[a], values[b]);
            values.push(result);
        }
        body.stores = stored.iter().map(|&value| (values[value], 3, 4)).collect();
        body.fuse_logic();
        body.prune();
        body.code
    }

    /// What the table of an instruction gives for the values of its operands in `of`.
    fn table(micro: &Micro, of: [u8; 3]) -> u8 {
        let place = |value: Option<Value>| value.map_or(0, Value::index);
        let [a, b, c] = micro.operands.map(|value| of[place(value)]);
        let line =
            |bit: u32| usize::from((a >> bit & 1) << 2 | (b >> bit & 1) << 1 | (c >> bit & 1));
        let immediate = micro.immediate.unwrap_or(0);
        (0..8).fold(0, |result, bit| result | (immediate >> line(bit) & 1) << bit)
    }

    #[test]
    fn two_operations_are_one_table() {
        let all: [(Opcode, Logic); 3] =
            [VPANDD, VPORD, VPXORQ].map(|op| (op, logic(op).expect("logic")));
        for (inner, first) in all {
            for (outer, then) in all {
                for swapped in [false, true] {
                    let (a, b) = if swapped { (2, 3) } else { (3, 2) };
                    let code = fused(&[(inner, 0, 1), (outer, a, b)], &[4]);
                    assert_eq!(code.len(), 1);
                    let [x, y, z] = LINES;
                    assert_eq!(table(&code[0], LINES), then(first(x, y), z));
                }
            }
        }
    }

    #[test]
    fn the_result_takes_the_place_of_a_value_that_ends() {
        let code = fused(&[(VPADDD, 0, 1), (VPANDD, 0, 1), (VPORD, 4, 3)], &[5]);
        assert_eq!(code.len(), 2);
        assert_eq!(code[1].start, Some(code[0].result));
        let sum = 0b0110_1001;
        let of = |value: Option<Value>| match value {
            Some(value) if value == code[0].result => sum,
            Some(value) => LINES[value.index()],
            None => 0,
        };
        let [a, b, c] = code[1].operands.map(of);
        let mut found = 0;
        for bit in 0..8 {
            let line = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | (c >> bit & 1);
            found |= (code[1].immediate.unwrap_or(0) >> line & 1) << bit;
        }
        assert_eq!(found, LINES[0] & LINES[1] | sum);
    }

    #[test]
    fn what_others_read_too_stays_by_itself() {
        let kept = |steps: &[(Opcode, usize, usize)], stored: &[usize]| {
            fused(steps, stored).iter().all(|micro| micro.form == Form::Binary)
        };
        assert!(kept(&[(VPANDD, 0, 1), (VPORD, 3, 2)], &[3, 4]));
        assert!(kept(&[(VPANDD, 0, 1), (VPORD, 3, 2), (VPADDD, 3, 4)], &[5]));
        assert!(kept(&[(VPANDD, 0, 1), (VPORD, 3, 1)], &[4]));
        assert!(kept(&[(VPADDD, 0, 1), (VPORD, 3, 2)], &[4]));
    }
}
