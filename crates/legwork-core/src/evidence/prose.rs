//! What of a Markdown text is the writer's own: code and quotations are taken out.
//!
//! ```text
//! plain line           kept; code spans in it are blanked, across lines too
//! > quotation          gone
//! ``` or ~~~           gone, up to the closing fence or the end
//!     four spaces      gone: code, or so deep in a list that it is an example
//! ```

/// Stands for every character of a code span. It is in no phrase that anybody looks for.
const BLANK: char = '\u{0}';

/// The lines of a text that are the writer's own, code spans blanked, without trailing spaces.
/// Lines that are not his are empty, so that counting lines from the end still works.
pub(super) fn own_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut fence: Option<Fence> = None;
    let mut paragraph = 0;
    for line in text.lines() {
        let line = line.trim_end();
        let own = if let Some(open) = &fence {
            if open.is_closed_by(line) {
                fence = None;
            }
            false
        } else {
            fence = Fence::opened_by(line);
            fence.is_none() && !is_quotation(line) && !is_indented(line)
        };
        if own && !line.is_empty() {
            lines.push(line.to_owned());
        } else {
            blank_code(&mut lines[paragraph..]);
            lines.push(String::new());
            paragraph = lines.len();
        }
    }
    blank_code(&mut lines[paragraph..]);
    lines
}

struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    /// At any depth and in a list item too: a fence that we miss would make an example a claim.
    fn opened_by(line: &str) -> Option<Self> {
        let text = after_list_marker(line.trim_start());
        let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let info = text.trim_start_matches(mark);
        let length = text.len() - info.len();
        (length >= 3 && !(mark == '`' && info.contains('`'))).then_some(Self { mark, length })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let text = line.trim_start();
        text.len() >= self.length && text.chars().all(|c| c == self.mark)
    }
}

fn after_list_marker(text: &str) -> &str {
    let after = text
        .strip_prefix(['-', '*', '+'])
        .or_else(|| text.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix(['.', ')']));
    match after {
        Some(after) if after.starts_with(' ') => after.trim_start(),
        Some(_) | None => text,
    }
}

fn is_quotation(line: &str) -> bool {
    after_list_marker(line.trim_start()).starts_with('>')
}

fn is_indented(line: &str) -> bool {
    let spaces = line.len() - line.trim_start_matches(' ').len();
    spaces >= 4 || line[spaces..].starts_with('\t')
}

/// A code span opens with some backticks and closes with as many, perhaps lines later.
fn blank_code(paragraph: &mut [String]) {
    if !paragraph.iter().any(|line| line.contains('`')) {
        return;
    }
    let mut text: Vec<char> = paragraph.join("\n").chars().collect();
    let mut at = 0;
    while at < text.len() {
        let ticks = run(&text, at);
        if ticks == 0 {
            at += 1;
            continue;
        }
        match closing(&text, at + ticks, ticks) {
            Some(end) => {
                for c in text[at..end].iter_mut().filter(|c| **c != '\n') {
                    *c = BLANK;
                }
                at = end;
            }
            None => at += ticks,
        }
    }
    let blanked: String = text.into_iter().collect();
    for (line, blanked) in paragraph.iter_mut().zip(blanked.split('\n')) {
        blanked.clone_into(line);
    }
}

/// How many backticks begin here.
fn run(text: &[char], at: usize) -> usize {
    text[at..].iter().take_while(|c| **c == '`').count()
}

/// Where the span ends that as many backticks close.
fn closing(text: &[char], from: usize, ticks: usize) -> Option<usize> {
    let mut at = from;
    while at < text.len() {
        match run(text, at) {
            0 => at += 1,
            found if found == ticks => return Some(at + found),
            found => at += found,
        }
    }
    None
}
