//! Storage of approvals: one file per project, in the user's state folder, outside the project.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::TrustItem;
use crate::error::Failure;
use crate::files;
use crate::store::run_dir;

/// The name of the folder in the state folder.
const FOLDER: &str = "trust";

/// Maximum number of earlier approvals that are kept per location.
const MAX_EARLIER: usize = 50;

/// The approvals by location.
pub type Approvals = BTreeMap<String, Approval>;

/// The approved content at one location.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// The hash of the content.
    pub hash: String,
    /// The description that was shown, without secrets.
    pub shown: String,
    /// The full text of a hook, without secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The hashes of earlier approved contents at this location, newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<String>,
}

impl Approval {
    /// Returns the approval of an item, given the earlier approval at its location.
    pub fn of(item: &TrustItem, before: Option<&Self>) -> Self {
        let mut earlier = before.map(|before| before.earlier.clone()).unwrap_or_default();
        earlier.extend(before.map(|before| before.hash.clone()));
        earlier.retain(|hash| *hash != item.hash);
        earlier.drain(..earlier.len().saturating_sub(MAX_EARLIER));
        let TrustItem { hash, shown, text, .. } = item.clone();
        Self { hash, shown, text, earlier }
    }

    /// Whether the content with this hash was approved, now or earlier.
    pub fn covers(&self, hash: &str) -> bool {
        self.hash == hash || self.earlier.iter().any(|earlier| earlier == hash)
    }
}

/// The approvals of one project.
#[derive(Clone, Debug)]
pub struct ApprovalStore {
    file: PathBuf,
    kept: ApprovalsFile,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct ApprovalsFile {
    /// The path of the project: a folder that was moved, or another one with the same short name,
    /// has no approvals.
    project: PathBuf,
    approved: Approvals,
}

impl ApprovalStore {
    /// Opens the approvals of a project. An invalid file approves nothing.
    pub fn open(
        project: &Path,
        variable: impl Fn(&'static str) -> Option<OsString>,
    ) -> Result<Self, Failure> {
        let root = run_dir::state_root(variable).map_err(|error| Failure::because(&error))?;
        let project = project.canonicalize().map_err(|error| {
            Failure::trouble(format!("cannot find `{}`: {error}", project.display()))
        })?;
        let folder = run_dir::project_folder(&root, &project).map_err(|e| Failure::because(&e))?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let file = root.join(FOLDER).join(format!("{name}.json"));
        let kept = match files::read_regular(&file) {
            Ok(bytes) => serde_json::from_slice(&bytes).ok(),
            // Without the file or its folder, nothing was approved.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                None
            }
            Err(error) => {
                return Err(Failure::trouble(format!("cannot read `{}`: {error}", file.display())));
            }
        };
        let kept = kept.filter(|kept: &ApprovalsFile| kept.project == project);
        let kept = kept.unwrap_or_else(|| ApprovalsFile { project, approved: Approvals::new() });
        Ok(Self { file, kept })
    }

    pub fn approvals(&self) -> &Approvals {
        &self.kept.approved
    }

    /// Approves the current content of these items.
    pub fn approve<'a>(
        &mut self,
        items: impl IntoIterator<Item = &'a TrustItem>,
    ) -> Result<(), Failure> {
        for item in items {
            let approval = Approval::of(item, self.kept.approved.get(&item.location));
            self.kept.approved.insert(item.location.clone(), approval);
        }
        self.write()
    }

    /// Revokes all approvals. Returns how many there were.
    pub fn revoke(&mut self) -> Result<usize, Failure> {
        let count = std::mem::take(&mut self.kept.approved).len();
        self.write()?;
        Ok(count)
    }

    fn write(&self) -> Result<(), Failure> {
        let text = serde_json::to_vec_pretty(&self.kept)
            .map_err(|error| Failure::trouble(format!("cannot write the approvals: {error}")))?;
        files::replace_private(&self.file, &text).map_err(|error| Failure::because(&error))
    }
}
