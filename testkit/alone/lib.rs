//! The modules of the protocol, at the places where they are in the library. Nothing else is here, so they use nothing else.

#![allow(dead_code)] // what only other modules use

#[path = "../../src/sci"]
pub mod sci {
    #[cfg(test)]
    pub(crate) mod random;

    pub mod far {
        pub mod seal;

        pub mod tcp {
            pub mod chunk;
        }

        pub mod udp {
            pub mod burst;
            pub mod datagram;
            pub mod guard;
            pub mod head;
            pub mod inbox;
            pub mod mode;
            pub mod outbox;
            pub mod pace;
            pub(crate) mod packet;
            pub mod pipe;
            pub mod size;
            mod spread;
            #[cfg(test)]
            mod tests;
        }
    }
}
