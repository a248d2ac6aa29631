// Longer than other files: a table with a row for each operation, which one wants to search in one
// place.
//! Every operation that is read: one row each.
use super::operation::{Class, Presence, Property, Row};

const fn row(
    name: &'static str,
    operands: &'static [&'static str],
    results: &'static [&'static str],
    text: &'static str,
) -> Row {
    Row { name, operands, results, attributes: &[], same: &[], regions: 0, text }
}

impl Row {
    const fn with(self, attributes: &'static [Property]) -> Self {
        Self { attributes, ..self }
    }

    const fn same(self, same: &'static [&'static str]) -> Self {
        Self { same, ..self }
    }

    const fn regions(self, regions: usize) -> Self {
        Self { regions, ..self }
    }
}

const fn required(name: &'static str, class: Class) -> Property {
    Property { name, class, presence: Presence::Required }
}

const fn optional(name: &'static str, class: Class) -> Property {
    Property { name, class, presence: Presence::Optional }
}

const fn default(name: &'static str, class: Class, value: i64) -> Property {
    Property { name, class, presence: Presence::Default(value) }
}

const FASTMATH: &[Property] =
    &[Property { name: "fastmath", class: Class::Fastmath, presence: Presence::NoPromise }];
const OVERFLOW: &[Property] =
    &[Property { name: "overflowFlags", class: Class::Overflow, presence: Presence::NoPromise }];

const COMPARISON: &[Property] = &[
    Property { name: "fastmath", class: Class::Fastmath, presence: Presence::NoPromise },
    required("predicate", Class::FloatPredicate),
];

const UNARY: &str = " {a}{*} : {:result}";
const BINARY: &str = " {a}, {b}{*} : {:result}";
const CONVERSION: &str = " {a}{*} : {:a} to {:result}";
const ARROW: &str = " {a}{*} : {:a} -> {:result}";
const NULLARY: &str = "{*} : {:result}";
const TERMINATOR: &str = "{*}{?values: {values} : {:values}}";
const DMA: &str = " source({source} : {:source}) target({target} : {:target}){?source_semaphore: source_semaphore({source_semaphore} : {:source_semaphore})}{?target_semaphore: target_semaphore({target_semaphore} : {:target_semaphore})}{?device_id: device_id({device_id})}{?core_id: core_id({core_id})}{?subcore_id: subcore_id({subcore_id})}{*}";

macro_rules! operations {
    ($($variant:ident = $row:expr;)*) => {
        /// An operation, named after its dialect and mnemonic.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[expect(missing_docs, reason = "the names are the operations")]
        pub enum Op { $($variant,)* }

        static ROWS: &[Row] = &[$($row,)*];

        impl Op {
            /// Every operation.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];
        }
    };
}

operations! {
    ArithAddi = row("arith.addi", &["a:int", "b:int"], &["result:int"], BINARY).with(OVERFLOW).same(&["a b result"]);
    ArithSubi = row("arith.subi", &["a:int", "b:int"], &["result:int"], BINARY).with(OVERFLOW).same(&["a b result"]);
    ArithMuli = row("arith.muli", &["a:int", "b:int"], &["result:int"], BINARY).with(OVERFLOW).same(&["a b result"]);
    ArithShli = row("arith.shli", &["a:int", "b:int"], &["result:int"], BINARY).with(OVERFLOW).same(&["a b result"]);
    ArithAndi = row("arith.andi", &["a:int", "b:int"], &["result:int"], BINARY).same(&["a b result"]);
    ArithOri = row("arith.ori", &["a:int", "b:int"], &["result:int"], BINARY).same(&["a b result"]);
    ArithXori = row("arith.xori", &["a:int", "b:int"], &["result:int"], BINARY).same(&["a b result"]);
    ArithDivsi = row("arith.divsi", &["a:int", "b:int"], &["result:int"], BINARY).same(&["a b result"]);
    ArithRemsi = row("arith.remsi", &["a:int", "b:int"], &["result:int"], BINARY).same(&["a b result"]);
    ArithDivui = row("arith.divui", &["a:int", "b:int"], &["result:int"], BINARY).same(&["a b result"]);
    ArithRemui = row("arith.remui", &["a:int", "b:int"], &["result:int"], BINARY).same(&["a b result"]);
    ArithShrui = row("arith.shrui", &["a:int", "b:int"], &["result:int"], BINARY).same(&["a b result"]);
    ArithShrsi = row("arith.shrsi", &["a:int", "b:int"], &["result:int"], BINARY).same(&["a b result"]);
    ArithMaxsi = row("arith.maxsi", &["a:int", "b:int"], &["result:int"], BINARY).same(&["a b result"]);
    ArithMinsi = row("arith.minsi", &["a:int", "b:int"], &["result:int"], BINARY).same(&["a b result"]);
    ArithMaxui = row("arith.maxui", &["a:int", "b:int"], &["result:int"], BINARY).same(&["a b result"]);
    ArithMinui = row("arith.minui", &["a:int", "b:int"], &["result:int"], BINARY).same(&["a b result"]);
    ArithCeildivsi = row("arith.ceildivsi", &["a:int", "b:int"], &["result:int"], BINARY).same(&["a b result"]);
    ArithCeildivui = row("arith.ceildivui", &["a:int", "b:int"], &["result:int"], BINARY).same(&["a b result"]);
    ArithFloordivsi = row("arith.floordivsi", &["a:int", "b:int"], &["result:int"], BINARY).same(&["a b result"]);
    ArithAddf = row("arith.addf", &["a:float", "b:float"], &["result:float"], BINARY).with(FASTMATH).same(&["a b result"]);
    ArithSubf = row("arith.subf", &["a:float", "b:float"], &["result:float"], BINARY).with(FASTMATH).same(&["a b result"]);
    ArithMulf = row("arith.mulf", &["a:float", "b:float"], &["result:float"], BINARY).with(FASTMATH).same(&["a b result"]);
    ArithDivf = row("arith.divf", &["a:float", "b:float"], &["result:float"], BINARY).with(FASTMATH).same(&["a b result"]);
    ArithRemf = row("arith.remf", &["a:float", "b:float"], &["result:float"], BINARY).with(FASTMATH).same(&["a b result"]);
    ArithMaximumf = row("arith.maximumf", &["a:float", "b:float"], &["result:float"], BINARY).with(FASTMATH).same(&["a b result"]);
    ArithMinimumf = row("arith.minimumf", &["a:float", "b:float"], &["result:float"], BINARY).with(FASTMATH).same(&["a b result"]);
    ArithMaxnumf = row("arith.maxnumf", &["a:float", "b:float"], &["result:float"], BINARY).with(FASTMATH).same(&["a b result"]);
    ArithMinnumf = row("arith.minnumf", &["a:float", "b:float"], &["result:float"], BINARY).with(FASTMATH).same(&["a b result"]);
    ArithNegf = row("arith.negf", &["a:float"], &["result:float"], UNARY).with(FASTMATH).same(&["a result"]);
    ArithConstant = row("arith.constant", &[], &["result"], "").with(&[required("value", Class::Constant)]);
    ArithCmpi = row("arith.cmpi", &["a:int", "b:int"], &["result:bool"], " {@predicate}, {a}, {b}{*} : {:a}").with(&[required("predicate", Class::IntegerPredicate)]).same(&["a b", "shape a result"]);
    ArithCmpf = row("arith.cmpf", &["a:float", "b:float"], &["result:bool"], " {@predicate}, {a}, {b}{*} : {:a}").with(COMPARISON).same(&["a b", "shape a result"]);
    ArithSelect = row("arith.select", &["condition:bool", "a", "b"], &["result"], " {condition}, {a}, {b}{*} : {&condition}{:result}").same(&["a b result"]);
    ArithExtf = row("arith.extf", &["a:float"], &["result:float"], CONVERSION).with(&[optional("fastmath", Class::Fastmath)]).same(&["shape a result"]);
    ArithTruncf = row("arith.truncf", &["a:float"], &["result:float"], CONVERSION).with(&[optional("fastmath", Class::Fastmath)]).same(&["shape a result"]);
    ArithExtsi = row("arith.extsi", &["a:int"], &["result:int"], CONVERSION).same(&["shape a result"]);
    ArithExtui = row("arith.extui", &["a:int"], &["result:int"], CONVERSION).same(&["shape a result"]);
    ArithTrunci = row("arith.trunci", &["a:int"], &["result:int"], CONVERSION).with(OVERFLOW).same(&["shape a result"]);
    ArithSitofp = row("arith.sitofp", &["a:int"], &["result:float"], CONVERSION).same(&["shape a result"]);
    ArithUitofp = row("arith.uitofp", &["a:int"], &["result:float"], CONVERSION).same(&["shape a result"]);
    ArithFptosi = row("arith.fptosi", &["a:float"], &["result:int"], CONVERSION).same(&["shape a result"]);
    ArithFptoui = row("arith.fptoui", &["a:float"], &["result:int"], CONVERSION).same(&["shape a result"]);
    ArithIndexCast = row("arith.index_cast", &["a:int"], &["result:int"], CONVERSION).same(&["shape a result"]);
    ArithIndexCastui = row("arith.index_castui", &["a:int"], &["result:int"], CONVERSION).same(&["shape a result"]);
    ArithMulsiExtended = row("arith.mulsi_extended", &["a:int", "b:int"], &["low:int", "high:int"], " {a}, {b}{*} : {:a}").same(&["a b low high"]);
    ArithMuluiExtended = row("arith.mului_extended", &["a:int", "b:int"], &["low:int", "high:int"], " {a}, {b}{*} : {:a}").same(&["a b low high"]);
    ArithBitcast = row("arith.bitcast", &["a:number"], &["result:number"], CONVERSION).same(&["shape a result"]);
    MathExp = row("math.exp", &["a:float"], &["result:float"], UNARY).with(FASTMATH).same(&["a result"]);
    MathExp2 = row("math.exp2", &["a:float"], &["result:float"], UNARY).with(FASTMATH).same(&["a result"]);
    MathExpm1 = row("math.expm1", &["a:float"], &["result:float"], UNARY).with(FASTMATH).same(&["a result"]);
    MathLog = row("math.log", &["a:float"], &["result:float"], UNARY).with(FASTMATH).same(&["a result"]);
    MathLog1p = row("math.log1p", &["a:float"], &["result:float"], UNARY).with(FASTMATH).same(&["a result"]);
    MathLog2 = row("math.log2", &["a:float"], &["result:float"], UNARY).with(FASTMATH).same(&["a result"]);
    MathTanh = row("math.tanh", &["a:float"], &["result:float"], UNARY).with(FASTMATH).same(&["a result"]);
    MathSin = row("math.sin", &["a:float"], &["result:float"], UNARY).with(FASTMATH).same(&["a result"]);
    MathCos = row("math.cos", &["a:float"], &["result:float"], UNARY).with(FASTMATH).same(&["a result"]);
    MathTan = row("math.tan", &["a:float"], &["result:float"], UNARY).with(FASTMATH).same(&["a result"]);
    MathSqrt = row("math.sqrt", &["a:float"], &["result:float"], UNARY).with(FASTMATH).same(&["a result"]);
    MathRsqrt = row("math.rsqrt", &["a:float"], &["result:float"], UNARY).with(FASTMATH).same(&["a result"]);
    MathAbsf = row("math.absf", &["a:float"], &["result:float"], UNARY).with(FASTMATH).same(&["a result"]);
    MathCeil = row("math.ceil", &["a:float"], &["result:float"], UNARY).with(FASTMATH).same(&["a result"]);
    MathFloor = row("math.floor", &["a:float"], &["result:float"], UNARY).with(FASTMATH).same(&["a result"]);
    MathRound = row("math.round", &["a:float"], &["result:float"], UNARY).with(FASTMATH).same(&["a result"]);
    MathRoundeven = row("math.roundeven", &["a:float"], &["result:float"], UNARY).with(FASTMATH).same(&["a result"]);
    MathErf = row("math.erf", &["a:float"], &["result:float"], UNARY).with(FASTMATH).same(&["a result"]);
    MathAbsi = row("math.absi", &["a:int"], &["result:int"], UNARY).same(&["a result"]);
    MathCtpop = row("math.ctpop", &["a:int"], &["result:int"], UNARY).same(&["a result"]);
    MathCtlz = row("math.ctlz", &["a:int"], &["result:int"], UNARY).same(&["a result"]);
    MathPowf = row("math.powf", &["a:float", "b:float"], &["result:float"], BINARY).with(FASTMATH).same(&["a b result"]);
    MathAtan2 = row("math.atan2", &["a:float", "b:float"], &["result:float"], BINARY).with(FASTMATH).same(&["a b result"]);
    VectorLoad = row("vector.load", &["base:memref", "indices*:index"], &["result:vector"], " {base}[{indices}]{*} : {:base}, {:result}").with(&[optional("alignment", Class::I64), default("nontemporal", Class::Bool, 0)]).same(&["element base result"]);
    VectorStore = row("vector.store", &["value:vector", "base:memref", "indices*:index"], &[], " {value}, {base}[{indices}]{*} : {:base}, {:value}").with(&[optional("alignment", Class::I64), default("nontemporal", Class::Bool, 0)]).same(&["element base value"]);
    VectorBroadcast = row("vector.broadcast", &["a:number"], &["result:vector"], CONVERSION).same(&["element a result"]);
    VectorShapeCast = row("vector.shape_cast", &["a:vector"], &["result:vector"], CONVERSION).same(&["element a result"]);
    VectorExtract = row("vector.extract", &["a:vector", "positions*:index"], &["result:number"], "!").with(&[required("static_position", Class::Integers64)]).same(&["element a result"]);
    VectorExtractStridedSlice = row("vector.extract_strided_slice", &["a:vector"], &["result:vector"], CONVERSION).with(&[required("offsets", Class::List), required("sizes", Class::List), required("strides", Class::List)]).same(&["element a result"]);
    VectorMultiReduction = row("vector.multi_reduction", &["a:vector", "acc:number"], &["result:number"], " {@kind}, {a}, {acc} {@reduction_dims}{*} : {:a} to {:result}").with(&[required("kind", Class::CombiningKind), required("reduction_dims", Class::Integers64)]).same(&["acc result", "element a result"]);
    VectorTranspose = row("vector.transpose", &["a:vector"], &["result:vector"], " {a}, {@permutation}{*} : {:a} to {:result}").with(&[required("permutation", Class::Integers64)]).same(&["element a result"]);
    VectorBitcast = row("vector.bitcast", &["a:vector"], &["result:vector"], CONVERSION);
    MemrefLoad = row("memref.load", &["base:memref", "indices*:index"], &["result"], " {base}[{indices}]{*} : {:base}").with(&[optional("alignment", Class::I64), default("nontemporal", Class::Bool, 0)]).same(&["element base result"]);
    MemrefStore = row("memref.store", &["value", "base:memref", "indices*:index"], &[], " {value}, {base}[{indices}]{*} : {:base}").with(&[optional("alignment", Class::I64), default("nontemporal", Class::Bool, 0)]).same(&["element base value"]);
    MemrefAlloca = row("memref.alloca", &["sizes*:index", "symbols*:index"], &["result:memref"], "({sizes}){*} : {:result}").with(&[optional("alignment", Class::I64)]);
    MemrefCast = row("memref.cast", &["a:memref"], &["result:memref"], CONVERSION).same(&["element a result"]);
    MemrefMemorySpaceCast = row("memref.memory_space_cast", &["a:memref"], &["result:memref"], CONVERSION).same(&["shape a result", "element a result"]);
    ScfIndexSwitch = row("scf.index_switch", &["condition:index"], &["results*"], "").with(&[required("cases", Class::Integers64)]);
    ScfIf = row("scf.if", &["condition:i1"], &["results*"], "").regions(2);
    ScfFor = row("scf.for", &["low:count", "high:count", "step:count", "initial*"], &["results*"], "").with(&[optional("unsignedCmp", Class::Unit)]).same(&["low high step"]).regions(1);
    ScfWhile = row("scf.while", &["initial*"], &["results*"], "").regions(2);
    ScfYield = row("scf.yield", &["values*"], &[], TERMINATOR);
    ScfCondition = row("scf.condition", &["condition:i1", "values*"], &[], "({condition}){*}{?values: {values} : {:values}}");
    CfAssert = row("cf.assert", &["condition:i1"], &[], " {condition}, {@msg}{*}").with(&[required("msg", Class::Text)]);
    FuncReturn = row("func.return", &["values*"], &[], TERMINATOR);
    FuncCall = row("func.call", &["values*"], &["results*"], " {@callee}({values}){*} : ({:values}) -> {(results}").with(&[required("callee", Class::Symbol), optional("no_inline", Class::Unit)]);
    TpuVectorStore = row("tpu.vector_store", &["value:vector", "base:memref", "indices*:index", "mask?:mask"], &[], " {base}[{indices}], {value}{?mask: masked {mask}}{*} : {:base}, {:value}, {:mask}").with(&[default("add", Class::Bool, 0), required("strides", Class::Integers32)]).same(&["element base value"]);
    TpuVectorLoad = row("tpu.vector_load", &["base:memref", "indices*:index", "mask?:mask"], &["result:vector"], " {base}[{indices}]{?mask: masked {mask}}{*} : {:base}, {:result}, {:mask}").with(&[required("strides", Class::Integers32)]).same(&["element base result"]);
    TpuStore = row("tpu.store", &["value:vector", "base:memref", "indices*:index", "mask?:mask"], &[], " {base}[{indices}], {value}{?mask: masked {mask}} sublanes {@sublane_mask}{?sublane_stride: sublane_stride {@sublane_stride}}{*} : {:base}, {:value}, {:mask}").with(&[required("sublane_mask", Class::Booleans), default("sublane_stride", Class::I32, 1), default("add", Class::Bool, 0)]).same(&["element base value"]);
    TpuLoad = row("tpu.load", &["base:memref", "indices*:index"], &["result:vector"], " {base}[{indices}] sublanes {@sublane_mask}{?sublane_stride: sublane_stride {@sublane_stride}}{*} : {:base}, {:result}").with(&[required("sublane_mask", Class::Booleans), default("sublane_stride", Class::I32, 1)]).same(&["element base result"]);
    TpuStridedLoad = row("tpu.strided_load", &["base:memref", "indices*:index"], &["result:vector"], " {base}[{indices}]{*} : {:base}, {:result}").with(&[required("strides", Class::Integers32)]).same(&["element base result"]);
    TpuStridedStore = row("tpu.strided_store", &["value:vector", "base:memref", "indices*:index"], &[], " {base}[{indices}], {value}{*} : {:base}, {:value}").with(&[required("strides", Class::Integers32)]).same(&["element base value"]);
    TpuVectorLoadIdx = row("tpu.vector_load_idx", &["base:memref", "indices*:vector", "mask?:mask"], &["result:vector"], " {base}[{indices}]{?mask: masked {mask}}{*} : {:base}[{:indices}], {:result}, {:mask}").same(&["element base result"]);
    TpuVectorStoreIdx = row("tpu.vector_store_idx", &["value:vector", "base:memref", "indices*:vector", "mask?:mask"], &[], " {base}[{indices}], {value}{?mask: masked {mask}}{*} : {:base}[{:indices}], {:value}, {:mask}").with(&[default("add", Class::Bool, 0)]).same(&["element base value"]);
    TpuMatmul = row("tpu.matmul", &["lhs:vector", "rhs:vector", "acc:vector"], &["result:vector"], " {lhs}, {rhs}, {acc}{*} : {:lhs}, {:rhs}, {:acc} -> {:result}").with(&[optional("dimension_numbers", Class::DotDimensions), optional("precision", Class::ContractPrecision), default("transpose_lhs", Class::Bool, 0), required("transpose_lhs_hint", Class::Bool), default("transpose_rhs", Class::Bool, 0)]).same(&["acc result"]);
    TpuIota = row("tpu.iota", &[], &["result:vector"], NULLARY).with(&[required("dimensions", Class::Integers32)]);
    TpuDynamicRotate = row("tpu.dynamic_rotate", &["a:vector", "amount:i32"], &["result:vector"], " {a} by {amount} dim {@dimension}{*} : {:a}, {:amount} -> {:result}").with(&[required("dimension", Class::Si32), optional("stride", Class::Si32), optional("stride_dimension", Class::Si32)]).same(&["a result"]);
    TpuRotate = row("tpu.rotate", &["a:vector"], &["result:vector"], " {a} by {@amount} dim {@dimension}{*} : {:a}").with(&[required("amount", Class::Si32), required("dimension", Class::Si32), optional("stride", Class::Si32), optional("stride_dimension", Class::Si32)]).same(&["a result"]);
    TpuDynamicGather = row("tpu.dynamic_gather", &["a:vector", "indices:vector"], &["result:vector"], " {a}[{indices}] in {@dimensions}{*} : {:a}, {:indices} -> {:result}").with(&[required("dimensions", Class::Integers32)]).same(&["shape indices result", "element a result"]);
    TpuTranspose = row("tpu.transpose", &["a:vector"], &["result:vector"], " {a}, {@permutation}{*} : {:a} -> {:result}").with(&[required("permutation", Class::Integers64)]).same(&["element a result"]);
    TpuConcatenate = row("tpu.concatenate", &["sources*:vector"], &["result:vector"], " {sources} in {@dimension}{*} : {:sources} -> {:result}").with(&[required("dimension", Class::I32)]);
    TpuRepeat = row("tpu.repeat", &["a:vector"], &["result:vector"], " {a}, {@dimension} x {@times}{*} : {:a} -> {:result}").with(&[required("dimension", Class::I32), required("times", Class::I32)]).same(&["element a result"]);
    TpuReshape = row("tpu.reshape", &["a:vector"], &["result:vector"], ARROW).same(&["element a result"]);
    TpuBitcast = row("tpu.bitcast", &["a:vector"], &["result:vector"], ARROW);
    TpuMemrefSlice = row("tpu.memref_slice", &["base:memref", "indices*:i32", "sizes*:i32"], &["result:memref"], " {base}[{indices}]{?sizes: <{sizes}>}{*} : {:base} -> {:result}").same(&["element base result"]);
    TpuMemrefSqueeze = row("tpu.memref_squeeze", &["a:memref"], &["result:memref"], ARROW).same(&["element a result"]);
    TpuMemrefReshape = row("tpu.memref_reshape", &["a:memref"], &["result:memref"], ARROW).same(&["element a result"]);
    TpuMemrefBitcast = row("tpu.memref_bitcast", &["a:memref"], &["result:memref"], ARROW);
    TpuReinterpretCast = row("tpu.reinterpret_cast", &["a:memref", "offset?:i32", "sizes*:i32", "strides*:i32"], &["result:memref"], " {a}{?offset: {offset}}{?sizes: <{sizes}>}{?strides: <{strides}>}{*} : {:a} -> {:result}");
    TpuAssumeLayout = row("tpu.assume_layout", &["a"], &["result"], ARROW).same(&["shape a result", "element a result"]);
    TpuEraseMemrefLayout = row("tpu.erase_memref_layout", &["a:memref"], &["result:memref"], ARROW).same(&["element a result"]);
    TpuAssumeMultiple = row("tpu.assume_multiple", &["a:count"], &["result:count"], " {a}, {@multiple}{*} : {:result}").with(&[required("multiple", Class::I32)]).same(&["a result"]);
    TpuReciprocal = row("tpu.reciprocal", &["a:vector"], &["result:vector"], ARROW).with(&[default("approx", Class::Bool, 0), default("full_range", Class::Bool, 1)]).same(&["a result"]);
    TpuLogistic = row("tpu.logistic", &["a:vector"], &["result:vector"], ARROW).same(&["a result"]);
    TpuWeird = row("tpu.weird", &["a:float"], &["result:bool"], ARROW).same(&["shape a result"]);
    TpuReduceIndex = row("tpu.reduce_index", &["a:vector"], &["result:vector"], ARROW).with(&[required("axis", Class::I32), required("kind", Class::ReductionKind)]);
    TpuAllReduce = row("tpu.all_reduce", &["a:vector"], &["result:vector"], ARROW).with(&[required("dim", Class::I64), required("kind", Class::ReductionKind)]);
    TpuPackElementwise = row("tpu.pack_elementwise", &["sources*:vector"], &["result:vector"], " {sources}{*} : {:sources} -> {:result}").with(&[required("target_type", Class::Element)]);
    TpuUnpackElementwise = row("tpu.unpack_elementwise", &["a:vector"], &["result:vector"], " {a}, {@index}{*} : {:a} -> {:result}").with(&[required("index", Class::I32), required("source_type", Class::Element)]).same(&["shape a result"]);
    TpuPackSubelements = row("tpu.pack_subelements", &["sources*:vector"], &["result:vector"], " {sources}{*} : {:sources} -> {:result}").with(&[required("pack_format", Class::PackFormat), required("positions", Class::Integers32), default("unsigned_integers", Class::Bool, 0)]);
    TpuUnpackSubelements = row("tpu.unpack_subelements", &["a:vector"], &["result:vector"], " {a}, {@index}{*} : {:a} -> {:result}").with(&[required("index", Class::I32), default("integer_extended", Class::Bool, 1), required("pack_format", Class::PackFormat), default("unsigned_integers", Class::Bool, 0)]);
    TpuStochasticConvert = row("tpu.stochastic_convert", &["a:vector", "random:vector"], &["result:vector"], " {a}, {random}{*} : {:a}, {:random} -> {:result}").same(&["shape a random result"]);
    TpuRegion = row("tpu.region", &[], &["results*"], "").regions(1);
    TpuTrace = row("tpu.trace", &[], &["results*"], "").with(&[required("level", Class::I32), required("message", Class::Text)]).regions(1);
    TpuYield = row("tpu.yield", &["values*"], &[], TERMINATOR);
    TpuTraceStart = row("tpu.trace_start", &[], &[], "").with(&[required("level", Class::I32), required("message", Class::Text)]);
    TpuTraceStop = row("tpu.trace_stop", &[], &[], "");
    TpuTraceValue = row("tpu.trace_value", &["a"], &[], " {a}, {@label}{*} : {:a}").with(&[required("label", Class::Text)]);
    TpuDelay = row("tpu.delay", &["nanos:i32"], &[], " {nanos}{*}");
    TpuIterationBound = row("tpu.iteration_bound", &[], &["result:i32"], " {@dim}{*} : {:result}").with(&[required("dim", Class::I32)]);
    TpuDeviceId = row("tpu.device_id", &[], &["result:i32"], NULLARY);
    TpuCoreId = row("tpu.core_id", &[], &["result:i32"], NULLARY);
    TpuSubcoreId = row("tpu.subcore_id", &[], &["result:i32"], NULLARY);
    TpuInternalScratch = row("tpu.internal_scratch", &[], &["result:memref"], NULLARY);
    TpuPrngSetSeed32 = row("tpu.prng_set_seed_32", &["seeds*:i32"], &[], "");
    TpuPrngRandomBits = row("tpu.prng_random_bits", &[], &["result:vector"], "");
    TpuLog = row("tpu.log", &["inputs*"], &[], " {@tag}{*}{?inputs: : [{inputs}] : {:inputs}}").with(&[default("formatted", Class::Bool, 0), required("tag", Class::Text)]);
    TpuLogBuffer = row("tpu.log_buffer", &["a:memref"], &[], " {@tag}{*} : {a} : {:a}").with(&[required("shape", Class::Integers64), required("tag", Class::Text)]);
    TpuSemAlloc = row("tpu.sem_alloc", &[], &["result:semaphore"], NULLARY);
    TpuSemBarrier = row("tpu.sem_barrier", &[], &["result:semaphore"], NULLARY);
    TpuSemRead = row("tpu.sem_read", &["semaphore:semaphore"], &["result:i32"], " {semaphore}{*} : {:semaphore} -> {:result}");
    TpuSemWait = row("tpu.sem_wait", &["semaphore:semaphore", "amount:i32"], &[], " {semaphore}, {amount}{*} : {:semaphore}");
    TpuSemSignal = row("tpu.sem_signal", &["semaphore:semaphore", "amount:i32", "device_id?:i32", "core_id?:i32", "subcore_id?:i32"], &[], " {semaphore}, {amount}{?device_id: device_id {device_id}}{?core_id: core_id {core_id}}{?subcore_id: subcore_id {subcore_id}}{*} : {:semaphore}");
    TpuEnqueueDma = row("tpu.enqueue_dma", &["source:memref", "source_semaphore?:semaphore", "target:memref", "target_semaphore?:semaphore", "device_id?:i32", "core_id?:i32", "subcore_id?:i32"], &[], DMA).with(&[default("priority", Class::I32, 0), default("strict_ordering", Class::Bool, 0)]);
    TpuWaitDma = row("tpu.wait_dma", &["source:memref", "source_semaphore?:semaphore", "target:memref", "target_semaphore?:semaphore", "device_id?:i32", "core_id?:i32", "subcore_id?:i32"], &[], DMA).with(&[default("priority", Class::I32, 0), default("strict_ordering", Class::Bool, 0), required("wait_target", Class::Bool)]);
    TpuWaitDma2 = row("tpu.wait_dma2", &["semaphore:semaphore", "src:memref", "dst:memref", "device_id?:i32", "core_id?:i32"], &[], " semaphore({semaphore} : {:semaphore}) src({src} : {:src}) dst({dst} : {:dst}){?device_id: device_id({device_id})}{?core_id: core_id({core_id})}{*}").with(&[default("strict_ordering", Class::Bool, 0)]);
    TpuEnqueueIndirectDma = row("tpu.enqueue_indirect_dma", &["source:memref", "target:memref", "offsets", "semaphore:semaphore", "offset_filter?:i32"], &[], " source({source} : {:source}) target({target} : {:target}) offsets({offsets} : {:offsets}){?offset_filter: offset_filter({offset_filter})} semaphore({semaphore} : {:semaphore}){*}").with(&[default("add", Class::Bool, 0)]);
    TpuWaitIndirectDma = row("tpu.wait_indirect_dma", &["semaphore:semaphore", "src:memref", "dst:memref"], &[], " semaphore({semaphore} : {:semaphore}) src({src} : {:src}) dst({dst} : {:dst}){*}");
    TpuBarrier = row("tpu.barrier", &["barrier_id:index"], &[], " barrier_id({barrier_id}){*}");
    TpuFetchAndAddSync = row("tpu.fetch_and_add_sync", &["base:memref", "indices*:i32", "value:i32", "core_id:i32"], &["result:i32"], " {base}[{indices}], {value}, {core_id}{*} : {:base}, {:value} -> {:result}");
    TpuScan = row("tpu.scan", &["a:vector", "mask?:mask"], &["result:vector"], " {@kind}, {a}{?mask: masked {mask}}{*} : {:a}, {:mask} -> {:result}").with(&[required("dimension", Class::I64), required("kind", Class::ReductionKind)]).same(&["shape a result"]);
    TpuReduce = row("tpu.reduce", &["a:vector"], &["result:vector"], " {@kind}, {a} {@dimensions}{*} : {:a} -> {:result}").with(&[required("dimensions", Class::Integers64), required("kind", Class::ReductionKind)]).same(&["element a result"]);
    TpuReducePrecision = row("tpu.reduce_precision", &["a:vector"], &["result:vector"], ARROW).with(&[required("exponent_bits", Class::I32), required("mantissa_bits", Class::I32)]).same(&["a result"]);
    TpuAnnotate = row("tpu.annotate", &["a:memref"], &["result:memref"], " {a}{*} : {:a}").with(&[default("no_bank_conflict", Class::Bool, 0), default("no_hazard", Class::Bool, 0), default("no_hazard_no_deps", Class::Bool, 0), default("no_store", Class::Bool, 0)]).same(&["a result"]);
    TpuMemrefMemorySpaceIs = row("tpu.memref_memory_space_is", &["a:memref"], &["result:i1"], " {a}, {@memory_space}{*} : {:a}").with(&[required("memory_space", Class::Space)]);
    TpuVectorCompressStore = row("tpu.vector_compress_store", &["value:vector", "base:memref", "indices*:index", "mask:mask"], &[], " {base}[{indices}], {value}, {mask}{*} : {:base}, {:value}, {:mask}").with(&[default("add", Class::Bool, 0), required("compress_dim", Class::I32)]).same(&["element base value", "shape value mask"]);
    TpuVectorExpandLoad = row("tpu.vector_expand_load", &["base:memref", "indices*:index", "mask:mask"], &["result:vector"], " {base}[{indices}], {mask}{*} : {:base}, {:result}, {:mask}").with(&[required("expand_dim", Class::I32)]).same(&["element base result", "shape result mask"]);
    TpuCompressStoreVreg = row("tpu.compress_store_vreg", &["value:vector", "base:memref", "indices*:index", "mask:mask"], &[], " {base}[{indices}], {value}, {mask}{*} : {:base}, {:value}, {:mask}").with(&[default("add", Class::Bool, 0)]).same(&["element base value", "shape value mask"]);
    TpuExpandLoadVreg = row("tpu.expand_load_vreg", &["base:memref", "indices*:index", "mask:mask"], &["result:vector"], " {base}[{indices}], {mask}{*} : {:base}, {:result}, {:mask}").same(&["element base result", "shape result mask"]);
    TpuScanCount = row("tpu.scan_count", &["in_mask:mask", "values:vector"], &["out_mask:mask", "counts:vector"], " mask({in_mask} : {:in_mask}) value({values} : {:values}){*} : {:out_mask}, {:counts}").same(&["shape in_mask values out_mask counts"]);
    TpuSort = row("tpu.sort", &["keys:vector", "values:vector", "mask?:mask"], &["output_mask:mask", "sorted_keys:vector", "sorted_values:vector"], " {keys}, {values}{?mask: masked {mask}}{*} : {>}").with(&[default("descending", Class::Bool, 0)]).same(&["keys sorted_keys", "values sorted_values"]);
    TpuMatmulPushRhs = row("tpu.matmul_push_rhs", &["rhs:vector"], &[], " {rhs}{*} : {:rhs}").with(&[required("mxu_index", Class::I32), default("staging_register", Class::I32, 0), default("transpose", Class::Bool, 0)]);
    TpuMatmulAccLhs = row("tpu.matmul_acc_lhs", &["lhs:vector"], &[], " {@acc}, {lhs}{*} : {:lhs}").with(&[required("acc", Class::I32), optional("load_staged_rhs", Class::I32), required("mxu_index", Class::I32)]);
    TpuMatmulPop = row("tpu.matmul_pop", &[], &["result:vector"], " {@acc}{*} : {:result}").with(&[required("acc", Class::I32), required("mxu_index", Class::I32)]);
    TpuMatmulLhsFifo = row("tpu.matmul_lhs_fifo", &["lhs:vector"], &[], " {lhs}{*} : {:lhs}").with(&[optional("load_staged_rhs", Class::I32), required("mxu_index", Class::I32)]);
    TpuMatmulPopFifo = row("tpu.matmul_pop_fifo", &[], &["result:vector"], " {@mxu_index}{*} : {:result}").with(&[required("mxu_index", Class::I32)]);
}

impl Op {
    /// What is known of it.
    pub fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// The operation with this name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|op| op.row().name == name)
    }
}
