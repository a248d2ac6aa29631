//! Names of native frames, looked up when first asked for and then kept.
use super::elf::Image;
use super::lines::{Lines, SourceLine};
use super::modules::{self, Module};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use tpu_emu::origin::{Frame, FrameText};

/// Names of native frames.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    files: Mutex<HashMap<(PathBuf, u64), Arc<Names>>>,
    texts: Mutex<HashMap<Frame, Vec<FrameText>>>,
}

/// Frames that are looked up until the pages of the file that they needed are let go.
const KEPT: u32 = 32;

/// The names in one module's file, read by the first who asks.
#[derive(Debug, Default)]
struct Names {
    image: OnceLock<Option<Image>>,
    lines: OnceLock<Option<Lines>>,
    looked_up: AtomicU32,
}

impl Names {
    /// Counts a frame, and lets the pages go now and then: what is kept of a frame is its text.
    fn count(&self) {
        if self.looked_up.fetch_add(1, Ordering::Relaxed).is_multiple_of(KEPT) {
            self.image.get().into_iter().flatten().for_each(Image::let_go);
            self.lines.get().into_iter().flatten().for_each(Lines::let_go);
        }
    }
}

impl Symbols {
    /// Appends the text of a frame that [`modules::Modules::frame`] made.
    pub(super) fn describe(&self, frame: Frame, texts: &mut Vec<FrameText>) {
        if let Some(known) = self.texts.lock().get(&frame) {
            return texts.extend_from_slice(known);
        }
        let (module, address) = modules::module_of(frame.0);
        let found = match module {
            Some(module) => self.look_up(&module, address),
            None => vec![FrameText { function: format!("{address:#x}"), ..FrameText::default() }],
        };
        texts.extend_from_slice(&found);
        self.texts.lock().insert(frame, found);
    }

    fn look_up(&self, module: &Module, address: u64) -> Vec<FrameText> {
        let key = (module.path.clone(), module.start ^ u64::from(module.epoch) << 48);
        let names = Arc::clone(self.files.lock().entry(key).or_default());
        let image = names.image.get_or_init(|| Image::open(&module.path, &module.identity));
        let lines = names.lines.get_or_init(|| image.as_ref().and_then(Lines::of));

        let offset = address.wrapping_sub(module.bias);
        let symbol = image.as_ref().and_then(|image| image.function_at(offset));
        let in_code = image.as_ref().is_some_and(|image| image.has_code_at(offset));
        let lines = lines.as_ref().filter(|_| in_code);
        let mut found = lines.map_or_else(Vec::new, |lines| lines.at(offset));
        names.count();
        if found.is_empty() {
            found.push(SourceLine::default());
        }
        // The linker's name is the full one; the compiler's may be short in a table of lines.
        if let (Some(outermost), Some(symbol)) = (found.last_mut(), symbol) {
            outermost.function = symbol;
        }
        let name = module.name();
        let text = |SourceLine { function, file, line }| {
            let function = match function.is_empty() {
                true => format!("{name}+{offset:#x}"),
                false => readable(&function),
            };
            FrameText { function, file, line, module: name.clone(), python: false }
        };
        found.into_iter().map(text).collect()
    }
}

/// A linker's name as people write it: demangled, without parameters or hash.
fn readable(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name);
    if let Ok(rust) = rustc_demangle::try_demangle(&text) {
        return format!("{rust:#}");
    }
    let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
    let demangled =
        cpp_demangle::Symbol::new(name).ok().and_then(|s| s.demangle_with_options(&options).ok());
    demangled.unwrap_or_else(|| without_arguments(&text).to_owned())
}

/// A name from a table of lines without its type arguments: those of a closure fill a page.
fn without_arguments(name: &str) -> &str {
    name.find('<').filter(|&at| at > 0).map_or(name, |at| &name[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_demangled() {
        for (name, expected) in [
            ("_ZN3xla4ifrt10PjRtClient6CreateEi", "xla::ifrt::PjRtClient::Create"),
            ("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"),
            ("_PyEval_EvalFrameDefault", "_PyEval_EvalFrameDefault"),
            ("_ZN", "_ZN"),
            ("call_once<fn(&u8), (&u8,)>", "call_once"),
        ] {
            assert_eq!(readable(name.as_bytes()), expected);
        }
    }

    #[test]
    fn an_address_without_a_module_is_a_number() {
        let mut texts = Vec::new();
        Symbols::default().describe(Frame(0x10), &mut texts);
        assert_eq!(texts[0].function, "0x10");
    }

    #[test]
    fn a_module_without_its_file_gives_an_offset() {
        let path = PathBuf::from("/gone/lib.so");
        let module = Module {
            path,
            bias: 4096,
            start: 4096,
            end: 8192,
            identity: Vec::new(),
            epoch: 0,
            unwind: None,
        };
        let texts = Symbols::default().look_up(&module, 4096 + 0x20);
        assert_eq!(
            (texts[0].function.as_str(), texts[0].module.as_str()),
            ("lib.so+0x20", "lib.so")
        );
    }
}
