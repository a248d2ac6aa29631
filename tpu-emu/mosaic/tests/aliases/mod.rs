//! The text that MLIR prints, as this crate prints it.

/// MLIR gives maps a name where they are used first; here they stand where they are used.
pub(crate) fn without_aliases(text: &str) -> String {
    let (aliases, rest): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|line| line.starts_with("#map"));
    let mut rest = rest.join("\n");
    for alias in aliases.iter().rev() {
        let (name, map) = alias.split_once(" = ").unwrap();
        for end in [",", "}"] {
            rest = rest.replace(&format!("{name}{end}"), &format!("{map}{end}"));
        }
    }
    rest
}
