//! Copies by the processor, barriers, sequences, block transfers.

use std::ffi::c_void;

use super::{only, put, quick, reporting, silent};
use crate::constants as flag;
use crate::error::Error;
use crate::fault::Status;
use crate::handle::{self, Handle, Kind};
use crate::{dma, pio};

/// `sci_cb_block_transfer_t`
type BlockFunction = Option<unsafe extern "C" fn(*mut c_void, Handle, u32) -> i32>;

quick! {
    /// Into a map, or out of it with BLOCK_READ.
    fn SCIMemCpy(sequence: Handle, memory: *mut c_void, place: Handle, offset: usize, size: usize, flags: u32); {
        if flags != 0 {
            only(flags, flag::BLOCK_READ | flag::ERROR_CHECK)?;
        }
        if sequence != 0 {
            handle::find(sequence, Kind::Sequence)?;
        }
        // SAFETY: memory of the program.
        unsafe { pio::copy(memory.cast(), place, offset, size, flags) }
    }

    /// To an address inside of a map.
    fn SCIMemWrite(memory: *mut c_void, remote: *mut c_void, size: usize, flags: u32); {
        only(flags, 0)?;
        // SAFETY: both are the program's.
        unsafe { pio::write(memory.cast(), remote.cast(), size) }
    }

    /// Begins an interval in which errors are noticed.
    fn SCIStartSequence(sequence: Handle, flags: u32) -> u32, or Status::NotRetriable as u32; {
        only(flags, 0)?;
        Ok(pio::start(sequence)? as u32)
    }

    /// What has become of the interval's transfers; begins the next one.
    fn SCICheckSequence(sequence: Handle, flags: u32) -> u32, or Status::NotRetriable as u32; {
        only(flags, flag::NO_FLUSH | flag::NO_STORE_BARRIER)?;
        Ok(pio::check(sequence, flags)? as u32)
    }
}

reporting! {
    /// The same without a sequence; flushed at its end.
    fn SCIMemCopy(memory: *mut c_void, place: Handle, offset: u32, size: u32, flags: u32); {
        only(flags, flag::BLOCK_READ | flag::ERROR_CHECK)?;
        // SAFETY: memory of the program.
        unsafe { pio::copy(memory.cast(), place, offset as usize, size as usize, flags) }?;
        pio::barrier();
        Ok(())
    }

    /// From map to map; complete on return.
    fn SCITransferBlock(from: Handle, at: u32, to: Handle, there: u32, size: u32, flags: u32); {
        only(flags, flag::BLOCK_READ)?;
        pio::transfer((from, at as usize), (to, there as usize), size as usize)
    }

    /// The same by the thread for DMA.
    fn SCITransferBlockAsync(
        from: Handle, at: u32, to: Handle, there: u32, size: u32, block: *mut Handle, function: BlockFunction, argument: *mut c_void, flags: u32,
    ); {
        only(flags, flag::BLOCK_READ | flag::USE_CALLBACK)?;
        let argument = argument as usize;
        let callback = function.filter(|_| flags & flag::USE_CALLBACK != 0).map(|function| -> Box<dyn FnOnce(Handle, Error) -> bool + Send> {
            Box::new(move |handle, status| {
                // SAFETY: the program's function, with its own argument.
                unsafe { function(argument as *mut c_void, handle, status as u32) };
                true
            })
        });
        let handle = dma::transfer_block((from, at as usize), (to, there as usize), size as usize, callback)?;
        // SAFETY: the program's place for the handle.
        unsafe { put(block, handle) };
        Ok(())
    }

    /// Waits for its end, after which the handle names nothing.
    fn SCIWaitForBlockTransfer(block: Handle, timeout: u32, flags: u32); {
        only(flags, 0)?;
        dma::wait_for_block(block, timeout)
    }

    /// Ends it; an unknown part was copied.
    fn SCIAbortBlockTransfer(block: Handle, flags: u32); {
        only(flags, 0)?;
        dma::abort_block(block)
    }

    /// Begins to notice errors of transfers through this map.
    fn SCICreateMapSequence(place: Handle, sequence: *mut Handle, flags: u32); {
        only(flags, flag::FAST_BARRIER)?;
        let handle = pio::create_sequence(place)?;
        // SAFETY: the program's place for the handle.
        unsafe { put(sequence, handle) };
        Ok(())
    }

    /// Frees it.
    fn SCIRemoveSequence(sequence: Handle, flags: u32); {
        only(flags, 0)?;
        pio::remove_sequence(sequence)
    }

    /// Near maps are coherent: nothing to do. In timing mode stores leave, or loads show what is there.
    fn SCICacheSync(_place: Handle, _address: *mut c_void, _size: usize, flags: u32); {
        only(flags, flag::CACHE_FLUSH | flag::CACHE_INVALIDATE)?;
        pio::fetch();
        Ok(())
    }
}

silent! {
    /// All stores through the map before it are visible before any later one.
    fn SCIStoreBarrier(_sequence: Handle, _flags: u32) {
        pio::barrier();
    }

    /// Sends what the processor has gathered; without FLUSH_CPU_BUFFERS_ONLY a barrier as well.
    fn SCIFlush(_sequence: Handle, flags: u32) {
        pio::drain();
        if flags & flag::FLUSH_CPU_BUFFERS_ONLY == 0 {
            pio::barrier();
        }
    }

    /// Loads of near maps are never old: nothing to do. In timing mode they show what is there now.
    fn SCIFlushReadBuffers(_sequence: Handle) {
        pio::fetch();
    }
}
