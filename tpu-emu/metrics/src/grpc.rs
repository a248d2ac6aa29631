//! Messages of gRPC: a prefix of five bytes, and how calls end.

/// Bytes before each message.
const PREFIX: usize = 5;

/// How a call ends that is refused, by gRPC's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// The request is none.
    InvalidArgument = 3,
    /// There is no metric of the name.
    NotFound = 5,
    /// The request is too long.
    ResourceExhausted = 8,
    /// There is no such call, or not in this form.
    Unimplemented = 12,
}

impl Status {
    /// As a header has it.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::InvalidArgument => "3",
            Self::NotFound => "5",
            Self::ResourceExhausted => "8",
            Self::Unimplemented => "12",
        }
    }
}

/// A message with its prefix.
pub(crate) fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    let mut bytes = vec![0];
    bytes.extend(length.to_be_bytes());
    bytes.extend(message);
    bytes
}

/// The one message of a body.
///
/// # Errors
/// A status and a sentence where it is none.
pub(crate) fn unframed(body: &[u8]) -> Result<&[u8], (Status, &'static str)> {
    let (prefix, message) = body
        .split_at_checked(PREFIX)
        .ok_or((Status::InvalidArgument, "a body without a message"))?;
    if prefix[0] != 0 {
        return Err((Status::Unimplemented, "messages that are compressed are not read"));
    }
    let length = prefix[1..].iter().fold(0_usize, |length, &byte| length << 8 | usize::from(byte));
    match message.len() == length {
        true => Ok(message),
        false => Err((Status::InvalidArgument, "a message of another length than it says")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_comes_out_as_it_went_in_and_nothing_else_does() {
        let framed = framed(b"text");
        assert_eq!(unframed(&framed), Ok(&b"text"[..]));
        assert_eq!(unframed(&framed[..8]).unwrap_err().0, Status::InvalidArgument);
        assert_eq!(unframed(b"").unwrap_err().0, Status::InvalidArgument);
        assert_eq!(unframed(b"\x01\0\0\0\0").unwrap_err().0, Status::Unimplemented);
    }
}
