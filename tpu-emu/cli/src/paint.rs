//! Colours and links, for terminals alone.
use crate::environment;
use std::io::IsTerminal;
use tpu_trace::{FramePart, Links};

/// How text for one stream looks.
#[derive(Debug)]
pub(crate) struct Paint {
    is_coloured: bool,
    links: Option<Links>,
}

impl Paint {
    /// For a stream: with colours where it is a terminal and `NO_COLOR` is not set, with links of
    /// the editor that `TPU_EMU_EDITOR` names where it is a terminal.
    ///
    /// # Errors
    /// A sentence, where the variable names no editor.
    pub(crate) fn of(stream: &impl IsTerminal) -> Result<Self, String> {
        let is_dumb = environment::text("TERM").is_none_or(|term| term == "dumb");
        let is_terminal = stream.is_terminal() && !is_dumb;
        let editor = environment::text("TPU_EMU_EDITOR");
        let links = Links::new(editor.as_deref(), env!("CARGO_PKG_VERSION"))
            .map_err(|why| format!("TPU_EMU_EDITOR: {why}"))?;
        Ok(Self {
            is_coloured: is_terminal && environment::variable("NO_COLOR").is_none(),
            links: is_terminal.then_some(links),
        })
    }

    /// Neither colours nor links.
    #[cfg(test)]
    pub(crate) fn plain() -> Self {
        Self { is_coloured: false, links: None }
    }

    /// What stands over other lines.
    pub(crate) fn strong(&self, text: &str) -> String {
        self.coloured("1", text)
    }

    /// What is as it should be.
    pub(crate) fn good(&self, text: &str) -> String {
        self.coloured("32", text)
    }

    /// What is not wrong, but might surprise.
    pub(crate) fn doubtful(&self, text: &str) -> String {
        self.coloured("33", text)
    }

    /// What is wrong.
    pub(crate) fn bad(&self, text: &str) -> String {
        self.coloured("31", text)
    }

    fn coloured(&self, code: &str, text: &str) -> String {
        match self.is_coloured {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_owned(),
        }
    }

    /// A text that leads to the source of a frame (OSC 8).
    pub(crate) fn link(&self, text: &str, part: Option<&FramePart>) -> String {
        let link = self.links.as_ref().zip(part).and_then(|(links, part)| links.of(part));
        self.link_to(text, link.as_deref())
    }

    /// A text that leads to a URL (OSC 8).
    pub(crate) fn link_to(&self, text: &str, url: Option<&str>) -> String {
        match url.filter(|_| self.links.is_some()) {
            Some(url) => format!("\x1b]8;;{url}\x1b\\{text}\x1b]8;;\x1b\\"),
            None => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_has_nothing_for_a_terminal() {
        let part = FramePart {
            function: "f".into(),
            file: "/a.py".into(),
            line: 1,
            module: String::new(),
            is_python: true,
        };
        let paint = Paint::plain();
        assert_eq!(paint.strong("a") + &paint.link("b", Some(&part)), "ab");
        let links = Some(Links::new(Some("vscode"), "").unwrap());
        let paint = Paint { is_coloured: true, links };
        assert_eq!(paint.bad("a"), "\x1b[31ma\x1b[0m");
        let linked = "\x1b]8;;vscode://file/a.py:1\x1b\\b\x1b]8;;\x1b\\";
        assert_eq!(paint.link("b", Some(&part)), linked);
        assert_eq!(paint.link("b", None), "b");
    }
}
