//! What comes over the channel between the launcher and an agent.

use crate::supervise::channel::{Frame, HEAD, LONGEST};

pub(super) fn run(mut bytes: &[u8]) {
    loop {
        match Frame::decode(bytes) {
            Ok(None) | Err(_) => break,
            Ok(Some((frame, len))) => {
                assert!((HEAD..=HEAD + LONGEST).contains(&len) && len <= bytes.len());
                // Texts that are no UTF-8 come back in other bytes, but say the same.
                let mut again = Vec::new();
                frame.encode(&mut again);
                assert_eq!(Frame::decode(&again), Ok(Some((frame, again.len()))));
                bytes = &bytes[len..];
            }
        }
    }
}
