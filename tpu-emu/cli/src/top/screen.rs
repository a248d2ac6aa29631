//! One frame of what lives now.
use super::state::Shown;
use crate::text::{bytes, counted, grouped, one_line, seconds};
use ratatui::Frame;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Row as TableRow, Table};
use serde::Serialize;
use tpu_trace::Row;

/// The most spaces that have a line, and the width of their bars.
const SPACES: usize = 16;
const BAR: usize = 24;

/// What a frame shows.
#[derive(Debug, Serialize)]
pub(super) struct Picture {
    pub(super) name: String,
    pub(super) process: u64,
    pub(super) topology: String,
    /// Nanoseconds since the start of the machine at the last change.
    pub(super) time: u64,
    pub(super) changes: u64,
    pub(super) refusals: u64,
    /// Whether the process is there; `None` where that is not known.
    pub(super) is_running: Option<bool>,
    /// By what the rows are summed up.
    pub(super) by: &'static str,
    pub(super) spaces: Vec<Shown>,
    pub(super) rows: Vec<Row>,
}

/// Draws a frame of a terminal.
pub(super) fn draw(picture: &Picture, is_coloured: bool, frame: &mut Frame<'_>) {
    let style = |style: Style| if is_coloured { style } else { Style::new() };
    let strong = style(Style::new().add_modifier(Modifier::BOLD));
    let spaces = u16::try_from(picture.spaces.len().min(SPACES) + 1).unwrap_or(u16::MAX);
    let parts =
        Layout::vertical([Constraint::Length(2), Constraint::Length(spaces), Constraint::Min(1)]);
    let [head, middle, below] = parts.areas(frame.area());
    let ended = match picture.is_running {
        Some(false) => " (has ended)",
        _ => "",
    };
    let first = format!(
        "tpu-emu top  process {}{ended}  {}  {}",
        picture.process,
        one_line(&picture.topology),
        one_line(&picture.name),
    );
    let second = format!(
        "{}, {} changes, {}",
        seconds(picture.time),
        grouped(picture.changes),
        counted(picture.refusals, "refusal"),
    );
    let head_lines = vec![Line::styled(first, strong), Line::raw(second)];
    frame.render_widget(Paragraph::new(head_lines), head);
    let colour = style(Style::new().fg(Color::Cyan));
    let lines: Vec<Line<'_>> =
        picture.spaces.iter().take(SPACES).map(|space| line(space, colour)).collect();
    frame.render_widget(Paragraph::new(lines), middle);
    let rows = picture.rows.iter().map(|row| {
        TableRow::new([
            format!("{:>10}", bytes(row.size.in_memory)),
            format!("{:>8}", grouped(row.blocks)),
            one_line(&row.key),
        ])
    });
    let widths = [Constraint::Length(10), Constraint::Length(8), Constraint::Fill(1)];
    let titles = ["    memory".to_owned(), "  blocks".to_owned(), format!("by {}", picture.by)];
    let table = Table::new(rows, widths)
        .header(TableRow::new(titles).style(style(Style::new().add_modifier(Modifier::REVERSED))));
    frame.render_widget(table, below);
}

/// A space as a bar and in numbers.
fn line(space: &Shown, colour: Style) -> Line<'_> {
    let scaled = u128::from(space.in_use) * BAR as u128 / u128::from(space.capacity.max(1));
    let full = usize::try_from(scaled).unwrap_or(BAR).min(BAR);
    let tenths = u128::from(space.in_use) * 1000 / u128::from(space.capacity.max(1));
    let numbers = format!(
        " {:>9} of {} ({}.{} %) in {}, peak {} at {}",
        bytes(space.in_use),
        bytes(space.capacity),
        tenths / 10,
        tenths % 10,
        counted(space.blocks, "block"),
        bytes(space.peak),
        seconds(space.peak_time),
    );
    Line::from(vec![
        Span::raw(format!("{:<8} ", one_line(&space.space))),
        Span::styled("█".repeat(full), colour),
        Span::raw("·".repeat(BAR - full)),
        Span::raw(numbers),
    ])
}

/// A frame as plain text, without the blanks at the ends of its lines.
///
/// # Errors
/// None that is known: it is drawn in memory.
pub(super) fn plain(picture: &Picture, width: u16) -> Result<String, String> {
    let rows = picture.rows.len() + picture.spaces.len().min(SPACES) + 4;
    let height = u16::try_from(rows).unwrap_or(u16::MAX);
    let mut terminal =
        Terminal::new(TestBackend::new(width, height)).map_err(|why| why.to_string())?;
    terminal.draw(|frame| draw(picture, false, frame)).map_err(|why| why.to_string())?;
    let buffer = terminal.backend().buffer();
    let mut text = String::new();
    for y in 0..height {
        let line: String = (0..width).map(|x| buffer[(x, y)].symbol()).collect();
        text += line.trim_end();
        text.push('\n');
    }
    Ok(text.trim_end().to_owned() + "\n")
}
