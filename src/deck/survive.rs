//! Mail boxes in a job that goes on when nodes die (`gasnetrun_sci --survive`): who is dead ([`roll`]), what is done about it (`burial`),
//! and whose blocks a dead node had ([`holders`]).

mod burial;
pub mod holders;
pub mod roll;
