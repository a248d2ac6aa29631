//! What an operation becomes that is no more than a call: bytes in, bytes out.
use crate::OneHot;
use crate::core_arrays::CoreArrays;
use crate::core_records::CoreRecords;
use crate::custom_call::CallKernel;
use crate::host_transfer::{Channel, HostTransfers};
use crate::replica_exchange::Others;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::elementwise::program::ElementwiseProgram;
use tpu_kernels::matmul::tiny::TinyProduct;
use tpu_kernels::movement::gather::Gather;
use tpu_kernels::movement::move_list::Moves;
use tpu_kernels::movement::strided_view::AccessMap;
use tpu_kernels::reduce::combiner::Combiner;
use tpu_kernels::reduce::dyn_combiner::Folder;

/// How a kernel sorts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sorts {
    /// The axis.
    pub axis: usize,
    /// The operands that are compared.
    pub keys: Vec<usize>,
}

/// What a kernel may use besides its operands and results.
#[derive(Debug)]
pub struct Cx<'a> {
    /// As many bytes as [`Kernel::scratch`] asked for, aligned to 64; whatever was there before.
    pub scratch: &'a mut [u8],
    /// Seed of this launch for operations that draw random numbers without a state.
    pub seed: &'a mut u64,
    /// The clients of the launch, one a device; none where the code runs without one.
    pub transfers: &'a [Arc<dyn HostTransfers>],
    /// The other replicas of the run, where each runs a program of its own.
    pub others: Option<&'a dyn Others>,
    /// Who records what kernels have of their cores' memories; nobody, mostly.
    pub cores: Option<&'a dyn CoreRecords>,
    /// The device that runs this, where one step serves several; else it is the kernel's own.
    pub device: Option<usize>,
}

impl<'a> Cx<'a> {
    /// What a kernel may use that belongs to no launch.
    pub fn alone(scratch: &'a mut [u8], seed: &'a mut u64) -> Self {
        Self { scratch, seed, transfers: &[], others: None, cores: None, device: None }
    }

    /// Who serves a channel of a kernel, whose device is `own` where the run does not say one.
    ///
    /// # Errors
    /// `WrongState` where nobody does.
    pub fn client(&self, own: usize, channel: Channel) -> Result<&'a dyn HostTransfers> {
        self.transfers.get(self.device.unwrap_or(own)).map(|client| &**client).ok_or_else(|| {
            let (verb, id) = (channel.direction.verb(), channel.id);
            Error::WrongState(format!("nobody serves the {verb} of channel {id}"))
        })
    }
}

/// What a kernel may do beside its own work.
#[derive(Debug)]
pub enum Absorbed<'a> {
    /// This operand is a view, with these strides, of all elements of an array, which is read.
    View(usize, &'a [isize]),
    /// This operand is an array of this type that is converted, which is read.
    Converted(usize, DType),
    /// The result is wanted in this order.
    Ordered(&'a AccessMap),
    /// The result is wanted in this order; the two operands change places.
    Turned(&'a AccessMap),
    /// The result is wanted in this type, of fewer bits.
    Narrowed(DType),
}

/// A kernel whose result has other axes, or another order of them.
#[derive(Debug)]
pub struct Regrouped {
    /// The kernel.
    pub kernel: Arc<dyn Kernel>,
    /// The extents of its result.
    pub dims: Vec<usize>,
    /// Elements of its result from one index to the next of each axis of the result that was asked
    /// for, but of those with one index.
    pub strides: Vec<isize>,
}

/// A compiled operation: shapes, types and index maps are decided; bytes in, bytes out.
///
/// Slices are dense, row-major and aligned to their elements; booleans are bytes 0 and 1, sub-byte
/// integers one to a byte (signed ones extended, unsigned ones with zero upper bits), sub-byte
/// floats one to a byte with zero upper bits.
pub trait Kernel: fmt::Debug + Send + Sync {
    /// Computes the results. It writes every byte of them.
    ///
    /// # Errors
    /// What only the data can tell.
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()>;

    /// Bytes of scratch memory that a run needs.
    fn scratch(&self) -> usize {
        0
    }

    /// The operand whose bytes a result starts from, if the kernel updates in place: then
    /// result `result` holds a copy of that operand (or is the operand itself, where nobody
    /// needs it afterwards), and `operands` has an empty slice in its place.
    fn starts_from(&self, result: usize) -> Option<usize> {
        let _ = result;
        None
    }

    /// The reduction of its first operand, starting from its second, that it is.
    fn reduction(&self) -> Option<Reduced> {
        None
    }

    /// The slices of its first operand, at the places that its second gives, that it takes.
    fn lookup(&self) -> Option<Arc<Gather>> {
        None
    }

    /// The axis of its first operand that each axis of its result runs along from the first index on,
    /// if its second operand says which elements of that it takes. `None` for an axis of which it
    /// leaves indices out.
    fn picks(&self) -> Option<Vec<Option<usize>>> {
        None
    }

    /// The kernel that takes the same elements of an array of another type.
    fn picking(&self, dtype: DType) -> Option<Arc<dyn Kernel>> {
        let _ = dtype;
        None
    }

    /// The choice between elements that it is as well, for a scatter of one update to a row.
    fn one_hot(&self) -> Option<&OneHot> {
        None
    }

    /// The kernel that makes one of so many equal parts of its results along their first axis, of
    /// so many indices, with the same bits, and the operands that it takes such parts of. `None` where
    /// its work is not in such parts.
    fn part(&self, first: usize, parts: usize) -> Option<(Arc<dyn Kernel>, Range<usize>)> {
        let _ = (first, parts);
        None
    }

    /// The kernel that has the same result in other axes and needs less scratch memory for that.
    fn regrouped(&self) -> Option<Regrouped> {
        None
    }

    /// How it sorts, if it makes what [`Kernel::sorting`] leaves of it.
    fn sorts(&self) -> Option<Sorts> {
        None
    }

    /// The sort that makes only the results of these numbers, and for these operands, which it does
    /// not take, counts in 32 bits along the axis. None of those is a key.
    fn sorting(&self, made: &[usize], counted: &[usize]) -> Option<Arc<dyn Kernel>> {
        let _ = (made, counted);
        None
    }

    /// The rows in each of which its operands lie side by side, if that is what it makes.
    fn joins(&self) -> Option<usize> {
        None
    }

    /// The axis along which its first operand is a part of its result, and the operand's first
    /// index there, if its second operand is all else and other axes are as long in both.
    fn pads(&self) -> Option<(usize, usize)> {
        None
    }

    /// What it does, if it has one result and only moves elements, in at most `most` runs.
    fn moves(&self, most: usize) -> Option<Moves> {
        let _ = most;
        None
    }

    /// Whether [`Kernel::absorbing`] may give anything for views, conversions and results in another
    /// order: a kernel that only rounds operands says so by [`Kernel::rounds`].
    fn absorbs(&self) -> bool {
        false
    }

    /// The kernel with the same bits that does something beside its own work, which is then no
    /// step of its own.
    fn absorbing(&self, work: &Absorbed<'_>) -> Option<Arc<dyn Kernel>> {
        let _ = work;
        None
    }

    /// The kernel that does the same with an array of these elements, if it does no more than read
    /// or replace a part of the first of these operands.
    fn of_elements(&self, operands: &[Shape], result: &Shape) -> Option<Arc<dyn Kernel>> {
        let _ = (operands, result);
        None
    }

    /// Whether it rounds the elements of an operand to bf16 before all else.
    fn rounds(&self, operand: usize) -> bool {
        let _ = operand;
        false
    }

    /// The sums of a few products that it makes, if it has one result of at most so many elements.
    fn tiny_product(&self, most: usize) -> Option<TinyProduct> {
        let _ = most;
        None
    }

    /// What it moves, if each element that is moved is joined with the one that is there by a
    /// combiner of a type.
    fn joined_moves(&self) -> Option<(Moves, (Combiner, DType))> {
        None
    }

    /// The reduction by a body of single operations that it is, if it reads at most so many
    /// elements of each operand.
    fn few_reduced(&self, most: usize) -> Option<FewReduced<'_>> {
        let _ = most;
        None
    }

    /// Arithmetic done by a run.
    fn cost(&self) -> Cost;

    /// Bytes of memory that a run reads and writes, where that is not all of its operands and
    /// results.
    fn bytes_accessed(&self) -> Option<f64> {
        None
    }

    /// The channel that a run uses. Such a kernel waits for the client: it has an effect, takes
    /// unknown time, and is not run at compile time.
    fn channel(&self) -> Option<Channel> {
        None
    }

    /// Whether each device runs it for itself, also where others have the same operands: it may give
    /// them something else, or somebody hears of each run.
    fn is_own(&self) -> bool {
        self.channel().is_some() || self.custom_call().is_some()
    }

    /// Which of its arrays lie in memories that each core of a device has for itself; `None` where
    /// it is no kernel of cores.
    fn core_arrays(&self) -> Option<CoreArrays> {
        None
    }

    /// The kernel whose arrays of these numbers have a part for each of so many cores, one after
    /// the other. `None` where it has no such form.
    fn with_core_parts(&self, parts: CoreArrays) -> Option<Arc<dyn Kernel>> {
        let _ = parts;
        None
    }

    /// Whether a run waits for the other replicas of the run. Then it has an effect, and takes
    /// unknown time.
    fn meets_others(&self) -> bool {
        false
    }

    /// The custom call that it stands for. Whoever runs the program dispatches it.
    fn custom_call(&self) -> Option<&CallKernel> {
        None
    }
}

impl Kernel for CallKernel {
    fn run(&self, _: &mut Cx<'_>, _: &[&[u8]], _: &mut [&mut [u8]]) -> Result<()> {
        Err(self.outside_of_a_launch())
    }

    fn starts_from(&self, result: usize) -> Option<usize> {
        self.call().site().aliases.get(result).copied().flatten()
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }

    fn custom_call(&self) -> Option<&CallKernel> {
        Some(self)
    }
}

/// A reduction of a few elements by a body of single operations: what is held, at first the initial
/// values, and the next elements give what is held next.
#[derive(Debug)]
pub struct FewReduced<'a> {
    /// The body: its parameters are what is held, then the elements.
    pub body: &'a ElementwiseProgram,
    /// The numbers of the elements that each result is of, in order.
    pub elements: Vec<Vec<usize>>,
}

/// A reduction of the middle one of three axes by a known combiner.
#[derive(Debug, Clone)]
pub struct Reduced {
    /// The combiner.
    pub fold: Arc<dyn Folder>,
    /// Extents of the axes.
    pub dims: [usize; 3],
}

impl Reduced {
    /// Reduces all of `[operand, init]`, many rows or columns at once: that has the bits of one by
    /// one. `false` where an axis has no index.
    pub fn run(&self, operands: &[&[u8]], result: &mut [u8]) -> bool {
        let (&[operand, init], Self { fold, dims }) = (operands, self) else { return false };
        match *dims {
            [_, 0, _] | [_, _, 0] => return false,
            [_, count, 1] => fold.rows(operand, count, init, result),
            [_, count, inner] => fold.columns(operand, count, inner, init, result),
        }
        true
    }
}

/// Arithmetic, as XLA counts it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cost {
    /// Additions, multiplications and the like.
    pub flops: f64,
    /// Exponentials, logarithms and the like.
    pub transcendentals: f64,
}

impl Cost {
    /// One of so many equal parts of it.
    pub(crate) fn part(self, parts: usize) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a count that is reported rounded")]
        let parts = parts as f64;
        Self { flops: self.flops / parts, transcendentals: self.transcendentals / parts }
    }
}
