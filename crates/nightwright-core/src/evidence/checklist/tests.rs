use proptest::prelude::*;

use super::*;

/// The numbers of open and done boxes.
fn counted(text: &str) -> (u32, u32) {
    let Checklist { open, done } = count(text);
    (open, done)
}

fn check(table: &[(&str, (u32, u32))]) {
    for (text, checklist) in table {
        assert_eq!(counted(text), *checklist, "open, done of:\n{text}");
    }
}

#[test]
fn a_box_follows_a_list_marker() {
    check(&[
        ("", (0, 0)),
        ("- [ ] a", (1, 0)),
        ("* [ ] a", (1, 0)),
        ("+ [ ] a", (1, 0)),
        ("1. [ ] a", (1, 0)),
        ("12) [ ] a", (1, 0)),
        ("- [x] a\n- [X] b", (0, 2)),
        ("   - [ ] a", (1, 0)),
        ("-   [ ] a", (1, 0)),
        ("Text\n- [ ] a\n# Heading\n- [x] b", (1, 1)),
        ("[ ] a", (0, 0)),
        ("-[ ] a", (0, 0)),
        ("Text - [ ] a", (0, 0)),
        ("- text [ ] a", (0, 0)),
        ("1234567890. [ ] a", (0, 0)),
        ("a. [ ] a", (0, 0)),
        ("– [ ] a", (0, 0)),
        ("- \\[ ] a", (0, 0)),
        ("| [ ] | [x] |", (0, 0)),
    ]);
}

#[test]
fn the_content_of_a_box_shows_whether_it_is_done() {
    check(&[
        ("- [~] begun", (1, 0)),
        ("- [-] put off", (1, 0)),
        ("- [/] half", (1, 0)),
        ("- [] careless", (1, 0)),
        ("- [  ] careless", (1, 0)),
        ("- [x ] careless", (0, 1)),
        ("- [ ]", (1, 0)),
        ("- [x]", (0, 1)),
        ("- [ ]no blank", (1, 0)),
        ("- [\u{a0}] blank that does not break", (1, 0)),
        ("-\u{a0}[ ] there too", (1, 0)),
        ("- [ ](https://example.org) link", (0, 0)),
        ("- [](https://example.org) link", (0, 0)),
        ("- [x][note] reference", (0, 0)),
        ("- [x]: somewhere", (0, 0)),
        ("- [1] footnote", (0, 0)),
        ("- [xx] word", (0, 0)),
        ("- [ ", (0, 0)),
    ]);
}

#[test]
fn boxes_count_at_any_depth_of_a_list() {
    check(&[
        ("- [x] a\n  - [ ] b\n    - [ ] c\n      - [ ] d\n        - [ ] e", (4, 1)),
        ("- a\n    - [ ] b\n        - [ ] c", (2, 0)),
        ("1. [x] a\n\n   - [ ] b\n\n\n   - [ ] c", (2, 1)),
        ("- [x] a\n\t- [ ] b\n\t\t- [ ] c", (2, 1)),
        ("-\t[ ] a", (1, 0)),
        ("- - [ ] a", (1, 0)),
        ("- 1. * [ ] a", (1, 0)),
        ("100. a\n    - [ ] b", (1, 0)),
        ("- [x] a\n          - [ ] far out", (1, 1)),
        ("- [x] a\nlazy text\n    - [ ] b", (1, 1)),
        ("- a\n\n  text of a\n\n    - [ ] b", (1, 0)),
        ("- a\r\n  - [ ] b\r\n- [x] c\r\n", (1, 1)),
        ("- [ ] a\r- [x] b\r", (1, 1)),
        ("\u{feff}- [ ] a", (1, 0)),
    ]);
}

#[test]
fn code_has_no_boxes() {
    check(&[
        ("```\n- [ ] a\n```\n- [ ] b", (1, 0)),
        ("~~~ text\n- [ ] a\n~~~\n- [ ] b", (1, 0)),
        ("````\n```\n- [ ] a\n`````\n- [ ] b", (1, 0)),
        ("~~~\n```\n- [ ] a\n~~~\n- [ ] b", (1, 0)),
        ("```\n- [ ] a\n``` no end\n- [ ] b", (0, 0)),
        ("- [x] a\n```\n- [ ] unclosed\n\n# On\n- [ ] and on", (0, 1)),
        ("```\n    ```\n- [ ] a\n```\n- [ ] b", (1, 0)),
        ("- a\n  ```\n  - [ ] b\n  ```\n- [ ] c", (1, 0)),
        ("- ```\n  - [ ] a\n  ```\n- [ ] b", (1, 0)),
        ("- a\n  ```\n  never closed\n- [ ] the next item", (1, 0)),
        ("1. ```\n   - [ ] a\n```\n- [ ] b", (1, 0)),
        ("``` is `no` fence\n- [ ] a", (1, 0)),
        ("``\n- [ ] a\n``", (1, 0)),
        ("    - [ ] code", (0, 0)),
        ("\t- [ ] code", (0, 0)),
        ("Text\n\n    - [ ] code\n\n- [ ] a", (1, 0)),
        ("Text\n    - [ ] text that goes on", (0, 0)),
        ("- [x] a\n\nText\n\n    - [ ] code", (0, 1)),
        ("-     [ ] code in an item", (0, 0)),
        ("`- [ ] a`", (0, 0)),
        ("- `[ ] a`", (0, 0)),
    ]);
}

#[test]
fn comments_and_quotations_have_no_boxes() {
    check(&[
        ("<!-- - [ ] a -->\n- [ ] b", (1, 0)),
        ("<!--\n- [ ] a\n\n- [ ] b\n-->\n- [ ] c", (1, 0)),
        ("<!--\n- [ ] a\n--> - [ ] b\n- [ ] c", (1, 0)),
        ("- [ ] a <!-- why -->\n- [ ] b", (2, 0)),
        ("- <!-- [ ] a -->", (0, 0)),
        ("<!-->\n- [ ] a", (1, 0)),
        ("<!--->\n- [ ] a", (1, 0)),
        ("<!-- >\n- [ ] a\n-->", (0, 0)),
        ("- a\n  <!--\n  - [ ] b\n  -->\n- [ ] c", (1, 0)),
        ("<!-- never closed\n- [ ] a", (0, 0)),
        ("> - [ ] a\n- [ ] b", (1, 0)),
        ("- > [ ] a", (0, 0)),
        ("> ```\n- [ ] after a quotation", (1, 0)),
        ("- a\n  > - [ ] b\n  - [ ] c", (1, 0)),
    ]);
}

#[test]
fn lines_across_the_page_are_no_list_items() {
    check(&[
        ("- [ ] a\n---\n    - [ ] code", (1, 0)),
        ("* * *\n- [ ] a", (1, 0)),
        ("- - -\n\n    - [ ] code", (0, 0)),
        ("-\n- [ ] a", (1, 0)),
    ]);
}

#[test]
fn a_heading_ends_a_list_and_a_number_of_an_issue_does_not() {
    check(&[
        ("- [x] a\n# Heading\n    - [ ] code", (0, 1)),
        ("- [x] a\n#\n    - [ ] code", (0, 1)),
        ("- [x] a\n######\tsix\n    - [ ] code", (0, 1)),
        ("- [x] a\n#12 see\n    - [ ] b", (1, 1)),
        ("- [x] a\n#tag\n    - [ ] b", (1, 1)),
        ("- [x] a\n####### seven\n    - [ ] b", (1, 1)),
        ("- #12 see\n  - [ ] b", (1, 0)),
    ]);
}

#[test]
fn the_text_of_an_item_may_begin_in_the_line_after_its_marker() {
    check(&[
        ("-\n  [ ] b", (1, 0)),
        ("- \n  [x] b", (0, 1)),
        ("1.\n   [ ] b", (1, 0)),
        ("- a\n-\n  [ ] b\n- [ ] c", (2, 0)),
        ("- -\n    [ ] b", (1, 0)),
        ("-\n     [ ] b", (1, 0)),
        ("-\n      [ ] code", (0, 0)),
        ("-\n[ ] not in the item", (0, 0)),
        ("-\n\n  [ ] nor after a blank line", (0, 0)),
        ("-\n  text\n  [ ] nor behind text", (0, 0)),
        ("Heading\n-\n  [ ] b", (0, 0)),
        ("-\n  - [ ] b", (1, 0)),
    ]);
}

#[test]
fn the_open_items_are_given_in_order() {
    let text = "- [x] one\n- [ ]  **two** \n  1. [~] three\n- [ ] four\r\n- [ ]";
    assert_eq!(items(text, 9), ["**two**", "three", "four", ""]);
    assert_eq!(items(text, 1), ["**two**"]);
    assert!(items(text, 0).is_empty());
}

#[test]
fn a_page_made_to_take_long_does_not() {
    let deep = "- ".repeat(200_000) + "[ ] a\n" + &" ".repeat(200_000) + "- [ ] b\n";
    assert_eq!(counted(&deep), (1, 0));
    assert_eq!(counted(&"- [ ] a\n".repeat(50_000)), (50_000, 0));
    assert_eq!(counted(&"> ".repeat(200_000)), (0, 0));
}

proptest! {
    #[test]
    fn any_text_is_counted(text in "[-*+#>`~ \t\n\r1.)\\[\\]xX<!a\u{a0}\u{feff}ä]{0,200}") {
        let checklist = count(&text);
        prop_assert_eq!(items(&text, usize::MAX).len(), checklist.open as usize);
    }

    #[test]
    fn anything_is_counted(text in any::<String>()) {
        count(&text);
    }

    #[test]
    fn a_plain_list_has_as_many_boxes_as_lines(marks in proptest::collection::vec(any::<bool>(), 0..50)) {
        let text: String =
            marks.iter().map(|done| if *done { "* [x] a\r\n" } else { "1. [ ] b\n" }).collect();
        let done = marks.iter().filter(|done| **done).count();
        let checklist = count(&text);
        prop_assert_eq!((checklist.open as usize, checklist.done as usize), (marks.len() - done, done));
    }
}
