//! `cargo xtask bench judgement`: whether runs end with the right outcome, whatever the agent does.
//!
//! Every behavior in `xtask/judgement` describes an agent: it finishes late, lies, deletes a test,
//! hangs or repeats itself. The rehearsal agent plays each one in a separate project, for the real
//! binary and for two plain loops as users write them. The benchmark counts outcomes and
//! iterations, never time. It determines whether the work was really done with its own command,
//! which the run does not know.

mod behaviour;
mod observed;
mod outcome;
mod plain_loop;
mod scenes;
mod score;
mod stage;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use std::{fs, thread};

use behaviour::Behaviour;
use observed::Observed;
use plain_loop::PlainLoop;
use score::{Score, Tally};
use stage::BehaviourEnv;

use crate::program::{self, cargo};

/// The folder with the behaviors of this repository.
const FOLDER: &str = "xtask/judgement";
/// The number of parallel jobs per core; most of them wait for disks and for each other.
const JOBS_PER_CORE: usize = 2;
/// The allowed number of extra iterations, in percent of the oracle's.
const WASTE_ALLOWED: u32 = 10;

/// The behaviors to play, as given on the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selection {
    /// A file, or a folder of files, instead of `xtask/judgement`.
    file: Option<PathBuf>,
    /// The name of the only behavior to play.
    only: Option<String>,
}

impl Selection {
    pub(crate) fn parse(words: &[&str]) -> Result<Self, String> {
        let mut selection = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let value = words.next().map(|value| (*value).to_owned());
            match (*word, value) {
                ("--file", Some(path)) => selection.file = Some(path.into()),
                ("--only", Some(name)) => selection.only = Some(name),
                (option @ ("--file" | "--only"), None) => {
                    return Err(format!("`{option}` takes a value"));
                }
                (other, _) => {
                    return Err(format!(
                        "`bench judgement` takes `--file F` and `--only NAME`, not `{other}`"
                    ));
                }
            }
        }
        Ok(selection)
    }

    fn read(&self, root: &Path) -> Result<Vec<Behaviour>, String> {
        let path = self.file.clone().unwrap_or_else(|| root.join(FOLDER));
        let mut all = behaviour::read(&path)?;
        if let Some(only) = &self.only {
            all.retain(|behaviour| behaviour.name == *only);
            if all.is_empty() {
                return Err(format!("`{}` has no behaviour `{only}`", path.display()));
            }
        }
        Ok(all)
    }
}

/// Plays the behaviors with nightwright and the plain loops, and prints a table.
pub(crate) fn run(root: &Path, selection: &Selection) -> Result<(), String> {
    let behaviours = selection.read(root)?;
    // Uses the build options of the tests, because those artifacts usually already exist.
    let arguments = ["test", "--quiet", "--workspace", "--no-run", "--lib", "--bins", "--tests"];
    program::run(&mut cargo(root, &arguments))?;
    let folder = stage_folder()?;
    let mut columns = Vec::new();
    let others = [Player::ClaimsOnly, Player::Loop(PlainLoop::Bare), Player::Loop(PlainLoop::Grep)];
    for player in others {
        let scores = play(player, root, &behaviours, &folder)?;
        columns.push((player.title(), tally(&scores)));
        // The others are expected to fail, so their folders are not kept.
        clear(&folder)?;
    }
    let ours = play(Player::Nightwright, root, &behaviours, &folder)?;
    columns.insert(0, (Player::Nightwright.title(), tally(&ours)));
    print!("{}", table::render(&columns));
    print!("{}", table::families(&families(&ours)));
    complain(&ours, &folder)
}

/// The step of the test command: plays nightwright alone, with the binary that was just built.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    let behaviours = Selection::default().read(root)?;
    let folder = stage_folder()?;
    let scores = play(Player::Nightwright, root, &behaviours, &folder)?;
    let tally = tally(&scores);
    print!("{}", table::render(&[(Player::Nightwright.title(), tally)]));
    complain(&scores, &folder)?;
    if is_wasteful(&tally) {
        return Err(format!("more than {WASTE_ALLOWED}% of the iterations were wasted"));
    }
    let wasteful: Vec<_> =
        families(&scores).into_iter().filter(|(_, tally)| is_wasteful(tally)).collect();
    match wasteful.first() {
        None => Ok(()),
        Some((family, _)) => Err(format!(
            "more than {WASTE_ALLOWED}% of the iterations were wasted in `{family}.toml`"
        )),
    }
}

fn is_wasteful(tally: &Tally) -> bool {
    tally.wasted * 100 > tally.oracle * WASTE_ALLOWED
}

/// The sums of each family, by its name.
fn families(played: &[Played]) -> BTreeMap<&str, Tally> {
    let names: BTreeSet<_> = played.iter().map(|played| played.family.as_str()).collect();
    let of = |name| played.iter().filter(move |played| played.family == name);
    names.into_iter().map(|name| (name, of(name).map(|played| &played.score).collect())).collect()
}

/// The program that drives the agent: nightwright or one of the plain loops.
#[derive(Clone, Copy, Debug)]
enum Player {
    Nightwright,
    /// nightwright without checks between claims: it sees no progress.
    ClaimsOnly,
    Loop(PlainLoop),
}

impl Player {
    fn title(self) -> &'static str {
        match self {
            Self::Nightwright => "nightwright",
            Self::ClaimsOnly => "claims only",
            Self::Loop(kind) => kind.title(),
        }
    }

    fn play(
        self,
        program: &Path,
        folder: &Path,
        behaviour: &Behaviour,
    ) -> Result<Observed, String> {
        let stage = BehaviourEnv::set(folder, behaviour)?;
        match self {
            Self::Nightwright => stage.nightwright(program, behaviour, &[]),
            Self::ClaimsOnly => {
                stage.nightwright(program, behaviour, &[("NIGHTWRIGHT_VERIFY_EVERY", "claim")])
            }
            Self::Loop(kind) => plain_loop::play(kind, &stage, program, behaviour),
        }
    }

    fn score(self, behaviour: &Behaviour, observed: &Observed) -> Score {
        match self {
            Self::Nightwright => score::score(&behaviour.expect, observed),
            Self::ClaimsOnly | Self::Loop(_) => {
                score::score(&behaviour.expect.outcome_alone(), observed)
            }
        }
    }
}

/// A behavior, its score, and the folder with its files.
struct Played {
    name: String,
    family: String,
    score: Score,
    folder: PathBuf,
}

/// Plays all behaviors, several at once, and returns the results in the order of the behaviors. The
/// folders of failed ones are kept.
fn play(
    player: Player,
    root: &Path,
    behaviours: &[Behaviour],
    folder: &Path,
) -> Result<Vec<Played>, String> {
    let begun = Instant::now();
    let program = program::built(root, "debug");
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let work = || {
        while let Some((index, behaviour)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            behaviours.get(index).map(|behaviour| (index, behaviour))
        } {
            let played = player.play(&program, &numbered(folder, index), behaviour);
            // The lock only protects a push, so a poisoned list is still complete.
            done.lock().unwrap_or_else(PoisonError::into_inner).push((index, played));
        }
    };
    thread::scope(|scope| {
        for _ in 0..at_once() {
            scope.spawn(work);
        }
    });
    let (count, seconds) = (behaviours.len(), begun.elapsed().as_secs());
    eprintln!("{}: {count} behaviours, {seconds} s", player.title());
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter()
        .zip(behaviours)
        .map(|((index, observed), behaviour)| {
            let name = behaviour.name.clone();
            let score = match observed {
                Ok(observed) => player.score(behaviour, &observed),
                Err(trouble) => Score { complaints: vec![trouble], ..Score::default() },
            };
            let folder = numbered(folder, index);
            if score.is_right() {
                clear(&folder)?;
            }
            Ok(Played { name, family: behaviour.family.clone(), score, folder })
        })
        .collect()
}

/// The folder of a behaviour. Its path has the same length for all of them: the outcome must not
/// depend on whether a path leaves room for sockets.
fn numbered(folder: &Path, index: usize) -> PathBuf {
    folder.join(format!("{index:03}"))
}

fn at_once() -> usize {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    cores * JOBS_PER_CORE
}

fn tally(played: &[Played]) -> Tally {
    played.iter().map(|played| &played.score).collect()
}

/// Prints the complaints; fails if there are any.
fn complain(played: &[Played], folder: &Path) -> Result<(), String> {
    let wrong: Vec<_> = played.iter().filter(|played| !played.score.is_right()).collect();
    for Played { name, score, folder, .. } in &wrong {
        println!("{name}: {} ({})", score.complaints.join("; "), folder.display());
    }
    match wrong.len() {
        0 => clear(folder),
        1 => Err("1 behaviour had an unexpected result".to_owned()),
        count => Err(format!("{count} behaviours had unexpected results")),
    }
}

/// Creates a new folder for all behaviors.
fn stage_folder() -> Result<PathBuf, String> {
    let folder = std::env::temp_dir().join(format!("nightwright-judgement-{}", std::process::id()));
    clear(&folder)?;
    Ok(folder)
}

fn clear(folder: &Path) -> Result<(), String> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("cannot remove {}: {error}", folder.display()))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_and_a_name_can_be_chosen() {
        assert_eq!(Selection::parse(&[]), Ok(Selection::default()));
        let both = Selection { file: Some("lies.toml".into()), only: Some("lies".to_owned()) };
        assert_eq!(Selection::parse(&["--only", "lies", "--file", "lies.toml"]), Ok(both));
    }

    #[test]
    fn unknown_arguments_are_named() {
        for (words, named) in
            [(&["--all"][..], "`--all`"), (&["--file"], "`--file`"), (&["--only", "a", "b"], "`b`")]
        {
            let usage = Selection::parse(words).unwrap_err();
            assert!(usage.contains(named), "{usage}");
        }
    }

    #[test]
    fn a_behaviour_that_is_not_there_is_named() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("judgement");
        let selection = Selection { file: Some(folder), only: Some("never-heard-of".to_owned()) };
        let trouble = selection.read(Path::new("/")).unwrap_err();
        assert!(trouble.contains("`never-heard-of`"), "{trouble}");
    }
}
