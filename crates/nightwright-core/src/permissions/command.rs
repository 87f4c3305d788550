//! Shell command lines as the agent program sees them: their commands, and the rules that allow
//! them.
//!
//! The program checks each command of a line separately, so `cd web && npm test | tail` needs a
//! rule for `npm test` alone.

use std::ops::Range;

use super::programs::options_with_value;

/// Words after which another one names what is run: `npm run build`, `docker compose up`.
const RUNNERS: &[&str] =
    &["run", "run-script", "exec", "compose", "workspace", "pr", "issue", "repo", "tool"];
/// Shells, which run the code in their arguments.
const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "fish", "ksh"];
/// Commands that take words as shell code. The agent program allows them only word for word.
const EVALUATORS: &[&str] = &["eval", "exec", "source", ".", "trap", "alias", "hash"];
/// Programs that run another one, which the agent program looks through.
const WRAPPERS: &[&str] = &["time", "nohup", "nice"];
/// Words of the shell's grammar that may precede a command.
const KEYWORDS: &[&str] = &["if", "then", "elif", "else", "while", "until", "do", "!", "{"];
/// Words of the shell's grammar that are not commands.
const NO_COMMANDS: &[&str] = &["fi", "done", "esac", "}", "for", "case", "select", "function"];

/// The rule that allows a command like this one: its first words only, so that other arguments are
/// allowed too.
pub fn rule_for(command: &str) -> String {
    let command = command.trim();
    match prefix(command) {
        Some(prefix) => format!("Bash({prefix}:*)"),
        None => exact(command),
    }
}

/// The rule for exactly this command.
pub(super) fn exact(command: &str) -> String {
    format!("Bash({})", command.trim())
}

/// The rules for all commands of a line.
pub fn rules_for(line: &str) -> Vec<String> {
    commands(line).iter().map(|command| rule_for(without_redirections(command).trim())).collect()
}

/// The first words of a command that identify what it does; `None` if only all words do.
fn prefix(command: &str) -> Option<String> {
    let words = words(command);
    let mut at = words.iter().take_while(|word| is_assignment(word)).count();
    // The agent matches a line that substitutes a command only word for word.
    if words[..at].iter().any(|word| word.contains("$(") || word.contains('`')) {
        return None;
    }
    let start = if at == 0 { wrapped(&words) } else { 0 };
    at = at.max(start);
    let program = *words.get(at)?;
    if !is_plain_program(program) || EVALUATORS.contains(&program) {
        return None;
    }
    at += 1;
    let next = words.get(at).copied().unwrap_or_default();
    if SHELLS.contains(&program) {
        let is_file = !next.is_empty() && !next.starts_with('-') && is_plain_program(next);
        return is_file.then(|| words[start..=at].join(" "));
    }
    if let Some(with_value) = options_with_value(program) {
        let end = subcommand_end(&words, at, with_value)?;
        return Some(words[start..end].join(" "));
    }
    if is_name(next) {
        at += 1;
        if RUNNERS.contains(&next) && words.get(at).is_some_and(|word| is_name(word)) {
            at += 1;
        }
    } else if next == "-m" && words.get(at + 1).is_some_and(|word| is_plain_program(word)) {
        at += 2;
    }
    Some(words[start..at].join(" "))
}

/// The end of the subcommand and of the word that names what it runs. `None` without a subcommand,
/// because the program alone would allow all of them.
fn subcommand_end(words: &[&str], from: usize, with_value: &[&str]) -> Option<usize> {
    let at = options_end(words, from, with_value)?;
    let end = at + 1;
    if !RUNNERS.contains(&words[at]) {
        return Some(end);
    }
    Some(options_end(words, end, with_value).map_or(end, |at| at + 1))
}

/// The start of the command that a wrapper runs.
fn wrapped(words: &[&str]) -> usize {
    match words {
        ["timeout", time, _, ..] if !time.starts_with('-') => 2 + wrapped(&words[2..]),
        [wrapper, next, ..] if WRAPPERS.contains(wrapper) && !next.starts_with('-') => {
            1 + wrapped(&words[1..])
        }
        _ => 0,
    }
}

/// The position of the name after these options.
fn options_end(words: &[&str], from: usize, with_value: &[&str]) -> Option<usize> {
    let mut at = from;
    while let Some(word) = words.get(at).filter(|word| word.starts_with(['-', '+'])) {
        at += 1;
        let is_value = |next: &&str| !next.starts_with('-') && !is_name(next);
        let takes_next = with_value.contains(word) || words.get(at).is_some_and(is_value);
        if *word == "--" {
            break;
        } else if takes_next && !word.starts_with('+') {
            at += 1;
        }
    }
    words.get(at).filter(|word| is_name(word)).map(|_| at)
}

fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether the shell takes the word literally.
fn is_plain_program(word: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./+@:%,~^".contains(c);
    !word.is_empty() && word.chars().all(is_plain)
}

/// Whether the word looks like the name of an action, and not like a file or a number.
fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_:".contains(c))
}

/// Whether a rule allows a command, by its words alone.
pub fn covers(rule: &str, command: &str) -> bool {
    let Some(pattern) = rule.strip_prefix("Bash(").and_then(|rule| rule.strip_suffix(')')) else {
        return rule == "Bash";
    };
    let command = command.trim();
    match pattern.strip_suffix(":*") {
        Some(prefix) => command
            .strip_prefix(prefix)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')),
        None => fits(pattern, command),
    }
}

/// Whether a string matches a pattern in which `*` stands for any text.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return text.ends_with(part);
        }
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    true
}

/// The commands of a line, each as written.
pub fn commands(line: &str) -> Vec<&str> {
    let mut all = Vec::new();
    for piece in pieces(line) {
        let mut command = line[piece].trim();
        while let Some((word, rest)) =
            first_word(command).filter(|(word, _)| KEYWORDS.contains(word))
        {
            command = rest;
            // A group in braces also ends with a brace.
            if word == "{" {
                command = command.trim_end_matches(['}', ' ']);
            }
        }
        let first = first_word(command).map(|(word, _)| word);
        if first.is_some_and(|word| !NO_COMMANDS.contains(&word)) {
            all.push(command);
        }
    }
    all
}

fn first_word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (end > 0).then(|| (&text[..end], text[end..].trim_start()))
}

/// The ranges of a line between its operators. Quotes, nested commands and here-documents are
/// skipped.
fn pieces(line: &str) -> Vec<Range<usize>> {
    let bytes = line.as_bytes();
    let mut found = Vec::new();
    let (mut start, mut at) = (0, 0);
    let mut documents: Vec<String> = Vec::new();
    while at < bytes.len() {
        let two = line.as_bytes().get(at..at + 2).unwrap_or_default();
        let length = match (bytes[at], two) {
            (b'\\' | b'\'' | b'"' | b'`' | b'$', _) => {
                at = skip(line, at);
                continue;
            }
            (b'#', _) if at == start || bytes[at - 1].is_ascii_whitespace() => {
                found.push(start..at);
                at = line[at..].find('\n').map_or(line.len(), |end| at + end);
                start = at;
                continue;
            }
            (b'<', b"<<") if bytes.get(at + 2) != Some(&b'<') => {
                documents.extend(delimiter(&line[at + 2..]));
                at += 2;
                continue;
            }
            (b'<' | b'>', b"<&" | b">&" | b">|") => {
                at += 2;
                continue;
            }
            (b'&', b"&>") => {
                at += 2;
                continue;
            }
            (_, b"&&" | b"||" | b"|&" | b";;") => 2,
            (b'\n', _) if !documents.is_empty() => {
                at = after_documents(line, at + 1, &std::mem::take(&mut documents));
                found.push(start..at);
                start = at;
                continue;
            }
            (b';' | b'|' | b'&' | b'\n' | b'(' | b')', _) => 1,
            _ => {
                at += 1;
                continue;
            }
        };
        found.push(start..at);
        at += length;
        start = at;
    }
    found.push(start..line.len());
    found
}

/// The end of a skipped part: an escape, quotes, a nested command.
fn skip(line: &str, at: usize) -> usize {
    let bytes = line.as_bytes();
    let end = |from: usize, mark: u8| {
        let mut at = from;
        while at < bytes.len() && bytes[at] != mark {
            at += if bytes[at] == b'\\' && mark != b'\'' { 2 } else { 1 };
        }
        (at + 1).min(line.len())
    };
    let next = match bytes[at] {
        b'\\' => (at + 1 + line[at + 1..].chars().next().map_or(0, char::len_utf8)).min(line.len()),
        b'\'' | b'`' => end(at + 1, bytes[at]),
        b'"' => {
            let mut at = at + 1;
            while at < bytes.len() && bytes[at] != b'"' {
                at = match bytes[at] {
                    b'\\' => at + 2,
                    b'$' if bytes.get(at + 1) == Some(&b'(') => skip(line, at),
                    _ => at + 1,
                };
            }
            at + 1
        }
        b'$' if bytes.get(at + 1) == Some(&b'(') => {
            let mut at = at + 2;
            while at < bytes.len() && bytes[at] != b')' {
                at = match bytes[at] {
                    b'\\' | b'\'' | b'"' | b'`' | b'$' => skip(line, at),
                    b'(' => at + 1,
                    _ => at + 1,
                };
            }
            at + 1
        }
        _ => at + 1,
    };
    line.ceil_char_boundary(next.min(line.len()))
}

/// The delimiter of a here-document.
fn delimiter(after: &str) -> Option<String> {
    let word = after.trim_start_matches('-').trim_start();
    let end = word.find(|c: char| c.is_whitespace() || ";|&<>()".contains(c)).unwrap_or(word.len());
    let word = word[..end].trim_matches(['\'', '"', '\\']);
    (!word.is_empty()).then(|| word.to_owned())
}

/// The position after the last line of these here-documents.
fn after_documents(line: &str, from: usize, delimiters: &[String]) -> usize {
    let mut at = from;
    for delimiter in delimiters {
        loop {
            let end = line[at..].find('\n').map_or(line.len(), |end| at + end + 1);
            let is_last = line[at..end].trim() == delimiter;
            at = end;
            if is_last || at == line.len() {
                break;
            }
        }
    }
    at
}

/// The words of a command as written, without its redirections.
fn words(command: &str) -> Vec<&str> {
    tokens(command)
        .into_iter()
        .filter(|token| token.of == TokenKind::Word)
        .map(|token| &command[token.at])
        .collect()
}

/// A command without its redirections.
pub(super) fn without_redirections(command: &str) -> String {
    words(before_documents(command)).join(" ")
}

/// A command up to its here-documents. They begin after its first line, and a line does not end
/// within quotes.
fn before_documents(command: &str) -> &str {
    let bytes = command.as_bytes();
    let mut at = 0;
    while at < bytes.len() && bytes[at] != b'\n' {
        at = match bytes[at] {
            b'\\' | b'\'' | b'"' | b'`' | b'$' => skip(command, at),
            _ => at + 1,
        };
    }
    &command[..at.min(command.len())]
}

/// The files that a command writes by redirection, and those that its words name.
pub(super) fn paths(command: &str) -> (Vec<&str>, Vec<&str>) {
    let (mut written, mut named) = (Vec::new(), Vec::new());
    for token in tokens(before_documents(command)) {
        let text = command[token.at].trim_matches(['\'', '"']);
        match token.of {
            TokenKind::Written => written.push(text),
            TokenKind::Word => named.push(text),
            TokenKind::Read => {}
        }
    }
    (written, named)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenKind {
    Word,
    /// The target of `>` and similar redirections.
    Written,
    /// The target of `<`, or of a redirection from one descriptor to another.
    Read,
}

struct Token {
    at: Range<usize>,
    of: TokenKind,
}

fn tokens(command: &str) -> Vec<Token> {
    let bytes = command.as_bytes();
    let mut found: Vec<Token> = Vec::new();
    let (mut at, mut of) = (0, TokenKind::Word);
    while at < bytes.len() {
        if bytes[at].is_ascii_whitespace() {
            at += 1;
            continue;
        }
        let start = at;
        if bytes[at] == b'<' || bytes[at] == b'>' || command[at..].starts_with("&>") {
            let signs = command[at..].chars().take_while(|c| "<>&|".contains(*c)).count();
            let sign = &command[at..at + signs];
            let copies = sign.ends_with('&') && sign != "&>";
            of = if sign.contains('>') && !copies { TokenKind::Written } else { TokenKind::Read };
            // A number before the operator is the descriptor.
            let descriptor = found.last().is_some_and(|last| {
                last.at.end == start && command[last.at.clone()].bytes().all(|b| b.is_ascii_digit())
            });
            if descriptor {
                found.pop();
            }
            at += signs;
            continue;
        }
        while at < bytes.len() && !bytes[at].is_ascii_whitespace() && !b"<>".contains(&bytes[at]) {
            if command[at..].starts_with("&>") {
                break;
            }
            at = match bytes[at] {
                b'\\' | b'\'' | b'"' | b'`' | b'$' => skip(command, at),
                _ => command.ceil_char_boundary(at + 1),
            };
        }
        found.push(Token { at: start..at, of: std::mem::replace(&mut of, TokenKind::Word) });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_substitution_in_an_assignment_is_allowed_only_word_for_word() {
        for command in ["FOO=$(date) python3 -c 1", "FOO=`date` python3 -c 1"] {
            assert_eq!(rule_for(command), format!("Bash({command})"));
        }
        assert_eq!(rule_for("CI=1 npm test"), "Bash(CI=1 npm test:*)");
    }

    #[test]
    fn a_line_is_divided_into_its_commands() {
        let rows: [(&str, &[&str]); 16] = [
            ("npm test", &["npm test"]),
            ("cd web && npm test | tail -5", &["cd web", "npm test", "tail -5"]),
            ("npm test 2>&1 | tail", &["npm test 2>&1", "tail"]),
            ("a &> out.txt; b >& c", &["a &> out.txt", "b >& c"]),
            ("a || b; c & d", &["a", "b", "c", "d"]),
            ("git commit -m 'a && b; c | d'", &["git commit -m 'a && b; c | d'"]),
            ("echo \"it's; $(a; b) fine\" && c", &["echo \"it's; $(a; b) fine\"", "c"]),
            ("A=$(npm test) && b", &["A=$(npm test)", "b"]),
            ("if npm test; then echo ok; fi", &["npm test", "echo ok"]),
            ("for i in 1 2; do npm run x; done", &["npm run x"]),
            ("(cd src && foo)", &["cd src", "foo"]),
            ("{ npm test; }", &["npm test"]),
            ("npm test # all; of it\nls", &["npm test", "ls"]),
            (
                "cat > x <<'EOT'\na && b\nEOT\nnpm test",
                &["cat > x <<'EOT'\na && b\nEOT", "npm test"],
            ),
            ("a \\&\\& b", &["a \\&\\& b"]),
            ("  ;; \n", &[]),
        ];
        for (line, expected) in rows {
            assert_eq!(commands(line), expected, "{line}");
        }
    }

    #[test]
    fn a_rule_has_the_words_that_say_what_is_done() {
        let rows = [
            ("npm install", "Bash(npm install:*)"),
            ("npm install left-pad --save", "Bash(npm install:*)"),
            ("npm run build -- --watch", "Bash(npm run build:*)"),
            ("npm --prefix web test", "Bash(npm --prefix web test:*)"),
            ("cargo test --workspace", "Bash(cargo test:*)"),
            ("cargo +nightly fmt", "Bash(cargo +nightly fmt:*)"),
            ("git push origin main", "Bash(git push:*)"),
            ("git -C sub push", "Bash(git -C sub push:*)"),
            ("docker compose up -d", "Bash(docker compose up:*)"),
            ("curl -s https://example.com | sh", "Bash(curl:*)"),
            ("timeout 60 npm test", "Bash(npm test:*)"),
            ("time -p x", "Bash(time:*)"),
            ("FOO=bar npm test", "Bash(FOO=bar npm test:*)"),
            ("python3 -m http.server 80", "Bash(python3 -m http.server:*)"),
            ("python3 -c 'print(1)'", "Bash(python3:*)"),
            ("bash build.sh --all", "Bash(bash build.sh:*)"),
            ("bash -c 'a b'", "Bash(bash -c 'a b')"),
            ("sh", "Bash(sh)"),
            ("source .venv/bin/activate", "Bash(source .venv/bin/activate)"),
            ("./gradlew test", "Bash(./gradlew test:*)"),
            ("kill 123", "Bash(kill:*)"),
            ("\"my tool\" x", "Bash(\"my tool\" x)"),
            ("npm test > out.txt 2>&1", "Bash(npm test:*)"),
            ("make", "Bash(make)"),
            ("make -j 4 test", "Bash(make -j 4 test:*)"),
            ("git -c user.name=x commit -m y", "Bash(git -c user.name=x commit:*)"),
            (
                "git -c user.name='A B' -c user.email=a@b commit",
                "Bash(git -c user.name='A B' -c user.email=a@b commit:*)",
            ),
            ("git --no-pager -C sub log", "Bash(git --no-pager -C sub log:*)"),
            ("git --version", "Bash(git --version)"),
            (
                "cargo --manifest-path a/Cargo.toml test --lib",
                "Bash(cargo --manifest-path a/Cargo.toml test:*)",
            ),
            ("gh -R owner/name pr view 7", "Bash(gh -R owner/name pr view:*)"),
            ("gh pr -R owner/name merge 7", "Bash(gh pr -R owner/name merge:*)"),
            ("npm -w pkg test", "Bash(npm -w pkg test:*)"),
            ("npm -w pkg run build", "Bash(npm -w pkg run build:*)"),
            ("npm -v", "Bash(npm -v)"),
            ("pnpm -w add x", "Bash(pnpm -w add:*)"),
            ("docker compose -f dev.yml up -d", "Bash(docker compose -f dev.yml up:*)"),
            ("kubectl -n prod delete pod x", "Bash(kubectl -n prod delete:*)"),
            ("cargo run --release -- --port 80", "Bash(cargo run:*)"),
            ("hatch run lint", "Bash(hatch run lint:*)"),
            ("bash -c 'a\nb'", "Bash(bash -c 'a\nb')"),
            ("go test ./...", "Bash(go test:*)"),
            ("pytest -q", "Bash(pytest:*)"),
        ];
        for (command, rule) in rows {
            let first = commands(command)[0];
            assert_eq!(rule_for(first), rule, "{command}");
            if rule.ends_with(":*)") && !command.starts_with("timeout") {
                assert!(covers(rule, first), "{command}");
            }
        }
        assert_eq!(rules_for("make a && ./b.sh x"), ["Bash(make a:*)", "Bash(./b.sh x:*)"]);
        assert!(rules_for("").is_empty());
    }

    #[test]
    fn a_rule_covers_whole_words_or_a_pattern() {
        assert!(covers("Bash", "anything"));
        assert!(covers("Bash(*)", "anything"));
        assert!(covers("Bash(npm run:*)", "npm run build"));
        assert!(!covers("Bash(npm run:*)", "npm runx"));
        assert!(covers("Bash(./*)", "./a b"));
        assert!(covers("Bash(git -C * add *)", "git -C sub add ."));
        assert!(!covers("Bash(git -C * add *)", "git -C sub push"));
        assert!(covers("Bash(ls)", "ls") && !covers("Bash(ls)", "ls -l"));
        assert!(!covers("Read", "ls") && !covers("Edit(//tmp/**)", "ls"));
    }

    #[test]
    fn paths_are_those_that_are_written_and_those_that_are_named() {
        let (written, named) = paths("npm test x > /tmp/a 2>&1 2>>'/tmp/b' < /in");
        assert_eq!(written, ["/tmp/a", "/tmp/b"]);
        assert_eq!(named, ["npm", "test", "x"]);
        assert_eq!(without_redirections("npm test 2>&1 >/dev/null"), "npm test");
        assert_eq!(without_redirections("bash -c 'a\nb' > x"), "bash -c 'a\nb'");
        assert_eq!(without_redirections("cat > x <<'EOT'\nit's\nEOT"), "cat");
    }

    #[test]
    fn any_command_is_parsed_to_its_end() {
        for line in [
            "'",
            "\"",
            "\"$(",
            "`",
            "\\",
            "<<",
            "<<A\n",
            "$(",
            "é\\é \"é",
            "a <<'B'\né",
            "&",
            "|",
            "2>",
            "$",
        ] {
            for command in commands(line) {
                assert!(line.contains(command));
                let _ = (rule_for(command), paths(command), rules_for(command));
            }
        }
    }
}
