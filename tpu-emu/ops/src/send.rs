//! An array from the device to its host.
use super::channel::{array, host_channel};
use super::{Cost, Cx, DeviceDependence, Entry, Kernel, Lowered, Site};
use crate::host_transfer::{Channel, Direction};
use tpu_base::error::Result;
use tpu_base::tensor::Shape;

/// Gives the operand to the client of the launch, which serves the channel.
///
/// Shapes: any array and a token; result a token.
/// Errors: `Unimplemented` for a transfer between devices and for several arrays; in a run the
/// client's.
/// Source: StableHLO specification, "send".
pub(super) const OP: Entry =
    Entry { devices: DeviceDependence::HostTransfer, ..Entry::new("send", infer, lower) };

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    host_channel(site, Direction::ToHost)?;
    array(site, site.operands)?;
    Ok(vec![Shape::token()])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let channel = host_channel(site, Direction::ToHost)?;
    Ok(Lowered::Kernel(Box::new(Send { channel, partition: site.partition() })))
}

#[derive(Debug)]
struct Send {
    channel: Channel,
    partition: usize,
}

impl Kernel for Send {
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], _: &mut [&mut [u8]]) -> Result<()> {
        let client = cx.client(self.partition, self.channel)?;
        crate::host_transfer::call(|| client.send(self.channel.id, operands[0]))
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }

    fn channel(&self) -> Option<Channel> {
        Some(self.channel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Case;
    use tpu_base::tensor::DType;
    use tpu_stablehlo::ir::Attribute;

    fn case(kind: i64, host: bool) -> Case {
        let case = Case::new("stablehlo.send").operand(DType::F32, &[2]);
        let case = case.operand(DType::Pred, &[0]).integer("channel_id", 7);
        case.integer("channel_type", kind).attribute("is_host_transfer", Attribute::Bool(host))
    }

    #[test]
    fn an_array_for_the_host_has_a_channel_of_type_2() {
        assert_eq!(case(2, true).shapes(&OP), "pred[0]");
        let Lowered::Kernel(kernel) = case(2, true).lower(&OP).unwrap() else { unreachable!() };
        assert_eq!(kernel.channel(), Some(Channel { id: 7, direction: Direction::ToHost }));
        let other = case(3, true).shapes(&OP);
        assert!(other.contains("C1: channel 7 with the host is of type 3, not 2"), "{other}");
    }

    #[test]
    fn other_forms_are_refused_by_name() {
        let between = case(1, false).shapes(&OP);
        assert!(between.contains("stablehlo.send: a transfer between devices"), "{between}");
        let several = Case::new("stablehlo.send").operand(DType::F32, &[]);
        let several = several.operand(DType::F32, &[]).operand(DType::Pred, &[0]);
        let several = several.integer("channel_id", 1).integer("channel_type", 2);
        let several = several.attribute("is_host_transfer", Attribute::Bool(true)).shapes(&OP);
        assert!(several.contains("a transfer of 2 arrays"), "{several}");
        let none = Case::new("stablehlo.send").operand(DType::F32, &[2]).integer("channel_id", 1);
        let none = none.integer("channel_type", 2);
        let none = none.attribute("is_host_transfer", Attribute::Bool(true)).shapes(&OP);
        assert!(none.contains("has no token"), "{none}");
    }

    #[test]
    fn without_a_client_nothing_runs() {
        let error = case(2, true).run(&OP).unwrap_err().to_string();
        assert!(error.contains("channel 7"), "{error}");
    }
}
