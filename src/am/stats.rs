//! Counters of the engine, for the report at exit (GASNET_SCI_STATS).
//!
//! Must not know: what the numbers are good for.

use super::engine::Am;
use crate::sci::Adapter;
use crate::sync::Ordering;

impl<A: Adapter> Am<A> {
    /// Name and value of every counter. Exact when no other thread is in the engine, as at exit of a SEQ client. Polls that the
    /// header makes inline are not counted. `None` when a thread holds the inbox.
    pub fn counters(&self) -> Option<Vec<(&'static str, u64)>> {
        let sent: u64 = self.peers.all_known().map(|p| u64::from(p.direct.sent.load(Ordering::Relaxed))).sum(); // Relaxed: a report
        let medium = self.peers.all_known().filter_map(|p| p.outbox.try_with(|o| o.medium_bytes.get())).sum();
        let mut list = vec![
            ("requests sent", sent),
            ("messages to itself", self.loopback.count()),
            ("Medium request bytes", medium),
        ];
        self.inbox.try_with(|inbox| {
            let c = &inbox.counters;
            list.extend([
                ("requests run", c.requests.get()),
                ("replies sent", c.replied.get()),
                ("replies run", c.replies.get()),
                ("Medium reply bytes", c.reply_bytes.get()),
                ("credits returned", c.credits.get()),
                ("polls that found messages", c.polls_hit.get()),
                ("polls that found none", c.polls.get() - c.polls_hit.get()),
                ("looks at all ready counts", c.scans.get()),
            ]);
        })?;
        self.transfer.shared.try_with(|(_, c)| {
            list.extend([
                ("PIO bytes", c.pio.get()),
                ("DMA bytes", c.dma.get()),
                ("bounced bytes", c.bounced.get()),
                ("process_vm_writev bytes", c.cma.get()),
            ]);
        })?;
        Some(list)
    }
}
