use std::ops::Range;
use std::time::Duration;

/// A part of a [`Ramp`]: the number of users moves evenly to `users`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stage {
    /// Its duration.
    pub takes: Duration,
    /// The number of users at its end.
    pub users: usize,
}

/// The number of users over time: it starts at 0 and changes stage by stage.
#[derive(Debug, Clone, PartialEq)]
pub struct Ramp {
    stages: Vec<Stage>,
}

impl Ramp {
    /// A ramp of these stages.
    pub fn new(stages: impl Into<Vec<Stage>>) -> Self {
        Self {
            stages: stages.into(),
        }
    }

    /// Its duration.
    pub fn length(&self) -> Duration {
        self.stages.iter().map(|stage| stage.takes).sum()
    }

    /// The maximum number of concurrent users.
    pub fn most_users(&self) -> usize {
        let users = self.stages.iter().map(|stage| stage.users);
        users.max().unwrap_or(0)
    }

    /// The same shape with this duration.
    #[must_use]
    pub fn scaled_to(&self, length: Duration) -> Self {
        let factor = length.as_secs_f64() / self.length().as_secs_f64();
        let scaled = self.stages.iter().map(|stage| Stage {
            takes: stage.takes.mul_f64(factor),
            ..*stage
        });
        Self::new(scaled.collect::<Vec<_>>())
    }

    /// The spans during which a user, counted from 0, is active. The first user comes first and
    /// leaves last. The ramp is rounded to whole users: half a user counts as one.
    pub fn spans(&self, user: usize) -> Vec<Range<Duration>> {
        // Rounds to whole users: a user is active while the ramp is above this level.
        let level = user as f64 + 0.5;
        let mut spans = Vec::new();
        let (mut at, mut users, mut came) = (Duration::ZERO, 0.0, None);
        for stage in &self.stages {
            let to = stage.users as f64;
            let crossing = || at + stage.takes.mul_f64((level - users) / (to - users));
            match came {
                None if to > level => came = Some(crossing()),
                Some(began) if to < level => {
                    spans.push(began..crossing());
                    came = None;
                }
                _ => {}
            }
            at += stage.takes;
            users = to;
        }
        // A ramp need not end at 0. Then the last span ends with the ramp.
        spans.extend(came.map(|began| began..at));
        spans
    }

    /// The sum of all users' active time.
    pub fn user_time(&self) -> Duration {
        let spans = (0..self.most_users()).flat_map(|user| self.spans(user));
        spans.map(|span| span.end - span.start).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::{Ramp, Stage};
    use std::time::Duration;

    const fn stage(seconds: u64, users: usize) -> Stage {
        Stage {
            takes: Duration::from_secs(seconds),
            users,
        }
    }

    #[test]
    fn users_start_and_end_on_slopes() {
        let ramp = Ramp::new([stage(10, 10), stage(5, 10), stage(10, 0)]);
        let seconds = |user| {
            let spans = ramp.spans(user);
            let range = |span: &std::ops::Range<Duration>| {
                (span.start.as_secs_f64(), span.end.as_secs_f64())
            };
            spans.iter().map(range).collect::<Vec<_>>()
        };
        assert_eq!(seconds(0), [(0.5, 24.5)]);
        assert_eq!(seconds(9), [(9.5, 15.5)]);
        assert_eq!(seconds(10), []);
    }

    #[test]
    fn dip_gives_users_two_spans() {
        let ramp = Ramp::new([stage(4, 2), stage(4, 0), stage(4, 2)]);
        assert_eq!(ramp.spans(0).len(), 2);
        assert_eq!(ramp.spans(0)[1].end, Duration::from_secs(12));
    }

    #[test]
    fn user_time_is_area_below_ramp() {
        let ramp = Ramp::new([stage(10, 10), stage(5, 10), stage(10, 0)]);
        assert_eq!(ramp.user_time(), Duration::from_secs(150));
        let shorter = ramp.scaled_to(Duration::from_secs(5));
        assert_eq!(shorter.user_time(), Duration::from_secs(30));
    }
}
