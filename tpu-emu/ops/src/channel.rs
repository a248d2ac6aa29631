//! Channels between a program and its client: what `send` and `recv` have in common.
use super::Site;
use crate::host_transfer::{Channel, Direction};
use tpu_base::error::{Error, Result};
use tpu_base::tensor::Shape;

/// The channel of a transfer between the device and its host.
///
/// # Errors
/// `Unimplemented` for a transfer between devices, `Constraint` for a kind of channel that goes
/// the other way.
pub(super) fn host_channel(site: &Site<'_>, direction: Direction) -> Result<Channel> {
    let id = site.attribute("channel_id")?.integer();
    let id = id.ok_or_else(|| Error::bad(format!("{}: channel_id is no integer", site.name)))?;
    let kind = site.attributes.integer("channel_type").unwrap_or(0);
    if !site.attributes.flag("is_host_transfer") {
        let what = format!("a transfer between devices (channel {id}, type {kind})");
        return Err(site.unimplemented(what));
    }
    if site.attributes.integers("source_target_pairs").is_some_and(|pairs| !pairs.is_empty()) {
        return Err(site.unimplemented(format!("source_target_pairs of host channel {id}")));
    }
    let wanted = match direction {
        Direction::ToHost => 2,
        Direction::ToDevice => 3,
    };
    if kind != wanted {
        let what = format!("channel {id} with the host is of type {kind}, not {wanted}");
        return Err(site.violates("C1", what));
    }
    Ok(Channel { id, direction })
}

/// The one array of a transfer, which comes before the token.
///
/// # Errors
/// `BadArgument` where the last one is no token, `Unimplemented` for another number of arrays.
pub(super) fn array<'s>(site: &Site<'_>, shapes: &'s [Shape]) -> Result<&'s Shape> {
    match shapes {
        [array, token] if *token == Shape::token() => Ok(array),
        [.., token] if *token == Shape::token() => {
            Err(site.unimplemented(format!("a transfer of {} arrays", shapes.len() - 1)))
        }
        _ => Err(Error::bad(format!("{} has no token at the end of {shapes:?}", site.name))),
    }
}
