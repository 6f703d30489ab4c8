/*
 * A simulated power cut, as a preload library.
 *
 * `kill -9` says almost nothing about durability, because the kernel keeps the page cache. This library keeps, beside the
 * files under SH_ROOT, a second tree under SH_SHADOW that holds only the bytes that a successful fsync or fdatasync covered.
 * After a kill, the shadow is the disk that a power cut would have left. Build: cc -O2 -shared -fPIC -pthread shadow.c
 *
 * Theory of operation
 *
 * Dirty pages.  Each written file under SH_ROOT has a bitmap, one bit a 4 KiB page, in SH_SHADOW/.powercut, mapped and shared.
 * It is kept by inode and outlives the process: after a plain kill -9 the page cache still holds bytes that no sync has covered,
 * and the next process's fsync makes them durable, so it must find them marked. Marking too much is always sound, since a sync
 * copies what the file holds now; marking too little would invent a loss. Hence a write marks before and after: before, so that
 * a kill between the write and the mark hides nothing; after, so that a sync that ran in between does not swallow the mark.
 *
 * Nothing torn.  A sync must reach the shadow wholly or not at all, wherever a SIGKILL falls. The kernel lives on, so program
 * order is kept and no checksum is needed:
 *   1. the dirty pages go from `dirty` to `copying` and are read into the file's journal (the bytes of the moment when the
 *      call began: later ones stay marked for the next sync);
 *   2. the real sync; if it fails, nothing counts and the pages stay in `copying`, which the next sync takes along;
 *   3. one aligned 8-byte write sets the journal's mark: from here on the sync is in the shadow;
 *   4. the pages are applied to the shadow file, `copying` is cleared, the mark is cleared.
 * A kill before 3 leaves the sync out, a kill after 3 is finished from the journal, by the next sync of that file or by
 * settle_shadow() in disk.py, which reads the same layout. A file that the shadow cannot be patched for (first seen,
 * truncated by open, replaced, mapped writable, beyond 32 GiB) is copied whole into a side file and renamed into place.
 *
 * No fd of the real file is ever opened and closed here when it can be helped: closing any fd of a file drops all POSIX locks
 * that the process holds on it, SQLite's among them. Bytes are read through the caller's own fd; only for a write-only one
 * is a second fd opened, and it is kept open.
 *
 * Limits: calls through libc's symbols only (no stdio streams, io_uring, or static binaries); rename, unlink and link count as
 * durable at once; sync(), syncfs(), msync(), O_SYNC and RWF_DSYNC count as nothing; a failed fsync keeps its pages for the next.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#if __SIZEOF_LONG__ != 8 || !defined(__linux__)
#error "shadow.c is written for 64-bit Linux"
#endif

#define EXPORT __attribute__((visibility("default")))
#define PAGE 4096L
#define WORDS 131072L                 /* 64 pages a word: files up to 32 GiB are tracked by page */
#define SLOTS 65536UL                 /* written inodes that one process may see */
#define BUFFER 65536L
#define MARK 0x7368616477206f6bUL     /* "this journal holds a whole sync" */
#define BODY 8192L                    /* journal: mark, head and name, then from here the runs of pages */
#define ALIVE_FD 800                  /* kept out of the way of programs that expect low numbers */
#define KEPT_FDS 256

typedef _Atomic uint64_t word;

struct track {                        /* <dev>-<ino>.dirty; all zero means: nothing known, copy the file */
  word pair;                          /* inode of the shadow file that this file's pages can be patched into; 0: none */
  word mapped;                        /* written through memory that we cannot see: each sync copies the file */
  word upset;                         /* counts what makes the pair void, so that a copy under way notices */
  char unused[PAGE - 24];
  word dirty[WORDS];
  word copying[WORDS];
};

struct head { uint64_t size, shadow_inode, runs, bytes; };   /* journal, from byte 8; the name follows at byte 64 */
struct run { uint64_t offset, length; };                     /* then its bytes */

struct counts { word loads, writes, syncs, pages, wholes; };

struct slot { word key; _Atomic(struct track *) track; };

static struct slot slots[SLOTS];
static struct counts nowhere, *counts = &nowhere;
static char root[PATH_MAX], shadow[PATH_MAX], state[PATH_MAX + 16];
static size_t root_length;
static int on;
static int kept_fds[KEPT_FDS];
static word kept_next;
static _Atomic long writes_to_live;   /* 0: as long as you like */
static struct track outside;          /* its address stands for "not under SH_ROOT" */

/* ---- the kernel, past our own interposed names ---- */

static int k_open(const char *p, int f, int m) { return (int)syscall(SYS_openat, AT_FDCWD, p, f, m); }
static int k_close(int fd) { return (int)syscall(SYS_close, fd); }
static ssize_t k_pread(int fd, void *b, size_t n, off_t o) { return syscall(SYS_pread64, fd, b, n, o); }
static ssize_t k_pwrite(int fd, const void *b, size_t n, off_t o) { return syscall(SYS_pwrite64, fd, b, n, o); }
static int k_ftruncate(int fd, off_t n) { return (int)syscall(SYS_ftruncate, fd, n); }
static int k_rename(const char *a, const char *b, unsigned f) { return (int)syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, f); }
static int k_unlink(const char *p, int f) { return (int)syscall(SYS_unlinkat, AT_FDCWD, p, f); }
static int k_link(const char *a, const char *b) { return (int)syscall(SYS_linkat, AT_FDCWD, a, AT_FDCWD, b, 0); }
static int k_mkdir(const char *p) { return (int)syscall(SYS_mkdirat, AT_FDCWD, p, 0700); }
static void *k_mmap(void *a, size_t n, int p, int f, int fd, off_t o) { return (void *)syscall(SYS_mmap, a, n, p, f, fd, o); }

static void broken(const char *what) {             /* a shim that goes on half blind would lie: stop loudly */
  char text[PATH_MAX + 128];
  int n = snprintf(text, sizeof text, "powercut: %s: %s\n", what, strerror(errno));
  if (syscall(SYS_write, 2, text, n) < 0) { }
  _exit(99);
}

/* ---- names ---- */

static int ends_with(const char *p, const char *tail) {
  size_t n = strlen(p), t = strlen(tail);
  return n >= t && !memcmp(p + n - t, tail, t);
}

static int shadow_of(const char *path, char *out) {           /* path under SH_ROOT -> path under SH_SHADOW */
  if (!on || strncmp(path, root, root_length) || path[root_length] != '/') return 0;
  if (ends_with(path, "-shm")) return 0;                      /* SQLite's shared index: rebuilt at every first opening */
  return snprintf(out, PATH_MAX, "%s%s", shadow, path + root_length) < PATH_MAX;
}

static int name_of(int fd, char *path) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, path, PATH_MAX - 1);
  if (n <= 0) return 0;
  path[n] = 0;
  return !ends_with(path, " (deleted)");
}

static int canonical(int at, const char *path, char *out) {   /* the entry itself is not followed: it is what changes */
  char whole[2 * PATH_MAX], folder[PATH_MAX];
  if (*path == '/' ) snprintf(whole, sizeof whole, "%s", path);
  else if (at == AT_FDCWD) snprintf(whole, sizeof whole, "./%s", path);
  else { if (!name_of(at, folder)) return 0; snprintf(whole, sizeof whole, "%s/%s", folder, path); }
  size_t n = strlen(whole);
  while (n > 1 && whole[n - 1] == '/') whole[--n] = 0;
  char *slash = strrchr(whole, '/');
  const char *last = slash + 1;
  if (slash == whole) folder[0] = 0;
  else { *slash = 0; if (!realpath(whole, folder)) return 0; }
  return snprintf(out, PATH_MAX, "%s/%s", strcmp(folder, "/") ? folder : "", last) < PATH_MAX;
}

static void make_folders(const char *path) {                  /* those above the last slash */
  char copy[PATH_MAX];
  snprintf(copy, sizeof copy, "%s", path);
  for (char *c = copy + 1; *c; c++) if (*c == '/') { *c = 0; k_mkdir(copy); *c = '/'; }
}

static void state_name(char *out, const struct stat *st, const char *kind) {
  snprintf(out, PATH_MAX + 64, "%s/%lx-%lx.%s", state, (long)st->st_dev, (long)st->st_ino, kind);
}

/* ---- which file is tracked ---- */

static struct track *map_track(const struct stat *st) {
  char name[PATH_MAX + 64];
  state_name(name, st, "dirty");
  int fd = k_open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || k_ftruncate(fd, sizeof(struct track))) broken(name);
  struct track *t = k_mmap(0, sizeof *t, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (t == MAP_FAILED) broken(name);
  k_close(fd);
  return t;
}

static struct slot *slot_of(const struct stat *st) {
  uint64_t key = (uint64_t)st->st_ino * 0x9e3779b97f4a7c15UL ^ (uint64_t)st->st_dev << 1 ^ 1;
  for (uint64_t i = 0; i < SLOTS; i++) {
    struct slot *s = &slots[((key >> 20) + i) & (SLOTS - 1)];
    uint64_t found = atomic_load(&s->key);
    if (found == key) return s;
    if (!found && (atomic_compare_exchange_strong(&s->key, &found, key) || found == key)) return s;
  }
  errno = ENOSPC;
  broken("more files written than it can follow");
  return 0;
}

static struct track *place(struct slot *s, struct track *mine, struct track *expected) {   /* two threads may come at once */
  struct track *old = expected;
  if (atomic_compare_exchange_strong(&s->track, &old, mine)) return mine;
  if (mine != &outside) munmap(mine, sizeof *mine);
  return old;
}

static struct track *track_at(int fd, const struct stat *st) {                 /* 0: not ours */
  struct slot *s = slot_of(st);
  struct track *t = atomic_load(&s->track);
  if (!t) {
    char path[PATH_MAX], target[PATH_MAX];
    int ours = name_of(fd, path) && shadow_of(path, target);
    t = place(s, ours ? map_track(st) : &outside, 0);
  }
  return t == &outside ? 0 : t;
}

static struct track *track_for_certain(const struct stat *st) {   /* the name says ours; an inode once outside may be reused */
  struct slot *s = slot_of(st);
  struct track *t = atomic_load(&s->track);
  if (t && t != &outside) return t;
  struct track *mine = map_track(st);
  if (t) atomic_store(&mine->pair, 0);                            /* taken for outside: what was written is not marked */
  return place(s, mine, t);
}

static struct track *track_of(int fd, struct stat *st) {
  if (!on || fstat(fd, st) || !S_ISREG(st->st_mode)) return 0;
  return track_at(fd, st);
}

/* ---- marking ---- */

static void upset(struct track *t) { atomic_fetch_add(&t->upset, 1); atomic_store(&t->pair, 0); }

static void mark(struct track *t, off_t from, off_t to) {
  if (to <= from) return;
  uint64_t first = from / PAGE, last = (to - 1) / PAGE;
  if (last >= WORDS * 64) { atomic_store(&t->mapped, 1); upset(t); return; }
  for (uint64_t w = first / 64; w <= last / 64; w++) {
    uint64_t bits = ~0UL;
    if (w == first / 64) bits &= ~0UL << (first % 64);
    if (w == last / 64) bits &= ~0UL >> (63 - last % 64);
    if ((atomic_load(&t->dirty[w]) & bits) != bits) atomic_fetch_or(&t->dirty[w], bits);
  }
}

/* ---- syncing ---- */

static int readable(int fd) {                      /* the caller's fd, or for a write-only one a second that stays open */
  int flags = (int)syscall(SYS_fcntl, fd, F_GETFL);
  if ((flags & O_ACCMODE) != O_WRONLY) return fd;
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  int again = k_open(link, O_RDONLY | O_CLOEXEC, 0);
  if (again < 0) broken(link);
  uint64_t at = atomic_fetch_add(&kept_next, 1) % KEPT_FDS;
  if (kept_fds[at]) k_close(kept_fds[at]);
  kept_fds[at] = again;
  return again;
}

static void die_halfway(int fd, const void *bytes, size_t n, off_t at) {      /* for our own tests: SH_DIE_AT=n */
  if (atomic_fetch_sub(&writes_to_live, 1) != 1) return;
  if (k_pwrite(fd, bytes, n > 8 ? n / 2 : 0, at) < 0) { }   /* the kernel itself never tears the eight bytes of a mark */
  syscall(SYS_kill, getpid(), SIGKILL);
}

static void put(int fd, const void *bytes, size_t n, off_t at) {
  if (atomic_load(&writes_to_live) > 0 ) die_halfway(fd, bytes, n, at);
  for (const char *b = bytes; n; ) {
    ssize_t k = k_pwrite(fd, b, n, at);
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) broken("writing the shadow");
    b += k; n -= k; at += k;
  }
}

static void copy_range(int from, off_t here, int to, off_t there, off_t n) {    /* what is missing at the end reads as zeros */
  char buffer[BUFFER] __attribute__((aligned(4096)));
  while (n > 0) {
    size_t want = n < BUFFER ? n : BUFFER;
    ssize_t k = k_pread(from, buffer, want, here);
    if (k < 0 && errno == EINTR) continue;
    if (k < 0) broken("reading what was synced");
    if (k == 0) { memset(buffer, 0, want); k = want; }                          /* cut shorter while we read */
    put(to, buffer, k, there);
    here += k; there += k; n -= k;
  }
}

static void apply(int journal, const struct head *h, int target) {
  off_t at = BODY;
  for (uint64_t i = 0; i < h->runs; i++) {
    struct run r;
    if (k_pread(journal, &r, sizeof r, at) != sizeof r) broken("reading a journal");
    at += sizeof r;
    copy_range(journal, at, target, r.offset, r.length);
    at += r.length;
  }
  if (k_ftruncate(target, h->size)) broken("sizing the shadow");
}

static void set_mark(int journal, uint64_t value) { put(journal, &value, sizeof value, 0); }

static void finish_old(int journal) {              /* a sync whose process was killed in step 4 */
  uint64_t value = 0;
  struct head h;
  char name[PATH_MAX] = "", path[2 * PATH_MAX];
  if (k_pread(journal, &value, 8, 0) != 8 || value != MARK) return;
  if (k_pread(journal, &h, sizeof h, 8) != sizeof h || k_pread(journal, name, sizeof name - 1, 64) < 1) broken("reading a journal");
  snprintf(path, sizeof path, "%s/%s", shadow, name);
  int target = k_open(path, O_RDWR | O_CLOEXEC, 0);
  struct stat st;
  if (target >= 0 && !fstat(target, &st) && st.st_ino == h.shadow_inode) apply(journal, &h, target);
  if (target >= 0) k_close(target);
  set_mark(journal, 0);
}

static uint64_t words_of(off_t size) { uint64_t n = (size + 64 * PAGE - 1) / (64 * PAGE); return n < WORDS ? n : WORDS; }

static void collect(struct track *t, int from, int journal, const struct stat *st, struct head *h) {   /* step 1 */
  off_t at = BODY, start = -1;
  uint64_t pages = (st->st_size + PAGE - 1) / PAGE, words = words_of(st->st_size);
  h->size = st->st_size; h->runs = 0; h->bytes = 0;
  for (uint64_t w = 0; w < words; w++) {
    uint64_t taken = atomic_load(&t->dirty[w]);
    if (taken) { atomic_fetch_or(&t->copying[w], taken); atomic_fetch_and(&t->dirty[w], ~taken); }
  }
  for (uint64_t p = 0; p <= pages; p++) {
    if (p < pages && p % 64 == 0 && start < 0 && !atomic_load(&t->copying[p / 64])) { p += 63; if (p > pages) p = pages - 1; continue; }
    int set = p < pages && (atomic_load(&t->copying[p / 64]) >> (p % 64) & 1);
    if (set && start < 0) start = p;
    if (!set && start >= 0) {
      off_t offset = start * PAGE, end = (off_t)p * PAGE < st->st_size ? (off_t)p * PAGE : st->st_size;
      struct run r = { offset, end - offset };
      put(journal, &r, sizeof r, at);
      copy_range(from, offset, journal, at + sizeof r, r.length);
      at += sizeof r + r.length;
      h->runs++; h->bytes += r.length;
      start = -1;
    }
  }
}

static int sync_pages(struct track *t, int fd, int kind, int journal, const struct stat *st, const char *path, int target) {
  struct head h;
  struct stat old;
  if (fstat(target, &old)) broken("looking at the shadow");
  h.shadow_inode = old.st_ino;
  collect(t, readable(fd), journal, st, &h);
  put(journal, &h, sizeof h, 8);
  const char *name = path + root_length + 1;
  put(journal, name, strlen(name) + 1, 64);
  if (syscall(kind, fd)) return -1;
  set_mark(journal, MARK);
  apply(journal, &h, target);
  uint64_t words = words_of(st->st_size);
  for (uint64_t w = 0; w < words; w++) if (atomic_load(&t->copying[w])) atomic_store(&t->copying[w], 0);
  set_mark(journal, 0);
  if (h.bytes > 8L << 20) k_ftruncate(journal, 0);                              /* one large sync must not hold the space */
  atomic_fetch_add(&counts->pages, h.bytes / PAGE);
  return 0;
}

static int copy_whole(int from, const struct stat *st, const char *side, const char *target, struct stat *made) {
  int to = k_open(side, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (to < 0) broken(side);
  copy_range(from, 0, to, 0, st->st_size);
  syscall(SYS_fchmod, to, st->st_mode & 0777);
  if (fstat(to, made)) broken(side);
  make_folders(target);
  return to;
}

static int sync_whole(struct track *t, int fd, int kind, const struct stat *st, const char *target) {
  char side[PATH_MAX + 64];
  struct stat made;
  uint64_t before = atomic_load(&t->upset);
  atomic_store(&t->pair, 0);                       /* until the end a kill leaves it so: the next sync copies again */
  uint64_t words = words_of(st->st_size);
  for (uint64_t w = 0; w < words; w++) { atomic_store(&t->dirty[w], 0); atomic_store(&t->copying[w], 0); }
  state_name(side, st, "copy");
  int to = copy_whole(readable(fd), st, side, target, &made);
  k_close(to);
  if (syscall(kind, fd)) { k_unlink(side, 0); return -1; }
  if (k_rename(side, target, 0)) broken(target);
  atomic_store(&t->pair, made.st_ino);
  if (atomic_load(&t->upset) != before) atomic_store(&t->pair, 0);
  atomic_fetch_add(&counts->wholes, 1);
  return 0;
}

static int patchable(struct track *t, const struct stat *st, const char *target, int *fd) {
  struct stat old;
  uint64_t pair = atomic_load(&t->pair);
  *fd = -1;
  if (!pair || atomic_load(&t->mapped) || st->st_size > WORDS * 64 * PAGE) return 0;
  *fd = k_open(target, O_RDWR | O_CLOEXEC, 0);
  if (*fd >= 0 && !fstat(*fd, &old) && old.st_ino == pair) return 1;
  if (*fd >= 0) k_close(*fd);
  return 0;
}

static int sync_file(int fd, int kind, const char *path, const char *target) {
  char name[PATH_MAX + 64];
  struct stat st;
  if (fstat(fd, &st)) return -1;
  struct track *t = track_for_certain(&st);
  state_name(name, &st, "journal");
  int journal = k_open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600), patch, result, error;
  if (journal < 0) broken(name);
  while (flock(journal, LOCK_EX)) if (errno != EINTR) broken(name);             /* among threads and processes; dies with us */
  finish_old(journal);
  if (fstat(fd, &st)) broken(path);
  if (patchable(t, &st, target, &patch)) {
    result = sync_pages(t, fd, kind, journal, &st, path, patch);
    error = errno;
    k_close(patch);
  } else { result = sync_whole(t, fd, kind, &st, target); error = errno; }
  flock(journal, LOCK_UN);                         /* said aloud: a child forked meanwhile holds this fd too */
  k_close(journal);
  if (!result) atomic_fetch_add(&counts->syncs, 1);
  errno = error;
  return result;
}

static int synced(int fd, int kind) {
  char path[PATH_MAX], target[PATH_MAX];
  struct stat st;
  int error = errno, result;
  if (!on || fstat(fd, &st) || !name_of(fd, path) || !shadow_of(path, target)) { errno = error; return (int)syscall(kind, fd); }
  if (S_ISREG(st.st_mode)) result = sync_file(fd, kind, path, target);
  else {
    result = (int)syscall(kind, fd);
    if (!result && S_ISDIR(st.st_mode)) { make_folders(target); k_mkdir(target); }
  }
  if (!result) errno = error;
  return result;
}

EXPORT int fsync(int fd) { return synced(fd, SYS_fsync); }
EXPORT int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }

/* ---- writing at a known place ---- */

static size_t total(const struct iovec *v, int n) { size_t s = 0; for (int i = 0; i < n; i++) s += v[i].iov_len; return s; }

static ssize_t placed(int fd, off_t at, size_t n, long call, const void *bytes, long count, long flags) {
  struct stat st;
  int error = errno;
  struct track *t = track_of(fd, &st);
  if (t) { mark(t, at, at + n); atomic_fetch_add_explicit(&counts->writes, 1, memory_order_relaxed); }
  errno = error;
  ssize_t done = call == SYS_pwrite64 ? syscall(call, fd, bytes, n, at) : syscall(call, fd, bytes, count, at, 0L, flags);
  if (t) mark(t, at, at + n);
  return done;
}

EXPORT ssize_t pwrite(int fd, const void *b, size_t n, off_t at) { return placed(fd, at, n, SYS_pwrite64, b, 0, 0); }
EXPORT ssize_t pwrite64(int fd, const void *b, size_t n, off64_t at) { return placed(fd, at, n, SYS_pwrite64, b, 0, 0); }
EXPORT ssize_t pwritev(int fd, const struct iovec *v, int n, off_t at) { return placed(fd, at, total(v, n), SYS_pwritev, v, n, 0); }
EXPORT ssize_t pwritev64(int fd, const struct iovec *v, int n, off64_t at) { return placed(fd, at, total(v, n), SYS_pwritev, v, n, 0); }

/* ---- writing at the fd's own place: mark from where it stood, or the end, to where it stands after ---- */

struct moving { struct track *track; off_t from; };

static struct moving moving_begin(int fd, size_t n) {
  struct stat st;
  struct moving m = { 0, 0 };
  int error = errno;
  m.track = track_of(fd, &st);
  if (m.track) {
    m.from = syscall(SYS_lseek, fd, 0L, SEEK_CUR);
    if (syscall(SYS_fcntl, fd, F_GETFL) & O_APPEND || m.from < 0) m.from = st.st_size;
    mark(m.track, m.from, m.from + n);
    atomic_fetch_add_explicit(&counts->writes, 1, memory_order_relaxed);
  }
  errno = error;
  return m;
}

static ssize_t moving_end(struct moving m, int fd, ssize_t done) {
  int error = errno;
  if (m.track && done > 0) mark(m.track, m.from, syscall(SYS_lseek, fd, 0L, SEEK_CUR));
  errno = error;
  return done;
}

EXPORT ssize_t write(int fd, const void *b, size_t n) {
  struct moving m = moving_begin(fd, n);
  return moving_end(m, fd, syscall(SYS_write, fd, b, n));
}
EXPORT ssize_t writev(int fd, const struct iovec *v, int n) {
  struct moving m = moving_begin(fd, total(v, n));
  return moving_end(m, fd, syscall(SYS_writev, fd, v, n));
}
static ssize_t two(int fd, const struct iovec *v, int n, off_t at, int flags) {
  if (at != -1) return placed(fd, at, total(v, n), SYS_pwritev2, v, n, flags);
  struct moving m = moving_begin(fd, total(v, n));
  return moving_end(m, fd, syscall(SYS_pwritev2, fd, v, n, -1L, 0L, flags));
}
EXPORT ssize_t pwritev2(int fd, const struct iovec *v, int n, off_t at, int flags) { return two(fd, v, n, at, flags); }
EXPORT ssize_t pwritev64v2(int fd, const struct iovec *v, int n, off64_t at, int flags) { return two(fd, v, n, at, flags); }

static ssize_t sent(int to, int from, off_t *at, size_t n) {
  struct moving m = moving_begin(to, n);
  return moving_end(m, to, syscall(SYS_sendfile, to, from, at, n));
}
EXPORT ssize_t sendfile(int to, int from, off_t *at, size_t n) { return sent(to, from, at, n); }
EXPORT ssize_t sendfile64(int to, int from, off64_t *at, size_t n) { return sent(to, from, at, n); }

EXPORT ssize_t copy_file_range(int from, off64_t *here, int to, off64_t *there, size_t n, unsigned flags) {
  off_t at = there ? *there : 0;
  struct stat st;
  struct moving m = { 0, 0 };
  struct track *t = 0;
  if (there) { int error = errno; t = track_of(to, &st); errno = error; if (t) mark(t, at, at + n); }
  else m = moving_begin(to, n);
  ssize_t done = syscall(SYS_copy_file_range, from, here, to, there, n, flags);
  if (t) mark(t, at, at + n);
  return moving_end(m, to, done);
}

/* ---- sizes ---- */

static int sized(int fd, off_t size) {
  struct stat st;
  int error = errno;
  struct track *t = track_of(fd, &st);
  off_t low = t && st.st_size < size ? st.st_size : size, high = t && st.st_size > size ? st.st_size : size;
  if (t) mark(t, low, high);
  errno = error;
  int result = k_ftruncate(fd, size);
  if (t) mark(t, low, high);
  return result;
}
EXPORT int ftruncate(int fd, off_t size) { return sized(fd, size); }
EXPORT int ftruncate64(int fd, off64_t size) { return sized(fd, size); }

static void upset_path(const char *path) {
  char at[PATH_MAX], target[PATH_MAX];
  struct stat st;
  int error = errno;
  if (on && realpath(path, at) && shadow_of(at, target) && !stat(at, &st) && S_ISREG(st.st_mode)) upset(track_for_certain(&st));
  errno = error;
}
static int cut_by_name(const char *path, off_t size) {
  upset_path(path);
  int result = (int)syscall(SYS_truncate, path, size);
  upset_path(path);
  return result;
}
EXPORT int truncate(const char *path, off_t size) { return cut_by_name(path, size); }
EXPORT int truncate64(const char *path, off64_t size) { return cut_by_name(path, size); }

static int reserved(int fd, int mode, off_t at, off_t n) {        /* punching, zeroing or moving ranges: marked to the end */
  struct stat st;
  int error = errno;
  struct track *t = track_of(fd, &st);
  off_t end = t && mode && st.st_size > at + n ? st.st_size : at + n;
  if (t) mark(t, at, end);
  errno = error;
  int result = (int)syscall(SYS_fallocate, fd, mode, at, n);
  if (t) mark(t, at, end);
  return result;
}
static int reserved_or_error(int fd, off_t at, off_t n) {
  int error = errno, result = reserved(fd, 0, at, n) ? errno : 0;
  errno = error;
  return result;
}
EXPORT int fallocate(int fd, int mode, off_t at, off_t n) { return reserved(fd, mode, at, n); }
EXPORT int fallocate64(int fd, int mode, off64_t at, off64_t n) { return reserved(fd, mode, at, n); }
EXPORT int posix_fallocate(int fd, off_t at, off_t n) { return reserved_or_error(fd, at, n); }
EXPORT int posix_fallocate64(int fd, off64_t at, off64_t n) { return reserved_or_error(fd, at, n); }

static int opened(int at, const char *path, int flags, int mode) {
  int fd = (int)syscall(SYS_openat, at, path, flags, mode), error = errno;
  struct stat st;
  if (fd >= 0 && flags & O_TRUNC && on) {
    struct track *t = track_of(fd, &st);
    if (t) upset(t);                               /* the old length, and with it what is now void, is no longer known */
  }
  errno = error;
  return fd;
}
#define MODE(last) int mode = 0; if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) { va_list l; va_start(l, last); mode = va_arg(l, int); va_end(l); }
EXPORT int open(const char *path, int flags, ...) { MODE(flags) return opened(AT_FDCWD, path, flags, mode); }
EXPORT int open64(const char *path, int flags, ...) { MODE(flags) return opened(AT_FDCWD, path, flags, mode); }
EXPORT int openat(int at, const char *path, int flags, ...) { MODE(flags) return opened(at, path, flags, mode); }
EXPORT int openat64(int at, const char *path, int flags, ...) { MODE(flags) return opened(at, path, flags, mode); }
EXPORT int creat(const char *path, mode_t mode) { return opened(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
EXPORT int creat64(const char *path, mode_t mode) { return opened(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

static void *mapped(void *a, size_t n, int prot, int flags, int fd, off_t at) {
  int error = errno;
  struct stat st;
  if (on && fd >= 0 && (flags & MAP_TYPE) != MAP_PRIVATE && prot & PROT_WRITE) {
    struct track *t = track_of(fd, &st);
    if (t) { atomic_store(&t->mapped, 1); upset(t); }
  }
  errno = error;
  return k_mmap(a, n, prot, flags, fd, at);
}
EXPORT void *mmap(void *a, size_t n, int prot, int flags, int fd, off_t at) { return mapped(a, n, prot, flags, fd, at); }
EXPORT void *mmap64(void *a, size_t n, int prot, int flags, int fd, off64_t at) { return mapped(a, n, prot, flags, fd, at); }

/* ---- names: durable at once, which is kinder than most disks ---- */

static void put_empty(const char *target) {        /* a name whose bytes were never synced: after the cut the file is there, empty */
  char side[PATH_MAX + 64];
  snprintf(side, sizeof side, "%s/%ld.empty", state, (long)syscall(SYS_gettid));
  int fd = k_open(side, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) broken(side);
  k_close(fd);
  make_folders(target);
  if (k_rename(side, target, 0)) broken(target);
}

static void bring_in(const char *path, const char *target) {      /* from outside SH_ROOT, where nothing is known: taken as synced */
  char side[PATH_MAX + 64];
  struct stat st, made;
  int from = k_open(path, O_RDONLY | O_CLOEXEC, 0);
  if (from < 0) return;
  if (!fstat(from, &st) && S_ISREG(st.st_mode)) {
    atomic_store(&track_for_certain(&st)->pair, 0);
    state_name(side, &st, "copy");
    k_close(copy_whole(from, &st, side, target, &made));
    if (k_rename(side, target, 0)) broken(target);
  }
  k_close(from);
}

static void named_again(const char *a, const char *b, int moved, unsigned flags) {
  char s[PATH_MAX], d[PATH_MAX];
  struct stat st;
  int from = shadow_of(a, s), to = shadow_of(b, d);
  if (from && !to && moved) k_unlink(s, 0);
  if (!to) return;
  if (!from) { bring_in(b, d); return; }
  make_folders(d);
  if (!(moved ? k_rename(s, d, flags) : k_link(s, d)) || errno != ENOENT) return;
  if (stat(b, &st)) return;
  if (S_ISDIR(st.st_mode)) k_mkdir(d);
  else if (S_ISREG(st.st_mode)) put_empty(d);
}

static int renamed(int at, const char *a, int bt, const char *b, unsigned flags) {
  char A[PATH_MAX], B[PATH_MAX];
  int before = errno, known = on && canonical(at, a, A) && canonical(bt, b, B);
  errno = before;
  int result = (int)syscall(SYS_renameat2, at, a, bt, b, flags), error = errno;
  if (!result && known && strcmp(A, B)) named_again(A, B, 1, flags);
  errno = error;
  return result;
}
EXPORT int rename(const char *a, const char *b) { return renamed(AT_FDCWD, a, AT_FDCWD, b, 0); }
EXPORT int renameat(int at, const char *a, int bt, const char *b) { return renamed(at, a, bt, b, 0); }
EXPORT int renameat2(int at, const char *a, int bt, const char *b, unsigned flags) { return renamed(at, a, bt, b, flags); }

static int linked(int at, const char *a, int bt, const char *b, int flags) {
  char A[PATH_MAX], B[PATH_MAX];
  int result = (int)syscall(SYS_linkat, at, a, bt, b, flags), error = errno;
  if (!result && on && canonical(at, a, A) && canonical(bt, b, B)) named_again(A, B, 0, 0);
  errno = error;
  return result;
}
EXPORT int link(const char *a, const char *b) { return linked(AT_FDCWD, a, AT_FDCWD, b, 0); }
EXPORT int linkat(int at, const char *a, int bt, const char *b, int flags) { return linked(at, a, bt, b, flags); }

static int removed(int at, const char *path, int flags) {
  char A[PATH_MAX], s[PATH_MAX];
  int result = (int)syscall(SYS_unlinkat, at, path, flags), error = errno;
  if (!result && on && canonical(at, path, A) && shadow_of(A, s)) k_unlink(s, flags & AT_REMOVEDIR);
  errno = error;
  return result;
}
EXPORT int unlink(const char *path) { return removed(AT_FDCWD, path, 0); }
EXPORT int unlinkat(int at, const char *path, int flags) { return removed(at, path, flags); }
EXPORT int rmdir(const char *path) { return removed(AT_FDCWD, path, AT_REMOVEDIR); }
EXPORT int remove(const char *path) {
  struct stat st;
  return removed(AT_FDCWD, path, !lstat(path, &st) && S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0);
}

/* ---- start ---- */

static void stay_alive(void) {                     /* a shared lock for as long as the process lives: restart_on() looks for it */
  char name[PATH_MAX + 64];
  snprintf(name, sizeof name, "%s/alive", state);
  int low = k_open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (low < 0) broken(name);
  int fd = (int)syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, ALIVE_FD);
  if (fd >= 0) k_close(low); else fd = low;
  while (flock(fd, LOCK_SH)) if (errno != EINTR) broken(name);
}

__attribute__((constructor)) static void start(void) {
  const char *r = getenv("SH_ROOT"), *s = getenv("SH_SHADOW");
  char name[PATH_MAX + 64];
  int error = errno;
  if (!r || !s || !*r || !*s) return;
  if (!realpath(r, root)) broken(r);
  if (!realpath(s, shadow)) broken(s);
  root_length = strlen(root);
  snprintf(state, sizeof state, "%s/.powercut", shadow);
  k_mkdir(state);
  stay_alive();
  snprintf(name, sizeof name, "%s/counts", state);
  int fd = k_open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || k_ftruncate(fd, PAGE)) broken(name);
  counts = k_mmap(0, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (counts == MAP_FAILED) broken(name);
  k_close(fd);
  atomic_fetch_add(&counts->loads, 1);
  if (getenv("SH_DIE_AT")) atomic_store(&writes_to_live, atol(getenv("SH_DIE_AT")));
  on = 1;
  errno = error;
}
