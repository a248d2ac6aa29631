//! An array from the host to the device.
use super::channel::{array, host_channel};
use super::{Cost, Cx, DeviceDependence, Entry, Kernel, Lowered, Site};
use crate::host_transfer::{Channel, Direction};
use tpu_base::error::Result;
use tpu_base::tensor::{DType, Shape};

/// An array from the client of the launch, which serves the channel.
///
/// Shapes: a token; results any array and a token.
/// Errors: `Unimplemented` for a transfer between devices and for several arrays; in a run the
/// client's.
/// Source: StableHLO specification, "recv".
pub(super) const OP: Entry =
    Entry { devices: DeviceDependence::HostTransfer, ..Entry::new("recv", infer, lower) };

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    host_channel(site, Direction::ToDevice)?;
    let [token] = site.exactly()?;
    if *token != Shape::token() {
        return Err(tpu_base::error::Error::bad(format!("{}: {token} is no token", site.name)));
    }
    let declared = (0..site.declared.len()).map(|index| site.declared(index));
    let declared = declared.collect::<Result<Vec<Shape>>>()?;
    array(site, &declared)?;
    Ok(declared)
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let channel = host_channel(site, Direction::ToDevice)?;
    let dtype = array(site, site.results)?.dtype;
    Ok(Lowered::Kernel(Box::new(Recv { channel, partition: site.partition(), dtype })))
}

#[derive(Debug)]
struct Recv {
    channel: Channel,
    partition: usize,
    dtype: DType,
}

impl Kernel for Recv {
    fn run(&self, cx: &mut Cx<'_>, _: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let client = cx.client(self.partition, self.channel)?;
        let array = &mut *results[0];
        crate::host_transfer::call(|| client.recv(self.channel.id, array))?;
        settle(self.dtype, array);
        Ok(())
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }

    fn channel(&self) -> Option<Channel> {
        Some(self.channel)
    }
}

/// Brings bytes of a client into the form that kernels rely on: booleans are 0 and 1, sub-byte
/// signed integers are extended, the other sub-byte elements have zero upper bits.
fn settle(dtype: DType, bytes: &mut [u8]) {
    match dtype {
        DType::Pred => bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0)),
        _ if dtype.element().bits < 8 => {
            let unused = 8 - dtype.element().bits;
            let signed = matches!(dtype, DType::S1 | DType::S2 | DType::S4);
            for byte in bytes {
                let high = *byte << unused;
                *byte = if signed {
                    (high.cast_signed() >> unused).cast_unsigned()
                } else {
                    high >> unused
                };
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Case;
    use tpu_stablehlo::ir::Attribute;

    fn case(kind: i64) -> Case {
        let case = Case::new("stablehlo.recv").operand(DType::Pred, &[0]);
        let case = case.declares(DType::S4, &[3]).declares(DType::Pred, &[0]);
        let case = case.integer("channel_id", 9).integer("channel_type", kind);
        case.attribute("is_host_transfer", Attribute::Bool(true))
    }

    #[test]
    fn an_array_from_the_host_has_a_channel_of_type_3() {
        assert_eq!(case(3).shapes(&OP), "s4[3] pred[0]");
        let Lowered::Kernel(kernel) = case(3).lower(&OP).unwrap() else { unreachable!() };
        assert_eq!(kernel.channel(), Some(Channel { id: 9, direction: Direction::ToDevice }));
        let other = case(2).shapes(&OP);
        assert!(other.contains("C1: channel 9 with the host is of type 2, not 3"), "{other}");
    }

    #[test]
    fn bytes_of_a_client_become_those_of_kernels() {
        let settled = |dtype, bytes: [u8; 4]| {
            let mut bytes = bytes;
            settle(dtype, &mut bytes);
            bytes
        };
        assert_eq!(settled(DType::Pred, [0, 1, 2, 255]), [0, 1, 1, 1]);
        assert_eq!(settled(DType::S4, [7, 8, 0xf8, 0x1f]), [7, 0xf8, 0xf8, 0xff]);
        assert_eq!(settled(DType::U4, [7, 8, 0xf8, 0x1f]), [7, 8, 8, 15]);
        assert_eq!(settled(DType::U8, [7, 8, 0xf8, 0x1f]), [7, 8, 0xf8, 0x1f]);
    }
}
