//! Execute contexts, through the table.
mod c;

use c::contract::contract;
use c::{INVALID, assert_refused, call};

#[test]
fn every_function_keeps_the_contract() {
    contract!(PJRT_ExecuteContext_Create(-, context) => |args| {
        call!(PJRT_ExecuteContext_Destroy, context: args.context).unwrap();
    });
    contract!(PJRT_ExecuteContext_Destroy(context, context),
        context: call!(PJRT_ExecuteContext_Create).unwrap().context);
}

#[test]
fn a_context_is_destroyed_once() {
    let context = call!(PJRT_ExecuteContext_Create).unwrap().context;
    call!(PJRT_ExecuteContext_Destroy, context: context).unwrap();
    let again = call!(PJRT_ExecuteContext_Destroy, context: context);
    assert_refused(again, INVALID, &["execute context handle", "stale"]);
}
