//! Events of the operator: stop, pause, resume, and settings changed during a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::group::event_group;
use crate::settings::{ChangeSource, SettingChange};

event_group! {
    /// Requests of the operator.
    OperatorEvent {
        /// You asked the run to stop.
        "stop_requested" => StopRequested {
            /// How soon the run stops.
            when: StopWhen,
            /// The source of the request.
            by: StopSource,
        },
        /// You cancelled the stop.
        "stop_cancelled" => StopCancelled,
        /// You paused the run; nightwright starts nothing new.
        "run_paused" => Paused,
        /// You resumed a paused run.
        "run_resumed" => Resumed,
        /// You asked to retry again too soon.
        "retry_refused" => RetryRefused,
        /// A setting changed by an option of `resume` or by a reloaded configuration.
        "settings_changed" => SettingsChanged {
            /// The source of the new value.
            source: ChangeSource,
            /// The key, the old value and the new value.
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
    /// After the current iteration ends.
    AfterIteration,
    /// Immediately, within the current iteration.
    Now,
}

/// The source of a request to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopSource {
    /// A signal: Ctrl-C or SIGQUIT.
    Signal,
    /// The terminal of the run closed (SIGHUP).
    TerminalClosed,
    /// SIGTERM, for example from a system shutdown or a service manager.
    Terminate,
    /// A command that you ran.
    Operator,
    /// The stop file, created by a script or by hand.
    StopFile,
    /// A key at the terminal of the run.
    Key,
}
