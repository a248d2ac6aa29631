//! Code of a client that splits its custom calls over devices: `jax.custom_partitioning`.
// UNSAFETY: calls functions of the client's that came in a struct, and reads what they leave.
#![expect(unsafe_code, reason = "callbacks of the client's")]
use crate::boundary::{Caller, UserPointer};
use crate::dtype;
use crate::sys::{
    JAX_CustomCallPartitioner_Callbacks as Callbacks,
    JAX_CustomCallPartitioner_InferShardingFromOperands_Args as InferArgs,
    JAX_CustomCallPartitioner_Partition_Args as PartitionArgs, JAX_CustomCallPartitioner_aval,
    JAX_CustomCallPartitioner_string, JAX_CustomCallPartitioner_version_and_error as Header,
    PJRT_Error_Code,
};
use std::ptr;
use std::sync::Arc;
use tpu_emu::custom_call::{DeviceCode, Partitioner, SplitArray, SplitCall};
use tpu_emu::{Code, Error, Result};
use tpu_host::foreign;
use tpu_proto::Message;
use tpu_proto::xla::op_sharding::Type;
use tpu_proto::xla::{LayoutProto, OpSharding, PrimitiveType, ShapeProto};

mod portable;

/// The version of the callbacks' structs.
const VERSION: i64 = 0;

/// Lets callbacks split the calls of a target, for as long as the process lives.
///
/// # Errors
/// `Unimplemented` for structs of another version, `BadArgument` where a callback is missing.
pub(crate) fn register(caller: &Caller, name: &str, callbacks: *mut Callbacks) -> Result<()> {
    let given = caller.read_plain(callbacks.cast_const(), "callbacks")?;
    if given.version != VERSION {
        let version = given.version;
        let what = format!("partitioner of {name:?} with callbacks of version {version}");
        return Err(Error::Unimplemented(what));
    }
    let missing = || Error::bad(format!("partitioner of {name:?} without a callback"));
    let partition = given.partition.ok_or_else(missing)? as *const ();
    let infer = given.infer_sharding.ok_or_else(missing)? as *const ();
    let client = Client {
        name: name.into(),
        callbacks: UserPointer(callbacks.cast()),
        partition: partition.expose_provenance(),
        infer: infer.expose_provenance(),
    };
    tpu_host::custom_calls().register_partitioner(name, Arc::new(client))
}

/// The callbacks of a target.
#[derive(Debug)]
struct Client {
    name: Arc<str>,
    callbacks: UserPointer,
    /// Addresses of functions.
    partition: usize,
    infer: usize,
}

impl Client {
    /// Calls one; gives what `read` finds in the arguments, before they are given back.
    fn call<A, R>(
        &self,
        function: usize,
        args: &mut A,
        header: fn(&A) -> Header,
        read: impl FnOnce(&A) -> Result<R>,
    ) -> Result<R> {
        let arguments = [
            self.callbacks.get().expose_provenance(),
            ptr::from_mut(args).expose_provenance(),
            0,
            0,
            0,
        ];
        let function = ptr::with_exposed_provenance::<()>(function);
        // SAFETY: the client registered the function for as long as the process lives, with
        // arguments of these types.
        let called = unsafe { foreign::call(function, arguments) };
        called.map_err(|thrown| Error::Verbatim {
            code: Code::Internal,
            message: format!("the partitioner of {} {thrown}", self.name).into(),
        })?;
        let header = header(args);
        let found = if header.has_error == 0 {
            read(args)
        } else {
            bytes(&header.error_msg).and_then(|text| {
                let text = String::from_utf8_lossy(&text).into_owned();
                crate::error::foreign(header.code, text)?;
                Err(Error::bad("an error that is none"))
            })
        };
        if let Some(clean) = header.cleanup_fn {
            // SAFETY: the callback's own way to free what it left, once; nothing of it is kept.
            let cleaned = unsafe {
                let data = header.data.expose_provenance();
                foreign::call(clean as *const (), [data, 0, 0, 0, 0])
            };
            cleaned.map_err(|thrown| Error::bad(format!("the clean-up {thrown}")))?;
        }
        found
    }
}

impl Partitioner for Client {
    fn infer(&self, call: &SplitCall) -> Result<Vec<Arc<str>>> {
        let sent = Sent::new(call)?;
        let mut operands = sent.operands();
        let mut args = InferArgs {
            header: header(),
            num_args: operands.len(),
            op_args: operands.as_mut_ptr(),
            result_shape: string(&sent.result.0),
            backend_config: string(&call.config),
            has_result_sharding: 0,
            result_sharding: string(&[]),
        };
        let count = call.results.len();
        self.call(
            self.infer,
            &mut args,
            |args| args.header,
            |args| {
                if args.has_result_sharding == 0 {
                    return Ok(vec!["{replicated}".into(); count]);
                }
                of_results(&bytes(&args.result_sharding)?, count)
            },
        )
    }

    fn partition(&self, call: &SplitCall) -> Result<DeviceCode> {
        let sent = Sent::new(call)?;
        let mut operands = sent.operands();
        let mut shardings = vec![string(&[]); operands.len()];
        let mut args = PartitionArgs {
            header: header(),
            num_args: operands.len(),
            op_args: operands.as_mut_ptr(),
            op_result: aval(&sent.result),
            backend_config: string(&call.config),
            mlir_module: string(&[]),
            args_sharding: shardings.as_mut_ptr(),
            result_sharding: string(&[]),
        };
        let (takes, makes) = (call.operands.len(), call.results.len());
        self.call(
            self.partition,
            &mut args,
            |args| args.header,
            |args| {
                let mut operands = Vec::new();
                if takes > 0 && args.args_sharding.is_null() {
                    return Err(Error::Null("args_sharding"));
                }
                for at in 0..takes {
                    // SAFETY: not null; the callback leaves as many as there are arguments.
                    let one = unsafe { args.args_sharding.add(at).read() };
                    operands.push(text_of(&message(&bytes(&one)?)?));
                }
                Ok(DeviceCode {
                    module: bytes(&args.mlir_module)?,
                    operands,
                    results: of_results(&bytes(&args.result_sharding)?, makes)?,
                })
            },
        )
        .and_then(|code| Ok(DeviceCode { module: portable::portable(code.module)?, ..code }))
    }
}

fn header() -> Header {
    Header {
        api_version: VERSION,
        data: ptr::null_mut(),
        cleanup_fn: None,
        has_error: 0,
        code: PJRT_Error_Code(0),
        error_msg: string(&[]),
    }
}

/// The messages of a call: shape and sharding.
struct Sent {
    operands: Vec<(Vec<u8>, Vec<u8>)>,
    result: (Vec<u8>, Vec<u8>),
}

impl Sent {
    fn new(call: &SplitCall) -> Result<Self> {
        let all = |arrays: &[SplitArray]| arrays.iter().map(of_array).collect::<Result<Vec<_>>>();
        let encoded = |(shape, sharding): (ShapeProto, OpSharding)| {
            (shape.encode_to_vec(), sharding.encode_to_vec())
        };
        let mut results = all(&call.results)?;
        let result = if results.len() == 1 {
            results.swap_remove(0)
        } else {
            let (tuple_shapes, tuple_shardings) = results.into_iter().unzip();
            let element_type = PrimitiveType::Tuple.into();
            let shape = ShapeProto { element_type, tuple_shapes, ..ShapeProto::default() };
            let r#type = Type::Tuple.into();
            (shape, OpSharding { r#type, tuple_shardings, ..OpSharding::default() })
        };
        let operands = all(&call.operands)?.into_iter().map(encoded).collect();
        Ok(Self { operands, result: encoded(result) })
    }

    fn operands(&self) -> Vec<JAX_CustomCallPartitioner_aval> {
        self.operands.iter().map(aval).collect()
    }
}

fn of_array(array: &SplitArray) -> Result<(ShapeProto, OpSharding)> {
    let long = |&dim: &usize| i64::try_from(dim).unwrap_or(i64::MAX);
    let rank = array.shape.rank();
    let minor_to_major = (0..rank).rev().map(|axis| long(&axis)).collect();
    let shape = ShapeProto {
        element_type: dtype::to_proto(array.shape.dtype)?.into(),
        dimensions: array.shape.dims.iter().map(long).collect(),
        is_dynamic_dimension: vec![false; rank],
        layout: Some(LayoutProto { minor_to_major, ..LayoutProto::default() }),
        ..ShapeProto::default()
    };
    Ok((shape, crate::sharding::of_text(&array.sharding)?))
}

fn string(bytes: &[u8]) -> JAX_CustomCallPartitioner_string {
    JAX_CustomCallPartitioner_string { data: bytes.as_ptr().cast(), size: bytes.len() }
}

fn aval((shape, sharding): &(Vec<u8>, Vec<u8>)) -> JAX_CustomCallPartitioner_aval {
    let (shape, sharding) = (string(shape), string(sharding));
    JAX_CustomCallPartitioner_aval { shape, has_sharding: 1, sharding }
}

/// What a callback left.
fn bytes(text: &JAX_CustomCallPartitioner_string) -> Result<Vec<u8>> {
    if text.size == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: what the callback left, as long as it says, until it is cleaned up.
    let caller = unsafe { Caller::new() };
    caller.bytes(text.data.cast(), text.size, "a text of the partitioner's").map(<[u8]>::to_vec)
}

fn message(bytes: &[u8]) -> Result<OpSharding> {
    OpSharding::decode(bytes)
        .map_err(|error| Error::bad(format!("a sharding of the partitioner's: {error}")))
}

fn text_of(sharding: &OpSharding) -> Arc<str> {
    tpu_hlo::sharding_text(sharding).into()
}

/// The shardings of so many results: those of a tuple, where they are not one.
fn of_results(bytes: &[u8], count: usize) -> Result<Vec<Arc<str>>> {
    let one = message(bytes)?;
    let all = if one.r#type() == Type::Tuple { one.tuple_shardings } else { vec![one] };
    if all.len() != count {
        let what = format!("{} shardings of {count} results, from the partitioner", all.len());
        return Err(Error::bad(what));
    }
    Ok(all.iter().map(text_of).collect())
}

#[cfg(test)]
mod tests;
