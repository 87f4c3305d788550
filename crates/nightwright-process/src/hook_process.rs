//! Hook processes: a user's program that receives input, has a time limit, and may leave processes
//! running in their own session.

use std::io;
use std::time::Duration;

use nightwright_core::redact::Secrets;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::oneshot;

use super::child::{Child, Launch, spawn_hook};
use super::command::{CommandEnd, OutputMasks, OutputSink, collect, pass};
use super::output_tail::OutputTail;

/// A running hook. When this value is dropped, the hook gets SIGTERM, and SIGKILL some seconds
/// later.
#[derive(Debug)]
pub struct HookProcess {
    child: Child,
    /// The input that the pipe has not taken yet.
    rest: Vec<u8>,
}

impl HookProcess {
    /// Starts the hook. Its input is available from the start, even if nightwright exits, unless it
    /// is larger than a pipe buffer.
    pub async fn start(launch: &Launch, input: &[u8]) -> io::Result<Self> {
        let (mut child, put) = spawn_hook(launch, input).await?;
        let rest = input[put..].to_vec();
        if rest.is_empty() {
            drop(child.take_stdin());
        }
        Ok(Self { child, rest })
    }

    /// Waits for the exit of the hook, or kills it after its time limit. Returns the last `keep`
    /// bytes of its output, with secrets masked.
    pub async fn run(
        &mut self,
        limit: Duration,
        keep: usize,
        secrets: &Secrets,
    ) -> (CommandEnd, String) {
        let stdin = self.child.take_stdin();
        let (stdout, stderr) = (self.child.take_stdout(), self.child.take_stderr());
        let (child, rest) = (&self.child, &self.rest);
        let (over, is_over) = oneshot::channel();
        let feed = async {
            if let Some(mut stdin) = stdin {
                // A hook need not read all of its input.
                let _ = stdin.write_all(rest).await;
            }
            std::future::pending().await
        };
        let watch = async {
            let cut = tokio::select! {
                biased;
                () = child.exited() => None,
                () = pass(limit) => Some(CommandEnd::TimedOut),
                never = feed => never,
            };
            if cut.is_some() {
                child.end().await;
            }
            let (exit, _) = child.gone().await;
            // Both readers may already have ended.
            let _ = over.send(());
            cut.unwrap_or(CommandEnd::Exited(exit))
        };
        let mut sink = OutputSink { tail: OutputTail::new(keep), log: None };
        let mut masks = OutputMasks::new(Some(secrets));
        let (ended, ()) =
            tokio::join!(watch, collect(stdout, stderr, (&mut sink, &mut masks), is_over));
        masks.finish(&mut sink);
        (ended, sink.tail.into_text())
    }

    /// Leaves the hook running for a few more seconds, even if nightwright exits.
    pub fn leave_running(self) {
        self.child.leave_running();
    }
}
