//! Where the source of a frame can be looked at.
use crate::tables::FramePart;

/// Editors and how each is asked to open a line; `{path}` and `{line}` stand for those of a frame.
pub const EDITORS: [(&str, &str); 11] = [
    ("vscode", "vscode://file{path}:{line}"),
    ("vscode-insiders", "vscode-insiders://file{path}:{line}"),
    ("vscodium", "vscodium://file{path}:{line}"),
    ("cursor", "cursor://file{path}:{line}"),
    ("windsurf", "windsurf://file{path}:{line}"),
    ("zed", "zed://file{path}:{line}"),
    ("pycharm", "pycharm://open?file={path}&line={line}"),
    ("idea", "idea://open?file={path}&line={line}"),
    ("sublime", "subl://open?url=file://{path}&line={line}"),
    ("emacs", "emacs://open?url=file://{path}&line={line}"),
    ("file", "file://{path}"),
];

/// Where this project can be looked at; empty where that is nowhere.
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");
/// Where the functions of jaxlib's libraries are looked for.
const CODE_SEARCH: &str = "https://github.com/search?type=code&q=";
const JAXLIB_SOURCES: &str = "(repo:openxla/xla OR repo:jax-ml/jax)";
/// Libraries of jaxlib, which traces name without their folders.
const JAXLIB_MODULES: [&str; 4] =
    ["libjax_common.so", "_jax.so", "xla_extension.so", "xla_client.so"];
/// The folders of this project, which begin the paths of its files.
const FOLDERS: [&str; 4] = ["tpu-emu/", "pjrt-plugin/", "libtpu-abi/", "proto/"];

/// Makes links to the sources of frames.
#[derive(Debug, Clone)]
pub struct Links {
    editor: String,
    version: String,
}

impl Links {
    /// Links of local files in the form of an editor: one of the known names, or a URL in which
    /// `{path}` and `{line}` are replaced; `file` where nothing is asked for. Files of this project
    /// are those of `version`.
    ///
    /// # Errors
    /// A sentence with the known names, for a text that is neither.
    pub fn new(editor: Option<&str>, version: &str) -> Result<Self, String> {
        let asked = editor.unwrap_or("file");
        let known = EDITORS.iter().find(|(name, _)| *name == asked).map(|&(_, form)| form);
        let form = known.or_else(|| Some(asked).filter(|form| form.contains("{path}")));
        let form = form.ok_or_else(|| {
            let names: Vec<&str> = EDITORS.iter().map(|(name, _)| *name).collect();
            format!("{asked:?} is neither a URL with {{path}} nor one of {}", names.join(", "))
        })?;
        Ok(Self { editor: form.to_owned(), version: version.to_owned() })
    }

    /// The link of a frame; `None` where its source is not known.
    ///
    /// Python leads to the local file, the library to this project's repository, jaxlib's native
    /// code to a search for the function in the public sources of JAX and XLA.
    pub fn of(&self, part: &FramePart) -> Option<String> {
        let module = part.module.rsplit('/').next().unwrap_or_default();
        if !part.is_python && module.contains("pjrt_tpu_emu") {
            return self.of_ours(part);
        }
        let is_of_jaxlib = part.module.contains("/jaxlib/") || JAXLIB_MODULES.contains(&module);
        if !part.is_python && is_of_jaxlib {
            return of_jaxlib(&part.function);
        }
        let public = || of_public(&part.file, part.line).filter(|_| !part.is_python);
        public().or_else(|| self.of_file(&part.file, part.line))
    }

    /// The link of a line of a local file; `None` for what is no absolute path.
    pub fn of_file(&self, file: &str, line: u64) -> Option<String> {
        let line = line.max(1).to_string();
        file.starts_with('/')
            .then(|| self.editor.replace("{path}", &encoded(file)).replace("{line}", &line))
    }

    /// A search for a function of an interface in the public sources of JAX and XLA; `None` for a
    /// name that is none of a function.
    pub fn of_function(&self, name: &str) -> Option<String> {
        of_jaxlib(name)
    }

    fn of_ours(&self, part: &FramePart) -> Option<String> {
        let path = within_project(&part.file)?;
        match REPOSITORY {
            "" => None,
            url => Some(format!(
                "{}/blob/v{}/{}#L{}",
                url.trim_end_matches('/'),
                self.version,
                encoded(path),
                part.line
            )),
        }
    }
}

/// The path of one of this project's files from its root on; `None` for files of others.
pub fn within_project(file: &str) -> Option<&str> {
    if file.contains("/.cargo/") || file.contains("/rustc/") {
        return None;
    }
    let start = |folder: &&str| match file.starts_with(*folder) {
        true => Some(0),
        false => file.find(&format!("/{folder}")).map(|at| at + 1),
    };
    FOLDERS.iter().filter_map(start).min().map(|at| &file[at..])
}

/// A line of Rust's standard library or of the interpreter, by the paths that their builds leave.
fn of_public(file: &str, line: u64) -> Option<String> {
    let url = |project: &str, version: &str, path: &str| {
        Some(format!("https://github.com/{project}/blob/{version}/{}#L{line}", encoded(path)))
    };
    if let Some((hash, path)) = file.strip_prefix("/rustc/").and_then(|rest| rest.split_once('/')) {
        return url("rust-lang/rust", hash, path);
    }
    let (_, rest) = file.split_once("/Python-")?;
    let (version, path) = rest.split_once('/')?;
    let is_version = version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let path = path.strip_prefix("./").unwrap_or(path);
    is_version.then(|| url("python/cpython", &format!("v{version}"), path)).flatten()
}

/// A search for a C++ function: its name and what holds it, without arguments.
fn of_jaxlib(function: &str) -> Option<String> {
    let plain = without_brackets(function);
    let names: Vec<&str> = plain.split("::").filter(|name| !name.trim().is_empty()).collect();
    let last = &names[names.len().saturating_sub(2)..];
    let name = last.join("::");
    let name = name.rsplit(' ').next().unwrap_or_default();
    let is_named = name.chars().any(char::is_alphabetic);
    is_named.then(|| format!("{CODE_SEARCH}{}", encoded(&format!("{JAXLIB_SOURCES} \"{name}\""))))
}

/// A C++ name without the arguments of templates and calls, and what stands behind those.
fn without_brackets(function: &str) -> String {
    let (mut depth, mut plain) = (0_u32, String::new());
    for letter in function.chars() {
        match letter {
            '<' | '{' => depth += 1,
            '>' | '}' => depth = depth.saturating_sub(1),
            '(' if depth == 0 && !plain.is_empty() && !plain.ends_with("::") => break,
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => plain.push(letter),
            _ => {}
        }
    }
    plain
}

/// A text as a part of a URL.
fn encoded(text: &str) -> String {
    let mut url = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                url.push(char::from(byte));
            }
            _ => url += &format!("%{byte:02X}"),
        }
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(function: &str, file: &str, module: &str, is_python: bool) -> FramePart {
        let [function, file, module] = [function, file, module].map(str::to_owned);
        FramePart { function, file, line: 7, module, is_python }
    }

    #[test]
    fn python_leads_to_the_file_in_the_editor() {
        let frame = part("step", "/home/a b/train#1.py", "python", true);
        let link = |editor| Links::new(editor, "0.1.0").unwrap().of(&frame).unwrap();
        assert_eq!(link(None), "file:///home/a%20b/train%231.py");
        assert_eq!(link(Some("vscode")), "vscode://file/home/a%20b/train%231.py:7");
        assert_eq!(link(Some("pycharm")), "pycharm://open?file=/home/a%20b/train%231.py&line=7");
        assert_eq!(link(Some("x://{path}@{line}")), "x:///home/a%20b/train%231.py@7");
        let inside = part("f", "<string>", "python", true);
        assert_eq!(Links::new(None, "").unwrap().of(&inside), None);
    }

    #[test]
    fn an_editor_that_is_none_is_refused_with_the_names() {
        let why = Links::new(Some("ed"), "").unwrap_err();
        assert!(why.starts_with("\"ed\" is neither a URL with {path} nor one of vscode,"), "{why}");
    }

    #[test]
    fn native_code_of_jaxlib_leads_to_a_search_for_its_function() {
        let links = Links::new(None, "0.1.0").unwrap();
        let found = |function| {
            let link =
                links.of(&part(function, "", "/site-packages/jaxlib/libjax_common.so", false));
            link.map(|link| link.rsplit("jax%29%20").next().unwrap_or_default().to_owned())
        };
        let name = "xla::PjRtCApiClient::BufferFromHostBuffer(void const*, std::vector<long>)";
        assert_eq!(found(name).unwrap(), "%22PjRtCApiClient%3A%3ABufferFromHostBuffer%22");
        let lambda =
            "xla::ifrt::F<std::pair<int, long> >::Make(int)::{lambda()#1}::operator()() const";
        assert_eq!(found(lambda).unwrap(), "%22F%3A%3AMake%22");
        assert_eq!(found("main").unwrap(), "%22main%22");
        assert_eq!(found(""), None);
    }

    #[test]
    fn native_code_of_rust_and_of_the_interpreter_leads_to_its_version() {
        let links = Links::new(None, "0.1.0").unwrap();
        let found = |file| links.of(&part("f", file, "python3.11", false)).unwrap();
        let rust = "https://github.com/rust-lang/rust/blob/abc/library/std/src/panic.rs#L7";
        assert_eq!(found("/rustc/abc/library/std/src/panic.rs"), rust);
        let python = "https://github.com/python/cpython/blob/v3.11.7/Include/pyport.h#L7";
        assert_eq!(found("/tmp/Python-3.11.7/./Include/pyport.h"), python);
        assert_eq!(found("/home/u/Python-env/x.c"), "file:///home/u/Python-env/x.c");
    }

    #[test]
    fn files_of_the_project_begin_at_its_root() {
        let found = ["/a/b/tpu-emu/src/hbm/heap.rs", "pjrt-plugin/src/lib.rs", "/x/src/lib.rs"];
        let found = found.map(within_project);
        assert_eq!(found, [Some("tpu-emu/src/hbm/heap.rs"), Some("pjrt-plugin/src/lib.rs"), None]);
    }
}
