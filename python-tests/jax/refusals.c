/* Loaded before the C library: refuses what a test says, as a system does that has none left. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>

/* What is refused while it is not 0. */
volatile int refuse_threads, refuse_memfd, refuse_code, refuse_memory;
/* The least size of a block that the C library refuses; 0 for none. */
volatile size_t refuse_blocks;
/* What /proc/meminfo says instead; empty for what it says. */
char told_memory[4096];
/* How often something was refused. */
volatile int refused;

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);

static int refuse(int error) {
    __atomic_add_fetch(&refused, 1, __ATOMIC_RELAXED);
    errno = error;
    return error;
}

/* Whether code of the plugin calls. A client's own threads are none of its business: LLVM in jaxlib
   ends the process where it gets none. */
static int is_ours(const void *caller) {
    Dl_info found;
    return dladdr(caller, &found) && found.dli_fname && strstr(found.dli_fname, "tpu_emu");
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument) {
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
        (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(
            RTLD_NEXT, "pthread_create");
    int ours = refuse_threads && is_ours(__builtin_return_address(0));
    return ours ? refuse(EAGAIN) : real(thread, attributes, start, argument);
}

int memfd_create(const char *name, unsigned flags) {
    int (*real)(const char *, unsigned) =
        (int (*)(const char *, unsigned))dlsym(RTLD_NEXT, "memfd_create");
    return refuse_memfd ? (refuse(ENOSYS), -1) : real(name, flags);
}

/* Memory for arrays at a place that was reserved for it. */
static int is_refused_memory(int access, int kind) {
    return refuse_memory && (access & PROT_WRITE) && (kind & MAP_ANONYMOUS) &&
           (kind & (MAP_FIXED | MAP_FIXED_NOREPLACE));
}

/* The plugin maps the devices' memory past `mmap`. */
long syscall(long number, ...) {
    long (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    va_list rest;
    va_start(rest, number);
    long given[6];
    for (int at = 0; at < 6; at++)
        given[at] = va_arg(rest, long);
    va_end(rest);
    if (number == SYS_mmap && is_refused_memory((int)given[2], (int)given[3])) {
        refuse(ENOMEM);
        return -1;
    }
    return real(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}

void *mmap(void *at, size_t length, int access, int kind, int file, off_t offset) {
    void *(*real)(void *, size_t, int, int, int, off_t) =
        (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
    int code = refuse_code && (access & PROT_EXEC) && (kind & MAP_SHARED);
    if (code || is_refused_memory(access, kind)) {
        refuse(code ? EPERM : ENOMEM);
        return MAP_FAILED;
    }
    return real(at, length, access, kind, file, offset);
}

void *mmap64(void *at, size_t length, int access, int kind, int file, off_t offset) {
    return mmap(at, length, access, kind, file, offset);
}

void *malloc(size_t size) {
    return refuse_blocks && size >= refuse_blocks ? (refuse(ENOMEM), NULL) : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    return refuse_blocks && count * size >= refuse_blocks ? (refuse(ENOMEM), NULL)
                                                          : __libc_calloc(count, size);
}

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open64");
    if (told_memory[0] && strcmp(path, "/proc/meminfo") == 0) {
        refuse(0);
        path = told_memory;
    }
    return real(path, flags, mode);
}
