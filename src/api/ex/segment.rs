//! Segments and endpoints of GASNet-EX (contract: ex-core.md §8).

#![allow(unsafe_code)] // clients' pointers; exported names

use super::objects::{self, GASNETI_SCI_SEGMENT_MAGIC, gasneti_sci_segment_t};
use crate::job::Job;
use std::ptr::null_mut;

/// Makes the segment object of an attached job, and binds it to the first endpoint.
pub(in crate::api) fn bind_attached(job: &Job) -> *mut gasneti_sci_segment_t {
    let own = job.segments().map(|all| all[job.rank() as usize]).filter(|own| own.base != 0);
    let (Some(own), Ok(made)) = (own, objects::primordial()) else { return null_mut() };
    let segment = Box::into_raw(Box::new(gasneti_sci_segment_t {
        magic: GASNETI_SCI_SEGMENT_MAGIC,
        flags: 0,
        client: made.client,
        addr: own.base as *mut _,
        size: own.len,
        cdata: null_mut(),
    }));
    // SAFETY: made in init and never freed; one thread attaches.
    unsafe { (*made.ep).segment = segment };
    segment
}
