//! Draws a screen as an SVG file: text on a dark background, one element per run of equal style.

use std::fmt::Write as _;

use vt100::{Cell, Color, Screen};

/// The width and height of a character.
const WIDE: f32 = 8.4;
const HIGH: f32 = 19.0;
/// The margin around the text, and the space above it for the three dots.
const EDGE: f32 = 16.0;
const TOP: f32 = 40.0;

const PAPER: &str = "#1b1f27";
const TEXT: &str = "#d6dbe4";
/// Black, red, green, yellow, blue, magenta, cyan, white.
const COLORS: [&str; 8] =
    ["#4b5263", "#f0717b", "#95cf7c", "#eac06d", "#6cb2f5", "#cf8fe0", "#5fc3ce", "#d6dbe4"];

/// The style of a run of characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Look {
    color: &'static str,
    dim: bool,
    bold: bool,
    /// A block character. These are drawn as shapes, because fonts leave gaps between them.
    block: Option<char>,
}

/// Draws a screen without the empty lines at its end.
pub(super) fn draw(screen: &Screen) -> String {
    let (rows, columns) = screen.size();
    let used = (0..rows).rev().find(|row| (0..columns).any(|column| is_used(screen, *row, column)));
    let used = used.map_or(0, |row| row + 1);
    let width = f32::from(columns).mul_add(WIDE, 2.0 * EDGE);
    let height = f32::from(used).mul_add(HIGH, TOP + EDGE);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         width=\"{width:.0}\" height=\"{height:.0}\" font-size=\"14\" \
         font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"9\" fill=\"{PAPER}\"/>\n"
    );
    for (number, color) in ["#f0717b", "#eac06d", "#95cf7c"].into_iter().enumerate() {
        let x = 20 + number * 20;
        // Writing to a string does not fail.
        let _ = writeln!(svg, "<circle cx=\"{x}\" cy=\"19\" r=\"6\" fill=\"{color}\"/>");
    }
    for row in 0..used {
        draw_row(&mut svg, screen, row, columns);
    }
    svg.push_str("</svg>\n");
    svg
}

fn is_used(screen: &Screen, row: u16, column: u16) -> bool {
    screen.cell(row, column).is_some_and(|cell| !cell.contents().trim().is_empty())
}

fn draw_row(svg: &mut String, screen: &Screen, row: u16, columns: u16) {
    let mut run: Option<(u16, Look, String)> = None;
    for column in 0..columns {
        let Some(cell) = screen.cell(row, column) else { continue };
        if cell.is_wide_continuation() {
            continue;
        }
        let text = if cell.contents().is_empty() { " " } else { cell.contents() };
        let look = look(cell, text);
        match &mut run {
            Some((_, same, so_far)) if *same == look => so_far.push_str(text),
            _ => {
                if let Some((at, look, text)) = run.replace((column, look, text.to_owned())) {
                    draw_run(svg, row, at, look, &text);
                }
            }
        }
    }
    if let Some((at, look, text)) = run {
        draw_run(svg, row, at, look, &text);
    }
}

fn draw_run(svg: &mut String, row: u16, column: u16, look: Look, text: &str) {
    let (text, blanks) = (text.trim_end(), text.len() - text.trim_start().len());
    if text.is_empty() {
        return;
    }
    let x = (f32::from(column) + to_float(blanks)).mul_add(WIDE, EDGE);
    let y = f32::from(row).mul_add(HIGH, TOP);
    let Look { color, dim, bold, block } = look;
    // Writing to a string does not fail.
    let _ = if let Some(block) = block {
        let width = to_float(text.chars().count()) * WIDE;
        let opacity = if block == '█' { "1" } else { "0.22" };
        let high = HIGH - 6.0;
        writeln!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{high:.0}\" \
             fill=\"{color}\" opacity=\"{opacity}\"/>"
        )
    } else {
        let baseline = y + 11.0;
        let dim = if dim { " opacity=\"0.62\"" } else { "" };
        let bold = if bold { " font-weight=\"bold\"" } else { "" };
        let text = escaped(text.trim_start());
        writeln!(
            svg,
            "<text x=\"{x:.1}\" y=\"{baseline:.1}\" fill=\"{color}\"{dim}{bold} \
             xml:space=\"preserve\">{text}</text>"
        )
    };
}

fn to_float(count: usize) -> f32 {
    f32::from(u16::try_from(count).unwrap_or(u16::MAX))
}

fn look(cell: &Cell, text: &str) -> Look {
    let color = match cell.fgcolor() {
        Color::Default => TEXT,
        Color::Idx(index) => COLORS[usize::from(index % 8)],
        Color::Rgb(..) => TEXT,
    };
    let block = text.chars().next().filter(|c| matches!(c, '█' | '░'));
    Look { color, dim: cell.dim(), bold: cell.bold(), block }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_screen_is_in_its_picture() {
        let mut parser = vt100::Parser::new(4, 30, 0);
        parser.process(b"plain <b>\r\n  \x1b[32mgreen\x1b[0m and \x1b[2mfaint\x1b[0m\r\n");
        parser.process("█░".as_bytes());
        let svg = draw(parser.screen());
        assert!(svg.contains(">plain &lt;b&gt;</text>"), "{svg}");
        assert!(svg.contains("fill=\"#95cf7c\" xml:space=\"preserve\">green</text>"), "{svg}");
        assert!(svg.contains("opacity=\"0.62\""), "{svg}");
        // The background, and one for each of the two boxes.
        assert_eq!(svg.matches("<rect").count(), 3, "{svg}");
    }
}
