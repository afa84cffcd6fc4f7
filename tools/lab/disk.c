/* SPDX-License-Identifier: Apache-2.0
 *
 * A disk of known speed under the log files of one process (LD_PRELOAD).
 *
 * The real files lie on a fast disk. This library lets the calling thread wait as long as a slow one would take.
 *   cache   Each 4 KiB page of a file has a stamp: how many bytes had ever entered the cache when the page was last
 *           touched. A page is resident while fewer than cache_bytes have entered since.
 *   read    Missing pages occupy the disk for disk_seek_us (if the head is elsewhere) and their bytes, first come,
 *           first served. A miss behind a resident page is sequential and brings READAHEAD bytes; any other brings
 *           what was asked for.
 *   write   Pages become resident and dirty. Dirty bytes leave in the time that reads leave, and in a quarter of the
 *           time of reads, which makes those slower by as much. A writer sleeps while more than dirty_bytes are dirty,
 *           but only for every 32 KiB that its thread has written (Linux: balance_dirty_pages_ratelimited).
 *           fsync waits until what was dirty is written.
 * Not as Linux: no smooth throttling, no background write-out, no asynchronous readahead; write-back costs no seeks,
 * indexes are free (Kafka maps them), and each process has a cache of its own. What a file held before the process
 * started counts as resident: the machine lived on.
 *
 * In the folder DISK_FOLDER (none: no disk):
 *   disk.properties  lines NAME=VALUE of the settings below; a change counts within 0.1 s. A rate of 0 is no limit.
 *   data-1/          the disk: files below it that end in .log, or have .log. in them
 *   disk.tsv         waits of 1 ms and more: wall time in us, wait in us, call, thread, file, offset, bytes, missing
 *                    bytes, dirty bytes. Once a second: wall time, 0, SUM, bytes read, missed and written so far, dirty
 *                    bytes, the read queue in us.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

typedef int64_t i64;
enum { PAGE = 4096, PIECE = 65536, FILES = 4096, UNCHECKED = 32768, READAHEAD = 131072, LOG_MIN_US = 1000 };
enum { WRITE_SHARE = 250 };   /* of 1000: what reads leave to write-back, an estimate */

/* ---------------------------------------------------------------- settings */

static i64 disk_read_bytes_per_s, disk_write_bytes_per_s, disk_seek_us, cache_bytes, dirty_bytes;
static struct { const char *name; i64 *value; } settings[] = {
    {"disk_read_bytes_per_s", &disk_read_bytes_per_s}, {"disk_write_bytes_per_s", &disk_write_bytes_per_s},
    {"disk_seek_us", &disk_seek_us}, {"cache_bytes", &cache_bytes}, {"dirty_bytes", &dirty_bytes}};
enum { SETTINGS = sizeof settings / sizeof settings[0] };
static char prefix[PATH_MAX], control[PATH_MAX];
static struct timespec control_seen;
static FILE *events;

/* ---------------------------------------------------------------- state, under one mutex */

typedef struct { dev_t dev; ino_t ino; i64 pages; i64 *stamp; char name[80]; } File;   /* stamp 0: never read */
static File files[FILES];
static int file_count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static i64 byte_clock = PAGE, dirty, read_until, drained_at, looked_at, summed_at;
static i64 total_read, total_missed, total_written, fraction;
static __thread i64 unchecked;
static const File *head_file;
static i64 head_page;

static ssize_t (*real_read)(int, void *, size_t), (*real_write)(int, const void *, size_t);
static ssize_t (*real_pread)(int, void *, size_t, off64_t), (*real_pwrite)(int, const void *, size_t, off64_t);
static ssize_t (*real_writev)(int, const struct iovec *, int), (*real_sendfile)(int, int, off64_t *, size_t);
static int (*real_ftruncate)(int, off64_t), (*real_fsync)(int), (*real_fdatasync)(int);

static void start(void);
#define REAL(f) ((real_##f ? (void)0 : start()), real_##f)

static i64 now_us(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

static void sleep_until(i64 us) {
    struct timespec t = {us / 1000000, us % 1000000 * 1000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {}
}

static void set(const char *line) {
    for (int i = 0; i < SETTINGS; i++) {
        size_t n = strlen(settings[i].name);
        if (!strncmp(line, settings[i].name, n) && line[n] == '=') *settings[i].value = atoll(line + n + 1);
    }
}

static void read_control(i64 now) {
    struct stat s;
    if (now - looked_at < 100000) return;
    looked_at = now;
    if (stat(control, &s) || !memcmp(&s.st_mtim, &control_seen, sizeof control_seen)) return;
    control_seen = s.st_mtim;
    FILE *f = fopen(control, "r");
    char line[200];
    while (f && fgets(line, sizeof line, f)) set(line);
    if (f) fclose(f);
}

__attribute__((constructor)) static void start(void) {
    if (real_fdatasync) return;
    real_read = dlsym(RTLD_NEXT, "read");
    real_write = dlsym(RTLD_NEXT, "write");
    real_pread = dlsym(RTLD_NEXT, "pread64");
    real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    real_writev = dlsym(RTLD_NEXT, "writev");
    real_sendfile = dlsym(RTLD_NEXT, "sendfile64");
    real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    const char *folder = getenv("DISK_FOLDER");
    if (!folder) return;
    char log[PATH_MAX];
    snprintf(prefix, sizeof prefix, "%s/data-1/", folder);
    snprintf(control, sizeof control, "%s/disk.properties", folder);
    snprintf(log, sizeof log, "%s/disk.tsv", folder);
    events = fopen(log, "a");
    if (events) setvbuf(events, NULL, _IOLBF, 1 << 16);
    drained_at = now_us(CLOCK_MONOTONIC);
    read_control(drained_at);
}

/* ---------------------------------------------------------------- the disk */

/* Write back what can have been written since the last call. */
static void drain(i64 now) {
    i64 busy = read_until > drained_at ? (read_until < now ? read_until : now) - drained_at : 0;
    i64 free_us = now - drained_at - busy;
    drained_at = now;
    if (!disk_write_bytes_per_s) { dirty = 0; return; }
    fraction += (free_us * 1000 + busy * WRITE_SHARE) * (disk_write_bytes_per_s / 1000);   /* millionths of a byte */
    dirty -= fraction / 1000000;
    fraction %= 1000000;
    if (dirty < 0) dirty = 0;
}

static void note(const char *kind, const File *f, i64 offset, i64 bytes, i64 missing, i64 wait) {
    i64 wall = now_us(CLOCK_REALTIME);
    char thread[17] = "";
    if (!events) return;
    if (wait >= LOG_MIN_US) {
        prctl(PR_GET_NAME, thread);
        fprintf(events, "%lld\t%lld\t%s\t%s/%d\t%s\t%lld\t%lld\t%lld\t%lld\n", (long long)wall, (long long)wait, kind,
                thread, (int)gettid(), f->name, (long long)offset, (long long)bytes, (long long)missing,
                (long long)dirty);
    }
    if (wall - summed_at >= 1000000) {   /* once a second: wall time, 0, SUM, read, missed, written, dirty, queue */
        i64 queue = read_until - now_us(CLOCK_MONOTONIC);
        summed_at = wall;
        fprintf(events, "%lld\t0\tSUM\t%lld\t%lld\t%lld\t%lld\t%lld\n", (long long)wall, (long long)total_read,
                (long long)total_missed, (long long)total_written, (long long)dirty,
                (long long)(queue > 0 ? queue : 0));
    }
}

/* The file of a descriptor, if it is on the disk. Called with the mutex held. */
static File *file_of(int fd, const struct stat *s) {
    char link[40], path[PATH_MAX];
    for (int i = file_count - 1; i >= 0; i--)
        if (files[i].ino == s->st_ino && files[i].dev == s->st_dev) return &files[i];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 4 || file_count == FILES) return NULL;
    path[n] = 0;
    if (strncmp(path, prefix, strlen(prefix)) || (strcmp(path + n - 4, ".log") && !strstr(path, ".log."))) return NULL;
    File *f = &files[file_count++];
    f->dev = s->st_dev;
    f->ino = s->st_ino;
    const char *tail = path + n;   /* the name with its folder */
    for (int slashes = 0; tail > path && slashes < 2; tail--) slashes += tail[-1] == '/';
    snprintf(f->name, sizeof f->name, "%s", tail + (*tail == '/'));
    return f;
}

static void make_room(File *f, i64 pages) {
    if (pages <= f->pages) return;
    i64 more = pages + pages / 4 + 64;
    f->stamp = realloc(f->stamp, more * sizeof(i64));
    for (i64 p = f->pages; p < more; p++) f->stamp[p] = p < pages ? byte_clock : 0;
    f->pages = more;
}

static int resident(const File *f, i64 page) {
    return f->stamp[page] && (!cache_bytes || byte_clock - f->stamp[page] < cache_bytes);
}

static int is_regular(int fd, struct stat *s) {
    return prefix[0] && !fstat(fd, s) && S_ISREG(s->st_mode) && s->st_size >= 0;
}

/* Let the calling thread wait until [offset, offset + count) of a file is in the cache. */
static void before_read(int fd, i64 offset, i64 count, const char *kind) {
    struct stat s;
    if (!is_regular(fd, &s) || offset >= s.st_size || count <= 0) return;
    if (count > s.st_size - offset) count = s.st_size - offset;
    pthread_mutex_lock(&mutex);
    File *f = file_of(fd, &s);
    if (!f) { pthread_mutex_unlock(&mutex); return; }
    i64 now = now_us(CLOCK_MONOTONIC), missing = 0, seeks = 0, end = now;
    read_control(now);
    drain(now);
    i64 last = (s.st_size - 1) / PAGE, page = offset / PAGE, to = (offset + count - 1) / PAGE;
    make_room(f, last + 1);
    while (page <= to) {
        if (resident(f, page)) { f->stamp[page++] = byte_clock; continue; }
        i64 until = page > 0 && resident(f, page - 1) ? page + READAHEAD / PAGE - 1 : page;
        if (until < to) until = to;
        if (until > last) until = last;
        if (head_file != f || head_page != page) seeks++;
        for (; page <= until && !(page > to && resident(f, page)); page++, missing += PAGE) {
            byte_clock += PAGE;
            f->stamp[page] = byte_clock;
        }
        head_file = f;
        head_page = page;
    }
    total_read += count;
    if (missing && disk_read_bytes_per_s) {
        i64 cost = seeks * disk_seek_us + missing * 1000000 / disk_read_bytes_per_s;
        if (dirty) cost = cost * 1000 / (1000 - WRITE_SHARE);
        read_until = (read_until > now ? read_until : now) + cost;
        end = read_until;
    }
    total_missed += missing;
    note(kind, f, offset, count, missing, end - now);
    pthread_mutex_unlock(&mutex);
    if (end > now) sleep_until(end);
}

/* Let the calling thread wait until [offset, offset + count) may become dirty. */
static void before_write(int fd, i64 offset, i64 count) {
    struct stat s;
    if (count <= 0 || !is_regular(fd, &s)) return;
    pthread_mutex_lock(&mutex);
    File *f = file_of(fd, &s);
    if (!f) { pthread_mutex_unlock(&mutex); return; }
    i64 begin = now_us(CLOCK_MONOTONIC), now = begin;
    read_control(now);
    drain(now);
    unchecked += count;
    while (disk_write_bytes_per_s && dirty > dirty_bytes && unchecked >= UNCHECKED) {
        i64 wait = (dirty - dirty_bytes) * 1000000 / disk_write_bytes_per_s + 1000;
        if (wait > 100000) wait = 100000;
        pthread_mutex_unlock(&mutex);
        sleep_until(now + wait);
        pthread_mutex_lock(&mutex);
        now = now_us(CLOCK_MONOTONIC);
        read_control(now);
        drain(now);
    }
    if (unchecked >= UNCHECKED) unchecked = 0;
    dirty += count;
    total_written += count;
    if (offset < 0) offset = s.st_size;
    make_room(f, (offset + count) / PAGE + 1);
    byte_clock += count;
    for (i64 p = offset / PAGE; p <= (offset + count - 1) / PAGE; p++) f->stamp[p] = byte_clock;
    note("write", f, offset, count, 0, now - begin);
    pthread_mutex_unlock(&mutex);
}

/* Let the calling thread wait until what is dirty now is written. */
static void before_sync(int fd) {
    struct stat s;
    if (!is_regular(fd, &s)) return;
    pthread_mutex_lock(&mutex);
    File *f = file_of(fd, &s);
    if (f && disk_write_bytes_per_s) {
        i64 begin = now_us(CLOCK_MONOTONIC), now = begin;
        drain(now);
        i64 left = dirty, written = total_written;
        while (dirty > 0 && left > 0) {   /* what becomes dirty meanwhile is written behind it */
            i64 wait = left * 1000000 / disk_write_bytes_per_s + 1000;
            if (wait > 100000) wait = 100000;
            pthread_mutex_unlock(&mutex);
            sleep_until(now + wait);
            pthread_mutex_lock(&mutex);
            now = now_us(CLOCK_MONOTONIC);
            drain(now);
            left = dirty - (total_written - written);
        }
        note("fsync", f, 0, 0, 0, now - begin);
    }
    pthread_mutex_unlock(&mutex);
}

/* ---------------------------------------------------------------- what is intercepted */

static i64 here(int fd) { return prefix[0] ? lseek64(fd, 0, SEEK_CUR) : 0; }

ssize_t read(int fd, void *to, size_t n) {
    before_read(fd, here(fd), n, "read");
    return REAL(read)(fd, to, n);
}
ssize_t pread64(int fd, void *to, size_t n, off64_t at) {
    before_read(fd, at, n, "pread");
    return REAL(pread)(fd, to, n, at);
}
ssize_t pread(int fd, void *to, size_t n, off_t at) { return pread64(fd, to, n, at); }

ssize_t write(int fd, const void *from, size_t n) {
    before_write(fd, here(fd), n);
    return REAL(write)(fd, from, n);
}
ssize_t pwrite64(int fd, const void *from, size_t n, off64_t at) {
    before_write(fd, at, n);
    return REAL(pwrite)(fd, from, n, at);
}
ssize_t pwrite(int fd, const void *from, size_t n, off_t at) { return pwrite64(fd, from, n, at); }
int fsync(int fd) { before_sync(fd); return REAL(fsync)(fd); }
int fdatasync(int fd) { before_sync(fd); return REAL(fdatasync)(fd); }

ssize_t writev(int fd, const struct iovec *v, int n) {
    i64 bytes = 0;
    for (int i = 0; i < n; i++) bytes += v[i].iov_len;
    before_write(fd, here(fd), bytes);
    return REAL(writev)(fd, v, n);
}

/* Like Linux' splice: a piece of 64 KiB is read, then goes into the socket, until that is full. */
ssize_t sendfile64(int to, int fd, off64_t *at, size_t n) {
    struct stat s;
    if (!at || !is_regular(fd, &s)) return REAL(sendfile)(to, fd, at, n);
    ssize_t sent = 0;
    while (n > 0) {
        size_t piece = n < PIECE ? n : PIECE;
        before_read(fd, *at, piece, "sendfile");
        ssize_t one = REAL(sendfile)(to, fd, at, piece);
        if (one < 0) return sent ? sent : one;
        sent += one;
        n -= one;
        if ((size_t)one < piece) break;
    }
    return sent;
}
ssize_t sendfile(int to, int fd, off_t *at, size_t n) { return sendfile64(to, fd, at, n); }

int ftruncate64(int fd, off64_t size) {
    struct stat s;
    if (is_regular(fd, &s)) {
        pthread_mutex_lock(&mutex);
        File *f = file_of(fd, &s);
        for (i64 p = f ? (size + PAGE - 1) / PAGE : 0; f && p < f->pages; p++) f->stamp[p] = 0;
        pthread_mutex_unlock(&mutex);
    }
    return REAL(ftruncate)(fd, size);
}
int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }
