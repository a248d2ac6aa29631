//! The guidebook as Markdown.
use super::Book;
use super::functions::{Frame, Function, took};
use crate::text::{bytes, counted, one_line, seconds};

/// All of it.
pub(super) fn page(book: &Book) -> String {
    let mut page =
        format!("# What {} called\n\n{}\n\n", plain(&book.file), plain(&book.introduction()));
    for why in &book.cut {
        page += &format!("**Careful: {}.**\n\n", plain(why));
    }
    page += "| | function | calls | time | bytes | errors | stacks |\n";
    page += "|--:|---|--:|--:|--:|--:|--:|\n";
    for (number, function) in (1..).zip(&book.functions) {
        let Function { name, count, errors, .. } = function;
        page += &format!(
            "| {number} | [{}](#{}) | {count} | {} | {} | {errors} | {} |\n",
            plain(name),
            anchor(number, name),
            function.took(),
            bytes(function.bytes),
            function.places(),
        );
    }
    for (number, function) in (1..).zip(&book.functions) {
        section(number, function, &mut page);
    }
    page
}

fn section(number: u64, function: &Function, page: &mut String) {
    let Function { name, url, first, count, distinct, stacks, .. } = function;
    *page += &format!("\n## {number} {}\n\n", plain(name));
    *page += &format!(
        "{}, {} in all, {} each, {}; first at {}.{}\n",
        counted(*count, "call"),
        function.took(),
        function.took_each(),
        bytes(function.bytes),
        seconds(*first),
        url.as_ref().map_or_else(String::new, |url| format!(" [Its sources]({url}).")),
    );
    for (place, from) in (1..).zip(stacks) {
        *page += &format!(
            "\n### {number}.{place} {}, {}, {}\n\n",
            counted(from.count, "call"),
            took(from.nanos),
            bytes(from.bytes)
        );
        for (depth, frame) in (1..).zip(&from.frames) {
            *page += &format!("{depth}. {}\n", line(frame));
        }
    }
    let left = distinct.saturating_sub(stacks.len()) as u64;
    if left > 0 {
        *page += &format!("\nAnd {}.\n", counted(left, "other stack"));
    }
    if let Some(unseen) = function.unseen() {
        *page += &format!("\n{unseen}\n");
    }
}

fn line(frame: &Frame) -> String {
    let Frame { function, place, url, .. } = frame;
    let function = code(function);
    match (url, &**place) {
        (Some(url), "") => format!("[{function}]({url})"),
        (Some(url), place) => format!("{function} at [{}]({url})", plain(place)),
        (None, "") => function,
        (None, place) => format!("{function} at {}", plain(place)),
    }
}

/// A text as code; its own quotes are part of it.
fn code(text: &str) -> String {
    let text = one_line(text).replace('|', "\\|");
    match text.contains('`') {
        true => format!("`` {text} ``"),
        false => format!("`{text}`"),
    }
}

/// A text that is nothing but itself.
fn plain(text: &str) -> String {
    let mut escaped = String::new();
    for letter in one_line(text).chars() {
        if matches!(letter, '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '|' | '#') {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

/// The name that readers of Markdown give a heading.
fn anchor(number: u64, name: &str) -> String {
    let kept = name.chars().filter(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ' '));
    let kept: String = kept.flat_map(char::to_lowercase).collect();
    format!("{number}-{}", kept.replace(' ', "-"))
}
