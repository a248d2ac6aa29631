//! The table that `tpu-info` prints.
use super::chips::Chips;
use crate::paint::Paint;
use std::fmt::Write as _;
use tpu_metrics::Reading;

/// The chips, and how full and busy they are.
pub(super) fn text(chips: &Chips, reading: Option<&Reading>, paint: &Paint) -> String {
    let owner = reading.map_or_else(|| "N/A".to_owned(), |reading| reading.process.to_string());
    let on_bus = (0..chips.count).map(|chip| {
        [
            format!("/dev/vfio/{}", chip * chips.functions()),
            chips.name.clone(),
            chips.devices_per_chip.to_string(),
            owner.clone(),
        ]
    });
    let devices = chips.count * chips.devices_per_chip;
    let none = |device: usize| [device.to_string(), "N/A".to_owned(), "N/A".to_owned()];
    let used: Vec<[String; 3]> = match reading {
        None => (0..devices).map(none).collect(),
        Some(of) => (0..)
            .zip(&of.devices)
            .map(|(at, device)| {
                let hbm = format!("{} GiB / {} GiB", gib(device.in_use), gib(device.total));
                [at.to_string(), hbm, format!("{:.2}%", chips.duty(reading, at))]
            })
            .collect(),
    };
    let mut text = String::new();
    let on_bus: Vec<[String; 4]> = on_bus.collect();
    table(paint, "TPU Chips", ["Chip", "Type", "Devices", "PID"], &on_bus, &mut text);
    text.push('\n');
    let head = ["Chip", "HBM Usage (GiB)", "Duty cycle"];
    table(paint, "TPU Runtime Utilization", head, &used, &mut text);
    text
}

/// Bytes in units of 2^30, rounded to hundredths.
fn gib(bytes: u64) -> String {
    let hundredths = (u128::from(bytes) * 100 + (1 << 29)) >> 30;
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// Columns between bars, as wide as their longest entries.
fn table<const N: usize>(
    paint: &Paint,
    title: &str,
    head: [&str; N],
    rows: &[[String; N]],
    into: &mut String,
) {
    let width = |column: usize| {
        let rows = rows.iter().map(|row| row[column].len());
        rows.chain([head[column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let cells = cells.zip(&widths).map(|(cell, &width)| format!(" {cell:<width$} |"));
        format!("|{}", cells.collect::<String>())
    };
    let rule: Vec<String> = widths.iter().map(|&width| "-".repeat(width + 2)).collect();
    // Writing to a text does not fail.
    let _ = writeln!(into, "{}", paint.strong(title));
    let _ = writeln!(into, "{}", line(&mut head.into_iter()));
    let _ = writeln!(into, "|{}|", rule.join("|"));
    for row in rows {
        let _ = writeln!(into, "{}", line(&mut row.iter().map(String::as_str)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tpu_metrics::Device;
    use tpu_topology::Topology;

    #[test]
    fn a_device_has_a_line_with_its_memory_and_how_busy_its_chip_is() {
        let device = |in_use| Device { total: 16 << 30, in_use, ..Device::default() };
        let devices = vec![device(0), device(3 << 29)];
        let reading = Reading { process: 7, devices, duty: vec![12.5], ..Reading::default() };
        let chips = Chips::new(&Topology::parse("v3:2x2").unwrap(), Some(&reading));
        let text = text(&chips, Some(&reading), &Paint::plain());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "TPU Chips");
        assert_eq!(lines[3], "| /dev/vfio/0 | TPU v3 chip | 2       | 7   |");
        assert_eq!(lines[5], "TPU Runtime Utilization");
        assert_eq!(lines[8], "| 0    | 0.00 GiB / 16.00 GiB | 12.50%     |");
        assert_eq!(lines[9], "| 1    | 1.50 GiB / 16.00 GiB | 12.50%     |");
    }
}
