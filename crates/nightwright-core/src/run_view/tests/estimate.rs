//! Tests of the estimates.

use super::*;

impl ViewStory {
    /// The clock of the story, advanced by the given number of seconds.
    fn later(&self, seconds: u64) -> Timestamp {
        Timestamp::UNIX_EPOCH + Duration::from_secs(self.seconds + seconds)
    }

    fn limited(self, most: u32) -> Self {
        let mut wanted = Settings::default();
        wanted.limits.max_iterations = Some(most);
        wanted.limits.max_cost = Some(Usd::from_cents(500));
        let source = ChangeSource::Operator;
        SettingChange::between(&Settings::default(), &wanted)
            .into_iter()
            .fold(self, |story, change| {
                story.then(OperatorEvent::SettingsChanged { source, change })
            })
    }

    fn five(self) -> Self {
        (1..=5).fold(self, |story, number| story.done(number, Progress::Work, 100))
    }

    fn items(self, completed: u32, total: u32, number: u32) -> Self {
        let mut finished = finished(number, IterationResult::Done, Progress::Work, 100);
        finished.task = Some(TaskProgress { completed, total });
        self.then(IterationEvent::Finished(Box::new(finished)))
    }
}

#[test]
fn the_end_is_estimated_once_there_are_five_iterations_and_a_limit() {
    let story = ViewStory::begun().limited(8);
    let estimate = story.view.estimate(story.later(10));
    assert_eq!((estimate.mean, estimate.estimated_end), (None, None));
    assert_eq!(estimate.iterations_left, Some(8));
    assert_eq!(estimate.budget, Some(Usd::from_cents(500)));
    assert_eq!(estimate.idle_limit, 3);

    let story = story.five();
    let estimate = story.view.estimate(story.later(0));
    assert_eq!(estimate.mean, Some(Duration::from_secs(100)));
    assert_eq!(estimate.iterations_left, Some(3));
    assert_eq!(estimate.estimated_end, Some(story.later(300)));

    let unlimited = ViewStory::begun().five();
    assert_eq!(unlimited.view.estimate(unlimited.later(0)).estimated_end, None);
}

#[test]
fn the_current_iteration_counts_only_once_in_the_estimate() {
    let story = ViewStory::begun().limited(8).five().iteration(6).attempt(6);
    // The iteration began one event earlier, and therefore one second earlier.
    let estimate = story.view.estimate(story.later(39));
    assert_eq!(estimate.estimated_end, Some(story.later(39 + 260)));
    let estimate = story.view.estimate(story.later(5_000));
    assert_eq!(estimate.estimated_end, Some(story.later(5_200)));
}

#[test]
fn items_tell_how_many_iterations_are_left_by_how_fast_they_went() {
    let story = ViewStory::begun().items(10, 60, 1);
    assert_eq!(story.view.estimate(story.later(0)).iterations_left, None);
    let story = story.items(20, 60, 2).items(35, 60, 3);
    let estimate = story.view.estimate(story.later(0));
    assert_eq!(estimate.progress, Some(TaskProgress { completed: 35, total: 60 }));
    // 25 items took two iterations, and 25 remain.
    assert_eq!(estimate.iterations_left, Some(2));
    let story = story.limited(4);
    assert_eq!(story.view.estimate(story.later(0)).iterations_left, Some(1));
}

#[test]
fn a_wait_comes_before_what_is_left_and_a_pause_has_no_end() {
    let story = ViewStory::begun().limited(6).five().iteration(6);
    let retry_at = story.later(3_600);
    let story = story.then(WaitEvent::Started {
        limit: WaitKind::Usage,
        until: None,
        retry_at,
        wait: Duration::from_hours(1),
    });
    let estimate = story.view.estimate(story.later(5));
    assert_eq!(estimate.estimated_end, Some(retry_at + Duration::from_secs(100)));

    let paused = ViewStory::begun().limited(9).five().then(OperatorEvent::Paused);
    assert_eq!(paused.view.estimate(paused.later(1)).estimated_end, None);
}

#[test]
fn a_stopping_run_has_one_iteration_left_and_an_ended_one_none() {
    let stop = Event::Operator(OperatorEvent::StopRequested {
        when: StopWhen::AfterIteration,
        by: StopSource::Operator,
    });
    let story = ViewStory::begun().limited(50).five().iteration(6).then(stop);
    assert_eq!(story.view.estimate(story.later(1)).iterations_left, Some(1));
    let story = story.done(6, Progress::Work, 100).ends(Outcome::Stopped);
    let estimate = story.view.estimate(story.later(1_000));
    assert_eq!((estimate.iterations_left, estimate.estimated_end), (Some(0), None));
    assert_eq!(estimate.elapsed, Duration::from_secs(story.seconds - 1));
}
