//! What the processes of a slice tell one another, and its bytes.
use tpu_base::error::{Code, Error, Result};
use tpu_base::units::{to_u64, to_usize};
use tpu_ops::custom_call::Stage;
use tpu_ops::host_transfer::Direction;

/// A run over several processes: the same in all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct RunId {
    /// Of the list of devices.
    pub(super) devices: u64,
    /// How many runs on these devices were before it.
    pub(super) number: u64,
}

/// An array on its way from one process to another: the same in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ArrayId {
    /// The device that it goes to, as an index into the topology's.
    pub(super) device: u64,
    /// What its client calls the transfer.
    pub(super) key: i64,
    /// Which one it is of a call with several.
    pub(super) number: u64,
}

/// What a process says of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToldProgram {
    pub(super) likeness: u128,
    pub(super) name: String,
}

/// A message; the bytes of arrays go beside it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// A process has launched a program: to the one that runs it. With the arguments of its
    /// devices, or with the reason why it does not come.
    Part { run: RunId, program: ToldProgram, failed: Option<Error> },
    /// A run has ended: to those that launched it. With the results of their devices.
    Done { run: RunId, failed: Option<Error> },
    /// A running program gives data to the client of a device, or asks for some.
    Ask { ticket: u64, run: RunId, place: usize, channel: i64, direction: Direction, bytes: usize },
    /// A running program takes a custom call of a device through a stage: to the process that has
    /// the device. With the operands.
    Call {
        ticket: u64,
        run: RunId,
        own_copies: Vec<usize>,
        place: usize,
        number: usize,
        stage: Stage,
    },
    /// Whether the process is there: to one from which something is awaited.
    Ping { ticket: u64 },
    /// An answer to one of these. With the arrays that were asked for.
    Answer { ticket: u64, failed: Option<Error> },
    /// An array, dense and row-major, or why it does not come; `form` is its type and shape.
    Array { id: ArrayId, form: String, failed: Option<Error> },
}

impl Message {
    /// The message as bytes.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = MessageWriter(Vec::new());
        match self {
            Self::Part { run, program, failed } => {
                out.number(0);
                out.run(*run);
                out.0.extend_from_slice(&program.likeness.to_le_bytes());
                out.text(&program.name);
                out.error(failed.as_ref());
            }
            Self::Done { run, failed } => {
                out.number(1);
                out.run(*run);
                out.error(failed.as_ref());
            }
            Self::Ask { ticket, run, place, channel, direction, bytes } => {
                out.number(2);
                out.number(*ticket);
                out.run(*run);
                out.number(to_u64(*place));
                out.number(channel.cast_unsigned());
                out.number(u64::from(*direction == Direction::ToDevice));
                out.number(to_u64(*bytes));
            }
            Self::Answer { ticket, failed } => {
                out.number(3);
                out.number(*ticket);
                out.error(failed.as_ref());
            }
            Self::Array { id, form, failed } => {
                out.number(4);
                out.number(id.device);
                out.number(id.key.cast_unsigned());
                out.number(id.number);
                out.text(form);
                out.error(failed.as_ref());
            }
            Self::Call { ticket, run, own_copies, place, number, stage } => {
                out.number(5);
                out.number(*ticket);
                out.run(*run);
                out.number(to_u64(own_copies.len()));
                own_copies.iter().for_each(|&index| out.number(to_u64(index)));
                out.number(to_u64(*place));
                out.number(to_u64(*number));
                out.number(match stage {
                    Stage::Instantiate => 0,
                    Stage::Prepare => 1,
                    Stage::Initialize => 2,
                    Stage::Execute => 3,
                });
            }
            Self::Ping { ticket } => {
                out.number(6);
                out.number(*ticket);
            }
        }
        out.0
    }

    /// Reads a message.
    ///
    /// # Errors
    /// `BadArgument` for bytes that are none.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self> {
        let mut from = MessageReader(bytes);
        match from.number()? {
            0 => {
                let run = from.run()?;
                let likeness = u128::from_le_bytes(from.array()?);
                let program = ToldProgram { likeness, name: from.text()? };
                Ok(Self::Part { run, program, failed: from.error()? })
            }
            1 => Ok(Self::Done { run: from.run()?, failed: from.error()? }),
            2 => Ok(Self::Ask {
                ticket: from.number()?,
                run: from.run()?,
                place: to_usize(from.number()?),
                channel: from.number()?.cast_signed(),
                direction: match from.number()? {
                    0 => Direction::ToHost,
                    _ => Direction::ToDevice,
                },
                bytes: to_usize(from.number()?),
            }),
            3 => Ok(Self::Answer { ticket: from.number()?, failed: from.error()? }),
            4 => {
                let device = from.number()?;
                let key = from.number()?.cast_signed();
                let id = ArrayId { device, key, number: from.number()? };
                Ok(Self::Array { id, form: from.text()?, failed: from.error()? })
            }
            5 => {
                let (ticket, run) = (from.number()?, from.run()?);
                let count = from.number()?;
                let own_copies = (0..count).map(|_| from.number().map(to_usize));
                let own_copies = own_copies.collect::<Result<_>>()?;
                let place = to_usize(from.number()?);
                let number = to_usize(from.number()?);
                let stage = match from.number()? {
                    0 => Stage::Instantiate,
                    1 => Stage::Prepare,
                    2 => Stage::Initialize,
                    3 => Stage::Execute,
                    other => return Err(Error::bad(format!("stage {other} of a custom call"))),
                };
                Ok(Self::Call { ticket, run, own_copies, place, number, stage })
            }
            6 => Ok(Self::Ping { ticket: from.number()? }),
            kind => Err(Error::bad(format!("a message of kind {kind} from another process"))),
        }
    }
}

struct MessageWriter(Vec<u8>);

impl MessageWriter {
    fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn run(&mut self, run: RunId) {
        self.number(run.devices);
        self.number(run.number);
    }

    fn text(&mut self, text: &str) {
        self.number(to_u64(text.len()));
        self.0.extend_from_slice(text.as_bytes());
    }

    fn error(&mut self, error: Option<&Error>) {
        let code = error.map_or(0, |error| error.code() as i32);
        self.number(u64::from(code.unsigned_abs()));
        if let Some(error) = error {
            self.text(&error.to_string());
        }
    }
}

struct MessageReader<'a>(&'a [u8]);

impl MessageReader<'_> {
    fn take(&mut self, count: usize) -> Result<&[u8]> {
        let short = || Error::bad("a message from another process ends too early");
        let (bytes, rest) = self.0.split_at_checked(count).ok_or_else(short)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn number(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn run(&mut self) -> Result<RunId> {
        Ok(RunId { devices: self.number()?, number: self.number()? })
    }

    fn text(&mut self) -> Result<String> {
        let length = to_usize(self.number()?);
        Ok(String::from_utf8_lossy(self.take(length)?).into_owned())
    }

    fn error(&mut self) -> Result<Option<Error>> {
        let number = i32::try_from(self.number()?).unwrap_or(i32::MAX);
        if number == 0 {
            return Ok(None);
        }
        let code = Code::from_number(number).unwrap_or(Code::Unknown);
        Ok(Some(Error::Verbatim { code, message: self.text()?.into() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_as_they_were_written() {
        let run = RunId { devices: u64::MAX, number: 3 };
        let failed = Some(Error::Verbatim { code: Code::NotFound, message: "where?".into() });
        let program = ToldProgram { likeness: 7 << 70, name: "jit_f".to_owned() };
        let messages = [
            Message::Part { run, program: program.clone(), failed: None },
            Message::Part { run, program, failed: failed.clone() },
            Message::Done { run, failed: failed.clone() },
            Message::Ask {
                ticket: 4,
                run,
                place: 2,
                channel: -1,
                direction: Direction::ToDevice,
                bytes: 8,
            },
            Message::Call {
                ticket: 4,
                run,
                own_copies: vec![0, 9],
                place: 3,
                number: 2,
                stage: Stage::Execute,
            },
            Message::Ping { ticket: 8 },
            Message::Answer { ticket: 4, failed: failed.clone() },
            Message::Array {
                id: ArrayId { device: 5, key: -6, number: 7 },
                form: "f32[2]".to_owned(),
                failed,
            },
        ];
        for message in messages {
            let bytes = message.encode();
            assert_eq!(Message::decode(&bytes).unwrap(), message);
            for length in 0..bytes.len() {
                assert!(Message::decode(&bytes[..length]).is_err(), "{message:?} to {length}");
            }
        }
        assert!(Message::decode(&9_u64.to_le_bytes()).is_err());
    }
}
