//! Pages of traces made by hand: what they have is what the trace has, and nothing breaks out.
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

#[path = "../../trace/tests/trace/written.rs"]
#[allow(dead_code, reason = "the tests of the reader need more of it")]
mod written;

use flate2::read::ZlibDecoder;
use serde_json::Value;
use std::io::Read;
use tpu_report::{Options, write_report};
use tpu_trace::{History, read};
use written::{ALLOCATE, CHANGE, Change, FREE, Field, REFUSED, Written};

/// The page of a trace.
fn page(trace: &Written, options: &Options) -> String {
    let trace = read(&trace.0[..]).unwrap();
    let mut page = Vec::new();
    write_report(&trace, &History::new(&trace), options, &mut page).unwrap();
    String::from_utf8(page).unwrap()
}

/// The bytes of an element of a page.
fn element(page: &str, name: &str) -> Vec<u8> {
    let start = format!("<script type=\"text/plain\" id=\"data-{name}\">");
    let (_, text) = page.split_once(&start).unwrap();
    let (text, _) = text.split_once("</script>").unwrap();
    let value = |letter: u8| match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut packed = Vec::new();
    for four in text.as_bytes().chunks(4) {
        let letters = four.iter().filter(|&&letter| letter != b'=');
        let bits =
            letters.clone().fold(0_u32, |bits, &letter| bits << 6 | u32::from(value(letter)));
        let count = letters.count();
        let bits = bits << (6 * (4 - count));
        packed.extend(&bits.to_be_bytes()[1..count]);
    }
    let mut bytes = Vec::new();
    ZlibDecoder::new(&packed[..]).read_to_end(&mut bytes).unwrap();
    bytes
}

fn json(page: &str, name: &str) -> Value {
    serde_json::from_slice(&element(page, name)).unwrap()
}

/// The numbers of a column.
fn numbers(page: &str, name: &str) -> Vec<u64> {
    let columns = json(page, "columns");
    let column = columns.as_array().unwrap().iter().find(|column| column["name"] == name).unwrap();
    let of = |field: &str| usize::try_from(column[field].as_u64().unwrap()).unwrap();
    let (count, shift) = (of("count"), of("shift"));
    let planes = element(page, name);
    let number = |at: usize| {
        let bytes = (0..of("width")).map(|plane| u64::from(planes[plane * count + at]));
        (0..).zip(bytes).map(|(plane, byte)| byte << (8 * plane + shift)).sum::<u64>()
    };
    let mut made: Vec<u64> = (0..count).map(number).collect();
    if column["is_difference"] == true {
        (1..count).for_each(|at| made[at] += made[at - 1]);
    }
    made
}

#[test]
fn changes_of_all_spaces_stand_in_the_order_of_their_times() {
    let mut trace = Written::new();
    trace
        .change(ALLOCATE, Change { time: 10, ..CHANGE })
        .change(ALLOCATE, Change { space: 1, time: 5, size: 1024, ..CHANGE })
        .change(ALLOCATE, Change { sequence: 2, address: 512, time: 20, size: 2048, ..CHANGE })
        .change(FREE, Change { space: 1, sequence: 2, time: 15, size: 1024, ..CHANGE })
        .change(FREE, Change { sequence: 3, time: 30, stack: 2, ..CHANGE });
    let page = page(&trace, &Options::default());
    assert_eq!(numbers(&page, "time"), [5, 10, 15, 20, 30]);
    // The third gives back the first of two allocations, the last the second of three.
    assert_eq!(numbers(&page, "back"), [0, 0, 2, 0, 2]);
    assert_eq!(numbers(&page, "size"), [1024, 512, 2048]);
    assert_eq!(numbers(&page, "space"), [1, 0, 0]);
    let tables = json(&page, "tables");
    let space = &tables["spaces"][0];
    assert_eq!((&space["peak"], &space["peak_at"]), (&2560.into(), &4.into()));
    assert_eq!((&space["end_at"], &space["cleaned_at"]), (&4.into(), &4.into()));
    assert_eq!(tables["keys"]["line"][0], "/home/u/train.py:12 train");
}

#[test]
fn names_cannot_end_the_script_that_holds_them() {
    let evil = "</script><script>alert(1)</script>\n\"'<!--";
    let mut trace = Written::new();
    trace.label(1, evil).change(ALLOCATE, Change { label: 1, ..CHANGE });
    let options = Options {
        name: evil.to_owned(),
        cut: vec![evil.to_owned()],
        editor: Some(evil.to_owned()),
        ..Options::default()
    };
    let page = page(&trace, &options);
    assert!(!page.contains("alert(1)"));
    assert_eq!(page.matches("<script").count(), page.matches("</script>").count());
    assert_eq!(json(&page, "tables")["labels"][1], evil);
    assert_eq!(json(&page, "tables")["cut"][0], evil);
}

#[test]
fn a_page_needs_nothing_from_elsewhere() {
    let page = page(&Written::new(), &Options::default());
    assert!(page.contains("default-src 'none'"));
    for word in ["src=\"", "@import", "url(http", "<link", "fetch(\"http"] {
        assert!(!page.contains(word), "{word}");
    }
    assert!(page.contains("The MIT License (MIT)"));
}

#[test]
fn traces_without_changes_and_with_refusals_alone_have_pages() {
    let mut trace = Written::new();
    assert_eq!(numbers(&page(&trace, &Options::default()), "time"), [0; 0]);
    trace.change(REFUSED, Change { size: 1 << 40, ..CHANGE });
    let page = page(&trace, &Options::default());
    assert_eq!(json(&page, "tables")["refusals"][0]["size"], 1_u64 << 40);
}

#[test]
fn a_block_whose_free_is_missing_ends_where_another_takes_its_address() {
    let mut trace = Written::new();
    trace
        .change(ALLOCATE, CHANGE)
        .change(ALLOCATE, Change { sequence: 3, time: 9, size: 1024, ..CHANGE })
        .change(FREE, Change { sequence: 7, address: 4096, time: 10, ..CHANGE });
    let page = page(&trace, &Options::default());
    assert_eq!(numbers(&page, "back"), [0, 0, 3]);
    assert_eq!(json(&page, "tables")["replaced"], serde_json::json!([[0, 1]]));
    assert_eq!(json(&page, "tables")["spaces"][0]["peak"], 1024);
}

#[test]
fn marks_are_places_in_the_order_of_all_spaces() {
    let mut trace = Written::new();
    trace.change(ALLOCATE, CHANGE);
    trace.change(ALLOCATE, Change { space: 1, time: 2, ..CHANGE });
    let mark = [Field::Text("warm"), Field::Number(1), Field::Number(3), Field::Number(3)];
    let places = [2, 0, 1, 1, 1].map(Field::Number);
    trace.record(16, &[&mark[..], &places[..]].concat());
    trace.change(ALLOCATE, Change { sequence: 2, address: 512, time: 4, ..CHANGE });
    let tables = json(&page(&trace, &Options::default()), "tables");
    assert_eq!(tables["marks"][0]["name"], "warm");
    assert_eq!(tables["marks"][0]["at"], serde_json::json!([1, 2]));
}
