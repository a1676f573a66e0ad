//! Makes the kernel refuse two system calls in the sandbox. Sockets to the host of a virtual machine (`AF_VSOCK`) cross
//! every namespace. io_uring could create such a socket without the socket call.
//!
//! The filter is a classic BPF program for x86-64 and 64-bit ARM, including their 32-bit calls. It has no effect on
//! other machines.

const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const IF_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;

/// The offsets in the kernel's data: the number of the call, its architecture, and the low half of its first argument.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const FIRST_ARGUMENT: u32 = 16;

const AF_VSOCK: u32 = 40;
const IO_URING_SETUP: u32 = 425;
/// The mask without the bit that marks calls with 32-bit pointers (x32) on x86-64.
const WITHOUT_X32: u32 = !0x4000_0000;
const ALLOW: u32 = 0x7fff_0000;
const REFUSE: u32 = 0x0005_0000 | 1;

/// The calls of an architecture: its socket call, and the call that hides the socket's family from a filter, if one
/// exists.
struct Calls {
    architecture: u32,
    socket: u32,
    hidden: u32,
}

/// A number that no system call has.
const NONE: u32 = u32::MAX;

#[cfg(target_arch = "x86_64")]
const CALLS: [Calls; 2] = [
    Calls { architecture: 0xc000_003e, socket: 41, hidden: NONE },
    Calls { architecture: 0x4000_0003, socket: 359, hidden: 102 },
];
#[cfg(target_arch = "aarch64")]
const CALLS: [Calls; 2] = [
    Calls { architecture: 0xc000_00b7, socket: 198, hidden: NONE },
    Calls { architecture: 0x4000_0028, socket: 281, hidden: 102 },
];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const CALLS: [Calls; 0] = [];

/// Returns the program in the format of the kernel.
pub(super) fn program() -> Vec<u8> {
    let mut steps: Vec<(u16, u8, u8, u32)> = Vec::new();
    for Calls { architecture, socket, hidden } in CALLS {
        // The two middle numbers are the instructions to skip if the values are equal, and if they are not.
        steps.extend([
            (LOAD, 0, 0, ARCHITECTURE),
            (IF_EQUAL, 0, 9, architecture),
            (LOAD, 0, 0, NUMBER),
            (AND, 0, 0, WITHOUT_X32),
            (IF_EQUAL, 5, 0, IO_URING_SETUP),
            (IF_EQUAL, 4, 0, hidden),
            (IF_EQUAL, 0, 2, socket),
            (LOAD, 0, 0, FIRST_ARGUMENT),
            (IF_EQUAL, 1, 0, AF_VSOCK),
            (RETURN, 0, 0, ALLOW),
            (RETURN, 0, 0, REFUSE),
        ]);
    }
    steps.push((RETURN, 0, 0, ALLOW));
    let bytes = |(code, equal, other, value): (u16, u8, u8, u32)| {
        [&code.to_ne_bytes()[..], &[equal, other], &value.to_ne_bytes()].concat()
    };
    steps.into_iter().flat_map(bytes).collect()
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// Returns the verdict of the program on a call, as the kernel would.
    fn verdict(architecture: u32, number: u32, first_argument: u32) -> u32 {
        let steps: Vec<[u8; 8]> = program().chunks(8).map(|step| step.try_into().unwrap()).collect();
        let mut at = 0;
        let mut loaded = 0;
        loop {
            let [a, b, equal, other, value @ ..] = steps[at];
            let value = u32::from_ne_bytes(value);
            at += 1;
            match u16::from_ne_bytes([a, b]) {
                LOAD => loaded = [number, architecture, 0, 0, first_argument][value as usize / 4],
                AND => loaded &= value,
                IF_EQUAL => at += usize::from(if loaded == value { equal } else { other }),
                _ => return value,
            }
        }
    }

    #[test]
    fn sockets_to_the_host_of_a_machine_and_io_uring_are_refused() {
        const NATIVE: u32 = 0xc000_003e;
        const OF_32_BITS: u32 = 0x4000_0003;
        for (architecture, number, argument, expected) in [
            (NATIVE, 41, AF_VSOCK, REFUSE),
            (NATIVE, 0x4000_0000 | 41, AF_VSOCK, REFUSE),
            (NATIVE, 41, 2, ALLOW),
            (NATIVE, 42, AF_VSOCK, ALLOW),
            (NATIVE, 359, AF_VSOCK, ALLOW),
            (NATIVE, 102, 1, ALLOW),
            (NATIVE, IO_URING_SETUP, 1, REFUSE),
            (OF_32_BITS, 359, AF_VSOCK, REFUSE),
            (OF_32_BITS, 359, 1, ALLOW),
            (OF_32_BITS, 102, 1, REFUSE),
            (OF_32_BITS, 41, AF_VSOCK, ALLOW),
            (OF_32_BITS, IO_URING_SETUP, 1, REFUSE),
            (1, 41, AF_VSOCK, ALLOW),
        ] {
            assert_eq!(verdict(architecture, number, argument), expected, "{architecture:x} {number} {argument}");
        }
        assert_eq!(REFUSE & 0xffff_0000, 0x0005_0000, "an error, EPERM");
    }
}
