//! A program of the user's own: it is given something to read, has some time, and may leave
//! running what it puts into a session of its own.

use std::io;
use std::time::Duration;

use nightwright_core::redact::Secrets;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::oneshot;

use super::child::{Child, Launch, spawn_hook};
use super::command::{CommandEnd, OutputMasks, OutputSink, collect, pass};
use super::output_tail::OutputTail;

/// One at work. When this is dropped it is asked to leave, and killed some seconds later.
#[derive(Debug)]
pub struct HookProcess {
    child: Child,
    /// What it is to read and its pipe has not taken yet.
    rest: Vec<u8>,
}

impl HookProcess {
    /// Starts it. It has this to read, from its first moment on and whatever becomes of us, unless
    /// that is more than a pipe takes.
    pub async fn start(launch: &Launch, input: &[u8]) -> io::Result<Self> {
        let (mut child, put) = spawn_hook(launch, input).await?;
        let rest = input[put..].to_vec();
        if rest.is_empty() {
            drop(child.take_stdin());
        }
        Ok(Self { child, rest })
    }

    /// Waits for its end, or ends it when its time is up. Gives the last `keep` bytes of what it
    /// printed, with secrets masked.
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
                // Whoever does not want to read all of it need not.
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
            // Nobody listens any more once both pipes are at their end.
            let _ = over.send(());
            cut.unwrap_or(CommandEnd::Exited(exit))
        };
        let mut heard = OutputSink { tail: OutputTail::new(keep), log: None };
        let mut masks = OutputMasks::new(Some(secrets));
        let (ended, ()) =
            tokio::join!(watch, collect(stdout, stderr, (&mut heard, &mut masks), is_over));
        masks.finish(&mut heard);
        (ended, heard.tail.into_text())
    }

    /// Leaves it running for a few seconds more, whatever becomes of us.
    pub fn leave_running(self) {
        self.child.leave_running();
    }
}
