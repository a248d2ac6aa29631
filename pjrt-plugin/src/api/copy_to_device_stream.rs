//! Streams through which a client gives an array to a running program.
use crate::boundary::{Caller, id_of};
use crate::callback;
use crate::state::{STREAMS, StreamEntry, give_event};
use crate::sys::{
    PJRT_CopyToDeviceStream, PJRT_CopyToDeviceStream_AddChunk_Args,
    PJRT_CopyToDeviceStream_CurrentBytes_Args, PJRT_CopyToDeviceStream_Destroy_Args,
    PJRT_CopyToDeviceStream_GranuleSize_Args, PJRT_CopyToDeviceStream_TotalBytes_Args,
};
use std::sync::Arc;
use tpu_emu::{Error, Event, Result};

fn stream(handle: *const PJRT_CopyToDeviceStream) -> Result<Arc<StreamEntry>> {
    STREAMS.get(id_of(handle, "copy-to-device stream")?)
}

fn signed(size: usize) -> Result<i64> {
    i64::try_from(size).map_err(|_| Error::bad(format!("{size} bytes of a stream")))
}

/// Ends a stream; a run that waits for more bytes of it fails.
pub(super) fn destroy(_: &Caller, args: &mut PJRT_CopyToDeviceStream_Destroy_Args) -> Result<()> {
    STREAMS.remove(id_of(args.stream, "copy-to-device stream")?).map(drop)
}

/// Takes a chunk, which is the stream's from then on, whatever the answer.
pub(super) fn add_chunk(
    caller: &Caller,
    args: &mut PJRT_CopyToDeviceStream_AddChunk_Args,
) -> Result<()> {
    let chunk = callback::take_chunk(caller, args.chunk);
    let (stream, chunk) = (stream(args.stream)?, chunk?);
    stream.stream.add(caller.bytes(chunk.data(), chunk.size(), "chunk data")?)?;
    args.transfer_complete = give_event(Event::ready());
    Ok(())
}

/// Bytes of the array.
pub(super) fn total_bytes(
    _: &Caller,
    args: &mut PJRT_CopyToDeviceStream_TotalBytes_Args,
) -> Result<()> {
    args.total_bytes = signed(stream(args.stream)?.stream.total())?;
    Ok(())
}

/// What sizes of chunks are multiples of: any size does.
pub(super) fn granule_size(
    _: &Caller,
    args: &mut PJRT_CopyToDeviceStream_GranuleSize_Args,
) -> Result<()> {
    stream(args.stream)?;
    args.granule_size_in_bytes = 1;
    Ok(())
}

/// Bytes that have been given.
pub(super) fn current_bytes(
    _: &Caller,
    args: &mut PJRT_CopyToDeviceStream_CurrentBytes_Args,
) -> Result<()> {
    args.current_bytes = signed(stream(args.stream)?.stream.current())?;
    Ok(())
}
