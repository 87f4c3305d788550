//! An agent of launchd, of the user's own.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::{OURS, PROJECT, Service};

/// The agent. It is started again only if it was killed or has crashed; an ending is one.
pub(super) fn agent(service: &Service) -> String {
    let Service { name, project, environment, .. } = service;
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \
         \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <!-- {OURS}: it is written anew by the next one.\n\
         {PROJECT}{}\n\
         -->\n\
         <plist version=\"1.0\">\n\
         <dict>\n\
         \t<key>Label</key>\n\
         \t<string>{}</string>\n\
         \t<key>ProgramArguments</key>\n\
         \t<array>\n",
        // Two of them would end the comment.
        project.replace("--", "- -"),
        label(name)
    );
    for argument in service.command() {
        // Writing to a string can't fail.
        let _ = writeln!(text, "\t\t<string>{}</string>", escaped(argument));
    }
    let _ = write!(
        text,
        "\t</array>\n\
         \t<key>WorkingDirectory</key>\n\
         \t<string>{}</string>\n\
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
    format!("dev.legwork.{name}")
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

/// What tells launchd about it.
pub(super) fn commands(file: &Path) -> Vec<Vec<String>> {
    let domain = format!("gui/{}", rustix::process::getuid().as_raw());
    let file = file.display().to_string();
    vec![["launchctl", "bootstrap", &domain, &file].map(str::to_owned).to_vec()]
}
