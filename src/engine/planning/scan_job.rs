//! Reads log dirs and makes their plan.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use super::dir_plan::{dir_plan, distrusted_marker, failed_dir_plan, stop_finding};
use super::gather::{DirReading, Gathered, gather, same_dirs};
use super::log_driver::{LogDriver, PlanCrew};
use super::log_finish::finish;
use super::log_structure::plan_structure;
use super::log_target::LogTarget;
use super::plan_job::panic_text;
use super::plan_spec::{Beside, PlanSpec, Reading};
use crate::disk::{Pace, Storage, WindowBuffer, become_idle_reader};
use crate::engine::job::context::JobContext;
use crate::engine::job::crew::Work;
use crate::engine::job::volumes::{Volumes, threads_or_default};
use crate::engine::read::boot_risk::boot_risks;
use crate::engine::read::dir_facts::DirFacts;
use crate::engine::read::log_reader::LogReader;
use crate::engine::store::contents::Contents;
use crate::engine::store::plan_store::{MadePlan, PlanStore};
use crate::engine::{EngineError, JobEvent, LogState, Phase};
use crate::log::{Finding, FindingCode, Severity};
use crate::plan::{
    LogDirPlan, PartitionPlan, PlanAct, RecoveryPlan, StopState, Verdict, verify_segments,
};

/// Makes the plan that `spec` asks for.
pub(in crate::engine) fn run(
    storage: &dyn Storage,
    spec: &PlanSpec,
    context: &JobContext,
) -> Result<MadePlan, EngineError> {
    ScanJob {
        spec,
        context,
        storage,
    }
    .run()
}

struct ScanJob<'a> {
    spec: &'a PlanSpec,
    context: &'a JobContext,
    storage: &'a dyn Storage,
}

impl ScanJob<'_> {
    fn run(&self) -> Result<MadePlan, EngineError> {
        self.context.enter(Phase::Listing);
        let dirs = self.read_dirs()?;
        let Gathered {
            mut targets,
            settled,
        } = gather(self.spec, &dirs);
        let volumes = Volumes::of(dirs.iter().map(|dir| match dir {
            DirReading::Facts(facts) => facts.volume.as_ref(),
            DirReading::Failed(_) => None,
        }));
        let failures = self.list(&mut targets, &volumes)?;
        self.set_totals(&targets, &settled);
        self.context.enter(Phase::Scanning);
        // A truncation reads what a recovery in the same plan would write.
        let truncates = self.spec.truncation.is_some();
        let state_dir = self.spec.state_dir.as_deref().filter(|_| !truncates);
        let store = state_dir.map(PlanStore::new);
        let contents = Contents::new(store);
        let planned = self.plan(&targets, &failures, &volumes, &contents)?;
        self.context.settle_totals();
        let log_dirs = self.assemble(dirs, &targets, planned, settled);
        self.context.enter(Phase::Ended);
        let plan = RecoveryPlan {
            undoes: None,
            beside_broker: false,
            schema: 1,
            act: if truncates {
                PlanAct::Truncate
            } else {
                PlanAct::Recover
            },
            kafka_version: self.spec.kafka_version,
            version_source: self.spec.version_source.clone(),
            now: self.spec.now,
            hand_over: self.spec.hand_over,
            quarantine: self.spec.quarantine.clone(),
            log_dirs,
        };
        Ok(MadePlan {
            plan,
            staging: contents.into_staging(),
        })
    }

    fn read_dirs(&self) -> Result<Vec<DirReading>, EngineError> {
        let same = same_dirs(&self.spec.log_dirs);
        let mut dirs = Vec::with_capacity(self.spec.log_dirs.len());
        for (index, path) in self.spec.log_dirs.iter().enumerate() {
            self.context.check()?;
            let first = same
                .get(&index)
                .and_then(|first| self.spec.log_dirs.get(*first));
            dirs.push(match first {
                Some(first) => DirReading::Failed(same_dir_finding(first)),
                None => self.read_dir(path),
            });
        }
        Ok(dirs)
    }

    fn read_dir(&self, path: &Path) -> DirReading {
        match DirFacts::read(self.storage, path) {
            Ok(mut facts) => {
                if self.spec.distrusts_marker && facts.stop == StopState::Clean {
                    facts.stop = StopState::Unclean;
                    facts.findings.push(distrusted_marker());
                }
                DirReading::Facts(Box::new(facts))
            }
            Err(error) => DirReading::Failed(
                Finding::new(FindingCode::LogDir, Severity::Fatal, error.sentence())
                    .next("look whether the volume is mounted and krescue may read it"),
            ),
        }
    }

    /// Lists every target's dir; returns why it could not be, by the target's number.
    fn list(
        &self,
        targets: &mut [LogTarget],
        volumes: &Volumes,
    ) -> Result<Vec<Option<String>>, EngineError> {
        let slots: Vec<Mutex<(&mut LogTarget, Option<String>)>> = targets
            .iter_mut()
            .map(|target| Mutex::new((target, None)))
            .collect();
        let numbers: Vec<usize> = slots.iter().map(|slot| lock(slot).0.dir_index).collect();
        let crew = volumes.crew::<()>(&numbers);
        self.with_workers(|_| {
            while let Some((work, _place)) = crew.next() {
                if self.context.is_cancelled() {
                    crew.stop();
                }
                let Work::Log(number) = work else { continue };
                if let Some(slot) = slots.get(number) {
                    let mut slot = lock(slot);
                    let path = slot.0.path();
                    match self.storage.list(&path) {
                        Ok(listed) => {
                            let dir = self.storage.stat(&path).ok();
                            slot.0.take_listing(dir.as_ref(), listed);
                        }
                        Err(error) => slot.1 = Some(error.sentence()),
                    }
                }
            }
        })?;
        self.context.check()?;
        Ok(slots
            .into_iter()
            .map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner).1)
            .collect())
    }

    fn set_totals(&self, targets: &[LogTarget], settled: &[(usize, PartitionPlan)]) {
        for target in targets {
            let bytes = match self.spec.reading {
                Reading::Structure => 0,
                Reading::AsBoot => target.scan_estimate,
                Reading::Everything => target.log_bytes(),
            };
            if let Some(counters) = self.context.dir(target.dir_index) {
                counters.logs_total.fetch_add(1, Ordering::Relaxed);
                counters.bytes_total.fetch_add(bytes, Ordering::Relaxed);
            }
        }
        for (index, _) in settled {
            if let Some(counters) = self.context.dir(*index) {
                counters.logs_total.fetch_add(1, Ordering::Relaxed);
                counters.logs_done.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Makes the plan of every target.
    fn plan(
        &self,
        targets: &[LogTarget],
        failures: &[Option<String>],
        volumes: &Volumes,
        contents: &Contents,
    ) -> Result<Vec<(usize, PartitionPlan)>, EngineError> {
        let pace = match self.spec.beside {
            Beside::Nobody => Pace::unlimited(),
            Beside::LiveBroker { bytes_per_second } => Pace::limited(bytes_per_second),
        };
        let reader = LogReader {
            storage: self.storage,
            context: self.context,
            contents,
            pace: &pace,
            is_live: self.is_live(),
        };
        let numbers: Vec<usize> = targets.iter().map(|target| target.dir_index).collect();
        let crew: PlanCrew = volumes.crew(&numbers);
        let planned = Mutex::new(Vec::with_capacity(targets.len()));
        self.with_workers(|buffer| {
            while let Some((work, place)) = crew.next() {
                if self.context.is_cancelled() {
                    crew.stop();
                    continue;
                }
                match work {
                    Work::Scan(task) => {
                        task.run(&reader, buffer);
                        crew.tell();
                    }
                    Work::Log(number) => {
                        let Some(target) = targets.get(number) else {
                            continue;
                        };
                        let driver = LogDriver {
                            reader: &reader,
                            target,
                            crew: &crew,
                            volume: place.volume(),
                            ahead: self.ahead(volumes, place.volume()),
                            reading: self.spec.reading,
                        };
                        let failure = failures.get(number).and_then(Option::as_ref);
                        if let Ok(plan) = self.plan_log(&driver, failure, buffer) {
                            lock(&planned).push((target.dir_index, plan));
                        }
                    }
                }
            }
        })?;
        self.context.check()?;
        Ok(planned.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn plan_log(
        &self,
        driver: &LogDriver<'_>,
        failure: Option<&String>,
        buffer: &mut WindowBuffer,
    ) -> Result<PartitionPlan, EngineError> {
        let target = driver.target;
        self.tell_state(target, LogState::Scanning, None);
        let mut plan = if let Some(cause) = failure {
            let cause = cause.clone();
            target.untouched(Verdict::Unreadable { cause })
        } else if self.spec.reading == Reading::Structure {
            plan_structure(target)
        } else {
            driver.plan(buffer)?
        };
        finish(self.spec, target, &mut plan);
        if self.spec.verify {
            let odd = verify_segments(&plan, self.spec.now);
            plan.findings.extend(odd);
        }
        driver.reader.contents.keep(&mut plan);
        if let Some(counters) = self.context.dir(target.dir_index) {
            counters.logs_done.fetch_add(1, Ordering::Relaxed);
        }
        for finding in &plan.findings {
            self.context.emit(JobEvent::Finding {
                log_dir: target.log_dir.clone(),
                dir_name: Some(target.dir_name.clone()),
                finding: finding.clone(),
            });
        }
        let state = if plan.verdict.reaches_end() {
            LogState::Planned
        } else {
            LogState::Left
        };
        self.tell_state(target, state, Some(plan.verdict.clone()));
        Ok(plan)
    }

    fn tell_state(&self, target: &LogTarget, state: LogState, verdict: Option<Verdict>) {
        self.context.emit(JobEvent::Log {
            log_dir: target.log_dir.clone(),
            dir_name: target.dir_name.clone(),
            state,
            verdict,
        });
    }

    fn assemble(
        &self,
        dirs: Vec<DirReading>,
        targets: &[LogTarget],
        planned: Vec<(usize, PartitionPlan)>,
        settled: Vec<(usize, PartitionPlan)>,
    ) -> Vec<LogDirPlan> {
        let mut by_dir: Vec<Vec<PartitionPlan>> = dirs.iter().map(|_| Vec::new()).collect();
        for (index, plan) in planned.into_iter().chain(settled) {
            if let Some(plans) = by_dir.get_mut(index) {
                plans.push(plan);
            }
        }
        let paths = self.spec.log_dirs.iter().cloned();
        dirs.into_iter()
            .zip(by_dir)
            .zip(paths)
            .map(|((dir, plans), path)| {
                let plan = match dir {
                    DirReading::Failed(finding) => failed_dir_plan(path, finding),
                    DirReading::Facts(mut facts) => {
                        let bytes = plans.iter().map(|plan| plan.scan_bytes).sum();
                        if !self.is_live() {
                            let stopped = stop_finding(&facts, plans.len(), bytes);
                            facts.findings.extend(stopped);
                            let ours: Vec<&LogTarget> = targets
                                .iter()
                                .filter(|target| target.log_dir == facts.path)
                                .collect();
                            let risks = boot_risks(&facts, &ours);
                            facts.findings.extend(risks);
                        }
                        dir_plan(self.spec, *facts, plans)
                    }
                };
                for finding in &plan.findings {
                    self.context.emit(JobEvent::Finding {
                        log_dir: plan.path.clone(),
                        dir_name: None,
                        finding: finding.clone(),
                    });
                }
                plan
            })
            .collect()
    }

    fn is_live(&self) -> bool {
        matches!(self.spec.beside, Beside::LiveBroker { .. })
    }

    /// Returns how many segments of a log are scanned ahead on a volume.
    fn ahead(&self, volumes: &Volumes, volume: usize) -> usize {
        match self.threads().min(volumes.places(volume)) {
            0 | 1 => 0,
            readers => 2 * readers,
        }
    }

    fn threads(&self) -> usize {
        threads_or_default(self.spec.threads)
    }

    /// Runs `work` on every worker thread and waits for all.
    fn with_workers(&self, work: impl Fn(&mut WindowBuffer) + Sync) -> Result<(), EngineError> {
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..self.threads())
                .map(|_| {
                    scope.spawn(|| {
                        if self.is_live() {
                            become_idle_reader();
                        }
                        work(&mut WindowBuffer::default());
                    })
                })
                .collect();
            workers.into_iter().try_for_each(|worker| {
                worker.join().map_err(|panic| EngineError::WorkerDied {
                    cause: panic_text(panic.as_ref()),
                })
            })
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn same_dir_finding(first: &Path) -> Finding {
    let text = format!(
        "the same dir as {}, which is named before it: the broker does not start",
        first.display()
    );
    Finding::new(FindingCode::LogDir, Severity::Fatal, text).next("name it once in log.dirs")
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::PathBuf;

    use super::*;
    use crate::disk::{DiskError, FileStat, Listed, Ownership, Piece, ReadAt, RealStorage};
    use crate::terms::{KafkaVersion, Timestamp};

    /// What a read of a log meets.
    #[derive(Clone, Copy)]
    enum Trouble {
        BadSector,
        Vanished,
        Shrank,
    }

    /// The real files, but logs are in trouble; nothing can be changed.
    struct Troubled(Trouble);

    struct BadLog(Trouble);

    impl ReadAt for BadLog {
        fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
            match self.0 {
                Trouble::BadSector if position >= 4096 => Err(io::Error::from_raw_os_error(5)),
                Trouble::BadSector => {
                    let good = usize::try_from(4096 - position).unwrap().min(buffer.len());
                    buffer[..good].fill(1);
                    Ok(good)
                }
                Trouble::Vanished | Trouble::Shrank => Ok(0),
            }
        }

        fn file_len(&self) -> io::Result<u64> {
            Ok(100_000)
        }
    }

    fn read_only<T>(path: &Path) -> Result<T, DiskError> {
        let error = io::Error::from(io::ErrorKind::ReadOnlyFilesystem);
        Err(DiskError::new(crate::disk::DiskAction::Write, path, error))
    }

    impl Storage for Troubled {
        fn list(&self, dir: &Path) -> Result<Vec<Listed>, DiskError> {
            RealStorage.list(dir)
        }
        fn stat(&self, path: &Path) -> Result<FileStat, DiskError> {
            RealStorage.stat(path)
        }
        fn open(&self, path: &Path) -> Result<Box<dyn ReadAt>, DiskError> {
            match self.0 {
                _ if path.extension().is_none_or(|kind| kind != "log") => RealStorage.open(path),
                Trouble::Vanished => RealStorage.open(&path.join("gone")),
                trouble => Ok(Box::new(BadLog(trouble))),
            }
        }
        fn write_file(&self, path: &Path, _: &[u8], _: &Ownership) -> Result<(), DiskError> {
            read_only(path)
        }
        fn copy_range(&self, _: &Path, _: u64, _: u64, to: &Path) -> Result<(), DiskError> {
            read_only(to)
        }
        fn copy_into(&self, _: &Path, _: Piece, to: &Path) -> Result<(), DiskError> {
            read_only(to)
        }
        fn set_owner(&self, path: &Path, _: &Ownership) -> Result<(), DiskError> {
            read_only(path)
        }
        fn set_mtime(&self, path: &Path, _: i64) -> Result<(), DiskError> {
            read_only(path)
        }
        fn set_len(&self, path: &Path, _: u64) -> Result<(), DiskError> {
            read_only(path)
        }
        fn rename(&self, _: &Path, to: &Path) -> Result<(), DiskError> {
            read_only(to)
        }
        fn link(&self, _: &Path, to: &Path) -> Result<(), DiskError> {
            read_only(to)
        }
        fn remove(&self, path: &Path) -> Result<(), DiskError> {
            read_only(path)
        }
        fn remove_dir(&self, dir: &Path) -> Result<(), DiskError> {
            read_only(dir)
        }
        fn create_dir(&self, dir: &Path) -> Result<(), DiskError> {
            read_only(dir)
        }
        fn sync_file(&self, path: &Path) -> Result<(), DiskError> {
            read_only(path)
        }
        fn sync_dir(&self, dir: &Path) -> Result<(), DiskError> {
            read_only(dir)
        }
        fn sync_volume(&self, path: &Path) -> Result<(), DiskError> {
            read_only(path)
        }
    }

    #[test]
    fn a_log_in_trouble_is_left_alone_and_named_with_file_and_position() {
        for (trouble, texts) in [
            (Trouble::BadSector, ["at byte 4096", "os error 5"]),
            (Trouble::Vanished, ["cannot open", "00.log"]),
            (Trouble::Shrank, ["is shorter now", "00.log"]),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let partition = dir.path().join("t-0");
            std::fs::create_dir(&partition).unwrap();
            let log = std::fs::File::create(partition.join("00000000000000000000.log")).unwrap();
            log.set_len(100_000).unwrap();
            std::fs::write(partition.join("partition.metadata"), metadata()).unwrap();
            let log_dirs: Vec<PathBuf> = vec![dir.path().to_owned()];
            let mut spec = PlanSpec::new(
                log_dirs.clone(),
                KafkaVersion::NEWEST_KNOWN,
                Timestamp(1_796_033_700_000),
            );
            spec.hand_over = crate::plan::HandOver::Clean;
            let context = JobContext::new(&log_dirs, Box::new(|_| ()));
            let job = ScanJob {
                spec: &spec,
                context: &context,
                storage: &Troubled(trouble),
            };
            let plan = job.run().unwrap().plan;
            let dir_plan = &plan.log_dirs[0];
            assert_eq!(dir_plan.hand_over, crate::plan::HandOver::Verify);
            let log = &dir_plan.partitions[0];
            let Verdict::Unreadable { cause } = &log.verdict else {
                panic!("{:?}", log.verdict);
            };
            assert!(texts.iter().all(|text| cause.contains(text)), "{cause}");
            assert_eq!(log.steps, []);
            assert_eq!(log.findings[0].code, FindingCode::Unreadable);
        }
    }

    fn metadata() -> &'static str {
        "version: 0\ntopic_id: WJP-YmuvQ7ieid7KZyv-lA"
    }
}
