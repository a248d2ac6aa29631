//! The guidebook as one page of HTML that fetches nothing.
use super::Book;
use super::functions::{Frame, Function, took};
use crate::text::{bytes, counted, one_line, seconds};

const STYLE: &str = "
:root { color-scheme: light dark; font: 16px/1.45 system-ui, sans-serif; }
body { max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; }
th, td { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #8886; }
th:nth-child(2), td:nth-child(2) { text-align: left; }
code, td, ol { font-family: ui-monospace, monospace; font-size: .88rem; }
summary { cursor: pointer; padding: .2rem 0; }
ol { overflow-wrap: anywhere; }
.native { opacity: .75; }
.careful { font-weight: bold; }
";

/// All of it.
pub(super) fn page(book: &Book) -> String {
    let title = format!("What {} called", escaped(&book.file));
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n\
         <style>{STYLE}</style>\n<h1>{title}</h1>\n<p>{}</p>\n",
        escaped(&book.introduction())
    );
    for why in &book.cut {
        page += &format!("<p class=\"careful\">Careful: {}.</p>\n", escaped(why));
    }
    page += "<table><thead><tr><th></th><th>function</th><th>calls</th><th>time</th>\
             <th>bytes</th><th>errors</th><th>stacks</th></tr></thead><tbody>\n";
    for (number, function) in (1..).zip(&book.functions) {
        let Function { name, count, errors, .. } = function;
        page += &format!(
            "<tr><td>{number}</td><td><a href=\"#f{number}\">{}</a></td><td>{count}</td>\
             <td>{}</td><td>{}</td><td>{errors}</td><td>{}</td></tr>\n",
            escaped(name),
            function.took(),
            bytes(function.bytes),
            function.places(),
        );
    }
    page += "</tbody></table>\n";
    for (number, function) in (1_u64..).zip(&book.functions) {
        section(number, function, &mut page);
    }
    page + "</html>\n"
}

fn section(number: u64, function: &Function, page: &mut String) {
    let Function { name, url, first, count, distinct, stacks, .. } = function;
    *page += &format!("<h2 id=\"f{number}\">{number} {}</h2>\n", linked(name, url.as_deref()));
    *page += &format!(
        "<p>{}, {} in all, {} each, {}; first at {}.</p>\n",
        counted(*count, "call"),
        function.took(),
        function.took_each(),
        bytes(function.bytes),
        seconds(*first),
    );
    for (place, from) in (1..).zip(stacks) {
        *page += &format!(
            "<details{}><summary>{number}.{place} {}, {}, {}</summary>\n<ol>\n",
            if place == 1 { " open" } else { "" },
            counted(from.count, "call"),
            took(from.nanos),
            bytes(from.bytes)
        );
        from.frames.iter().for_each(|frame| *page += &line(frame));
        *page += "</ol></details>\n";
    }
    let left = distinct.saturating_sub(stacks.len()) as u64;
    if left > 0 {
        *page += &format!("<p>And {}.</p>\n", counted(left, "other stack"));
    }
    if let Some(unseen) = function.unseen() {
        *page += &format!("<p>{unseen}</p>\n");
    }
}

fn line(frame: &Frame) -> String {
    let Frame { function, place, is_python, url } = frame;
    let class = if *is_python { "python" } else { "native" };
    let place = if place.is_empty() { function } else { place };
    let function = escaped(function);
    format!("<li class=\"{class}\"><code>{function}</code> {}\n", linked(place, url.as_deref()))
}

fn linked(text: &str, url: Option<&str>) -> String {
    match url {
        Some(url) => format!("<a href=\"{}\">{}</a>", escaped(url), escaped(text)),
        None => escaped(text),
    }
}

/// A text without what HTML would read.
fn escaped(text: &str) -> String {
    let mut safe = String::new();
    for letter in one_line(text).chars() {
        match letter {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            _ => safe.push(letter),
        }
    }
    safe
}
