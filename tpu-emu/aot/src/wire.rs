//! What is asked and answered, and its bytes between the two processes and in the cache.

/// A program that is to be compiled.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Request {
    /// The topology in one line: its name, then options after commas.
    pub topology: String,
    /// What the bytes of the program are, by PJRT's name.
    pub format: String,
    /// The program.
    pub code: Vec<u8>,
    /// A `CompileOptionsProto`.
    pub options: Vec<u8>,
}

/// What libtpu says of a program.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// It compiles.
    Compiled(Compiled),
    /// It is refused.
    Refused(Refused),
    /// It could not be asked: a sentence.
    NotAsked(String),
}

/// A program that libtpu has compiled.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Compiled {
    /// What the library calls itself.
    pub version: String,
    /// Bytes on each device.
    pub memory: MemoryStats,
    /// What it says of the work of a run, by name.
    pub cost: Vec<(String, Property)>,
    /// What the bytes of the optimized program are.
    pub format: String,
    /// The optimized program.
    pub program: Vec<u8>,
}

/// A program that libtpu refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// What the library calls itself.
    pub version: String,
    /// The number of the error's code.
    pub code: i32,
    /// The words of the refusal.
    pub message: String,
}

/// A value of a cost analysis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Property {
    /// A float.
    Float(f32),
    /// A whole number.
    Int(i64),
}

/// `PJRT_Executable_GetCompiledMemoryStats`, in the order of its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryStats {
    /// Instructions.
    pub code: i64,
    /// Parameters.
    pub arguments: i64,
    /// Results.
    pub outputs: i64,
    /// Results in donated parameters.
    pub alias: i64,
    /// Temporaries.
    pub temporaries: i64,
    /// Instructions in the host's memory.
    pub host_code: i64,
    /// Parameters in the host's memory.
    pub host_arguments: i64,
    /// Results in the host's memory.
    pub host_outputs: i64,
    /// Results in donated parameters in the host's memory.
    pub host_alias: i64,
    /// Temporaries in the host's memory.
    pub host_temporaries: i64,
    /// The most in use at once.
    pub peak: i64,
    /// All of it.
    pub total: i64,
    /// All of its allocations.
    pub total_allocation: i64,
    /// What lives from the start of a run to its end.
    pub indefinite: i64,
    /// The most of the heap in use at once, without padding.
    pub peak_unpadded_heap: i64,
}

impl MemoryStats {
    /// The numbers in the order of the fields.
    pub(crate) fn numbers(&self) -> [i64; 15] {
        [
            self.code,
            self.arguments,
            self.outputs,
            self.alias,
            self.temporaries,
            self.host_code,
            self.host_arguments,
            self.host_outputs,
            self.host_alias,
            self.host_temporaries,
            self.peak,
            self.total,
            self.total_allocation,
            self.indefinite,
            self.peak_unpadded_heap,
        ]
    }

    fn of(numbers: [i64; 15]) -> Self {
        let [
            code,
            arguments,
            outputs,
            alias,
            temporaries,
            host_code,
            host_arguments,
            host_outputs,
            host_alias,
            host_temporaries,
            peak,
            total,
            total_allocation,
            indefinite,
            peak_unpadded_heap,
        ] = numbers;
        Self {
            code,
            arguments,
            outputs,
            alias,
            temporaries,
            host_code,
            host_arguments,
            host_outputs,
            host_alias,
            host_temporaries,
            peak,
            total,
            total_allocation,
            indefinite,
            peak_unpadded_heap,
        }
    }
}

/// The most properties that are read.
const MOST_PROPERTIES: u64 = 1 << 20;

impl Request {
    /// As bytes.
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.code.len() + self.options.len() + 256);
        text(&mut out, self.topology.as_bytes());
        text(&mut out, self.format.as_bytes());
        text(&mut out, &self.code);
        text(&mut out, &self.options);
        out
    }

    /// From bytes; `None` where they are none.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let mut bytes = Bytes(bytes);
        let request = Self {
            topology: bytes.string()?,
            format: bytes.string()?,
            code: bytes.text()?.to_vec(),
            options: bytes.text()?.to_vec(),
        };
        bytes.0.is_empty().then_some(request)
    }
}

impl Answer {
    /// As bytes.
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Compiled(compiled) => {
                out.push(0);
                text(&mut out, compiled.version.as_bytes());
                compiled.memory.numbers().iter().for_each(|&one| number(&mut out, one));
                number(&mut out, count(compiled.cost.len()).cast_signed());
                for (name, value) in &compiled.cost {
                    text(&mut out, name.as_bytes());
                    match *value {
                        Property::Float(value) => {
                            out.push(0);
                            number(&mut out, value.to_bits().into());
                        }
                        Property::Int(value) => {
                            out.push(1);
                            number(&mut out, value);
                        }
                    }
                }
                text(&mut out, compiled.format.as_bytes());
                text(&mut out, &compiled.program);
            }
            Self::Refused(refused) => {
                out.push(1);
                text(&mut out, refused.version.as_bytes());
                number(&mut out, refused.code.into());
                text(&mut out, refused.message.as_bytes());
            }
            Self::NotAsked(why) => {
                out.push(2);
                text(&mut out, why.as_bytes());
            }
        }
        out
    }

    /// From bytes; `None` where they are none.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let mut bytes = Bytes(bytes);
        let answer = match bytes.byte()? {
            0 => {
                let version = bytes.string()?;
                let mut numbers = [0; 15];
                for one in &mut numbers {
                    *one = bytes.number()?;
                }
                let mut cost = Vec::new();
                let properties = u64::try_from(bytes.number()?).ok()?;
                for _ in 0..Some(properties).filter(|&count| count <= MOST_PROPERTIES)? {
                    let name = bytes.string()?;
                    let value = match (bytes.byte()?, bytes.number()?) {
                        (0, bits) => Property::Float(f32::from_bits(u32::try_from(bits).ok()?)),
                        (1, value) => Property::Int(value),
                        _ => return None,
                    };
                    cost.push((name, value));
                }
                Self::Compiled(Compiled {
                    version,
                    memory: MemoryStats::of(numbers),
                    cost,
                    format: bytes.string()?,
                    program: bytes.text()?.to_vec(),
                })
            }
            1 => Self::Refused(Refused {
                version: bytes.string()?,
                code: i32::try_from(bytes.number()?).ok()?,
                message: bytes.string()?,
            }),
            2 => Self::NotAsked(bytes.string()?),
            _ => return None,
        };
        bytes.0.is_empty().then_some(answer)
    }
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

fn number(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn text(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&count(bytes.len()).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Bytes that are still to be read.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    fn number(&mut self) -> Option<i64> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(i64::from_le_bytes(*first))
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(text)
    }

    fn string(&mut self) -> Option<String> {
        String::from_utf8(self.text()?.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers() -> [Answer; 3] {
        let numbers = [1, -2, i64::MAX, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, i64::MIN];
        let cost = vec![
            ("flops".to_owned(), Property::Float(-0.5)),
            (String::new(), Property::Int(i64::MIN)),
        ];
        let compiled = Compiled {
            version: "libtpu 1\nbuilt".to_owned(),
            memory: MemoryStats::of(numbers),
            cost,
            format: "hlo_with_config".to_owned(),
            program: vec![0, 255, 7],
        };
        let message = "E1000: ü".to_owned();
        let refused = Refused { version: String::new(), code: 8, message };
        [Answer::Compiled(compiled), Answer::Refused(refused), Answer::NotAsked("why".to_owned())]
    }

    #[test]
    fn what_is_written_is_read_back() {
        for answer in answers() {
            assert_eq!(Answer::read(&answer.write()), Some(answer));
        }
        let request = Request {
            topology: "v5e:2x2".to_owned(),
            format: "mlir".to_owned(),
            code: vec![1; 1000],
            options: Vec::new(),
        };
        assert_eq!(Request::read(&request.write()), Some(request));
    }

    #[test]
    fn bytes_that_are_cut_or_longer_are_none() {
        for answer in answers() {
            let mut bytes = answer.write();
            for end in 0..bytes.len() {
                assert_eq!(Answer::read(&bytes[..end]), None, "{end}");
            }
            bytes.push(0);
            assert_eq!(Answer::read(&bytes), None);
        }
        assert_eq!(Request::read(&[255; 40]), None);
    }
}
