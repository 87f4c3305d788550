//! An agent of launchd, of the user's own.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::{OURS, Service, Telling};

/// What stands before the project in an agent.
const FOLDER: &str = "\t<key>WorkingDirectory</key>\n\t<string>";

/// The agent. It is started when the user logs in, and again only after a crash by a signal such as
/// SIGSEGV. launchd can't be told to do that after SIGKILL as well and leave all other endings
/// alone: what would bring back a killed one brings back one that can't begin, again and again.
pub(super) fn agent(service: &Service) -> String {
    let Service { name, project, environment, .. } = service;
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \
         \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <!-- {OURS}: it is written anew by the next one. -->\n\
         <plist version=\"1.0\">\n\
         <dict>\n\
         \t<key>Label</key>\n\
         \t<string>{}</string>\n\
         \t<key>ProgramArguments</key>\n\
         \t<array>\n",
        label(name)
    );
    for argument in service.command() {
        // Writing to a string can't fail.
        let _ = writeln!(text, "\t\t<string>{}</string>", escaped(argument));
    }
    let _ = write!(
        text,
        "\t</array>\n\
         {FOLDER}{}</string>\n\
         \t<key>EnvironmentVariables</key>\n\
         \t<dict>\n",
        escaped(project)
    );
    for (name, value) in environment {
        let _ = writeln!(text, "\t\t<key>{name}</key>\n\t\t<string>{}</string>", escaped(value));
    }
    text.push_str(
        "\t</dict>\n\
         \t<key>RunAtLoad</key>\n\
         \t<true/>\n\
         \t<key>KeepAlive</key>\n\
         \t<dict>\n\
         \t\t<key>Crashed</key>\n\
         \t\t<true/>\n\
         \t</dict>\n\
         \t<key>ThrottleInterval</key>\n\
         \t<integer>30</integer>\n\
         \t<key>ExitTimeOut</key>\n\
         \t<integer>60</integer>\n\
         </dict>\n\
         </plist>\n",
    );
    text
}

/// What launchd calls it.
pub(super) fn label(name: &str) -> String {
    format!("dev.nightwright.{name}")
}

/// The project of an agent of ours.
pub(super) fn project(agent: &str) -> Option<String> {
    let (_, rest) = agent.split_once(FOLDER)?;
    let (project, _) = rest.split_once("</string>")?;
    Some(project.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Where it is.
pub(super) fn file(
    name: &str,
    variable: impl Fn(&'static str) -> Option<OsString>,
) -> Option<PathBuf> {
    let home = variable("HOME").map(PathBuf::from).filter(|path| path.is_absolute())?;
    Some(home.join("Library/LaunchAgents").join(format!("{}.plist", label(name))))
}

/// What tells launchd about it. An agent that it knows already has to be forgotten first.
pub(super) fn commands(name: &str, file: &Path) -> Vec<Telling> {
    let file = file.display().to_string();
    vec![
        Telling::may_fail(forget(name)),
        Telling::must_work(["launchctl", "bootstrap", &domain(), &file].map(str::to_owned)),
    ]
}

/// What lets launchd forget it, and ends what it has started.
pub(super) fn forget(name: &str) -> [String; 3] {
    ["launchctl".to_owned(), "bootout".to_owned(), format!("{}/{}", domain(), label(name))]
}

fn domain() -> String {
    format!("gui/{}", rustix::process::getuid().as_raw())
}
