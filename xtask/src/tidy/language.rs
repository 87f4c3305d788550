//! Plain English: comment length, sentence length, and words to avoid in prose, messages and names
//! of tests.
//!
//! Rules that need grammar are left to readers.

mod comments;
mod prose;
mod words;

use std::path::Path;

use super::Finding;
use super::tree::File;
use prose::{Paragraph, Word};
use words::{AVOIDED, AVOIDED_IN_MESSAGES, Phrase};

/// A doc comment with this many words or fewer only repeats the name of the item.
const SHORT_DOC: usize = 3;

/// The maximum number of words of a sentence in a page, a message or a prompt.
const MAX_SENTENCE: usize = 25;

/// The maximum number of words of a sentence in a comment.
const MAX_IN_COMMENT: usize = 30;

/// The keys of the product's TOML files whose values are messages.
const MESSAGE_KEYS: [&str; 6] = ["hint", "note", "left", "what", "description", "goal"];

/// A file or folder whose string literals are data and not messages.
#[derive(Debug, Clone, Copy)]
struct Exemption {
    path: &'static str,
    reason: &'static str,
}

const DATA: [Exemption; 3] = [
    Exemption {
        path: "crates/nightwright/src/rehearsal/failure.rs",
        reason: "messages of the provider",
    },
    Exemption {
        path: "crates/nightwright-core/src/watchdog/phrases.rs",
        reason: "phrases that agents write",
    },
    Exemption {
        path: "crates/nightwright-core/src/evidence/marker",
        reason: "phrases that agents write around a completion marker",
    },
];

/// Files whose doc comments are help texts, where two or three words can be enough.
const HELP_TEXTS: [Exemption; 3] = [
    Exemption { path: "crates/nightwright/src/commands.rs", reason: "help of the commands" },
    Exemption { path: "crates/nightwright/src/commands", reason: "help of their options" },
    Exemption {
        path: "crates/nightwright/src/config/output_settings.rs",
        reason: "help of output levels",
    },
];

pub(super) fn findings(files: &[File]) -> Vec<Finding> {
    let mut all = short_docs(files, &HELP_TEXTS);
    for file in files.iter().filter(|file| has_prose(&file.path)) {
        let paragraphs = if file.is_rust() {
            let comments = comments::comments(&file.text).into_iter();
            comments.flat_map(|comment| prose::paragraphs(comment.lines)).collect()
        } else {
            prose::paragraphs((1..).zip(file.text.lines()))
        };
        let most = if file.is_rust() { MAX_IN_COMMENT } else { MAX_SENTENCE };
        all.extend(long_sentences(&file.path, &paragraphs, most));
        all.extend(avoided_words(&file.path, &paragraphs, &AVOIDED));
        all.extend(clauses_in_comments(&file.path, &paragraphs));
    }
    for file in files.iter().filter(|file| has_extension(&file.path, "sh")) {
        let paragraphs = prose::paragraphs(comments::shell_comments(&file.text));
        all.extend(avoided_words(&file.path, &paragraphs, &AVOIDED));
        all.extend(clauses_in_comments(&file.path, &paragraphs));
    }
    for file in files.iter().filter(|file| is_prompt(&file.path)) {
        let lines: Vec<_> = (1..).zip(file.text.lines().map(without_tags)).collect();
        let lines = lines.iter().map(|(line, text)| (*line, text.as_str()));
        all.extend(message(&file.path, &prose::paragraphs(lines)));
    }
    for file in files.iter().filter(|file| is_product(&file.path)) {
        let lines = match Path::new(&file.path).extension().and_then(|found| found.to_str()) {
            Some("toml") => messages_of_data(&file.text),
            Some("j2") => (1..).zip(file.text.lines().map(without_markup)).collect(),
            _ => continue,
        };
        for line in lines {
            let paragraphs = prose::message_paragraphs([(line.0, line.1.as_str())]);
            all.extend(message(&file.path, &paragraphs));
        }
    }
    all.extend(messages(files, &DATA));
    all.extend(test_names(files));
    all.extend(stale(files, &[&DATA[..], &HELP_TEXTS[..]].concat()));
    all.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    all
}

/// Whether the rules about sentences and words apply: Rust sources and pages.
fn has_prose(path: &str) -> bool {
    let pages = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "llms.txt"];
    let folders = ["docs", "docs/internals", "docs/reference"];
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let is_page = folders.contains(&folder) && has_extension(path, "md");
    let is_fixture = path.split('/').any(|part| part == "fixtures");
    (has_extension(path, "rs") && !is_fixture) || is_page || pages.contains(&path)
}

/// Whether a file is a prompt of a mode.
fn is_prompt(path: &str) -> bool {
    path.starts_with("crates/nightwright-core/modes/") && has_extension(path, "md")
}

/// Returns a line of a template without its `{% ... %}`.
fn without_tags(line: &str) -> String {
    let parts = line.split("{%").enumerate().map(|(index, part)| match index {
        0 => part,
        _ => part.split_once("%}").map_or("", |(_, after)| after),
    });
    parts.collect()
}

/// Returns a line of a page's template without tags, placeholders and markup.
fn without_markup(line: &str) -> String {
    let mut text = String::new();
    let mut depth = 0_usize;
    for c in line.chars() {
        match c {
            '{' | '<' => depth += 1,
            '}' | '>' => {
                depth = depth.saturating_sub(1);
                text.push(' ');
            }
            c if depth == 0 => text.push(c),
            _ => {}
        }
    }
    text
}

/// Returns the messages in a TOML file of the product, with their lines.
fn messages_of_data(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        for key in MESSAGE_KEYS {
            let start = format!("{key} = \"");
            let at = line.find(&start).filter(|at| !line[..*at].ends_with(char::is_alphanumeric));
            let value = at.and_then(|at| line[at + start.len()..].split('"').next());
            found.extend(value.map(|value| (number, value.to_owned())));
        }
    }
    found
}

fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found == extension)
}

fn short_docs(files: &[File], help_texts: &[Exemption]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| is_documented(file) && !is_exempt(file, help_texts)) {
        for comment in comments::comments(&file.text).iter().filter(|comment| comment.is_doc) {
            let words = comment.lines.iter().flat_map(|(_, text)| text.split_whitespace());
            let count = words.filter(|word| word.contains(char::is_alphanumeric)).count();
            if count <= SHORT_DOC {
                let rule = format!("no doc comment of {SHORT_DOC} words or fewer");
                let why = "say something that the name does not say, or delete it";
                findings.push(Finding::new(&file.path, comment.lines[0].0, rule, why));
            }
        }
    }
    findings
}

fn is_documented(file: &File) -> bool {
    let in_crate = file
        .path
        .strip_prefix("crates/")
        .and_then(|path| path.split_once('/'))
        .is_some_and(|(_, path)| path.starts_with("src/") || path.starts_with("tests/"));
    file.is_rust() && (in_crate || file.path.starts_with("xtask/src/"))
}

fn long_sentences(path: &str, paragraphs: &[Paragraph], most: usize) -> Vec<Finding> {
    let sentences = paragraphs.iter().filter(|paragraph| !paragraph.is_table);
    sentences
        .flat_map(Paragraph::sentences)
        .filter(|sentence| sentence.len() > most)
        .map(|sentence| {
            let rule = format!("no sentence over {most} words ({} here)", sentence.len());
            Finding::new(path, sentence[0].line, rule, format!("split it: {}", opening(sentence)))
        })
        .collect()
}

fn opening(sentence: &[Word]) -> String {
    let words: Vec<&str> = sentence.iter().take(6).map(|word| word.text.as_str()).collect();
    format!("\"{} ...\"", words.join(" "))
}

fn avoided_words(path: &str, paragraphs: &[Paragraph], avoided: &[Phrase]) -> Vec<Finding> {
    let sentences = paragraphs.iter().flat_map(Paragraph::sentences);
    sentences.flat_map(|sentence| avoided_in(path, sentence, avoided, "")).collect()
}

/// Finds comments and paragraphs that begin with a clause instead of naming the thing.
fn clauses_in_comments(path: &str, paragraphs: &[Paragraph]) -> Vec<Finding> {
    let code =
        paragraphs.iter().filter(|paragraph| !paragraph.is_table && !has_extension(path, "md"));
    let first = code.filter_map(|paragraph| paragraph.sentences().next());
    let clauses = first.filter(|sentence| words::begins_with_clause(sentence));
    clauses
        .map(|sentence| {
            let why = format!("name the thing: {}", opening(sentence));
            Finding::new(path, sentence[0].line, "no comment that begins with a clause", why)
        })
        .collect()
}

/// Finds avoided words in one sentence; `place` says where it stands if that is not prose.
fn avoided_in(path: &str, sentence: &[Word], avoided: &[Phrase], place: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for phrase in avoided {
        let count = phrase.words.split(' ').count();
        for at in phrase.positions(sentence) {
            let found: Vec<String> = sentence[at..at + count].iter().map(Word::normal).collect();
            let rule = format!("avoid \"{}\"{place}", found.join(" "));
            let why = format!("write instead: {}", phrase.instead);
            findings.push(Finding::new(path, sentence[at].line, rule, why));
        }
    }
    findings
}

/// Finds avoided words in the names of tests, which state the rules of the product.
fn test_names(files: &[File]) -> Vec<Finding> {
    let rust = files.iter().filter(|file| file.is_rust());
    rust.flat_map(|file| {
        comments::test_names(&file.code).into_iter().flat_map(|(line, name)| {
            let words = name.split('_').map(|word| Word { line, text: word.to_owned() });
            avoided_in(&file.path, &words.collect::<Vec<_>>(), &AVOIDED, " in the name of a test")
        })
    })
    .collect()
}

/// Checks a message or prompt, which readers see without its surroundings.
fn message(path: &str, paragraphs: &[Paragraph]) -> Vec<Finding> {
    // Markup has no sentences.
    let is_markup = |word: &Word| word.text.contains("</");
    let is_text = |paragraph: &&Paragraph| !paragraph.words.iter().any(is_markup);
    let texts: Vec<_> = paragraphs.iter().filter(is_text).cloned().collect();
    let mut findings = long_sentences(path, &texts, MAX_SENTENCE);
    findings.extend(avoided_words(path, paragraphs, &AVOIDED));
    findings.extend(avoided_words(path, paragraphs, &AVOIDED_IN_MESSAGES));
    for sentence in paragraphs.iter().flat_map(Paragraph::sentences) {
        if words::begins_with_relative(sentence) {
            let why = format!("name the thing: {}", opening(sentence));
            findings.push(Finding::new(path, sentence[0].line, "no clause as a subject", why));
        }
        for at in words::passive_errors(sentence) {
            let why = format!("write `cannot read X: why`: {}", opening(&sentence[at..]));
            findings.push(Finding::new(path, sentence[at].line, "no passive error", why));
        }
        for at in words::amounts_with_article(sentence) {
            let why = format!("write `per`: {}", opening(&sentence[at..]));
            findings.push(Finding::new(path, sentence[at].line, "no amount with an article", why));
        }
        for at in words::negated_nouns(sentence) {
            let why = format!("write `is not a`: {}", opening(&sentence[at..]));
            findings.push(Finding::new(path, sentence[at].line, "no negated noun", why));
        }
    }
    findings
}

/// Checks the string literals of product code.
fn messages(files: &[File], data: &[Exemption]) -> Vec<Finding> {
    let tests = test_files(files);
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| is_product(&file.path) && file.is_rust()) {
        let in_tests = tests.iter().any(|(folder, name)| file.belongs_to(folder, name));
        if in_tests || is_exempt(file, data) {
            continue;
        }
        for lines in comments::product_strings(&file.text, &file.code) {
            let lines = lines.iter().map(|(line, text)| (*line, text.as_str()));
            findings.extend(message(&file.path, &prose::message_paragraphs(lines)));
        }
    }
    findings
}

fn is_product(path: &str) -> bool {
    let inside = path.strip_prefix("crates/").and_then(|path| path.split_once('/'));
    inside.is_some_and(|(_, path)| path.starts_with("src/"))
}

/// Returns the test modules that are files of their folder: pairs of folder and module name.
fn test_files(files: &[File]) -> Vec<(String, &str)> {
    let mut all = Vec::new();
    for file in files.iter().filter(|file| is_product(&file.path)) {
        let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
        let modules = match name {
            "lib.rs" | "main.rs" | "mod.rs" => folder.to_owned(),
            _ => file.path.trim_end_matches(".rs").to_owned(),
        };
        let names = comments::test_module_files(&file.code);
        all.extend(names.into_iter().map(|name| (modules.clone(), name)));
    }
    all
}

fn is_exempt(file: &File, exemptions: &[Exemption]) -> bool {
    exemptions.iter().any(|exemption| is_within(&file.path, exemption.path))
}

fn is_within(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Finds exemptions for files that no longer exist.
fn stale(files: &[File], exemptions: &[Exemption]) -> Vec<Finding> {
    exemptions
        .iter()
        .filter(|exemption| !files.iter().any(|file| is_within(&file.path, exemption.path)))
        .map(|Exemption { path, reason }| {
            let why = format!("the file does not exist, so the reason is stale: {reason}");
            Finding::new(path, 1, "no exemption needed", why)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(files: &[File]) -> Vec<String> {
        findings(files)
            .iter()
            .filter(|finding| finding.rule != "no exemption needed")
            .map(|finding| format!("{}:{}: {}", finding.path, finding.line, finding.rule))
            .collect()
    }

    fn file(path: &str, text: &str) -> [File; 1] {
        [File::new(path, text)]
    }

    #[test]
    fn short_doc_comments_are_found_in_crates_and_xtask() {
        let text = "/// Which one.\n/// `a b`\nstruct A;\n// Not a doc\n/// Why.\n/// Four words are enough.";
        let rule = "no doc comment of 3 words or fewer";
        for path in ["crates/a/src/b.rs", "crates/a/tests/it/b.rs", "xtask/src/b.rs"] {
            let text =
                "/// Which one.\nstruct A;\n// Not a doc\n/// Why.\nx\n/// Four words are enough.";
            assert_eq!(
                places(&file(path, text)),
                [format!("{path}:1: {rule}"), format!("{path}:4: {rule}"),]
            );
        }
        assert_eq!(places(&file("fuzz/a.rs", text)), [""; 0]);
    }

    #[test]
    fn long_sentences_are_found_where_they_begin() {
        let long = "word ".repeat(26);
        let fine = format!("{}end. {}end.", "word ".repeat(24), "word ".repeat(24));
        let pages =
            ["README.md", "llms.txt", "docs/a.md", "docs/internals/a.md", "docs/reference/a.md"];
        for path in pages {
            let found = places(&file(path, &format!("First.\n\n{long}\n")));
            assert_eq!(found, [format!("{path}:3: no sentence over 25 words (26 here)")]);
            assert_eq!(places(&file(path, &fine)), [""; 0]);
        }
        let comment = |words| format!("x;\n// {}", "word ".repeat(words));
        assert_eq!(places(&file("a.rs", &comment(30))), [""; 0]);
        assert_eq!(places(&file("a.rs", &comment(31))).len(), 1);
        assert_eq!(places(&file("a.rs", &format!("f(\"{long}\");"))), [""; 0]);
        for path in ["crates/a/src/b.rs", "crates/nightwright-core/modes/loop/prompt.md"] {
            let text = if path.ends_with("md") { long.clone() } else { format!("f(\"{long}\");") };
            let found = places(&file(path, &text));
            assert_eq!(found, [format!("{path}:1: no sentence over 25 words (26 here)")]);
        }
        for text in [format!("```\n{long}\n```"), format!("| {long} |")] {
            assert_eq!(places(&file("README.md", &text)), [""; 0]);
        }
    }

    #[test]
    fn avoided_words_are_found_with_their_line() {
        let found = findings(&file("README.md", "Fine.\nThen the run goes\non. Nobody\n"));
        let found: Vec<_> = found.iter().map(ToString::to_string).collect();
        assert!(
            found.contains(
                &"README.md:2: avoid \"goes on\": write instead: continue, happen".to_owned()
            ),
            "{found:?}"
        );
        let rule = "avoid \"nobody\"";
        assert_eq!(places(&file("a.rs", "// Nobody waits here.")), [format!("a.rs:1: {rule}")]);
        assert_eq!(places(&file("docs/a.md", "| a | nobody |")), [format!("docs/a.md:1: {rule}")]);
        assert_eq!(places(&file("docs/a.md", "`nobody`\n```\nnobody\n```\n")), [""; 0]);
    }

    #[test]
    fn comments_name_the_thing() {
        let rule = "no comment that begins with a clause";
        for (path, text, line) in [
            ("a.rs", "/// What the agent says at the end.\nx", 1),
            ("a.rs", "x; // Of each kind, the last run is kept.", 1),
            ("a.sh", "#!/bin/sh\n# Whoever is left alive.\necho x # What", 2),
        ] {
            let found = places(&file(path, text));
            assert_eq!(found[found.len() - 1], format!("{path}:{line}: {rule}"), "{found:?}");
        }
        assert_eq!(places(&file("a.md", "What the agent may do")), [""; 0]);
        assert_eq!(places(&file("a.sh", "echo nobody # nobody")), [""; 0]);
        assert_eq!(places(&file("a.sh", "# nobody")), ["a.sh:1: avoid \"nobody\""]);
    }

    #[test]
    fn messages_of_the_product_are_searched_and_those_of_tests_are_not() {
        let text = "f(\"nobody\");\n#[cfg(test)]\nmod tests { fn f() { g(\"nobody\") } }";
        let found = ["crates/a/src/b.rs:1: avoid \"nobody\""];
        assert_eq!(places(&file("crates/a/src/b.rs", text)), found);
        assert_eq!(places(&file("crates/a/tests/b.rs", text)), [""; 0]);
        let files = [
            File::new("crates/a/src/b.rs", "#[cfg(test)]\nmod stories;"),
            File::new("crates/a/src/b/stories/c.rs", "f(\"nobody\");"),
        ];
        assert_eq!(places(&files), [""; 0]);
    }

    #[test]
    fn messages_in_data_and_templates_are_searched() {
        let data = "path = \"nobody\"\nhint = \"ask nobody\"\nx = { note = \"tell nobody\" }";
        let path = "crates/a/src/b.toml";
        let found = [format!("{path}:2: avoid \"nobody\""), format!("{path}:3: avoid \"nobody\"")];
        assert_eq!(places(&file(path, data)), found);
        assert_eq!(places(&file("a/b.toml", data)), [""; 0]);
        let page = "<p class=\"nobody\">{{ nobody }} {% if nobody %}fine</p>\n| told by nobody |";
        let path = "crates/a/src/b.md.j2";
        assert_eq!(places(&file(path, page)), [format!("{path}:2: avoid \"nobody\"")]);
    }

    #[test]
    fn names_of_tests_are_searched_and_other_names_are_not() {
        let text = "fn nobody() {}\n#[test]\n#[should_panic]\nfn the_run_goes_on() {}\n\
                    #[tokio::test(start_paused = true)]\nasync fn we_wait() {}\nfn is_told() {}\n\
                    // #[test]\nfn ours() {}";
        let found = [
            "a/b.rs:4: avoid \"goes on\" in the name of a test",
            "a/b.rs:6: avoid \"we\" in the name of a test",
        ];
        assert_eq!(places(&file("a/b.rs", text)), found);
        assert_eq!(places(&file("a/b.md", text)), [""; 0]);
    }

    #[test]
    fn messages_and_prompts_name_their_subject() {
        let text = "f(\"what is left is too little: {who}\", \"{what} is lost.\", \"this is no table here\");";
        assert_eq!(
            places(&file("crates/a/src/b.rs", text)),
            ["crates/a/src/b.rs:1: no clause as a subject", "crates/a/src/b.rs:1: no negated noun"]
        );
        let path = "crates/nightwright-core/modes/a/prompt.md";
        let text = "Fine.\n{% if x %}Whatever is missing is lost.{% endif %}\n";
        assert_eq!(places(&file(path, text)), [format!("{path}:2: no clause as a subject")]);
    }

    #[test]
    fn exempt_data_is_not_searched() {
        let exemption = Exemption { path: "crates/a/src/phrases", reason: "agents write it" };
        let text = "f(\"nobody\");";
        let exempt = file("crates/a/src/phrases/a.rs", text);
        assert_eq!(messages(&exempt, &[exemption]), []);
        assert_eq!(messages(&file("crates/a/src/phrases.rs", text), &[exemption]).len(), 1);
        assert_eq!(stale(&exempt, &[exemption]), []);
        assert!(stale(&[], &[exemption])[0].why.contains("agents write it"));
    }
}
