//! Random programs with and without machine code: the same bits.
use crate::lane_operation;
use tpu_base::tensor::DType;
use tpu_base::tensor::subnormals::Subnormals;
use tpu_kernels::elementwise::program::{ElementwiseConstant, ElementwiseProgram, Instr, Register};
use tpu_kernels::elementwise::take::{NUMBER, take};
use tpu_kernels::jit::is_here;
use tpu_kernels::jit::verify::verified;
use tpu_kernels::simd::at_every_level;
use tpu_kernels::vm::{CompiledLoop, Input, OperandMode, Output};

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = (self.0 ^ self.0 >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ mixed >> 32
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(limit).unwrap()).unwrap()
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// The bits of an element: often a special value.
    fn element(&mut self, dtype: DType) -> Vec<u8> {
        let width = dtype.host_bytes();
        let any = self.next();
        let bits = match (dtype, self.below(3)) {
            (DType::Pred, _) => any & 1,
            (DType::F32, 0) => self.pick(&F32).to_bits().into(),
            (DType::F64, 0) => f64::from(self.pick(&F32)).to_bits(),
            (DType::Bf16, 0) => half::bf16::from_f32(self.pick(&F32)).to_bits().into(),
            (DType::F16, 0) => half::f16::from_f32(self.pick(&F32)).to_bits().into(),
            (DType::F32, 1) => f32::to_bits(self.small()).into(),
            (DType::F64, 1) => f64::from(self.small()).to_bits(),
            (DType::Bf16, 1) => half::bf16::from_f32(self.small()).to_bits().into(),
            (DType::F16, 1) => half::f16::from_f32(self.small()).to_bits().into(),
            (_, 0) => {
                self.pick(&[0, 1, 2, 7, 31, 32, 33, u64::MAX, 1 << 31, 1 << 63, 0x7f, 0x8000])
            }
            (_, 1) => any % 40,
            _ => any,
        };
        bits.to_le_bytes()[..width].to_vec()
    }

    fn small(&mut self) -> f32 {
        (f32::from(u16::try_from(self.below(4001)).unwrap()) - 2000.0) / 8.0
    }
}

const F32: [f32; 24] = [
    0.25,
    -8.0,
    8.507_059e37,
    1.701_411_8e38,
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    0.499_999_97,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
    f32::MAX,
    f32::MIN,
    f32::MIN_POSITIVE,
    1e-45,
    2_147_483_600.0,
    2_147_483_648.0,
    -3e9,
    65_520.0,
];
const FLOATS: [DType; 4] = [DType::F32, DType::F64, DType::Bf16, DType::F16];
const INTEGERS: [DType; 8] =
    [DType::S8, DType::S16, DType::S32, DType::S64, DType::U8, DType::U16, DType::U32, DType::U64];
const ALL: [DType; 13] = [
    DType::F32,
    DType::F64,
    DType::Bf16,
    DType::F16,
    DType::S8,
    DType::S16,
    DType::S32,
    DType::S64,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::Pred,
];
const ANY: [&str; 10] = [
    "add",
    "maximum",
    "minimum",
    "compare.EQ",
    "compare.NE",
    "compare.LT",
    "compare.LE",
    "compare.GT",
    "compare.GE",
    "select",
];
const NUMBERS: [&str; 7] = ["subtract", "multiply", "negate", "abs", "sign", "clamp", "divide"];
const FRACTIONS: [&str; 8] = [
    "sqrt",
    "rsqrt",
    "floor",
    "ceil",
    "round_nearest_even",
    "round_nearest_afz",
    "is_finite",
    "cosine",
];
const PARTS: [&str; 2] = ["divide", "remainder"];
const BITS: [&str; 9] = [
    "and",
    "or",
    "xor",
    "not",
    "shift_left",
    "shift_right_logical",
    "shift_right_arithmetic",
    "popcnt",
    "count_leading_zeros",
];

struct RandomProgramWriter {
    random: Random,
    types: Vec<DType>,
    program: ElementwiseProgram,
    /// Parameters in which lanes look up their own, and the elements that they have.
    arrays: Vec<(usize, usize)>,
}

impl RandomProgramWriter {
    fn get(&mut self, dtype: DType) -> Register {
        let program = &self.program;
        let steps = (0..program.steps.len()).map(Register::Step);
        let lanes = |at: &usize| !self.arrays.iter().any(|(array, _)| array == at);
        let parameters = (0..program.parameters.len()).filter(lanes).map(Register::Parameter);
        let all = parameters.chain(steps);
        let mut fitting: Vec<Register> = all.filter(|&r| program.dtype(r) == dtype).collect();
        // The newest are the likeliest.
        let late = fitting.len().saturating_sub(4);
        if self.random.below(2) == 0 {
            fitting.drain(..late);
        }
        if fitting.is_empty() || self.random.below(6) == 0 {
            let element = self.random.element(dtype);
            self.program.constants.push(ElementwiseConstant { dtype, bytes: element.into() });
            return Register::Constant(self.program.constants.len() - 1);
        }
        self.random.pick(&fitting)
    }

    /// Two shifts whose bits meet, or nearly.
    fn rotation(&mut self, dtype: DType) {
        let width = dtype.host_bytes();
        let bits = 8 * width;
        let left = self.random.below(bits + 1);
        let right = bits - left + usize::from(self.random.below(4) == 0);
        let x = self.get(dtype);
        let both = [("shift_left", left), ("shift_right_logical", right)].map(|(name, by)| {
            let bytes = by.to_le_bytes()[..width].into();
            self.program.constants.push(ElementwiseConstant { dtype, bytes });
            let by = Register::Constant(self.program.constants.len() - 1);
            let op = lane_operation(name, &[dtype; 2], dtype).unwrap();
            self.program.steps.push(Instr { op, inputs: vec![x, by] });
            Register::Step(self.program.steps.len() - 1)
        });
        let name = self.random.pick(&["or", "xor", "add"]);
        let op = lane_operation(name, &[dtype; 2], dtype).unwrap();
        self.program.steps.push(Instr { op, inputs: both.to_vec() });
    }

    /// A shift by a constant: also by as many bits as there are, by more, and by all bits set.
    fn shift_by_constant(&mut self, dtype: DType) {
        let width = dtype.host_bytes();
        let bits = 8 * width;
        let some = self.random.below(bits);
        let by = self.random.pick(&[0, some, bits - 1, bits, bits + 1, usize::MAX]);
        let x = self.get(dtype);
        let bytes = by.to_le_bytes()[..width].into();
        self.program.constants.push(ElementwiseConstant { dtype, bytes });
        let by = Register::Constant(self.program.constants.len() - 1);
        let name = self.random.pick(&BITS[4..7]);
        let op = lane_operation(name, &[dtype; 2], dtype).unwrap();
        self.program.steps.push(Instr { op, inputs: vec![x, by] });
    }

    /// Elements of an array by numbers that may lead out of it.
    fn lookup(&mut self, dtype: DType) {
        let elements = 1 + self.random.below(50);
        let op = take(dtype, u32::try_from(elements - 1).unwrap()).unwrap();
        let numbers = self.get(NUMBER);
        self.arrays.push((self.program.parameters.len(), elements));
        self.program.parameters.push(dtype);
        let array = Register::Parameter(self.program.parameters.len() - 1);
        self.program.steps.push(Instr { op, inputs: vec![numbers, array] });
    }

    fn step(&mut self) {
        let dtype = self.random.pick(&self.types.clone());
        if self.random.below(12) == 0 {
            return self.lookup(dtype);
        }
        if INTEGERS.contains(&dtype) && self.random.below(8) == 0 {
            return self.rotation(dtype);
        }
        if INTEGERS.contains(&dtype) && self.random.below(8) == 0 {
            return self.shift_by_constant(dtype);
        }
        let (float, pred) = (FLOATS.contains(&dtype), dtype == DType::Pred);
        let name = match self.random.below(10) {
            0..4 => self.random.pick(&ANY),
            4..8 if float => {
                let both = [self.random.pick(&NUMBERS), self.random.pick(&FRACTIONS)];
                self.random.pick(&both)
            }
            4 if !pred => self.random.pick(&NUMBERS),
            5 if !pred => self.random.pick(&PARTS),
            6..8 if !float => self.random.pick(if pred { &BITS[..4] } else { &BITS }),
            _ => "convert",
        };
        let to = self.random.pick(&self.types.clone());
        let result = match name {
            "convert" => to,
            "is_finite" => DType::Pred,
            _ if name.starts_with("compare") => DType::Pred,
            _ => dtype,
        };
        let operands: Vec<DType> = match name {
            "select" => vec![DType::Pred, dtype, dtype],
            "clamp" => vec![dtype; 3],
            "negate"
            | "abs"
            | "sign"
            | "not"
            | "popcnt"
            | "count_leading_zeros"
            | "convert"
            | "sqrt"
            | "rsqrt"
            | "floor"
            | "ceil"
            | "round_nearest_even"
            | "round_nearest_afz"
            | "is_finite"
            | "cosine" => vec![dtype],
            _ => vec![dtype; 2],
        };
        // Not every operation takes every type.
        let Some(op) = lane_operation(name, &operands, result) else { return };
        let inputs = operands.into_iter().map(|dtype| self.get(dtype)).collect();
        self.program.steps.push(Instr { op, inputs });
    }
}

fn random_program(seed: u64) -> (ElementwiseProgram, Vec<(usize, usize)>, Random) {
    let mut random = Random(seed);
    let family: &[DType] = match random.below(7) {
        0 => &[DType::F32, DType::S32, DType::U32, DType::Pred],
        1 => &FLOATS,
        2 => &INTEGERS,
        4 => &[DType::S8, DType::U8, DType::Pred],
        5 => &[DType::S16, DType::U16, DType::U8, DType::Pred],
        3 => &[DType::Bf16, DType::F32, DType::Pred],
        _ => &ALL,
    };
    let types = family.to_vec();
    let program = ElementwiseProgram::default();
    let mut writer =
        RandomProgramWriter { random, types: types.clone(), program, arrays: Vec::new() };
    for _ in 0..1 + writer.random.below(14) {
        let dtype = writer.random.pick(&types);
        writer.program.parameters.push(dtype);
    }
    let steps = writer.random.pick(&[1, 3, 8, 20, 60]);
    while writer.program.steps.len() < steps {
        writer.step();
    }
    let made = writer.program.steps.len();
    writer.program.results.push(Register::Step(made - 1));
    for _ in 0..writer.random.below(4) {
        let step = Register::Step(writer.random.below(made));
        if !writer.program.results.contains(&step) {
            writer.program.results.push(step);
        }
    }
    (writer.program, writer.arrays, writer.random)
}

/// Elements with one NaN for all: which of two survives is not settled.
fn settled(dtype: DType, bytes: &[u8]) -> Vec<u64> {
    let width = dtype.host_bytes();
    let mut element = [0; 8];
    let bits = bytes.chunks_exact(width).map(|chunk| {
        element[..width].copy_from_slice(chunk);
        u64::from_le_bytes(element)
    });
    let settle = |bits: u64| {
        let short = u16::try_from(bits & 0xffff).unwrap();
        let nan = match dtype {
            DType::F32 => f32::from_bits(u32::try_from(bits).unwrap()).is_nan(),
            DType::F64 => f64::from_bits(bits).is_nan(),
            DType::F16 => half::f16::from_bits(short).is_nan(),
            DType::Bf16 => half::bf16::from_bits(short).is_nan(),
            _ => false,
        };
        if nan { u64::MAX } else { bits }
    };
    bits.map(settle).collect()
}

fn results(code: &CompiledLoop, native: bool, lanes: usize, inputs: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let program = code.program();
    let room =
        |&register: &Register| vec![0_u64; lanes * program.dtype(register).host_bytes() / 8 + 2];
    let mut memory: Vec<Vec<u64>> = program.results.iter().map(room).collect();
    let aligned: Vec<Vec<u64>> = inputs
        .iter()
        .map(|bytes| {
            let mut words = vec![0_u64; bytes.len().div_ceil(8)];
            bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
            words
        })
        .collect();
    let inputs: Vec<Input<'_>> =
        aligned.iter().map(|words| Input::from(bytemuck::cast_slice::<u64, u8>(words))).collect();
    let outputs: Vec<Output<'_>> = memory
        .iter_mut()
        .map(|words| Output::from(bytemuck::cast_slice_mut::<u64, u8>(words)))
        .collect();
    code.run_by(native, lanes, &inputs, &outputs);
    let bytes = |(words, &register): (&Vec<u64>, &Register)| {
        let width = program.dtype(register).host_bytes();
        let bytes: &[u8] = bytemuck::cast_slice(words);
        assert!(bytes[lanes * width..].iter().all(|&byte| byte == 0), "bytes behind the end");
        bytes[..lanes * width].to_vec()
    };
    memory.iter().zip(&program.results).map(bytes).collect()
}

fn check(seed: u64) {
    let (program, arrays, random) = random_program(seed);
    compare(&format!("seed {seed}"), program, arrays, random);
}

/// Compares the results of a program with and without machine code.
fn compare(
    name: &str,
    program: ElementwiseProgram,
    arrays: Vec<(usize, usize)>,
    mut random: Random,
) {
    let feed = |random: &mut Random| {
        if random.below(4) == 0 { OperandMode::Scalar } else { OperandMode::PerElement }
    };
    let mut feeds: Vec<OperandMode> =
        program.parameters.iter().map(|_| feed(&mut random)).collect();
    arrays.into_iter().for_each(|(array, elements)| feeds[array] = OperandMode::Table(elements));
    let code = CompiledLoop::new(program, feeds);
    let long = 1000 + random.below(1200);
    for lanes in [1 + random.below(40), 1 + random.below(40), long] {
        let mut input = |(&dtype, feed): (&DType, &OperandMode)| -> Vec<u8> {
            let count = match *feed {
                OperandMode::PerElement => lanes,
                OperandMode::Scalar => 1,
                OperandMode::Table(elements) => elements,
            };
            (0..count).flat_map(|_| random.element(dtype)).collect()
        };
        let inputs: Vec<Vec<u8>> =
            code.program().parameters.iter().zip(code.feeds()).map(&mut input).collect();
        let [native, portable] = [true, false].map(|native| results(&code, native, lanes, &inputs));
        for (index, register) in code.program().results.iter().enumerate() {
            let dtype = code.program().dtype(*register);
            let [a, b] = [&native, &portable].map(|all| settled(dtype, &all[index]));
            let differs = a.iter().zip(&b).position(|(a, b)| a != b);
            if let Some(at) = differs {
                let list: Vec<String> = code
                    .program()
                    .steps
                    .iter()
                    .enumerate()
                    .map(|(at, step)| {
                        format!(
                            "{at}: {:?} {:?} {:?} -> {:?}",
                            step.op.kind, step.op.operand, step.inputs, step.op.result
                        )
                    })
                    .collect();
                panic!(
                    "{name}, {lanes} lanes, result {index} ({register:?}), lane {at}: {:x} not {:x}\n{}\n{:?} {:?} {:?}",
                    a[at],
                    b[at],
                    list.join("\n"),
                    code.program().parameters,
                    code.program().constants,
                    code.feeds()
                );
            }
        }
    }
}

#[test]
fn machine_code_gives_the_bits_of_the_portable_loops() {
    at_every_level(|_| {
        if is_here() {
            let before = verified();
            (0..600).for_each(check);
            let _mode = Subnormals::Flushed.enter();
            (0..600).for_each(check);
            // Each function was read back before it ran.
            assert!(verified() > before + 1000);
        }
    });
}

/// Quotients and remainders of a type by every element and by constants: around all powers of two,
/// their opposites, and others.
fn divisions(dtype: DType) -> ElementwiseProgram {
    let mut program = ElementwiseProgram { parameters: vec![dtype; 2], ..Default::default() };
    let powers = (0..8 * dtype.host_bytes()).flat_map(|bit| {
        let power = 1_u64 << bit;
        [power - 1, power, power + 1, power.wrapping_neg(), (power + 1).wrapping_neg()]
    });
    for bits in powers.chain([3, 5, 7, 10, 100, 641, 1000, 46_341, 0xaaaa_aaaa]) {
        let bytes = bits.to_le_bytes()[..dtype.host_bytes()].into();
        program.constants.push(ElementwiseConstant { dtype, bytes });
    }
    let divisors = (0..program.constants.len()).map(Register::Constant);
    for by in divisors.chain([Register::Parameter(1)]) {
        for name in PARTS {
            let op = lane_operation(name, &[dtype; 2], dtype).unwrap();
            program.steps.push(Instr { op, inputs: vec![Register::Parameter(0), by] });
            program.results.push(Register::Step(program.steps.len() - 1));
        }
    }
    program
}

#[test]
fn integers_are_divided_as_by_the_portable_loops() {
    at_every_level(|_| {
        for dtype in INTEGERS.into_iter().filter(|_| is_here()) {
            let before = verified();
            (0..2).for_each(|seed| {
                compare(&format!("{dtype:?}"), divisions(dtype), Vec::new(), Random(seed));
            });
            assert!(dtype.host_bytes() == 8 || verified() > before, "no machine code: {dtype:?}");
        }
    });
}
