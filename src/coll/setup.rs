//! What a client declares before its first collective (`gasnet_coll_init`): the images of each node, and the
//! functions of reductions.
//!
//! Must not know: algorithms.

#![allow(unsafe_code)] // locks that are branches where one thread calls

use super::combine::Function;
use super::engine::{Coll, IMAGE};
use super::images::ImageQueue;
use super::team::{Images, all_nodes};
use crate::base::error::{Error, bad_arg};
use crate::sci::Mapped;
use crate::sync::Ordering;

impl<A: Mapped> Coll<A> {
    /// `gasnet_coll_init`. `counts` has the number of images of each node and is equal everywhere; `None`: one each.
    /// Every thread that takes part calls it with its image.
    pub fn init(&'static self, counts: Option<&[u32]>, image: u32, functions: &[(Function, u32)]) -> Result<(), Error> {
        let several = counts.filter(|counts| counts.iter().any(|n| *n != 1));
        let me = self.am.me() as usize;
        let Some(counts) = several else {
            {
                let mut declared = self.declared.lock();
                if declared.threads > 0 {
                    return bad_arg(format_args!("gasnet_coll_init was called before"));
                }
                declared.threads = 1;
                declared.functions = functions.to_vec();
            }
            self.meet();
            return Ok(());
        };
        if !self.threaded {
            return bad_arg(format_args!("several images on a node need GASNET_PAR"));
        }
        if counts.contains(&0) {
            return bad_arg(format_args!("a node without images"));
        }
        let starts: Box<[u32]> = std::iter::once(0)
            .chain(counts.iter().scan(0u32, |sum, n| {
                *sum += n;
                Some(*sum)
            }))
            .collect();
        if !(starts[me]..starts[me + 1]).contains(&image) {
            let (first, end) = (starts[me], starts[me + 1]);
            return bad_arg(format_args!("image {image} is not this node's: it has {first} to {}", end - 1));
        }
        if IMAGE.replace(image + 1) != 0 {
            return bad_arg(format_args!("gasnet_coll_init was called before by this thread"));
        }
        let last = {
            let mut declared = self.declared.lock();
            match &declared.images {
                Some(before) if *before != starts => {
                    return bad_arg(format_args!("threads of this node give different numbers of images"));
                }
                _ => declared.images = Some(starts.clone()),
            }
            declared.functions = functions.to_vec();
            declared.threads += 1;
            declared.threads == counts[me]
        };
        if last {
            // SAFETY: the caller of `Coll::new` promised what `ModeLock::new` asks for.
            let team = unsafe {
                all_nodes(
                    &self.region,
                    &self.reach,
                    self.area,
                    1,
                    (self.threaded, self.debug),
                    self.am.me(),
                    Images::Many(starts),
                )
            };
            // SAFETY: the caller of `Coll::new` promised what `ModeLock::new` asks for.
            let queue = unsafe { ImageQueue::new(self.threaded) };
            let _ = self.by_image.set((Box::leak(Box::new(team)), queue));
            self.meet();
            // ORDERING: Release ↔ Acquire below: the other threads of the node see the team.
            self.ready.store(1, Ordering::Release);
        }
        let mut failed = 0;
        // ORDERING: Acquire ↔ Release above: this thread sees the team.
        while self.ready.load(Ordering::Acquire) == 0 {
            failed = self.am.wait_step(failed);
        }
        Ok(())
    }
}
