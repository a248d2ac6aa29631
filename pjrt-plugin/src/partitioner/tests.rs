// UNSAFETY: C functions in the place of a client's.
use super::*;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use tpu_emu::tensor::{DType, Shape};

const ROWS: &str = "{devices=[4,1,2]<=[8] last_tile_dim_replicate}";
static CLEANED: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn clean(_: *mut c_void) {
    CLEANED.fetch_add(1, Ordering::Relaxed);
}

unsafe extern "C" fn partition(_: *mut Callbacks, args: *mut PartitionArgs) {
    // SAFETY: `Client::call` passes whole arguments, which live for the call.
    unsafe {
        let args = &mut *args;
        args.header.cleanup_fn = Some(clean);
        if bytes(&args.backend_config).unwrap() == b"wrong" {
            args.header.has_error = 1;
            args.header.code = PJRT_Error_Code(3);
            args.header.error_msg = string(b"ValueError: no");
            return;
        }
        // What came back is what went in.
        args.mlir_module = (*args.op_args).shape;
        args.args_sharding.write((*args.op_args).sharding);
        args.result_sharding = args.op_result.sharding;
    }
}

unsafe extern "C" fn infer(_: *mut Callbacks, args: *mut InferArgs) {
    // SAFETY: as above.
    unsafe {
        (*args).has_result_sharding = 1;
        (*args).result_sharding = (*(*args).op_args).sharding;
    }
}

fn client() -> Client {
    Client {
        name: "mine".into(),
        callbacks: UserPointer(ptr::null_mut()),
        partition: (partition as *const ()).expose_provenance(),
        infer: (infer as *const ()).expose_provenance(),
    }
}

fn call(config: &[u8], results: usize) -> SplitCall {
    let array = SplitArray { shape: Shape::new(DType::F32, [8, 4]), sharding: ROWS.into() };
    let results = vec![array.clone(); results];
    SplitCall { config: config.into(), operands: vec![array], results }
}

#[test]
fn shapes_and_shardings_go_there_and_back() {
    let code = client().partition(&call(b"", 2)).unwrap();
    let shape = ShapeProto::decode(&code.module[..]).unwrap();
    assert_eq!(shape.dimensions, [8, 4]);
    assert_eq!(shape.element_type(), PrimitiveType::F32);
    assert_eq!(code.operands, [Arc::from(ROWS)]);
    assert_eq!(code.results, [Arc::from(ROWS), Arc::from(ROWS)]);
    assert_eq!(client().infer(&call(b"", 1)).unwrap(), [Arc::from(ROWS)]);
}

#[test]
fn errors_are_the_client_s_words() {
    let before = CLEANED.load(Ordering::Relaxed);
    let error = client().partition(&call(b"wrong", 1)).unwrap_err();
    assert_eq!((error.code(), error.to_string()), (Code::InvalidArgument, "ValueError: no".into()));
    assert!(CLEANED.load(Ordering::Relaxed) > before);
}

#[test]
fn shardings_that_are_too_few_are_refused() {
    let error = client().infer(&call(b"", 2)).unwrap_err().to_string();
    assert_eq!(error, "1 shardings of 2 results, from the partitioner");
}
