//! `OpSharding` messages from a program's own words.
use crate::texts::Texts;
use std::sync::Arc;
use tpu_emu::executable::CompileOptions;
use tpu_emu::hbm::spec::ArraySpec;
use tpu_emu::{Error, Result};
use tpu_proto::Message;
use tpu_proto::xla::OpSharding;
use tpu_proto::xla::op_sharding::Type;

/// One message a value; `None` if there is a value that nothing can be told of.
///
/// A program of one partition holds every value whole. A message for each of no values is
/// nothing that clients take: they look for the sharding of an empty tuple.
pub(crate) fn messages<'a>(
    options: &CompileOptions,
    values: impl Iterator<Item = (Option<&'a str>, &'a ArraySpec)>,
) -> Option<Texts> {
    let one = options.partitions <= 1;
    let message = |(text, _): (Option<&str>, &ArraySpec)| -> Option<Arc<[u8]>> {
        let sharding = if one {
            Some(OpSharding { r#type: Type::Replicated.into(), ..OpSharding::default() })
        } else {
            text.and_then(tpu_hlo::sharding_of)
        };
        sharding.map(|sharding| sharding.encode_to_vec().into())
    };
    let all = values.map(message).collect::<Option<Vec<_>>>();
    all.filter(|all| !all.is_empty()).map(Texts::new)
}

/// The message of a program's words.
///
/// # Errors
/// `Unimplemented` for words that are not known.
pub(crate) fn of_text(text: &str) -> Result<OpSharding> {
    let unknown = || Error::Unimplemented(format!("the sharding {text} in a message"));
    tpu_hlo::sharding_of(text).ok_or_else(unknown)
}

/// The message of one sharding; `None` for words that are not known.
pub(crate) fn message(text: &str) -> Option<Vec<u8>> {
    tpu_hlo::sharding_of(text).map(|sharding| sharding.encode_to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_values_have_no_messages() {
        let options = CompileOptions { replicas: 1, partitions: 1, ..<_>::default() };
        assert!(messages(&options, std::iter::empty()).is_none());
    }
}
