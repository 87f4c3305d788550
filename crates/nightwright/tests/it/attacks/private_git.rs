//! Attacks on the private git folder of a run.

use std::fs;
use std::process::Command;

use nightwright_core::event::{Event, NoteEvent};

use crate::git::git;
use crate::harness::TestEnv;

#[test]
fn a_filter_in_the_private_folder_runs_nothing_and_plain_git_would_run_it() {
    let env = TestEnv::new();
    let (project, ran) = (env.project(), env.path("ran"));
    git(&project, &["init", "--quiet"]);
    env.file("a.txt", "one\n");
    git(&project, &["add", "."]);
    git(&project, &["commit", "--quiet", "-m", "one"]);
    let filter = format!("[filter \"evil\"]\n\tclean = touch {}; cat\n", ran.display());
    fs::write(env.path("filter"), &filter).unwrap();
    let script = format!(
        "[[attempt]]\nsteps = [{{ run = '''for file in {1}/*/runs/*/git/config; \
         do cat {0} >> $file; done; \
         echo '*.txt filter=evil' > .gitattributes; echo two > a.txt''' }}]\n\
         end = {{ result = \"A part of it.\" }}\n",
        env.path("filter").display(),
        env.path("state").display()
    );
    env.rehearse(&script.repeat(2), "2", &[]).exits(0);
    assert!(!ran.exists(), "git ran the program of the agent");
    let texts: Vec<_> = env
        .journal()
        .into_iter()
        .filter_map(|record| match record.event {
            Event::Note(NoteEvent::Warning { text }) if text.contains("private git") => Some(text),
            _ => None,
        })
        .collect();
    assert_eq!(texts.len(), 1, "{texts:?}");

    // The same configuration, where nothing compares it.
    let folder = project.join(".git");
    let config = fs::read_to_string(folder.join("config")).unwrap();
    fs::write(folder.join("config"), config + &filter).unwrap();
    let status = Command::new("git").arg("status").current_dir(&project).output().unwrap();
    assert!(status.status.success() && ran.exists(), "{status:?}");
}
