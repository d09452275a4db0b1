//! How many workers there are, and how many of them may read from one volume.

use std::num::NonZeroUsize;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::crew::{Crew, Work};
use crate::disk::Volume;

/// Workers that one device gets at the most, unless it turns.
const MAX_PER_DEVICE: usize = 8;
/// Workers in all, unless told.
const MAX_THREADS: usize = 16;

/// The volumes of the log dirs, and how many readers each may have.
#[derive(Debug)]
pub(in crate::engine) struct Volumes {
    /// By log dir: the number of its volume.
    of_dir: Vec<usize>,
    places: Vec<usize>,
}

impl Volumes {
    /// Groups log dirs by their volumes; one of an unknown volume has its own.
    pub(in crate::engine) fn of<'a>(dirs: impl Iterator<Item = Option<&'a Volume>>) -> Self {
        let mut devices: Vec<u64> = Vec::new();
        let mut volumes = Self {
            of_dir: Vec::new(),
            places: Vec::new(),
        };
        for (volume, unknown) in dirs.zip((0..u64::MAX).rev()) {
            let device = volume.map_or(unknown, |volume| volume.device);
            let known = devices.iter().position(|other| *other == device);
            volumes.of_dir.push(known.unwrap_or(devices.len()));
            if known.is_none() {
                devices.push(device);
                let turns = volume.and_then(|volume| volume.rotational) == Some(true);
                let places = if turns {
                    1
                } else {
                    cores().min(MAX_PER_DEVICE)
                };
                volumes.places.push(places);
            }
        }
        volumes
    }

    /// Returns how many may read from a volume at once.
    pub(in crate::engine) fn places(&self, volume: usize) -> usize {
        self.places.get(volume).copied().unwrap_or(1)
    }

    /// Returns a crew over logs that lie in the log dirs of these numbers.
    pub(in crate::engine) fn crew<S>(&self, dirs_of_logs: &[usize]) -> Crew<usize, S> {
        let mut logs: Vec<Vec<usize>> = self.places.iter().map(|_| Vec::new()).collect();
        for (log, dir) in dirs_of_logs.iter().enumerate() {
            let volume = self
                .of_dir
                .get(*dir)
                .and_then(|volume| logs.get_mut(*volume));
            if let Some(volume) = volume {
                volume.push(log);
            }
        }
        Crew::new(self.places.iter().copied().zip(logs))
    }

    /// Runs `work` on the number of every log, several at once; no new one is begun after a failure, and the failure of
    /// the lowest number is returned.
    pub(in crate::engine) fn for_each_log<E: Send>(
        &self,
        threads: Option<usize>,
        dirs_of_logs: &[usize],
        work: impl Fn(usize) -> Result<(), E> + Sync,
    ) -> Result<(), E> {
        let crew = self.crew::<()>(dirs_of_logs);
        let failure: Mutex<Option<(usize, E)>> = Mutex::new(None);
        let work_off = || {
            while let Some((task, _place)) = crew.next() {
                let Work::Log(number) = task else { continue };
                if let Err(error) = work(number) {
                    crew.stop();
                    let mut failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
                    if failure.as_ref().is_none_or(|(other, _)| number < *other) {
                        *failure = Some((number, error));
                    }
                }
            }
        };
        let threads = threads_or_default(threads.and_then(NonZeroUsize::new));
        std::thread::scope(|scope| {
            for _ in 0..threads.min(dirs_of_logs.len()) {
                scope.spawn(work_off);
            }
        });
        let failure = failure.into_inner().unwrap_or_else(PoisonError::into_inner);
        failure.map_or(Ok(()), |(_, error)| Err(error))
    }
}

/// Returns how many workers there are.
pub(in crate::engine) fn threads_or_default(threads: Option<NonZeroUsize>) -> usize {
    threads.map_or_else(|| cores().min(MAX_THREADS), NonZeroUsize::get)
}

fn cores() -> usize {
    // Asking reads the control groups' files each time.
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, NonZeroUsize::get))
}
