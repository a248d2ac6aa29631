//! The numbers of a convolution: `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]` and its window.
use super::Parser;
use super::cursor::Result;
use crate::ir::{Attribute, Attributes, Element, Elements, TensorType};

/// For each of input, kernel and output: the letters of its two dimensions that are not spatial,
/// the names of the attributes they make, and the name for the spatial ones.
pub(crate) const SIDES: [([(char, &str); 2], &str); 3] = [
    (
        [('b', "input_batch_dimension"), ('f', "input_feature_dimension")],
        "input_spatial_dimensions",
    ),
    (
        [('i', "kernel_input_feature_dimension"), ('o', "kernel_output_feature_dimension")],
        "kernel_spatial_dimensions",
    ),
    (
        [('b', "output_batch_dimension"), ('f', "output_feature_dimension")],
        "output_spatial_dimensions",
    ),
];

impl Parser<'_> {
    /// The three lists of letters and numbers.
    pub(super) fn convolution_numbers(&mut self) -> Result<Attributes> {
        let mut numbers = Attributes::default();
        for (index, (letters, spatial_name)) in SIDES.into_iter().enumerate() {
            match index {
                1 => self.cursor.expect("x")?,
                2 => self.cursor.expect("->")?,
                _ => {}
            }
            self.cursor.skip();
            let at = self.cursor.position();
            let dims = self.cursor.list("[", "]", |cursor| {
                if cursor.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                    return Ok((None, cursor.integer()?));
                }
                let word = cursor.word("a dimension")?;
                let letter = letters.iter().position(|(letter, _)| word.chars().eq([*letter]));
                match letter {
                    Some(letter) => Ok((Some(letter), 0)),
                    None => cursor.error(format!("'{word}' is no dimension here")),
                }
            })?;
            let mut spatial = vec![None; dims.len().saturating_sub(2)];
            let mut named = [None; 2];
            for (place, (letter, number)) in dims.iter().enumerate() {
                let slot = match letter {
                    Some(letter) => named.get_mut(*letter),
                    None => {
                        usize::try_from(*number).ok().and_then(|number| spatial.get_mut(number))
                    }
                };
                match slot {
                    Some(slot @ None) => *slot = i64::try_from(place).ok(),
                    _ => {
                        let what = format!(
                            "dimension {place} of {spatial_name} is given twice or past the rank"
                        );
                        return Err(self.cursor.error_at(at, what));
                    }
                }
            }
            for ((_, name), place) in letters.into_iter().zip(named) {
                match place {
                    Some(place) => {
                        numbers.set(name, Attribute::Integer(place.into(), Element::S64))
                    }
                    None => return Err(self.cursor.error_at(at, format!("{name} is missing"))),
                }
            }
            let spatial = spatial.into_iter().flatten().collect();
            numbers.set(spatial_name, Attribute::Integers(spatial));
        }
        Ok(numbers)
    }

    /// `input_batch_dimension = 0, …`: the same with names; the word `raw` is taken.
    pub(super) fn raw_convolution(&mut self) -> Result<Attributes> {
        let mut numbers = Attributes::default();
        for (letters, spatial) in SIDES {
            for (_, name) in letters {
                numbers.set(name, Attribute::Integer(0, Element::S64));
            }
            numbers.set(spatial, Attribute::Integers(Vec::new()));
        }
        while !self.cursor.sees(">") {
            let name = self.cursor.word("a field's name")?;
            self.cursor.expect("=")?;
            let value = match numbers.get(name) {
                Some(Attribute::Integers(_)) => Attribute::Integers(self.cursor.integers()?),
                Some(_) => Attribute::Integer(self.cursor.integer()?.into(), Element::S64),
                None => return self.cursor.error(format!("conv has no field {name}")),
            };
            numbers.set(name.to_owned(), value);
            if !self.cursor.eat(",") && !self.cursor.sees(">") {
                return self.cursor.expected("',' or '>'");
            }
        }
        Ok(numbers)
    }

    /// `{stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = …, rhs_dilate = …, reverse = …}`.
    pub(super) fn window(&mut self, attributes: &mut Attributes) -> Result<()> {
        self.cursor.expect("{")?;
        while !self.cursor.eat("}") {
            let key = self.cursor.word("a property of the window")?;
            self.cursor.expect("=")?;
            let (name, value) = match key {
                "stride" => ("window_strides", Attribute::Integers(self.cursor.integers()?)),
                "lhs_dilate" => ("lhs_dilation", Attribute::Integers(self.cursor.integers()?)),
                "rhs_dilate" => ("rhs_dilation", Attribute::Integers(self.cursor.integers()?)),
                "pad" => ("padding", self.padding()?),
                "reverse" => ("window_reversal", self.reversal()?),
                _ => return self.cursor.error(format!("a window has no property {key}")),
            };
            if attributes.get(name).is_some() {
                return self.cursor.error(format!("{key} is given twice"));
            }
            attributes.set(name, value);
            if !self.cursor.eat(",") && !self.cursor.sees("}") {
                return self.cursor.expected("',' or '}'");
            }
        }
        Ok(())
    }

    fn padding(&mut self) -> Result<Attribute> {
        let pairs = self.cursor.list("[", "]", |cursor| {
            let pair = cursor.integers()?;
            match <[i64; 2]>::try_from(pair) {
                Ok(pair) => Ok(pair),
                Err(pair) => cursor.error(format!("{} numbers in a pair of paddings", pair.len())),
            }
        })?;
        let rows = i64::try_from(pairs.len()).unwrap_or(i64::MAX);
        let first = pairs.first().map(|pair| pair[0]);
        let splat = first.is_some_and(|first| pairs.iter().flatten().all(|&value| value == first));
        let kept = if splat { 1 } else { usize::MAX };
        let data: Vec<u8> =
            pairs.iter().flatten().take(kept).flat_map(|value| value.to_le_bytes()).collect();
        Ok(Attribute::Elements(Elements {
            of: TensorType::new(Element::S64, vec![rows, 2]),
            data: data.into(),
            splat,
        }))
    }

    fn reversal(&mut self) -> Result<Attribute> {
        let values = self.cursor.list("[", "]", |cursor| match cursor.peek_word() {
            "" => Ok(cursor.integer()? != 0),
            _ if cursor.eat_word("true") => Ok(true),
            _ => cursor.expect_word("false").map(|()| false),
        })?;
        Ok(Attribute::Booleans(values))
    }
}
