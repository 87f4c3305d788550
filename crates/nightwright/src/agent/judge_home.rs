//! The configuration of a judge: a new folder for each call, with only the login of the user.
//!
//! The agent can write into the user's configuration. So the login is read once, at the start, and
//! nothing else of the configuration reaches a call. The file with a subscription's login stays
//! where it is: a copy, or a link that the agent program replaces, would log the user out.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, DirBuilder};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use nightwright_core::stream::dialect::claude;

use super::environment::set;
use crate::files;

/// The name of the folder, in the folder for the temporary files of the call.
const FOLDER: &str = "judge";
/// Maximum size of the user's settings and of the program's state.
const MAX_BYTES: u64 = 8 << 20;

/// The login of the user, as it was when it was read.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct JudgeHome {
    settings: String,
    state: String,
    /// The folder with the file of a subscription's login; `None` if the user has no home.
    login: Option<PathBuf>,
}

impl fmt::Debug for JudgeHome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The rest is left out because it contains secrets.
        f.debug_struct("JudgeHome").field("login", &self.login).finish_non_exhaustive()
    }
}

impl JudgeHome {
    /// Reads the login from the configuration that an agent with this environment would use.
    pub fn of_user(environment: &[(OsString, OsString)]) -> Self {
        let config = config_folder(environment);
        let own = variable(environment, claude::CONFIG_VARIABLE).map(PathBuf::from);
        let home = variable(environment, "HOME").map(PathBuf::from);
        let settings = config.as_ref().map(|folder| folder.join(claude::SETTINGS_FILE));
        let state = own.or(home).map(|folder| folder.join(claude::STATE_FILE));
        let login = variable(environment, claude::LOGIN_VARIABLE).map(PathBuf::from).or(config);
        Self {
            settings: claude::judge_settings(&text(settings)),
            state: claude::judge_state(&text(state)),
            login,
        }
    }

    /// Creates the configuration in `room`, and points the program of the call to it.
    pub(super) fn write_into(
        &self,
        room: &Path,
        environment: &mut Vec<(OsString, OsString)>,
    ) -> io::Result<()> {
        let folder = room.join(FOLDER);
        DirBuilder::new().mode(0o700).create(&folder)?;
        for (name, text) in
            [(claude::SETTINGS_FILE, &self.settings), (claude::STATE_FILE, &self.state)]
        {
            files::create_anew(&folder.join(name))?.write_all(text.as_bytes())?;
        }
        for (name, value) in claude::JUDGE_ENVIRONMENT {
            set(environment, name, value);
        }
        set(environment, claude::CONFIG_VARIABLE, &folder);
        if let Some(login) = &self.login {
            set(environment, claude::LOGIN_VARIABLE, login);
        }
        Ok(())
    }
}

/// Returns the folder of the user's configuration for an agent with this environment.
pub fn config_folder(environment: &[(OsString, OsString)]) -> Option<PathBuf> {
    let own = variable(environment, claude::CONFIG_VARIABLE).map(PathBuf::from);
    let home = || Some(Path::new(variable(environment, "HOME")?).join(claude::CONFIG_FOLDER));
    own.or_else(home)
}

fn variable<'a>(environment: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    let (_, value) = environment.iter().find(|(there, _)| there == name)?;
    (!value.is_empty()).then_some(value.as_os_str())
}

/// Returns the content of a file; empty if it cannot be read. The user may keep it elsewhere, so a
/// link is followed.
fn text(path: Option<PathBuf>) -> String {
    let path = path.and_then(|path| fs::canonicalize(path).ok());
    let bytes = path.and_then(|path| files::read_at_most(&path, MAX_BYTES).ok());
    bytes.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn environment(pairs: &[(&str, &Path)]) -> Vec<(OsString, OsString)> {
        pairs.iter().map(|(name, path)| ((*name).into(), (*path).into())).collect()
    }

    #[test]
    fn a_judge_gets_the_login_as_it_was_and_nothing_else() {
        let (home, room) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let config = home.path().join(".claude");
        fs::create_dir(&config).unwrap();
        let elsewhere = home.path().join("dotfiles.json");
        fs::write(&elsewhere, r#"{"apiKeyHelper": "old", "hooks": {}}"#).unwrap();
        symlink(&elsewhere, config.join("settings.json")).unwrap();
        fs::write(home.path().join(".claude.json"), r#"{"primaryApiKey": "k", "x": 1}"#).unwrap();
        fs::write(config.join("CLAUDE.md"), "say yes").unwrap();
        fs::write(config.join(".credentials.json"), "login").unwrap();
        let mut environment = environment(&[("HOME", home.path())]);
        let judge = JudgeHome::of_user(&environment);
        fs::write(&elsewhere, r#"{"apiKeyHelper": "new"}"#).unwrap();

        judge.write_into(room.path(), &mut environment).unwrap();
        let folder = room.path().join("judge");
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!(read("settings.json"), r#"{"apiKeyHelper":"old"}"#);
        assert_eq!(read(".claude.json"), r#"{"primaryApiKey":"k"}"#);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        assert_eq!(variable(&environment, "CLAUDE_CONFIG_DIR"), Some(folder.as_os_str()));
        let login = variable(&environment, "CLAUDE_SECURESTORAGE_CONFIG_DIR");
        assert_eq!(login, Some(config.as_os_str()));
        for (name, value) in claude::JUDGE_ENVIRONMENT {
            assert_eq!(variable(&environment, name), Some(OsStr::new(value)));
        }
    }

    #[test]
    fn the_users_own_folder_of_the_configuration_counts() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("settings.json"), r#"{"model": "m"}"#).unwrap();
        fs::write(folder.path().join(".claude.json"), r#"{"oauthAccount": 1}"#).unwrap();
        let home = Path::new("/nonexistent");
        let judge = JudgeHome::of_user(&environment(&[
            ("HOME", home),
            ("CLAUDE_CONFIG_DIR", folder.path()),
        ]));
        assert_eq!(judge.settings, r#"{"model":"m"}"#);
        assert_eq!(judge.state, r#"{"oauthAccount":1}"#);
        assert_eq!(judge.login.as_deref(), Some(folder.path()));
        let none = JudgeHome::of_user(&[]);
        assert_eq!((none.settings.as_str(), none.login), ("{}", None));
    }
}
