//! Types in MLIR's words.
use super::Parser;
use super::cursor::Result;
use crate::ir::{DYNAMIC, Element, Quantization, TensorType, Type};

impl Parser<'_> {
    /// Any type, a function's included.
    pub(super) fn parse_type(&mut self) -> Result<Type> {
        self.cursor.enter()?;
        let of = match self.cursor.peek() {
            Some(b'(') => {
                let (arguments, results) = self.function_type()?;
                Type::Function(arguments, results)
            }
            Some(b'!') => self.dialect_type()?,
            _ => self.builtin_type()?,
        };
        self.cursor.leave();
        Ok(of)
    }

    /// `(types) -> type` or `(types) -> (types)`.
    pub(super) fn function_type(&mut self) -> Result<(Vec<Type>, Vec<Type>)> {
        let arguments = self.types_in("(", ")")?;
        self.cursor.expect("->")?;
        Ok((arguments, self.result_types()?))
    }

    /// One type, or several in parentheses.
    pub(super) fn result_types(&mut self) -> Result<Vec<Type>> {
        if self.cursor.sees("(") { self.types_in("(", ")") } else { Ok(vec![self.parse_type()?]) }
    }

    /// Types separated by commas between two delimiters.
    pub(super) fn types_in(&mut self, open: &str, close: &str) -> Result<Vec<Type>> {
        self.cursor.expect(open)?;
        let mut types = Vec::new();
        if self.cursor.eat(close) {
            return Ok(types);
        }
        loop {
            types.push(self.parse_type()?);
            if self.cursor.eat(close) {
                return Ok(types);
            }
            if !self.cursor.eat(",") {
                return self.cursor.expected(&format!("',' or '{close}'"));
            }
        }
    }

    /// Types separated by commas, at least one.
    pub(super) fn type_list(&mut self) -> Result<Vec<Type>> {
        let mut types = vec![self.parse_type()?];
        while self.cursor.eat(",") {
            types.push(self.parse_type()?);
        }
        Ok(types)
    }

    /// Whether a type stands next, by its first word.
    pub(super) fn sees_type(&mut self) -> bool {
        match self.cursor.peek() {
            Some(b'(' | b'!') => true,
            _ => {
                let word = self.cursor.peek_word();
                matches!(word, "tensor" | "tuple" | "memref" | "none" | "complex")
                    || scalar(word).is_some()
            }
        }
    }

    fn builtin_type(&mut self) -> Result<Type> {
        match self.cursor.peek_word() {
            "tensor" => self.shaped("tensor"),
            "memref" => self.shaped("memref"),
            "tuple" => {
                self.cursor.expect_word("tuple")?;
                Ok(Type::Tuple(self.types_in("<", ">")?))
            }
            "none" => {
                self.cursor.expect_word("none")?;
                Ok(Type::None)
            }
            _ => Ok(Type::Scalar(self.element()?)),
        }
    }

    /// An element type outside of quantization.
    pub(super) fn element(&mut self) -> Result<Element> {
        let start = {
            self.cursor.skip();
            self.cursor.position()
        };
        let word = self.cursor.peek_word();
        if word == "complex" {
            self.cursor.expect_word("complex")?;
            self.cursor.expect("<")?;
            let part = self.cursor.word("f32 or f64")?;
            self.cursor.expect(">")?;
            return match part {
                "f32" => Ok(Element::C64),
                "f64" => Ok(Element::C128),
                part => Err(self
                    .cursor
                    .error_at(start, format!("complex<{part}> is no type of StableHLO"))),
            };
        }
        match scalar(word) {
            Some(element) => {
                self.cursor.expect_word(word)?;
                Ok(element)
            }
            None => self.cursor.expected("a type"),
        }
    }

    /// `tensor<4x?xf32, encoding>` or `memref<4xf32>`.
    fn shaped(&mut self, word: &str) -> Result<Type> {
        self.cursor.expect_word(word)?;
        self.cursor.expect("<")?;
        if word == "tensor" && self.cursor.eat("*") {
            self.cursor.expect("x")?;
            let element = self.element()?;
            self.cursor.expect(">")?;
            return Ok(Type::Unranked(element));
        }
        let dims = self.dims()?;
        let mut tensor = self.tensor_element(dims)?;
        if self.cursor.eat(",") {
            tensor.bounds = self.encoding(word)?;
            if tensor.bounds.len() != tensor.dims.len() {
                let (bounds, dims) = (tensor.bounds.len(), tensor.dims.len());
                return self.cursor.error(format!("{bounds} bounds for {dims} dimensions"));
            }
        }
        self.cursor.expect(">")?;
        Ok(if word == "tensor" { Type::Tensor(tensor) } else { Type::Buffer(tensor) })
    }

    /// `4x?x`: extents, each with the `x` behind it.
    fn dims(&mut self) -> Result<Vec<i64>> {
        let mut dims = Vec::new();
        loop {
            match self.cursor.peek() {
                Some(b'?') => {
                    self.cursor.expect("?")?;
                    dims.push(DYNAMIC);
                }
                Some(digit) if digit.is_ascii_digit() => {
                    let start = self.cursor.position();
                    let mut extent = 0_i64;
                    while let Some(digit) = self.cursor.here().filter(u8::is_ascii_digit) {
                        extent = extent
                            .checked_mul(10)
                            .and_then(|extent| extent.checked_add(i64::from(digit - b'0')))
                            .ok_or_else(|| {
                                self.cursor.error_at(start, "this extent does not fit in 64 bits")
                            })?;
                        self.cursor.seek(self.cursor.position() + 1);
                    }
                    dims.push(extent);
                }
                _ => return Ok(dims),
            }
            self.cursor.expect("x")?;
        }
    }

    fn tensor_element(&mut self, dims: Vec<i64>) -> Result<TensorType> {
        if self.cursor.peek() != Some(b'!') {
            return Ok(TensorType::new(self.element()?, dims));
        }
        let at = self.cursor.position();
        match self.dialect_type()? {
            Type::Tensor(TensorType { element, quantization, .. }) => {
                Ok(TensorType { element, dims, bounds: Vec::new(), quantization })
            }
            Type::Scalar(element) => Ok(TensorType::new(element, dims)),
            _ => Err(self.cursor.error_at(at, "expected an element type, found another type")),
        }
    }

    /// `#stablehlo.bounds<4, ?>`; other encodings are refused.
    fn encoding(&mut self, word: &str) -> Result<Vec<i64>> {
        let found = ["#stablehlo.bounds", "#stablehlo.type_extensions", "#mhlo.type_extensions"]
            .into_iter()
            .find(|name| self.cursor.eat(name));
        match found {
            Some("#stablehlo.bounds") if word == "tensor" => self.cursor.list("<", ">", |cursor| {
                if cursor.eat("?") { Ok(DYNAMIC) } else { cursor.integer() }
            }),
            Some(_) if word == "tensor" => {
                self.cursor.expect("<")?;
                self.cursor.expect_word("bounds")?;
                self.cursor.expect("=")?;
                let bounds = self.cursor.list("[", "]", |cursor| {
                    if cursor.eat("?") { Ok(DYNAMIC) } else { cursor.integer() }
                })?;
                self.cursor.expect(">")?;
                Ok(bounds)
            }
            _ => self.cursor.expected("#stablehlo.bounds"),
        }
    }

    fn dialect_type(&mut self) -> Result<Type> {
        self.cursor.expect("!")?;
        let start = self.cursor.position();
        let name = self.cursor.suffix("a type's name")?;
        match name {
            "stablehlo.token" | "mhlo.token" => Ok(Type::Token),
            "stablehlo.future" => Ok(Type::Future(self.types_in("<", ">")?)),
            "quant.uniform" => self.quantized(),
            _ if !name.contains('.') => self.type_alias(name, start),
            _ => {
                if self.cursor.here() == Some(b'<') {
                    self.cursor.balanced()?;
                }
                Ok(Type::Opaque(self.cursor.slice(start, self.cursor.position()).into()))
            }
        }
    }

    fn type_alias(&mut self, name: &str, at: usize) -> Result<Type> {
        if self.cursor.here() == Some(b'<') {
            self.cursor.balanced()?;
            return Ok(Type::Opaque(self.cursor.slice(at, self.cursor.position()).into()));
        }
        match self.type_aliases.get(name) {
            Some(of) => Ok(of.clone()),
            None => Err(self.cursor.error_at(at, format!("the type !{name} is not defined above"))),
        }
    }

    /// `<i8<-127:127>:f32:1, {0.1:3, 0.2}>`, as an array of no dimensions.
    fn quantized(&mut self) -> Result<Type> {
        self.cursor.expect("<")?;
        let at = self.cursor.position();
        let storage = self.cursor.word("a storage type")?;
        let known = [
            ("i2", Element::S2),
            ("i4", Element::S4),
            ("i8", Element::S8),
            ("i16", Element::S16),
            ("i32", Element::S32),
            ("u2", Element::U2),
            ("u4", Element::U4),
            ("u8", Element::U8),
            ("u16", Element::U16),
            ("u32", Element::U32),
        ];
        let Some(&(_, element)) = known.iter().find(|(name, _)| *name == storage) else {
            return Err(self
                .cursor
                .error_at(at, format!("no quantized type is stored as {storage}")));
        };
        let signed = storage.starts_with('i');
        let (mut storage_min, mut storage_max) = storage_range(element);
        if self.cursor.eat("<") {
            storage_min = self.cursor.integer()?;
            self.cursor.expect(":")?;
            storage_max = self.cursor.integer()?;
            self.cursor.expect(">")?;
        }
        self.cursor.expect(":")?;
        let expressed = self.element()?;
        let axis = if self.cursor.eat(":") { Some(self.cursor.integer()?) } else { None };
        self.cursor.expect(",")?;
        let pairs = if axis.is_some() {
            self.cursor.list("{", "}", scale)?
        } else {
            vec![scale(&mut self.cursor)?]
        };
        self.cursor.expect(">")?;
        let (scales, zero_points) = pairs.into_iter().unzip();
        let mut tensor = TensorType::new(element, Vec::new());
        tensor.quantization = Some(Box::new(Quantization {
            expressed,
            storage_min,
            storage_max,
            axis,
            scales,
            zero_points,
            signed,
        }));
        Ok(Type::Tensor(tensor))
    }
}

/// `scale` or `scale:zero_point`.
fn scale(cursor: &mut super::cursor::Cursor<'_>) -> Result<(f64, i64)> {
    let at = cursor.position();
    let text = cursor.number()?;
    let Ok(scale) = text.parse() else {
        return Err(cursor.error_at(at, format!("'{text}' is no scale")));
    };
    Ok((scale, if cursor.eat(":") { cursor.integer()? } else { 0 }))
}

/// The numbers that a storage type holds.
pub(super) fn storage_range(element: Element) -> (i64, i64) {
    match element {
        Element::S2 => (-2, 1),
        Element::S4 => (-8, 7),
        Element::S8 => (-128, 127),
        Element::S16 => (i16::MIN.into(), i16::MAX.into()),
        Element::S32 => (i32::MIN.into(), i32::MAX.into()),
        Element::U2 => (0, 3),
        Element::U4 => (0, 15),
        Element::U8 => (0, 255),
        Element::U16 => (0, u16::MAX.into()),
        Element::U32 => (0, u32::MAX.into()),
        _ => (i64::MIN, i64::MAX),
    }
}

/// The scalar type with this name.
fn scalar(word: &str) -> Option<Element> {
    if let Some(&(element, _)) = Element::NAMES.iter().find(|(_, name)| *name == word) {
        return Some(element);
    }
    let digits = word.strip_prefix('i')?;
    let width =
        digits.parse::<u16>().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    (width > 0).then_some(Element::Other(width))
}
