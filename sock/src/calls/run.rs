//! Other programs, stdio, and calls by number: what goes past the library, and so steps down first.

use super::descriptors::let_go;
use crate::{fds, real, step};
use libc::{c_char, c_int, c_void, pid_t};

type Texts = *const *const c_char;

fn environment() -> Texts {
    unsafe extern "C" {
        static environ: Texts;
    }
    // SAFETY: libc's own; who changes it meanwhile must not call exec.
    unsafe { environ }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execve(path: *const c_char, argv: Texts, envp: Texts) -> c_int {
    step::inherited();
    // SAFETY: the program's own.
    unsafe { real::execve(path, argv, envp) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execv(path: *const c_char, argv: Texts) -> c_int {
    // SAFETY: the program's own.
    unsafe { execve(path, argv, environment()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execvpe(path: *const c_char, argv: Texts, envp: Texts) -> c_int {
    step::inherited();
    // SAFETY: the program's own.
    unsafe { real::execvpe(path, argv, envp) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execvp(path: *const c_char, argv: Texts) -> c_int {
    // SAFETY: the program's own.
    unsafe { execvpe(path, argv, environment()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fexecve(fd: c_int, argv: Texts, envp: Texts) -> c_int {
    step::inherited();
    // SAFETY: the program's own.
    unsafe { real::fexecve(fd, argv, envp) }
}

/// The environment that follows the texts of `execle`.
///
/// # Safety
/// A null ends the texts; the environment stands behind it.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
unsafe extern "C" fn execle_array(path: *const c_char, argv: Texts) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let mut end = argv;
        while !(*end).is_null() {
            end = end.add(1);
        }
        execve(path, argv, *end.add(1).cast())
    }
}

/// Five arguments are in registers, the others on the stack behind the return address, which is moved below them.
#[cfg(target_arch = "x86_64")]
macro_rules! with_a_row {
    ($array:path) => {
        std::arch::naked_asm!(
            "pop r11", "push r9", "push r8", "push rcx", "push rdx", "push rsi", "mov rsi, rsp", "push r11", "call {}",
            "pop r11", "add rsp, 40", "push r11", "ret", sym $array
        )
    };
}

/// Seven arguments are in registers, the others on the stack, right above the place where the registers are stored. It stays aligned to 16 bytes.
#[cfg(target_arch = "aarch64")]
macro_rules! with_a_row {
    ($array:path) => {
        std::arch::naked_asm!(
            "sub sp, sp, #64", "str x30, [sp]", "stp x1, x2, [sp, #8]", "stp x3, x4, [sp, #24]", "stp x5, x6, [sp, #40]",
            "str x7, [sp, #56]", "add x1, sp, #8", "bl {}", "ldr x30, [sp]", "add sp, sp, #64", "ret", sym $array
        )
    };
}

/// A function with a list of arguments puts them in a row on the stack, and calls one that takes an array.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! listed {
    ($($name:ident => $array:path;)*) => { $(
        // SAFETY: see `with_a_row`.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() -> c_int {
            with_a_row!($array)
        }
    )* };
}

// Elsewhere these are libc's, which does not tell this library that another program takes over.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
listed! {
    execl => execv;
    execlp => execvp;
    execle => execle_array;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_spawn(
    pid: *mut pid_t,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    argv: Texts,
    envp: Texts,
) -> c_int {
    step::inherited();
    // SAFETY: the program's own.
    unsafe { real::posix_spawn(pid, path, actions, attributes, argv, envp) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_spawnp(
    pid: *mut pid_t,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    argv: Texts,
    envp: Texts,
) -> c_int {
    step::inherited();
    // SAFETY: the program's own.
    unsafe { real::posix_spawnp(pid, path, actions, attributes, argv, envp) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_spawn_file_actions_adddup2(actions: *mut c_void, fd: c_int, to: c_int) -> c_int {
    step::descriptor(fd, "another program gets a copy");
    // SAFETY: the program's own.
    unsafe { real::posix_spawn_file_actions_adddup2(actions, fd, to) }
}

// The child of a real vfork would change this process's table of descriptors.
#[unsafe(no_mangle)]
unsafe extern "C" fn vfork() -> pid_t {
    // SAFETY: as fork.
    unsafe { libc::fork() }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fdopen(fd: c_int, mode: *const c_char) -> *mut c_void {
    step::descriptor(fd, "stdio");
    let_go(fd);
    // SAFETY: the program's own.
    unsafe { real::fdopen(fd, mode) }
}

unsafe extern "C" {
    fn read(fd: c_int, to: usize, len: usize) -> isize;
    fn write(fd: c_int, from: usize, len: usize) -> isize;
    fn readv(fd: c_int, iov: usize, count: c_int) -> isize;
    fn writev(fd: c_int, iov: usize, count: c_int) -> isize;
    fn recvfrom(fd: c_int, to: usize, len: usize, flags: c_int, addr: usize, alen: usize) -> isize;
    fn sendto(fd: c_int, from: usize, len: usize, flags: c_int, addr: usize, alen: u32) -> isize;
    fn recvmsg(fd: c_int, msg: usize, flags: c_int) -> isize;
    fn sendmsg(fd: c_int, msg: usize, flags: c_int) -> isize;
    fn shutdown(fd: c_int, how: c_int) -> c_int;
    fn close(fd: c_int) -> c_int;
    fn dup(fd: c_int) -> c_int;
    #[cfg(target_arch = "x86_64")]
    fn dup2(fd: c_int, to: c_int) -> c_int;
    fn dup3(fd: c_int, to: c_int, flags: c_int) -> c_int;
    fn fcntl(fd: c_int, cmd: c_int, arg: usize) -> c_int;
}

// Its arguments are read whether there are so many or not, as libc does.
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(n: i64, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> i64 {
    let fd = a as c_int;
    // SAFETY: the program's own, each as the kernel takes them.
    unsafe {
        if fds::kind(fd) == fds::FOREIGN {
            return real::syscall(n, a, b, c, d, e, f);
        }
        match n {
            libc::SYS_read => read(fd, b, c) as i64,
            libc::SYS_write => write(fd, b, c) as i64,
            libc::SYS_readv => readv(fd, b, c as c_int) as i64,
            libc::SYS_writev => writev(fd, b, c as c_int) as i64,
            libc::SYS_recvfrom => recvfrom(fd, b, c, d as c_int, e, f) as i64,
            libc::SYS_sendto => sendto(fd, b, c, d as c_int, e, f as u32) as i64,
            libc::SYS_recvmsg => recvmsg(fd, b, c as c_int) as i64,
            libc::SYS_sendmsg => sendmsg(fd, b, c as c_int) as i64,
            libc::SYS_shutdown => shutdown(fd, b as c_int) as i64,
            libc::SYS_close => close(fd) as i64,
            libc::SYS_dup => dup(fd) as i64,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_dup2 => dup2(fd, b as c_int) as i64,
            libc::SYS_dup3 => dup3(fd, b as c_int, c as c_int) as i64,
            libc::SYS_fcntl => fcntl(fd, b as c_int, c) as i64,
            _ => real::syscall(n, a, b, c, d, e, f),
        }
    }
}
