//! Tests of the engine with several nodes in one process, over the heap adapter.
