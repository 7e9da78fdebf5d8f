//! Functions that need hardware: they exist, so that programs link, and say NOT_SUPPORTED.

use std::ffi::c_void;

use super::{reporting, silent};
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::trace::Show;

/// What all of them answer.
fn refuse<T>() -> Result<T> {
    Err(Error::NotSupported)
}

/// `sci_address_t`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Address {
    node: u16,
    high: u16,
    low: u32,
}

impl Show for Address {
    fn show(&self, _: &str, _: bool, line: &mut String) {
        line.push_str(&format!("{{{}, {:#x}, {:#x}}}", self.node, self.high, self.low));
    }
}

reporting! {
    /// Memory by its bus address.
    fn SCIAttachPhysicalMemory(_bus: u64, _address: *mut c_void, _number: u32, _size: usize, _segment: Handle, _flags: u32); refuse()
    /// An interrupt by name.
    fn SCICreateNamedInterrupt(
        _descriptor: Handle, _place: *mut Handle, _adapter: u32, _name: *const c_void, _function: *const c_void, _argument: *mut c_void, _flags: u32,
    ); refuse()
    /// An interrupt by a store.
    fn SCIRegisterInterruptFlag(
        _adapter: u32, _place: *mut Handle, _segment: Handle, _offset: u32, _function: *const c_void, _argument: *mut c_void, _flags: u32,
    ); refuse()
    /// An interrupt by a store.
    fn SCIEnableConditionalInterrupt(_place: Handle, _flags: u32); refuse()
    /// An interrupt by a store.
    fn SCIDisableConditionalInterrupt(_place: Handle, _flags: u32); refuse()
    /// An interrupt by a store.
    fn SCIGetConditionalInterruptTrigCounter(_place: Handle, _count: *mut u32, _flags: u32); refuse()
    /// A register of an adapter.
    fn SCIGetCSRRegister(_descriptor: Handle, _adapter: u32, _node: u32, _offset: u32, _flags: u32) -> u32, or 0; refuse()
    /// A register of an adapter.
    fn SCISetCSRRegister(_descriptor: Handle, _adapter: u32, _node: u32, _offset: u32, _value: u32, _flags: u32); refuse()
    /// A register of an adapter.
    fn SCIGetLocalCSR(_descriptor: Handle, _adapter: u32, _offset: u32, _flags: u32) -> u32, or 0; refuse()
    /// A register of an adapter.
    fn SCISetLocalCSR(_descriptor: Handle, _adapter: u32, _offset: u32, _value: u32, _flags: u32); refuse()
    /// Any address of the SCI network.
    fn SCIConnectSCISpace(_descriptor: Handle, _adapter: u32, _segment: *mut Handle, _address: Address, _size: u32, _flags: u32); refuse()
    /// DMA by bus addresses.
    fn SCIphDmaEnqueue(_queue: Handle, _size: u32, _bus: u64, _node: u32, _high: u32, _low: u32, _flags: u32); refuse()
    /// DMA by bus addresses.
    fn SCIphDmaStart(_queue: Handle, _function: *const c_void, _argument: *mut c_void, _flags: u32) -> u32, or 5; refuse()
    /// Devices that may reach segments.
    fn SCIRegisterPCIeRequester(_descriptor: Handle, _adapter: u32, _bus: u32, _function: u32, _flags: u32); refuse()
    /// Devices that may reach segments.
    fn SCIUnregisterPCIeRequester(_descriptor: Handle, _adapter: u32, _bus: u32, _function: u32, _flags: u32); refuse()
}

/// Functions for lending devices. Their parameters differ from release to release, so only the result is known: nothing is written.
macro_rules! devices {
    ($($name:ident)*) => {
        silent! {
            $(
                /// A device of another host.
                fn $name() -> u32 {
                    Error::NotSupported as u32
                }
            )*
        }
    };
}

devices! {
    SCIBorrowDevice SCIReturnDevice SCIReleaseExclusiveBorrow SCIGetDeviceList SCIGetFabricDeviceId SCIConnectDeviceMemory
    SCIConnectDeviceSegment SCIConnectDeviceSegmentPath SCICreateDeviceSegment SCIMapLocalSegmentForDevice SCIUnmapLocalSegmentForDevice
    SCIMapRemoteSegmentForDevice SCIUnmapRemoteSegmentForDevice
}
