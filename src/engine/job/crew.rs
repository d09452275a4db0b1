//! Who does what next: workers over volumes, logs of a volume, and segments of a log.
//!
//! Each volume has a number of places, so that a turning disk has one reader. A log is driven by one worker, front to
//! back; the segments that it will need next are put up for workers that have nothing better to do.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// What workers share. `L` is a log to drive, `S` a segment scan put up by a log's driver.
#[derive(Debug)]
pub(in crate::engine) struct Crew<L, S> {
    state: Mutex<CrewState<L, S>>,
    changed: Condvar,
}

#[derive(Debug)]
struct CrewState<L, S> {
    volumes: Vec<VolumeQueue<L, S>>,
    drivers: usize,
    /// Threads that wait; waking nobody would still cost a system call.
    waiting: usize,
    stopped: bool,
}

#[derive(Debug)]
struct VolumeQueue<L, S> {
    places: usize,
    taken: usize,
    logs: VecDeque<L>,
    scans: VecDeque<S>,
}

/// What a worker does next.
#[derive(Debug)]
pub(in crate::engine) enum Work<L, S> {
    /// Drive a log to its plan.
    Log(L),
    /// Scan a segment for another worker's log.
    Scan(S),
}

/// A place on a volume, given back when it is dropped.
#[derive(Debug)]
pub(in crate::engine) struct Place<'a, L, S> {
    crew: &'a Crew<L, S>,
    volume: usize,
    drives: bool,
}

impl<L, S> Crew<L, S> {
    /// Returns a crew for volumes of so many places each, with their logs in order.
    pub(in crate::engine) fn new(volumes: impl IntoIterator<Item = (usize, Vec<L>)>) -> Self {
        let volumes = volumes
            .into_iter()
            .map(|(places, logs)| VolumeQueue {
                places: places.max(1),
                taken: 0,
                logs: logs.into(),
                scans: VecDeque::new(),
            })
            .collect();
        Self {
            state: Mutex::new(CrewState {
                volumes,
                drivers: 0,
                waiting: 0,
                stopped: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// Waits for work; `None` once all is done or the crew was stopped.
    pub(in crate::engine) fn next(&self) -> Option<(Work<L, S>, Place<'_, L, S>)> {
        let mut state = self.lock();
        loop {
            if state.stopped {
                return None;
            }
            if let Some((work, volume)) = state.pick() {
                let drives = matches!(work, Work::Log(_));
                state.drivers += usize::from(drives);
                let place = Place {
                    crew: self,
                    volume,
                    drives,
                };
                return Some((work, place));
            }
            if state.is_done() {
                return None;
            }
            state = self.wait(state);
        }
    }

    /// Lets every worker stop once its work at hand is done.
    pub(in crate::engine) fn stop(&self) {
        let mut state = self.lock();
        state.stopped = true;
        self.wake(state);
    }

    /// Puts a scan up for workers that are free.
    pub(in crate::engine) fn put_up(&self, volume: usize, scan: S) {
        let mut state = self.lock();
        if let Some(queue) = state.volumes.get_mut(volume) {
            queue.scans.push_back(scan);
        }
        self.wake(state);
    }

    /// Takes back the first scan that was put up and that `wanted` chooses.
    pub(in crate::engine) fn take_back(
        &self,
        volume: usize,
        wanted: impl Fn(&S) -> bool,
    ) -> Option<S> {
        let mut state = self.lock();
        let scans = &mut state.volumes.get_mut(volume)?.scans;
        let place = scans.iter().position(wanted)?;
        scans.remove(place)
    }

    /// Waits until `ready` returns something; it is asked whenever something changed.
    pub(in crate::engine) fn wait_for<R>(&self, mut ready: impl FnMut() -> Option<R>) -> R {
        let mut state = self.lock();
        loop {
            if let Some(result) = ready() {
                return result;
            }
            state = self.wait(state);
        }
    }

    /// Says that something changed which a waiting driver may have waited for.
    pub(in crate::engine) fn tell(&self) {
        // The lock orders this after the check of whoever is about to wait.
        self.wake(self.lock());
    }

    fn wake(&self, state: MutexGuard<'_, CrewState<L, S>>) {
        let someone_waits = state.waiting > 0;
        drop(state);
        if someone_waits {
            self.changed.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, CrewState<L, S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(
        &self,
        mut state: MutexGuard<'a, CrewState<L, S>>,
    ) -> MutexGuard<'a, CrewState<L, S>> {
        state.waiting += 1;
        let mut state = self
            .changed
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        state
    }
}

impl<L, S> CrewState<L, S> {
    /// Picks from the volume with the fewest readers; scans first, so that few logs are open at once.
    fn pick(&mut self) -> Option<(Work<L, S>, usize)> {
        let (volume, queue) = self
            .volumes
            .iter_mut()
            .enumerate()
            .filter(|(_, queue)| queue.taken < queue.places)
            .filter(|(_, queue)| !(queue.logs.is_empty() && queue.scans.is_empty()))
            .min_by_key(|(_, queue)| queue.taken)?;
        let scan = queue.scans.pop_front().map(Work::Scan);
        let work = scan.or_else(|| queue.logs.pop_front().map(Work::Log))?;
        queue.taken += 1;
        Some((work, volume))
    }

    fn is_done(&self) -> bool {
        let empty = |queue: &VolumeQueue<L, S>| queue.logs.is_empty() && queue.scans.is_empty();
        self.drivers == 0 && self.volumes.iter().all(empty)
    }
}

impl<L, S> Place<'_, L, S> {
    /// Returns the volume's number.
    pub(in crate::engine) fn volume(&self) -> usize {
        self.volume
    }
}

impl<L, S> Drop for Place<'_, L, S> {
    fn drop(&mut self) {
        let mut state = self.crew.lock();
        if let Some(queue) = state.volumes.get_mut(self.volume) {
            queue.taken -= 1;
        }
        state.drivers -= usize::from(self.drives);
        self.crew.wake(state);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_volume_never_has_more_readers_than_places_and_all_logs_are_driven() {
        let crew: Crew<usize, usize> =
            Crew::new([(1, (0..20).collect()), (3, (100..150).collect())]);
        let (reading, most) = (
            [AtomicUsize::new(0), AtomicUsize::new(0)],
            AtomicUsize::new(0),
        );
        let driven = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    while let Some((work, place)) = crew.next() {
                        let volume = place.volume();
                        let now = reading[volume].fetch_add(1, Ordering::SeqCst) + 1;
                        assert!(now <= [1, 3][volume]);
                        most.fetch_max(now, Ordering::SeqCst);
                        std::thread::yield_now();
                        if let Work::Log(_) = work {
                            driven.fetch_add(1, Ordering::SeqCst);
                        }
                        reading[volume].fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(driven.load(Ordering::SeqCst), 70);
    }

    #[test]
    fn scans_that_are_put_up_are_done_by_others_or_taken_back() {
        let crew: Crew<usize, usize> = Crew::new([(2, vec![0])]);
        let scanned = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while let Some((work, place)) = crew.next() {
                        match work {
                            Work::Log(_) => {
                                for scan in 1..=10 {
                                    crew.put_up(place.volume(), scan);
                                }
                                for scan in 1..=10 {
                                    if crew.take_back(place.volume(), |s| *s == scan).is_some() {
                                        scanned.fetch_add(1, Ordering::SeqCst);
                                    }
                                }
                                crew.wait_for(|| {
                                    (scanned.load(Ordering::SeqCst) == 10).then_some(())
                                });
                            }
                            Work::Scan(_) => {
                                scanned.fetch_add(1, Ordering::SeqCst);
                                crew.tell();
                            }
                        }
                    }
                });
            }
        });
        assert_eq!(scanned.load(Ordering::SeqCst), 10);
    }

    #[test]
    fn a_stopped_crew_takes_no_new_work() {
        let crew: Crew<usize, usize> = Crew::new([(1, vec![1, 2, 3])]);
        crew.stop();
        assert!(crew.next().is_none());
    }
}
