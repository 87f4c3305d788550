//! The operator: stop, pause, resume, and settings changed on the way.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::group::event_group;
use crate::settings::{ChangeSource, SettingChange};

event_group! {
    /// Requests of the operator.
    OperatorEvent {
        /// The run was asked to stop.
        "stop_requested" => StopRequested {
            /// How soon.
            when: StopWhen,
            /// Who asked.
            by: StopSource,
        },
        /// The request to stop was withdrawn.
        "stop_cancelled" => StopCancelled,
        /// The operator paused the run: nothing new starts.
        "run_paused" => Paused,
        /// The operator resumed a paused run.
        "run_resumed" => Resumed,
        /// A setting changed: by an option of `resume`, or by a configuration that the operator reloaded.
        "settings_changed" => SettingsChanged {
            /// Where the new value comes from.
            source: ChangeSource,
            /// The key and both values.
            #[serde(flatten)]
            change: SettingChange,
        },
    }
}

/// How soon to stop.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum StopWhen {
    /// After this iteration.
    AfterIteration,
    /// At once.
    Now,
}

/// Who asked for something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopSource {
    /// A signal: Ctrl-C or SIGQUIT.
    Signal,
    /// The terminal of the run was closed (SIGHUP).
    TerminalClosed,
    /// SIGTERM: the system goes down, or whoever looks after processes wants it to end.
    Terminate,
    /// A command of the operator.
    Operator,
    /// The stop file.
    StopFile,
    /// A key at the terminal of the run.
    Key,
}
