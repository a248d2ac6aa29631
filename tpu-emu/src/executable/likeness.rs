//! What several compilations of one program have in common.
use super::Executable;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

impl Executable {
    /// A hash of what the program does and of how it is compiled: the same for two compilations
    /// of one program, whatever its functions are called. Clients number them as they go, so that
    /// each of their threads has other names for the same thing.
    pub(crate) fn likeness(&self) -> u128 {
        *self.likeness.get_or_init(|| {
            let text = self.module.to_mlir(false);
            let names = self.module.functions.iter().map(|function| &function.name);
            let all = names.chain(&self.module.name);
            let numbers: HashMap<&str, usize> =
                all.enumerate().map(|(number, name)| (&**name, number)).collect();
            let [high, low] = [0_u8, 1].map(|salt| {
                let mut hasher = DefaultHasher::new();
                (salt, format!("{:?}", self.options)).hash(&mut hasher);
                for (between, name) in symbols(&text) {
                    between.hash(&mut hasher);
                    match numbers.get(name) {
                        Some(number) => number.hash(&mut hasher),
                        None => name.hash(&mut hasher),
                    }
                }
                u128::from(hasher.finish())
            });
            high << 64 | low
        })
    }
}

/// The symbols of a text, each with what stands before it; the last has no name.
fn symbols(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let left = rest.take()?;
        let Some((before, after)) = left.split_once('@') else { return Some((left, "")) };
        let bare = |letter: char| letter.is_alphanumeric() || "_.$-".contains(letter);
        let (name, end) = match after.strip_prefix('"').and_then(|text| text.split_once('"')) {
            Some(quoted) => quoted,
            None => after.split_at(after.find(|letter| !bare(letter)).unwrap_or(after.len())),
        };
        rest = Some(end);
        Some((before, name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::executable::{CompileOptions, Format};
    use crate::runtime::Emulator;

    fn likeness(module: &str, helper: &str, operation: &str, replicas: usize) -> u128 {
        let code = format!(
            "module @{module} {{
               func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
                 %0 = func.call @{helper}(%x) : (tensor<2xf32>) -> tensor<2xf32>
                 return %0 : tensor<2xf32>
               }}
               func.func private @{helper}(%x: tensor<2xf32>) -> tensor<2xf32> {{
                 %0 = stablehlo.{operation} %x : tensor<2xf32>
                 return %0 : tensor<2xf32>
               }}
             }}"
        );
        let machine = Emulator::new(Config::plain()).unwrap();
        let options = CompileOptions { replicas, ..CompileOptions::default() };
        machine.compile(Format::Mlir, code.as_bytes(), options).unwrap().likeness()
    }

    #[test]
    fn names_do_not_count_and_operations_and_options_do() {
        let one = likeness("step.7", "f.3", "negate", 1);
        assert_eq!(likeness("step.9", "f.4", "negate", 1), one);
        assert_eq!(likeness("step", "\"a b\"", "negate", 1), one);
        assert_ne!(likeness("step.7", "f.3", "abs", 1), one);
        assert_ne!(likeness("step.7", "f.3", "negate", 2), one);
    }

    #[test]
    fn symbols_are_found_bare_and_quoted() {
        let found: Vec<(&str, &str)> = symbols("call @f.1(%0) @\"a b\" end").collect();
        assert_eq!(found, [("call ", "f.1"), ("(%0) ", "a b"), (" end", "")]);
    }
}
