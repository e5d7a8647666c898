/// Makes a crate a kernel: defines the exports of `t1`, the allocator and the panic handler on wasm32, and nothing
/// elsewhere.
///
/// The argument is a function that returns the [`Registry`](tarsia_codec::Registry) of the kernel's encodings. The
/// crate is `#![cfg_attr(target_arch = "wasm32", no_std)]` and a `cdylib`.
#[macro_export]
macro_rules! export_kernel {
    ($registry:path) => {
        #[cfg(target_arch = "wasm32")]
        mod tarsia_kernel_exports {
            use $crate::Guest;
            use $crate::entry::{self, Global};

            #[global_allocator]
            static ALLOCATOR: $crate::allocator::KernelAllocator =
                $crate::allocator::KernelAllocator;

            static GUEST: Global<Guest> = Global::new();

            #[panic_handler]
            fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
                core::arch::wasm32::unreachable()
            }

            fn with<R>(body: impl FnOnce(&mut Guest) -> R) -> R {
                // SAFETY: a kernel has one thread, and no export calls another.
                unsafe { GUEST.with(make, body) }
            }

            // One copy, not one per export.
            #[cold]
            #[inline(never)]
            fn make() -> Guest {
                Guest::new($registry())
            }

            #[unsafe(no_mangle)]
            extern "C" fn t1_abi() -> i32 {
                $crate::abi::MINOR
            }

            #[unsafe(no_mangle)]
            extern "C" fn t1_alloc(size: u32, align: u32) -> u32 {
                entry::alloc(size, align)
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn t1_free(address: u32, size: u32, align: u32) {
                // SAFETY: what the host promises by the interface (`docs/spec/kernel.md`, Ownership).
                unsafe { entry::free(address, size, align) }
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn t1_check(meta: u32, len: u32, out: u32) -> i32 {
                // SAFETY: what the host promises by the interface (`docs/spec/kernel.md`, Ownership).
                with(|guest| unsafe { entry::check(guest, meta, len, out) })
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn t1_init(request: u32, len: u32) -> i32 {
                // SAFETY: what the host promises by the interface (`docs/spec/kernel.md`, Ownership).
                with(|guest| unsafe { entry::init(guest, request, len) })
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn t1_decode(handle: i32, out: u32) -> i32 {
                // SAFETY: what the host promises by the interface (`docs/spec/kernel.md`, Ownership).
                with(|guest| unsafe { entry::decode(guest, handle, out) })
            }

            #[unsafe(no_mangle)]
            extern "C" fn t1_release(token: i32) -> i32 {
                with(|guest| guest.export_release(token))
            }

            #[unsafe(no_mangle)]
            extern "C" fn t1_close(handle: i32) -> i32 {
                with(|guest| guest.export_close(handle))
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn t1_error(out: u32) -> i32 {
                // SAFETY: what the host promises by the interface (`docs/spec/kernel.md`, Ownership).
                with(|guest| unsafe { entry::error(guest, out) })
            }
        }
    };
}
