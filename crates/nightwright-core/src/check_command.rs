//! The first program of a check, as far as its command line names it plainly.
//!
//! A check is a command line for the shell. Before the first iteration, nightwright tests whether
//! its first program is installed. Variables, substitutions and conditions are left to the shell.

/// Words before a command that do not affect which program it is.
const PREFIXES: [&str; 5] = ["env", "exec", "command", "time", "nohup"];

/// Shell commands that do not affect the commands after them.
const BUILTINS: [&str; 8] = ["true", ":", "test", "[", "echo", "printf", "umask", "ulimit"];

/// Shell commands and words after which the program cannot be determined.
const OPAQUE: [&str; 21] = [
    "if", "for", "while", "until", "case", "function", "select", "[[", "!", "false", ".", "source",
    "eval", "export", "unset", "set", "alias", "exit", "return", "trap", "read",
];

/// The first program that a check starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstProgram {
    /// The name or path, as the check has it.
    pub name: String,
    /// The folder that the check changes into first, relative to the project.
    pub folder: Option<String>,
}

/// The first program that a check starts; `None` if its command line does not name it plainly.
pub fn first_program(command: &str) -> Option<FirstProgram> {
    let SimpleCommands { commands, whole } = plain(command);
    let count = commands.len();
    let mut folder: Option<String> = None;
    for (index, words) in commands.into_iter().enumerate() {
        let complete = whole || index + 1 < count;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match without_prefixes(&words)? {
            ["cd", target] if complete => {
                folder = Some(match folder {
                    Some(folder) if !target.starts_with('/') => format!("{folder}/{target}"),
                    _ => (*target).to_owned(),
                });
            }
            [first, ..] if BUILTINS.contains(first) && complete => {}
            [first, ..] if *first == "cd" || BUILTINS.contains(first) || OPAQUE.contains(first) => {
                return None;
            }
            [first, ..] => return Some(FirstProgram { name: (*first).to_owned(), folder }),
            [] => return None,
        }
    }
    None
}

/// The command itself; `None` if a word before it affects where programs are found.
fn without_prefixes<'a, 'b>(mut words: &'b [&'a str]) -> Option<&'b [&'a str]> {
    while let [first, rest @ ..] = words {
        let is_name = |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        match first.split_once('=') {
            Some(("PATH", _)) => return None,
            Some((name, _)) if !name.is_empty() && is_name(name) => words = rest,
            _ if PREFIXES.contains(first) && rest.first().is_some_and(|w| !w.starts_with('-')) => {
                words = rest;
            }
            _ => break,
        }
    }
    Some(words)
}

/// The beginning of a command line that can be parsed without a shell.
struct SimpleCommands {
    /// The words of each command; the commands are joined by `&&`.
    commands: Vec<Vec<String>>,
    /// Whether the program name is the entire command line.
    whole: bool,
}

fn plain(command: &str) -> SimpleCommands {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut letters = command.trim().chars().peekable();
    let mut whole = true;
    let mut end_word = |word: &mut Option<String>, next: bool| {
        if let (Some(word), Some(words)) = (word.take(), commands.last_mut()) {
            words.push(word);
        }
        if next {
            commands.push(Vec::new());
        }
    };
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' => end_word(&mut word, false),
            '&' if letters.next_if_eq(&'&').is_some() => end_word(&mut word, true),
            '&' | '|' | ';' | '<' | '>' | '(' | ')' | '\n' => {
                end_word(&mut word, false);
                whole = false;
                break;
            }
            '$' | '`' | '\\' | '*' | '?' | '{' | '~' => {
                word = None;
                whole = false;
                break;
            }
            '\'' | '"' => {
                let text: String = letters.by_ref().take_while(|other| *other != letter).collect();
                if letter == '"' && text.contains(['$', '`', '\\']) {
                    word = None;
                    whole = false;
                    break;
                }
                word.get_or_insert_default().push_str(&text);
            }
            letter => word.get_or_insert_default().push(letter),
        }
    }
    end_word(&mut word, false);
    SimpleCommands { commands, whole }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_program_is_named_where_the_command_line_says_it_plainly() {
        for (command, name, folder) in [
            ("cargo test --all", "cargo", None),
            ("CI=1 RUST_LOG='a b' npm test", "npm", None),
            ("env CI=1 npm test 2>&1 | tee log", "npm", None),
            ("cd web && cd app && npm test", "npm", Some("web/app")),
            ("test -e package.json && npm test", "npm", None),
            ("./gradlew test; echo $?", "./gradlew", None),
            ("'my tests/run' --all", "my tests/run", None),
            ("pytest -k \"not $SLOW\"", "pytest", None),
            ("sh -c 'exit 1'", "sh", None),
        ] {
            let folder = folder.map(str::to_owned);
            let expected = FirstProgram { name: name.to_owned(), folder };
            assert_eq!(first_program(command), Some(expected), "{command}");
        }
    }

    #[test]
    fn shell_expansions_are_left_to_the_shell() {
        for command in [
            "",
            "$RUNNER test",
            "$(which npm) test",
            "if true; then npm test; fi",
            "test -e x || npm test",
            ". .venv/bin/activate && pytest",
            "PATH=bin pytest",
            "cd $DIR && npm test",
            "! grep -r TODO src",
            "(cd a; make)",
            "FOO=1",
            "~/bin/test",
        ] {
            assert_eq!(first_program(command), None, "{command}");
        }
    }
}
