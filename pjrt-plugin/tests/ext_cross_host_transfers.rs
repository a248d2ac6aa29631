//! Extension 12 through the C table, in a process that is alone.
mod ext;

use ext::{
    INVALID_ARGUMENT, UNIMPLEMENTED, args, call, client, destroy_client, extension,
    refuses_what_is_missing,
};
use pjrt_sys::{
    PJRT_CrossHostTransfers_Extension, PJRT_Extension_Type,
    PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args,
    PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args,
    PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers_Args,
};

fn table() -> &'static PJRT_CrossHostTransfers_Extension {
    extension(PJRT_Extension_Type::PJRT_Extension_Type_CrossHostTransfers)
}

#[test]
fn no_arrays_are_sent_and_received_by_a_process_that_is_alone() {
    let client = client();
    let mut send: PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args = args();
    send.client = client;
    let function = table().PJRT_Transfers_PJRT_Client_CrossHostSendBuffers;
    call(function, &raw mut send).unwrap();
    send.num_buffers = 1;
    assert_eq!(call(function, &raw mut send).unwrap_err().0, INVALID_ARGUMENT, "no buffers");

    let mut receive: PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args = args();
    receive.client = client;
    let function = table().PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers;
    assert_eq!(call(function, &raw mut receive).unwrap_err().0, INVALID_ARGUMENT, "no device");
    destroy_client(client);
}

#[test]
fn arguments_that_are_missing_are_refused() {
    refuses_what_is_missing(table().PJRT_Transfers_PJRT_Client_CrossHostSendBuffers);
    refuses_what_is_missing(table().PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers);
}

#[test]
fn the_older_way_is_refused() {
    let mut make: PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers_Args = args();
    let function = table().PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers;
    assert_eq!(call(function, &raw mut make).unwrap_err().0, UNIMPLEMENTED);
}
