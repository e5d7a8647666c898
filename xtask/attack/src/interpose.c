/* Makes a process die, or fail, at one of its writes to files. Loaded before the C library (LD_PRELOAD).
 *
 * TARSIA_ATTACK_AT     number of the call, counted from 1; calls on descriptors 0 to 2 do not count
 * TARSIA_ATTACK_HOW    kill: the process ends before the call; after: behind it; half: half of the bytes are written,
 *                      then it ends (of a sector's bytes or fewer: none); eio, enospc: the call fails; int, term: the process gets this signal
 * TARSIA_ATTACK_COUNT  a file that gets a byte for each call that was counted
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum how { NOTHING, KILL, AFTER, HALF, FAIL };

static long calls;

static void end(void) {
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;) pause();
}

/* What is to happen at this call; sets errno where it is to fail. */
static enum how next_call(void) {
    const char *at = getenv("TARSIA_ATTACK_AT"), *how = getenv("TARSIA_ATTACK_HOW");
    const char *count = getenv("TARSIA_ATTACK_COUNT");
    long number = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
    if (count != NULL) {
        int fd = (int)syscall(SYS_openat, AT_FDCWD, count, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (fd >= 0) {
            syscall(SYS_write, fd, ".", 1);
            syscall(SYS_close, fd);
        }
    }
    if (at == NULL || how == NULL || number != atol(at)) return NOTHING;
    if (strcmp(how, "kill") == 0) return KILL;
    if (strcmp(how, "after") == 0) return AFTER;
    if (strcmp(how, "half") == 0) return HALF;
    if (strcmp(how, "eio") == 0) { errno = EIO; return FAIL; }
    if (strcmp(how, "enospc") == 0) { errno = ENOSPC; return FAIL; }
    if (strcmp(how, "int") == 0) syscall(SYS_kill, getpid(), SIGINT);
    if (strcmp(how, "term") == 0) syscall(SYS_kill, getpid(), SIGTERM);
    return NOTHING;
}

#define REAL(name, type) \
    static __typeof__(type) real; \
    if (real == NULL) real = (__typeof__(type))dlsym(RTLD_NEXT, name)

/* A call without bytes. */
#define GUARDED(call) \
    enum how how = next_call(); \
    if (how == KILL || how == HALF) end(); \
    if (how == FAIL) return -1; \
    int result = (call); \
    if (how == AFTER) end(); \
    return result

/* A call that writes `n` bytes; `part(k)` writes `k` of them. */
#define WRITING(part) \
    if (fd <= 2) return part(n); \
    enum how how = next_call(); \
    if (how == KILL) end(); \
    if (how == FAIL) return -1; \
    if (how == HALF) { if (n > 512) part(n / 2); end(); } \
    ssize_t result = part(n); \
    if (how == AFTER) end(); \
    return result

ssize_t write(int fd, const void *bytes, size_t n) {
    REAL("write", ssize_t (*)(int, const void *, size_t));
#define PART(k) real(fd, bytes, (k))
    WRITING(PART);
#undef PART
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at) {
    REAL("pwrite", ssize_t (*)(int, const void *, size_t, off_t));
#define PART(k) real(fd, bytes, (k), at)
    WRITING(PART);
#undef PART
}

ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at) {
    REAL("pwrite64", ssize_t (*)(int, const void *, size_t, off64_t));
#define PART(k) real(fd, bytes, (k), at)
    WRITING(PART);
#undef PART
}

int ftruncate(int fd, off_t length) {
    REAL("ftruncate", int (*)(int, off_t));
    GUARDED(real(fd, length));
}

int ftruncate64(int fd, off64_t length) {
    REAL("ftruncate64", int (*)(int, off64_t));
    GUARDED(real(fd, length));
}

int fsync(int fd) {
    REAL("fsync", int (*)(int));
    GUARDED(real(fd));
}

int fdatasync(int fd) {
    REAL("fdatasync", int (*)(int));
    GUARDED(real(fd));
}

int rename(const char *from, const char *to) {
    REAL("rename", int (*)(const char *, const char *));
    GUARDED(real(from, to));
}

int renameat(int from_fd, const char *from, int to_fd, const char *to) {
    REAL("renameat", int (*)(int, const char *, int, const char *));
    GUARDED(real(from_fd, from, to_fd, to));
}

int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned int flags) {
    REAL("renameat2", int (*)(int, const char *, int, const char *, unsigned int));
    GUARDED(real(from_fd, from, to_fd, to, flags));
}
