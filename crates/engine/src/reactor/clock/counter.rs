//! The CPU's time stamp counter, and whether it may be trusted.
//!
//! It may where the CPU says that it is invariant (it ticks at one rate, also when the core's own
//! clock changes or stops), and where the kernel keeps its own time by it: the kernel watches it
//! against other clocks and over cores from the boot on, and drops it when it is found to be
//! wrong. What the kernel does not trust is not trusted here.

pub(super) use imp::{is_usable, read};

#[cfg(target_arch = "x86_64")]
mod imp {
    use std::arch::x86_64::{__cpuid, _rdtsc};

    /// Leaf of CPUID that tells the highest of the extended ones.
    const HIGHEST: u32 = 0x8000_0000;
    /// Leaf of CPUID on power management; bit 8 of EDX: the counter is invariant.
    const POWER: u32 = 0x8000_0007;

    pub(in super::super) fn is_usable() -> bool {
        const PATH: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        let is_invariant = || __cpuid(HIGHEST).eax >= POWER && __cpuid(POWER).edx & 1 << 8 != 0;
        std::fs::read_to_string(PATH).is_ok_and(|name| name.trim() == "tsc") && is_invariant()
    }

    /// The counter. Without a fence: it may be read some nanoseconds before or after its place in
    /// the program, and never on the other side of a system call.
    #[inline]
    pub(in super::super) fn read() -> u64 {
        // SAFETY: every x86_64 has the instruction. A process may be forbidden to use it
        // (PR_SET_TSC), but that breaks the vDSO of a kernel that keeps time by it too.
        unsafe { _rdtsc() }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod imp {
    pub(in super::super) fn is_usable() -> bool {
        false
    }

    pub(in super::super) fn read() -> u64 {
        0
    }
}
