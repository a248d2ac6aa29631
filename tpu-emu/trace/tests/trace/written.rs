//! Traces made by hand, record by record, as docs/trace-format.md says.

/// The bytes of a trace.
#[derive(Debug, Clone)]
pub(crate) struct Written(pub(crate) Vec<u8>);

/// Fields of a change that a test says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Change {
    pub(crate) space: u64,
    pub(crate) sequence: u64,
    pub(crate) address: u64,
    pub(crate) size: u64,
    pub(crate) stack: u64,
    pub(crate) time: u64,
    pub(crate) label: u64,
}

/// A change of space 0 at no particular place.
pub(crate) const CHANGE: Change =
    Change { space: 0, sequence: 1, address: 0, size: 512, stack: 1, time: 1, label: 0 };
pub(crate) const ALLOCATE: u8 = 6;
pub(crate) const FREE: u8 = 7;
pub(crate) const REFUSED: u8 = 8;

impl Written {
    /// A process with two spaces, one array type and three stacks: 1 is a line of the user's
    /// under one of JAX, 2 the clean-up of JAX, 3 another line.
    pub(crate) fn new() -> Self {
        let mut trace = Self(b"TPUEMUTR\x01\x00\x05\x00".to_vec());
        trace.record(
            1,
            &[Field::Number(77), Field::Number(9), Field::Text("0.1.0"), Field::Text("v5e:1x1")],
        );
        trace.space(0, 1, "TPU_0", "device", 16 << 30);
        trace.space(1, 0, "host", "pinned_host", 1 << 30);
        trace.record(
            3,
            &[
                Field::Number(4),
                Field::Text("f32"),
                Field::Number(2),
                Field::Number(10),
                Field::Number(10),
                Field::Text("{1,0:T(8,128)}"),
                Field::Number(400),
                Field::Number(8192),
            ],
        );
        trace.frame(100, "put", "/v/site-packages/jax/_src/api.py", 5, true);
        trace.frame(101, "train", "/home/u/train.py", 12, true);
        trace.frame(102, "main", "/home/u/train.py", 3, true);
        trace.frame(103, "clean_up", "/v/site-packages/jax/_src/api.py", 900, true);
        trace.frame(104, "malloc", "", 0, false);
        // 10 main, 11 main > train, 1 main > train > put, 2 clean_up > malloc, 3 main > put.
        for (stack, caller, frame) in
            [(10, 0, 102), (11, 10, 101), (1, 11, 100), (20, 0, 103), (2, 20, 104), (3, 10, 100)]
        {
            trace.record(5, &[stack, caller, frame].map(Field::Number));
        }
        trace
    }

    pub(crate) fn space(&mut self, number: u64, device: u64, owner: &str, kind: &str, bytes: u64) {
        let (owner, kind) = (Field::Text(owner), Field::Text(kind));
        self.record(
            2,
            &[Field::Number(number), Field::Number(device), owner, kind, Field::Number(bytes)],
        );
    }

    pub(crate) fn frame(
        &mut self,
        number: u64,
        function: &str,
        file: &str,
        line: u64,
        python: bool,
    ) {
        self.record(
            4,
            &[
                Field::Number(number),
                Field::Number(1),
                Field::Number(python.into()),
                Field::Text(function),
                Field::Text(file),
                Field::Number(line),
                Field::Text("some module"),
            ],
        );
    }

    pub(crate) fn change(&mut self, kind: u8, of: Change) -> &mut Self {
        let number = Field::Number;
        self.record(
            kind,
            &[
                number(of.space),
                number(of.sequence),
                number(of.address),
                number(of.size),
                number(4),
                number(of.stack),
                number(3),
                number(of.time),
                Field::Text("PJRT_Client_BufferFromHostBuffer"),
                number(of.label),
            ],
        );
        self
    }

    pub(crate) fn label(&mut self, number: u64, text: &str) -> &mut Self {
        self.record(10, &[Field::Number(number), Field::Text(text)]);
        self
    }

    pub(crate) fn record(&mut self, kind: u8, fields: &[Field<'_>]) {
        let mut payload = Vec::new();
        fields.iter().for_each(|field| field.write(&mut payload));
        self.0.push(kind);
        self.0.extend(u32::try_from(payload.len()).unwrap().to_le_bytes());
        self.0.extend(payload);
    }
}

impl Written {
    /// A mark at a time, with the last change of space 0.
    pub(crate) fn mark(&mut self, name: &str, time: u64, sequence: u64) -> &mut Self {
        let [stack, thread, one, zero] = [1, 3, 1, 0].map(Field::Number);
        let (time, sequence) = (Field::Number(time), Field::Number(sequence));
        self.record(16, &[Field::Text(name), stack, thread, time, one, zero, sequence]);
        self
    }
}

/// A field of a record.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Field<'a> {
    Number(u64),
    Text(&'a str),
    /// A number of ten bytes, which can be written again in its place.
    Long(u64),
}

impl Field<'_> {
    fn write(self, out: &mut Vec<u8>) {
        match self {
            Field::Number(mut number) => {
                while number > 0x7f {
                    out.push(u8::try_from(number & 0x7f).unwrap() | 0x80);
                    number >>= 7;
                }
                out.push(u8::try_from(number).unwrap());
            }
            Field::Long(number) => {
                let low = |place: u32| u8::try_from(number >> (7 * place) & 0x7f).unwrap();
                out.extend((0..9).map(|place| low(place) | 0x80));
                out.push(low(9));
            }
            Field::Text(text) => {
                Field::Number(text.len() as u64).write(out);
                out.extend(text.as_bytes());
            }
        }
    }
}
