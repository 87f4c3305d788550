//! Detects natural-language completion: whether the final message says that everything is done.
//! Used only when a run would otherwise end for lack of progress, and the claim is still verified.
//! So it is better to miss a claim than to find a false one.

/// The number of sentences at the end of a message that are examined.
const LAST_SENTENCES: usize = 12;

/// A sentence with one of these phrases says that everything is done.
const DONE: &[&str] = &[
    "all done",
    "all is done",
    "all finished",
    "everything is done",
    "everything is complete",
    "everything is finished",
    "everything has been implemented",
    "everything has been completed",
    "all tasks are done",
    "all tasks are complete",
    "all tasks are completed",
    "all tasks have been completed",
    "all tasks complete",
    "all tasks completed",
    "all items are done",
    "all items are complete",
    "all items are completed",
    "all boxes are ticked",
    "all boxes are checked",
    "all work is done",
    "all work is complete",
    "all requirements are met",
    "all requirements have been met",
    "the task is done",
    "the task is complete",
    "the task is completed",
    "the task is finished",
    "task complete",
    "task completed",
    "the goal is reached",
    "the goal has been reached",
    "the goal is achieved",
    "the goal has been achieved",
    "the work is done",
    "the work is complete",
    "the work is finished",
    "the project is complete",
    "the project is done",
    "the project is finished",
    "the implementation is complete",
    "the plan is complete",
    "is fully implemented",
    "is now complete",
    "nothing left to do",
    "nothing is left to do",
    "nothing more to do",
    "nothing else to do",
    "nothing remains",
    "no work remains",
    "no work left",
    "no open items",
    "no remaining work",
    "no remaining tasks",
    "no further work",
    "no further changes are needed",
    "project is now finished",
    "is fully complete",
    "the job is done",
    "the job is finished",
    "that was the final item",
    "that was the last item",
    "everything you asked for",
    "implemented everything",
    "everything is in place",
    "everything is now in place",
    "everything is implemented",
    "everything has been done",
    "completed successfully",
    "have been taken care of",
    "fully resolved",
    "is fixed and",
    "implementation finished",
    "implementation complete",
    "work complete",
    "plan has been carried out",
    "parts are finished",
    "ready for production",
    "you're all set",
    "alles erledigt",
    "vollständig abgeschlossen",
    "alles ist erledigt",
    "alle aufgaben sind erledigt",
    "alle aufgaben sind abgeschlossen",
    "alle punkte sind erledigt",
    "die aufgabe ist erledigt",
    "die aufgabe ist abgeschlossen",
    "vorhaben abgeschlossen",
    "nichts mehr zu tun",
    "tout est terminé",
    "toutes les tâches sont terminées",
    "la tâche est terminée",
    "le travail est terminé",
    "plus rien à faire",
    "c'est fait",
    "sont achevées",
    "sont terminés",
    "tout est fait",
    "todas las tareas están completadas",
    "todas las tareas están terminadas",
    "todas las tareas del plan están completadas",
    "la tarea está terminada",
    "el trabajo está terminado",
    "todo está implementado",
    "todo está listo",
    "he completado todas",
    "no queda nada pendiente",
    "no queda nada por hacer",
    "すべてのタスクが完了",
    "すべての作業が完了",
    "修正は完了",
    "全てのタスクが完了",
    "すべて完了しました",
    "全部終わりました",
    "残りの作業はありません",
    "残りの項目はありません",
];

/// A sentence that consists of one of these words says that everything is done.
const DONE_ALONE: &[&str] =
    &["done", "finished", "fertig", "erledigt", "terminé", "listo", "hecho"];

/// Phrases that retract the claim, in the same sentence.
const RETRACTIONS: &[&str] = &[
    "not",
    "'t",
    "never",
    "almost",
    "nearly",
    "mostly",
    "partly",
    "partially",
    "until",
    "unless",
    "once",
    "as soon as",
    "when",
    "if",
    "before",
    "after",
    "would",
    "will",
    "should",
    "could",
    "might",
    "may",
    "except",
    "but",
    "half",
    "percent",
    "%",
    "step",
    "phase",
    "part",
    "stage",
    "iteration",
    "cannot",
    "noch",
    "fast",
    "beinahe",
    "sobald",
    "wenn",
    "aber",
    "außer",
    "presque",
    "sauf",
    "dès que",
    "quand",
    "mais",
    "casi",
    "salvo",
    "excepto",
    "cuando",
    "pero",
    "まだ",
    "ほぼ",
    "以外",
];

/// Phrases in any of the last sentences that say that something is open.
pub(super) const OPEN: &[&str] = &[
    "still to do",
    "still open",
    "still missing",
    "still failing",
    "still fail",
    "still fails",
    "tests are failing",
    "test is failing",
    "tests fail",
    "not pass",
    "n't pass",
    "still need",
    "still needs",
    "still have to",
    "remaining:",
    "remain open",
    "remains open",
    "remains to be done",
    "left to do:",
    "next step",
    "next steps",
    "next iteration",
    "next up",
    "not done",
    "not yet",
    "not complete",
    "not finished",
    "isn't done",
    "isn't complete",
    "isn't finished",
    "incomplete",
    "unfinished",
    "almost done",
    "to be continued",
    "i will continue",
    "i'll continue",
    "todo:",
];

/// Whether the last of the author's own lines say that everything is done.
pub(super) fn says_done(lines: &[String]) -> bool {
    let text = flowing(lines).to_lowercase().replace('’', "'");
    let sentences: Vec<&str> = text
        .split_inclusive(['\n', '.', '!', '?', ';', '。', '！', '？'])
        .map(str::trim)
        .filter(|sentence| sentence.chars().any(char::is_alphanumeric))
        .collect();
    let last = &sentences[sentences.len().saturating_sub(LAST_SENTENCES)..];
    let is_open = |sentence: &&str| OPEN.iter().any(|phrase| has(sentence, phrase));
    last.iter().any(|sentence| states_done(sentence)) && !last.iter().any(is_open)
}

/// The lines, joined into one per paragraph and list item: a sentence may continue on the next
/// line.
pub(super) fn flowing(lines: &[String]) -> String {
    let mut text = String::new();
    for line in lines {
        let line = line.trim();
        let begins = line.is_empty() || super::prose::begins_block(line);
        text.push(if begins { '\n' } else { ' ' });
        text.extend(line.split_whitespace().flat_map(|word| [word, " "]));
        text.truncate(text.trim_end_matches(' ').len());
        if line.starts_with('#') {
            text.push('\n');
        }
    }
    text
}

/// Whether a sentence says that everything is done. A question does not.
fn states_done(sentence: &str) -> bool {
    !sentence.ends_with('?')
        && (DONE.iter().any(|phrase| is_stated(sentence, phrase))
            || DONE_ALONE.contains(&sentence.trim_end_matches(['.', '!'])))
        && !RETRACTIONS.iter().any(|phrase| has(sentence, phrase))
}

/// Whether the sentence contains the phrase, and not as the start of a quotation.
fn is_stated(sentence: &str, phrase: &str) -> bool {
    sentence.match_indices(phrase).any(|(at, _)| {
        super::stands_alone(sentence, at, phrase) && !sentence[..at].ends_with(super::is_mark)
    })
}

/// Whether the sentence contains the phrase as whole words.
pub(super) fn has(sentence: &str, phrase: &str) -> bool {
    sentence.match_indices(phrase).any(|(at, _)| super::stands_alone(sentence, at, phrase))
}
