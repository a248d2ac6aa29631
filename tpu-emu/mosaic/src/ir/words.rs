//! Enumerations of the dialects.

/// An enumeration and the words of its text.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($variant:ident = $word:literal,)* })*) => { $(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[expect(missing_docs, reason = "the words are what the dialect has")]
        pub enum $name { $($variant,)* }

        impl $name {
            /// The value of a word of the text.
            pub fn from_word(word: &str) -> Option<Self> {
                Some(match word { $($word => Self::$variant,)* _ => return None })
            }

            /// The word of the text.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }
    )* };
}

words! {
    /// Where code runs.
    CoreType {
        TensorCore = "tc",
        ScalarSubcore = "sc_scalar_subcore",
        VectorSubcore = "sc_vector_subcore",
    }
    /// How the points of a dimension of the grid may be ordered.
    DimensionSemantics {
        Parallel = "parallel",
        Arbitrary = "arbitrary",
        CoreParallel = "core_parallel",
        SubcoreParallel = "subcore_parallel",
    }
    /// How many buffers a window has.
    PipelineMode {
        Synchronous = "synchronous",
        DoubleBuffered = "double_buffered",
    }
    /// Whether a block of a result may be entered again later.
    RevisitMode {
        Immediate = "immediate",
        Any = "any",
    }
    /// How exact the products of 32 bits are.
    ContractPrecision {
        Bf16 = "bf16",
        Fp32 = "fp32",
        Bf16x3 = "bf16x3",
    }
    /// How narrow elements lie in wide ones.
    PackFormat {
        Compressed = "compressed",
        Interleaved = "interleaved",
    }
    /// A memory.
    MemorySpace {
        Any = "any",
        Vmem = "vmem",
        Smem = "smem",
        Hbm = "hbm",
        Cmem = "cmem",
        Semaphore = "semaphore_mem",
        VmemShared = "vmem_shared",
        Host = "host",
    }
    /// What a reduction of the dialect `tpu` computes. `Max` and `Min` did not say how elements
    /// compare: there are none since format 18, and in older ones in `tpu.all_reduce` alone.
    ReductionKind {
        Sum = "sum",
        Max = "max",
        Min = "min",
        ArgMax = "arg_max",
        ArgMin = "arg_min",
        FindFirstSet = "find_first_set",
        Maxf = "maxf",
        Minf = "minf",
        Maxsi = "maxsi",
        Minsi = "minsi",
        Maxui = "maxui",
        Minui = "minui",
    }
    /// How a number is rounded.
    RoundingMode {
        TowardsZero = "towards_zero",
        ToNearestEven = "to_nearest_even",
    }
    /// What a reduction of the dialect `vector` computes.
    CombiningKind {
        Add = "add",
        Mul = "mul",
        Minui = "minui",
        Minsi = "minsi",
        Minnumf = "minnumf",
        Maxui = "maxui",
        Maxsi = "maxsi",
        Maxnumf = "maxnumf",
        And = "and",
        Or = "or",
        Xor = "xor",
        Minimumf = "minimumf",
        Maximumf = "maximumf",
    }
}
