//! The operating system: system calls, control groups, processors, the host's name. It knows no protocol and no job.
//!
//! Every other folder may use this one; it uses `sync` only.

pub mod cgroup;
pub mod cpus;
pub mod event;
pub mod family;
pub mod host;
pub mod last_thread;
pub mod layout;
pub mod levels;
pub mod limit;
pub mod lock;
pub mod machine;
pub mod namespace;
pub mod net;
pub mod own_threads;
pub mod poller;
pub mod signal;
pub mod signal_stack;
pub mod signame;
pub mod spare_heap;
pub mod stay;
pub mod sys;
pub mod tcp;
pub mod thread_end;
pub mod timer;
pub mod topology;
pub mod udp;
pub mod whole;
