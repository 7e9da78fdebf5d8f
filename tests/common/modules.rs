//! Reads which file of a crate names what of which other: as much of Rust's modules, `use` and paths as that takes.

use std::collections::{BTreeMap, BTreeSet};

/// One module: a file, or a part of one.
#[derive(Default)]
struct Module {
    file: usize,
    parent: usize,
    children: BTreeMap<String, usize>,
    /// Names that `use` brings in, with what they stand for.
    aliases: BTreeMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
    /// Names defined here.
    defined: BTreeSet<String>,
    uses: Vec<Use>,
    paths: Vec<Vec<String>>,
    /// Names that stand alone in the code.
    words: BTreeSet<String>,
}

struct Use {
    path: Vec<String>,
    /// The name that it brings in; `*` for all.
    name: String,
    public: bool,
}

/// The modules of a crate, as they are compiled without tests.
#[derive(Default)]
pub struct Crate {
    modules: Vec<Module>,
    /// Their files, by their paths below `src`.
    pub files: Vec<String>,
}

/// What a path names.
#[derive(Clone, Copy)]
enum Named {
    Module(usize),
    /// An item of this file.
    Item(usize),
    Foreign,
}

impl Crate {
    /// The crate whose files are `texts`, by their paths below `src`.
    pub fn read(texts: &BTreeMap<String, String>) -> Crate {
        let mut all = Crate::default();
        all.file(texts, "lib.rs", "", 0);
        all
    }

    fn file(&mut self, texts: &BTreeMap<String, String>, path: &str, folder: &str, parent: usize) -> usize {
        self.files.push(path.to_owned());
        let module = Module { file: self.files.len() - 1, parent, ..Module::default() };
        self.modules.push(module);
        let id = self.modules.len() - 1;
        let text = texts.get(path).map_or("", String::as_str); // one that `#[path]` takes from elsewhere needs nothing here
        self.items(texts, id, folder, &tokens(text));
        id
    }

    /// Reads the items of module `id`, whose children's files lie in `folder`.
    fn items(&mut self, texts: &BTreeMap<String, String>, id: usize, folder: &str, code: &[String]) {
        let (mut i, mut depth, mut public) = (0, 0, false);
        while i < code.len() {
            let token = code[i].as_str();
            let next = code.get(i + 1).map_or("", String::as_str);
            match token {
                "#" => {
                    let open = if next == "!" { i + 2 } else { i + 1 };
                    let end = closing(code, open);
                    let absent = code[open + 1] == "cfg" && cfg(&code[open + 3..end - 1]) == Some(false);
                    i = if absent && next != "!" { behind_item(code, end + 1) } else { end + 1 };
                    continue;
                }
                "pub" => {
                    i = if next == "(" { closing(code, i + 1) + 1 } else { i + 1 };
                    public = true;
                    continue;
                }
                "mod" => {
                    let (name, end) = (next.to_owned(), i + 2);
                    let child = if code[end] == "{" {
                        let close = closing(code, end);
                        let own = Module { file: self.modules[id].file, parent: id, ..Module::default() };
                        self.modules.push(own);
                        let child = self.modules.len() - 1;
                        self.items(texts, child, &format!("{folder}{name}/"), &code[end + 1..close]);
                        i = close;
                        child
                    } else {
                        let beside = format!("{folder}{name}.rs");
                        let path = if texts.contains_key(&beside) { beside } else { format!("{folder}{name}/mod.rs") };
                        i = end;
                        self.file(texts, &path, &format!("{folder}{name}/"), id)
                    };
                    self.modules[id].children.insert(name, child);
                }
                "use" if next != "<" => {
                    let end = i + code[i..].iter().position(|t| t == ";").expect("the end of a use");
                    let module = &mut self.modules[id];
                    tree(&code[i + 1..end], &[], &mut |path, name| {
                        if name == "*" {
                            module.globs.push(path.clone());
                        } else {
                            module.aliases.insert(name.clone(), path.clone());
                        }
                        module.uses.push(Use { path, name, public });
                    });
                    i = end;
                }
                "{" => depth += 1,
                "}" => depth -= 1,
                "fn" | "struct" | "enum" | "union" | "trait" | "type" | "const" | "static" if depth == 0 => {
                    self.modules[id].defined.insert(next.to_owned());
                }
                _ if is_word(token) => {
                    let called = i > 0 && code[i - 1] == "." && !(i > 1 && code[i - 2] == ".");
                    let mut path = vec![token.to_owned()];
                    while code.get(i + 1).is_some_and(|t| t == "::") && code.get(i + 2).is_some_and(|t| is_word(t)) {
                        path.push(code[i + 2].clone());
                        i += 2;
                    }
                    if path.len() > 1 {
                        self.modules[id].paths.push(path);
                    } else if !called {
                        self.modules[id].words.extend(path);
                    }
                }
                _ => {}
            }
            public = false;
            i += 1;
        }
    }

    /// What `path` names where it stands in module `id`.
    fn named(&self, id: usize, path: &[String], depth: usize) -> Named {
        let (mut at, mut rest) = (id, path);
        while let Some((first, others)) = rest.split_first() {
            match first.as_str() {
                "crate" => at = 0,
                "self" => {}
                "super" => at = self.modules[at].parent,
                _ => break,
            }
            rest = others;
        }
        let relative = rest.len() == path.len();
        self.walk(at, rest, relative, depth)
    }

    fn walk(&self, at: usize, path: &[String], relative: bool, depth: usize) -> Named {
        let module = &self.modules[at];
        let Some((name, rest)) = path.split_first() else { return Named::Module(at) };
        if depth > 16 {
            return Named::Foreign;
        }
        let alias = module.aliases.get(name);
        if let Some(child) = module.children.get(name)
            && !(rest.is_empty() && alias.is_some())
        {
            return self.walk(*child, rest, false, depth + 1);
        }
        if let Some(meant) = alias {
            return match self.named(at, meant, depth + 1) {
                Named::Module(found) => self.walk(found, rest, false, depth + 1),
                other => other,
            };
        }
        if module.defined.contains(name) {
            return Named::Item(module.file);
        }
        for glob in &module.globs {
            if let Named::Module(found) = self.named(at, glob, depth + 1) {
                let source = &self.modules[found];
                if source.children.contains_key(name)
                    || source.aliases.contains_key(name)
                    || source.defined.contains(name)
                {
                    return self.walk(found, path, false, depth + 1);
                }
            }
        }
        // Made by a macro, or by the language.
        if relative { Named::Foreign } else { Named::Item(module.file) }
    }

    /// For each file, the files that it needs.
    pub fn needs(&self) -> Vec<BTreeSet<usize>> {
        let mut needs = vec![BTreeSet::new(); self.files.len()];
        for (id, module) in self.modules.iter().enumerate() {
            let mut need = |named: Named, all: bool| match named {
                Named::Item(file) if file != module.file => drop(needs[module.file].insert(file)),
                Named::Module(found) if all && self.modules[found].file != module.file => {
                    needs[module.file].insert(self.modules[found].file);
                }
                _ => {}
            };
            for Use { path, name, public } in &module.uses {
                let first = if path.first().is_some_and(|p| p == "self") { path.get(1) } else { path.first() };
                let facade = *public && first.is_some_and(|p| module.children.contains_key(p));
                if !facade || module.words.contains(name) {
                    need(self.named(id, path, 0), name == "*");
                }
            }
            for path in &module.paths {
                need(self.named(id, path, 0), false);
            }
        }
        needs
    }
}

/// The words and signs of a text, without comments and literals.
fn tokens(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let at = |i: usize| chars.get(i).copied().unwrap_or('\0');
    let (mut found, mut i) = (Vec::new(), 0);
    while i < chars.len() {
        let c = chars[i];
        if c == '/' && at(i + 1) == '/' {
            i += chars[i..].iter().position(|c| *c == '\n').unwrap_or(chars.len() - i);
        } else if c == '/' && at(i + 1) == '*' {
            while !(at(i) == '*' && at(i + 1) == '/') && i < chars.len() {
                i += 1;
            }
            i += 2;
        } else if c == '"' {
            i += 1;
            while at(i) != '"' && i < chars.len() {
                i += if at(i) == '\\' { 2 } else { 1 };
            }
            i += 1;
        } else if c == '\'' {
            let lifetime = (at(i + 1).is_alphabetic() || at(i + 1) == '_') && at(i + 2) != '\'';
            i += if lifetime {
                1
            } else if at(i + 1) == '\\' {
                3
            } else {
                2
            };
            while !lifetime && at(i) != '\'' {
                i += 1;
            }
            i += 1;
            while lifetime && is_letter(at(i)) {
                i += 1;
            }
        } else if is_letter(c) {
            let start = i;
            while is_letter(at(i)) {
                i += 1;
            }
            let hashes = chars[i..].iter().take_while(|c| **c == '#').count();
            let word: String = chars[start..i].iter().collect();
            if matches!(word.as_str(), "r" | "br" | "cr") && at(i + hashes) == '"' {
                let end: String = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
                let rest: String = chars[i + hashes + 1..].iter().collect();
                let len = rest.find(&end).expect("the end of a raw string");
                i += hashes + 1 + rest[..len].chars().count() + end.len();
            } else if !(matches!(word.as_str(), "b" | "c") && matches!(at(i), '"' | '\'')) {
                found.push(word);
            }
        } else if c == ':' && at(i + 1) == ':' {
            found.push("::".to_owned());
            i += 2;
        } else {
            if !c.is_whitespace() {
                found.push(c.to_string());
            }
            i += 1;
        }
    }
    found
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Where the bracket that opens at `open` closes.
fn closing(code: &[String], open: usize) -> usize {
    let mut depth = 0;
    for (i, token) in code.iter().enumerate().skip(open) {
        match token.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return i;
        }
    }
    panic!("a bracket that does not close");
}

/// The place behind the item, statement or field that begins at `i`.
fn behind_item(code: &[String], mut i: usize) -> usize {
    let is_attribute = |i: usize| code.get(i).is_some_and(|t| t == "#");
    while is_attribute(i) {
        i = closing(code, i + 1) + 1;
    }
    const ITEMS: [&str; 15] = [
        "pub", "fn", "unsafe", "extern", "impl", "struct", "enum", "trait", "mod", "use", "const", "static", "type",
        "macro_rules", "async",
    ];
    let item = ITEMS.contains(&code[i].as_str());
    if code[i] == "pub" {
        i = if code[i + 1] == "(" { closing(code, i + 1) + 1 } else { i + 1 };
    }
    let is_use = code[i] == "use";
    while i < code.len() {
        match code[i].as_str() {
            ";" => return i + 1,
            "," if !item => return i + 1,
            ")" | "]" | "}" => return i,
            "{" if !is_use => return closing(code, i) + 1,
            "(" | "[" | "{" => i = closing(code, i),
            _ => {}
        }
        i += 1;
    }
    i
}

/// Is the condition of a `cfg` true in the library? `None`: it depends.
fn cfg(condition: &[String]) -> Option<bool> {
    let word = condition.first().map_or("", String::as_str);
    if condition.get(1).is_none_or(|t| t != "(") {
        return if matches!(word, "test" | "fuzzing") { Some(false) } else { None };
    }
    let (mut parts, mut depth) = (vec![Vec::new()], 0);
    for token in &condition[2..condition.len().max(3) - 1] {
        match token.as_str() {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
        if token == "," && depth == 0 {
            parts.push(Vec::new());
        } else {
            parts.last_mut().expect("a part").push(token.clone());
        }
    }
    let known: Vec<Option<bool>> = parts.iter().filter(|p| !p.is_empty()).map(|p| cfg(p)).collect();
    match word {
        "not" => known[0].map(|value| !value),
        "all" if known.contains(&Some(false)) => Some(false),
        "any" if known.iter().all(|value| *value == Some(false)) => Some(false),
        _ => None,
    }
}

/// Calls `found` with each path of a `use` tree, and the name that it brings in.
fn tree(code: &[String], before: &[String], found: &mut impl FnMut(Vec<String>, String)) {
    let (mut path, mut i) = (before.to_vec(), 0);
    let mut name = None;
    while i < code.len() {
        match code[i].as_str() {
            "{" => {
                let close = closing(code, i);
                let mut part = i + 1;
                let mut at = part;
                while at <= close {
                    if at == close || code[at] == "," {
                        if part < at {
                            tree(&code[part..at], &path, found);
                        }
                        part = at + 1;
                    }
                    at = if code[at] == "{" { closing(code, at) + 1 } else { at + 1 };
                }
                return;
            }
            "*" => return found(path, "*".to_owned()),
            "as" => {
                name = Some(code[i + 1].clone());
                i += 1;
            }
            "self" if i + 1 >= code.len() || code[i + 1] == "as" => {}
            "::" => {}
            word => path.push(word.to_owned()),
        }
        i += 1;
    }
    let name = name.or_else(|| path.last().cloned()).unwrap_or_default();
    found(path, name);
}
