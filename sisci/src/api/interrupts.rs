//! Interrupts, with and without data.

use std::ffi::c_void;

use super::segments::CANCEL;
use super::{Later, only, only_or, put, quick, reporting};
use crate::constants as flag;
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::{interrupt, message};

/// `sci_cb_interrupt_t`
type Function = Option<unsafe extern "C" fn(*mut c_void, Handle, u32) -> u32>;
/// `sci_cb_data_interrupt_t`
type DataFunction = Option<unsafe extern "C" fn(*mut c_void, Handle, *mut c_void, u32, u32) -> u32>;

/// The number that the program wants, if it wants one.
///
/// # Safety
/// `number` is null or points to one.
unsafe fn wanted(number: *mut u32, flags: u32) -> Result<Option<u32>> {
    match flags & flag::FIXED_INTNO != 0 {
        false => Ok(None),
        true if number.is_null() => Err(Error::IllegalParameter),
        // SAFETY: the caller's.
        true => Ok(Some(unsafe { number.read() })),
    }
}

quick! {
    /// Triggers it. On one host it does not wait.
    fn SCITriggerInterrupt(place: Handle, flags: u32); {
        only(flags, 0)?;
        interrupt::trigger(place)
    }
}

reporting! {
    /// A number that peers can trigger.
    fn SCICreateInterrupt(
        descriptor: Handle, place: *mut Handle, adapter: u32, number: *mut u32, function: Function, argument: *mut c_void, flags: u32,
    ); {
        only(flags, flag::USE_CALLBACK | flag::FIXED_INTNO | flag::SHARED_INT | flag::COUNTING_INT)?;
        let later = Later::default();
        let (own, argument) = (later.clone(), argument as usize);
        let callback = function.filter(|_| flags & flag::USE_CALLBACK != 0).map(|function| -> interrupt::Callback {
            Box::new(move || {
                // SAFETY: the program's function, with its own argument.
                CANCEL != unsafe { function(argument as *mut c_void, *own.wait(), Error::Ok as u32) }
            })
        });
        // SAFETY: the program's number.
        let asked = unsafe { wanted(number, flags) }?;
        let (handle, given) = interrupt::create(descriptor, adapter, asked, flags, callback)?;
        // SAFETY: the program's places.
        unsafe { put(place, handle) };
        // SAFETY: as above.
        unsafe { put(number, given) };
        let _ = later.set(handle);
        Ok(())
    }

    /// Also while peers are connected: their triggers fail from then on.
    fn SCIRemoveInterrupt(place: Handle, flags: u32); {
        only(flags, 0)?;
        interrupt::remove(place)
    }

    /// Waits for a trigger; one that came before is remembered.
    fn SCIWaitForInterrupt(place: Handle, timeout: u32, flags: u32); {
        only(flags, 0)?;
        interrupt::wait(place, timeout)
    }

    /// Connects to a peer's interrupt. Does not wait until there is one.
    fn SCIConnectInterrupt(
        descriptor: Handle, place: *mut Handle, node: u32, adapter: u32, number: u32, timeout: u32, flags: u32,
    ); {
        only_or(flags, flag::COUNTING_INT, flag::SHARED_INT)?;
        let handle = interrupt::connect(descriptor, node, adapter, number, timeout)?;
        // SAFETY: the program's place for the handle.
        unsafe { put(place, handle) };
        Ok(())
    }

    /// Ends the connection.
    fn SCIDisconnectInterrupt(place: Handle, flags: u32); {
        only(flags, 0)?;
        interrupt::disconnect(place)
    }

    /// A number that peers can trigger with data.
    fn SCICreateDataInterrupt(
        descriptor: Handle, place: *mut Handle, adapter: u32, number: *mut u32, function: DataFunction, argument: *mut c_void, flags: u32,
    ); {
        only(flags, flag::USE_CALLBACK | flag::FIXED_INTNO | flag::BROADCAST)?;
        let later = Later::default();
        let (own, argument) = (later.clone(), argument as usize);
        let callback = function.filter(|_| flags & flag::USE_CALLBACK != 0).map(|function| -> message::Callback {
            Box::new(move |data: &mut [u8]| {
                let (argument, bytes) = (argument as *mut c_void, data.as_mut_ptr().cast());
                // SAFETY: the program's function, with its own argument. The data live until it returns.
                CANCEL != unsafe { function(argument, *own.wait(), bytes, data.len() as u32, Error::Ok as u32) }
            })
        });
        // SAFETY: the program's number.
        let asked = unsafe { wanted(number, flags) }?;
        let (handle, given) = message::create(descriptor, adapter, asked, callback)?;
        // SAFETY: the program's places.
        unsafe { put(place, handle) };
        // SAFETY: as above.
        unsafe { put(number, given) };
        let _ = later.set(handle);
        Ok(())
    }

    /// BUSY while its callback runs.
    fn SCIRemoveDataInterrupt(place: Handle, flags: u32); {
        only(flags, 0)?;
        message::remove(place)
    }

    /// Takes the oldest message. OUT_OF_RANGE if it is longer than the room for it: then it stays.
    fn SCIWaitForDataInterrupt(place: Handle, data: *mut c_void, length: *mut u32, timeout: u32, flags: u32); {
        only(flags, 0)?;
        if length.is_null() {
            return Err(Error::IllegalParameter);
        }
        // SAFETY: the program's number.
        let room = unsafe { length.read() } as usize;
        if data.is_null() && room > 0 {
            return Err(Error::IllegalParameter);
        }
        let mut none = [];
        // SAFETY: the program's room for the data.
        let room = if room == 0 { &mut none[..] } else { unsafe { std::slice::from_raw_parts_mut(data.cast::<u8>(), room) } };
        let bytes = message::wait(place, room, timeout)?;
        // SAFETY: as above.
        unsafe { length.write(bytes as u32) };
        Ok(())
    }

    /// Connects to a peer's interrupt with data. Does not wait until there is one.
    fn SCIConnectDataInterrupt(
        descriptor: Handle, place: *mut Handle, node: u32, adapter: u32, number: u32, timeout: u32, flags: u32,
    ); {
        only(flags, flag::BROADCAST)?;
        let handle = message::connect(descriptor, node, adapter, number, timeout)?;
        // SAFETY: the program's place for the handle.
        unsafe { put(place, handle) };
        Ok(())
    }

    /// Ends the connection. What was triggered before is still delivered.
    fn SCIDisconnectDataInterrupt(place: Handle, flags: u32); {
        only(flags, 0)?;
        message::disconnect(place)
    }

    /// Sends data to whom waits. They are copied before this returns.
    fn SCITriggerDataInterrupt(place: Handle, data: *const c_void, length: u32, flags: u32); {
        only(flags, flag::BROADCAST)?;
        if data.is_null() && length > 0 {
            return Err(Error::IllegalParameter);
        }
        // SAFETY: the program's data.
        let data = if length == 0 { &[][..] } else { unsafe { std::slice::from_raw_parts(data.cast::<u8>(), length as usize) } };
        message::trigger(place, data)
    }
}
