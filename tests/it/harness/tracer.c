/* Runs a program and everything that it starts, sees each system call that changes the disk, and harms one of them.
 *
 *     tracer ROOT OUT HOW WHICH PROGRAM [ARGUMENT...]
 *
 * ROOT   only what lies below it counts; it is named relative to it, so that a call has the same name in each run
 * OUT    prefix of the files that it writes: OUT.calls (each call), OUT.hit (the one that was harmed), OUT.end (how PROGRAM ended)
 * HOW    none, kill (SIGKILL to the process that calls), cut (SIGKILL to all), or the number of the error that the call fails with
 * WHICH  the call's name as in OUT.calls, or @N: the N-th of all
 *
 * A call's name is ROLE CALL PATH #OCCURRENCE. Counted over all processes and threads together, unlike what strace's `when=` counts.
 * What agents and quality commands do (whatever has SWARM_RUN_ID in its environment) is not seen, nor what is not below ROOT.
 * It ends when all have ended; if it is killed, so are they. A filter of the kernel stops only the calls that may change something.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "the tracer knows x86-64 and aarch64 only"
#endif

#define LONGEST 4096

/* Where a call's object is: a descriptor, or a folder's descriptor and a path, or a path; and which argument comes first. */
enum object { BY_FD, BY_AT, BY_PATH };
static const struct call {
    long number;
    const char *name;
    enum object object;
    int first;
    int flags; /* the argument with open's flags, or -1: only a call that creates or cuts is seen */
} CALLS[] = {
    {SYS_write, "write", BY_FD, 0, -1},
    {SYS_pwrite64, "pwrite64", BY_FD, 0, -1},
    {SYS_writev, "writev", BY_FD, 0, -1},
    {SYS_pwritev, "pwritev", BY_FD, 0, -1},
    {SYS_pwritev2, "pwritev2", BY_FD, 0, -1},
    {SYS_copy_file_range, "copy_file_range", BY_FD, 2, -1},
    {SYS_sendfile, "sendfile", BY_FD, 0, -1},
    {SYS_fsync, "fsync", BY_FD, 0, -1},
    {SYS_fdatasync, "fdatasync", BY_FD, 0, -1},
    {SYS_sync_file_range, "sync_file_range", BY_FD, 0, -1},
    {SYS_ftruncate, "ftruncate", BY_FD, 0, -1},
    {SYS_fallocate, "fallocate", BY_FD, 0, -1},
    {SYS_fchmod, "fchmod", BY_FD, 0, -1},
    {SYS_truncate, "truncate", BY_PATH, 0, -1},
    {SYS_openat, "openat", BY_AT, 0, 2},
    {SYS_mkdirat, "mkdirat", BY_AT, 0, -1},
    {SYS_unlinkat, "unlinkat", BY_AT, 0, -1},
    {SYS_renameat2, "renameat2", BY_AT, 2, -1},
    {SYS_linkat, "linkat", BY_AT, 2, -1},
    {SYS_symlinkat, "symlinkat", BY_AT, 1, -1},
    {SYS_fchmodat, "fchmodat", BY_AT, 0, -1},
#ifdef SYS_renameat
    {SYS_renameat, "renameat", BY_AT, 2, -1},
#endif
#ifdef SYS_open
    {SYS_open, "open", BY_PATH, 0, 1},
    {SYS_creat, "creat", BY_PATH, 0, -1},
    {SYS_mkdir, "mkdir", BY_PATH, 0, -1},
    {SYS_rmdir, "rmdir", BY_PATH, 0, -1},
    {SYS_unlink, "unlink", BY_PATH, 0, -1},
    {SYS_rename, "rename", BY_PATH, 1, -1},
    {SYS_link, "link", BY_PATH, 1, -1},
    {SYS_symlink, "symlink", BY_PATH, 1, -1},
    {SYS_chmod, "chmod", BY_PATH, 0, -1},
#endif
};
#define N_CALLS (sizeof CALLS / sizeof CALLS[0])

struct tracee {
    pid_t tid, tgid;
    char role[64]; /* empty: not seen */
    struct tracee *next;
};
struct count {
    char *name;
    unsigned times;
    struct count *next;
};

static struct tracee *tracees;
static struct count *counts[1024];
static const char *root, *out, *how, *which;
static unsigned long all;
static int harmed;
static FILE *calls;

static void die(const char *what) {
    fprintf(stderr, "tracer: %s: %s\n", what, strerror(errno));
    exit(125);
}

/* A file of OUT, whole at once. */
static void say(const char *suffix, const char *text) {
    char path[LONGEST], new[LONGEST + 8];
    snprintf(path, sizeof path, "%s.%s", out, suffix);
    snprintf(new, sizeof new, "%s.new", path);
    FILE *file = fopen(new, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) || rename(new, path)) die(path);
}

static ssize_t read_proc(pid_t pid, const char *name, char *into, size_t size) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    size_t got = 0;
    ssize_t n;
    while (got + 1 < size && (n = read(fd, into + got, size - 1 - got)) > 0) got += (size_t)n;
    close(fd);
    into[got] = 0;
    return (ssize_t)got;
}

/* git's own options before its command: `-c NAME=VALUE`, `-C DIR`, `--x`. */
static const char *git_command(const char *args, const char *end) {
    const char *at = args + strlen(args) + 1;
    while (at < end && *at == '-') {
        int with_value = !strcmp(at, "-c") || !strcmp(at, "-C");
        at += strlen(at) + 1;
        if (with_value && at < end) at += strlen(at) + 1;
    }
    return at < end ? at : "";
}

static void classify(struct tracee *t) {
    static char args[1 << 16], environment[1 << 17];
    char link[64], exe[LONGEST];
    snprintf(link, sizeof link, "/proc/%d/exe", t->tid);
    ssize_t n = readlink(link, exe, sizeof exe - 1);
    exe[n < 0 ? 0 : n] = 0;
    const char *base = strrchr(exe, '/');
    base = base ? base + 1 : exe;
    ssize_t size = read_proc(t->tid, "cmdline", args, sizeof args);
    const char *end = args + (size < 0 ? 0 : size), *second = args + strlen(args) + 1;
    if (second >= end) second = "";
    size = read_proc(t->tid, "environ", environment, sizeof environment);
    int agent = size > 0 && memmem(environment, (size_t)size, "SWARM_RUN_ID=", 13) != NULL;
    if (!strcmp(base, "swarm") && !strcmp(second, "__runner"))
        snprintf(t->role, sizeof t->role, "runner");
    else if (agent)
        t->role[0] = 0;
    else if (!strcmp(base, "git"))
        snprintf(t->role, sizeof t->role, "git-%.40s", git_command(args, end));
    else
        snprintf(t->role, sizeof t->role, "%.30s-%.20s", base, base[0] == 's' && second[0] != '-' ? second : "");
}

static struct tracee *tracee(pid_t tid) {
    for (struct tracee *t = tracees; t; t = t->next)
        if (t->tid == tid) return t;
    struct tracee *t = calloc(1, sizeof *t);
    char status[4096], *line;
    t->tid = t->tgid = tid;
    if (read_proc(tid, "status", status, sizeof status) > 0 && (line = strstr(status, "\nTgid:"))) t->tgid = atoi(line + 6);
    classify(t);
    t->next = tracees;
    return tracees = t;
}

static void forget(pid_t tid) {
    for (struct tracee **at = &tracees; *at; at = &(*at)->next)
        if ((*at)->tid == tid) {
            struct tracee *gone = *at;
            *at = gone->next;
            free(gone);
            return;
        }
}

struct registers {
    unsigned long number, argument[6];
};

#if defined(__x86_64__)
static int read_registers(pid_t tid, struct registers *r) {
    struct user_regs_struct u;
    if (ptrace(PTRACE_GETREGS, tid, 0, &u)) return -1;
    *r = (struct registers){u.orig_rax, {u.rdi, u.rsi, u.rdx, u.r10, u.r8, u.r9}};
    return 0;
}
static int fail_call(pid_t tid, int error) {
    struct user_regs_struct u;
    if (ptrace(PTRACE_GETREGS, tid, 0, &u)) return -1;
    u.orig_rax = (unsigned long)-1;
    u.rax = (unsigned long)-error;
    return (int)ptrace(PTRACE_SETREGS, tid, 0, &u);
}
#else
static int read_registers(pid_t tid, struct registers *r) {
    struct user_regs_struct u;
    struct iovec io = {&u, sizeof u};
    if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &io)) return -1;
    *r = (struct registers){u.regs[8], {u.regs[0], u.regs[1], u.regs[2], u.regs[3], u.regs[4], u.regs[5]}};
    return 0;
}
static int fail_call(pid_t tid, int error) {
    struct user_regs_struct u;
    struct iovec io = {&u, sizeof u};
    int none = -1;
    struct iovec call = {&none, sizeof none};
    if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &io)) return -1;
    u.regs[0] = (unsigned long)-error;
    if (ptrace(PTRACE_SETREGSET, tid, NT_ARM_SYSTEM_CALL, &call)) return -1;
    return (int)ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &io);
}
#endif

/* A string of the tracee; page by page, since what follows its page may not be mapped. */
static void read_string(pid_t tid, unsigned long from, char *into, size_t size) {
    size_t got = 0;
    while (got + 1 < size) {
        size_t step = 4096 - (from + got) % 4096;
        if (step > size - 1 - got) step = size - 1 - got;
        struct iovec here = {into + got, step}, there = {(void *)(from + got), step};
        ssize_t n = process_vm_readv(tid, &here, 1, &there, 1, 0);
        if (n <= 0) break;
        got += (size_t)n;
        if (memchr(into + got - n, 0, (size_t)n)) return;
    }
    into[got] = 0;
}

static void link_of(pid_t tid, const char *what, char *into, size_t size) {
    char link[128];
    snprintf(link, sizeof link, "/proc/%d/%s", tid, what);
    ssize_t n = readlink(link, into, size - 1);
    into[n < 0 ? 0 : n] = 0;
}

/* What the call works on; 0 if that is no file of a disk. */
static int path_of(pid_t tid, const struct call *call, const struct registers *r, char *path, size_t size) {
    char link[64], given[LONGEST], folder[LONGEST];
    struct stat about;
    if (call->object == BY_FD) {
        snprintf(link, sizeof link, "fd/%d", (int)r->argument[call->first]);
        link_of(tid, link, path, size);
        snprintf(link, sizeof link, "/proc/%d/fd/%d", tid, (int)r->argument[call->first]);
        return !stat(link, &about) && (S_ISREG(about.st_mode) || S_ISDIR(about.st_mode));
    }
    int at = call->object == BY_AT ? (int)r->argument[call->first] : AT_FDCWD;
    read_string(tid, r->argument[call->first + (call->object == BY_AT)], given, sizeof given);
    if (given[0] == '/') {
        snprintf(path, size, "%s", given);
    } else {
        if (at == AT_FDCWD)
            snprintf(link, sizeof link, "cwd");
        else
            snprintf(link, sizeof link, "fd/%d", at);
        link_of(tid, link, folder, sizeof folder);
        snprintf(path, size, "%s/%s", folder, given);
    }
    return strncmp(path, "/dev/", 5) && strncmp(path, "/proc/", 6);
}

static int is_hex(char c) {
    return isdigit((unsigned char)c) || (c >= 'a' && c <= 'f');
}

/* The same in each run: below ROOT, long numbers and hashes as `*`, and the ends of temporary names. */
static void normalise(const char *path, char *into, size_t size) {
    size_t length = strlen(root), n = 0;
    if (!strncmp(path, root, length)) path += length;
    while (*path && n + 2 < size) {
        size_t digits = strspn(path, "0123456789"), hex = strspn(path, "0123456789abcdef");
        if (!strncmp(path, "objects/", 8) && is_hex(path[8]) && is_hex(path[9]) && path[10] == '/') {
            n += (size_t)snprintf(into + n, size - n, "objects/*");
            path += 10;
        } else if (!strncmp(path, "objects/", 8) && is_hex(path[8]) && is_hex(path[9]) && !path[10]) {
            n += (size_t)snprintf(into + n, size - n, "objects/*");
            path += 10;
        } else if (!strncmp(path, ".trash-", 7) || !strncmp(path, ".view-", 6)) {
            size_t kept = strcspn(path, "-") + 1;
            while (kept-- && n + 2 < size) into[n++] = *path, path++;
            into[n++] = '*';
            path += strcspn(path, "/.");
        } else if (!strncmp(path, "tmp_", 4) || !strncmp(path, ".tmp", 4)) {
            size_t part = strcspn(path, "/");
            size_t kept = part > 6 ? part - 6 : part;
            while (kept-- && n + 2 < size) into[n++] = *path, path++;
            into[n++] = '*';
            path += strcspn(path, "/");
        } else if (digits >= 4 || hex >= 8) {
            into[n++] = '*';
            path += digits > hex ? digits : hex;
        } else {
            into[n++] = *path == ' ' ? '_' : *path;
            path++;
        }
    }
    into[n] = 0;
}

static unsigned occurrence(const char *name) {
    unsigned long hash = 5381;
    for (const char *c = name; *c; c++) hash = hash * 33 + (unsigned char)*c;
    struct count **bucket = &counts[hash % 1024];
    for (struct count *c = *bucket; c; c = c->next)
        if (!strcmp(c->name, name)) return ++c->times;
    struct count *c = malloc(sizeof *c);
    *c = (struct count){strdup(name), 1, *bucket};
    *bucket = c;
    return 1;
}

static void harm(struct tracee *t, const char *name) {
    harmed = 1;
    say("hit", name);
    if (!strcmp(how, "kill")) {
        kill(t->tgid, SIGKILL);
    } else if (!strcmp(how, "cut")) {
        for (struct tracee *each = tracees; each; each = each->next) kill(each->tgid, SIGKILL);
    } else if (strcmp(how, "none") && fail_call(t->tid, atoi(how))) {
        die("fail a call");
    }
}

static void on_call(struct tracee *t) {
    struct registers r;
    char path[2 * LONGEST], clean[LONGEST], name[LONGEST + 128];
    if (!t->role[0] || read_registers(t->tid, &r)) return;
    const struct call *call = NULL;
    for (size_t i = 0; i < N_CALLS; i++)
        if (CALLS[i].number == (long)r.number) call = &CALLS[i];
    if (!call || !path_of(t->tid, call, &r, path, sizeof path)) return;
    if (strncmp(path, root, strlen(root))) return;
    normalise(path, clean, sizeof clean);
    snprintf(name, sizeof name, "%s %s %s", t->role, call->name, clean);
    unsigned times = occurrence(name);
    snprintf(name + strlen(name), sizeof name - strlen(name), " #%u", times);
    all++;
    fprintf(calls, "%s\n", name);
    fflush(calls);
    if (!harmed && (which[0] == '@' ? all == strtoul(which + 1, NULL, 10) : !strcmp(which, name))) harm(t, name);
}

/* Stops at the calls of the list, for opens only at those that create or cut. */
static void install_filter(void) {
    struct sock_filter code[8 * N_CALLS + 8];
    size_t n = 0;
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < N_CALLS; i++) {
        unsigned number = (unsigned)CALLS[i].number;
        if (CALLS[i].flags < 0) {
            code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
        } else {
            unsigned from = (unsigned)(offsetof(struct seccomp_data, args) + 8 * (size_t)CALLS[i].flags);
            code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4);
            code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, from);
            code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_CREAT | O_TRUNC, 1, 0);
            code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        }
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {(unsigned short)n, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) die("install the filter");
}

static pid_t begin(char **program) {
    int go[2];
    if (pipe2(go, O_CLOEXEC)) die("pipe");
    pid_t child = fork();
    if (child < 0) die("fork");
    if (!child) {
        char byte;
        close(go[1]);
        signal(SIGINT, SIG_DFL);
        if (read(go[0], &byte, 1) != 1) _exit(125);
        install_filter();
        execvp(program[0], program);
        die(program[0]);
    }
    close(go[0]);
    long options = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC |
                   PTRACE_O_EXITKILL;
    if (ptrace(PTRACE_SEIZE, child, 0, options)) die("ptrace is not permitted here");
    if (write(go[1], "g", 1) != 1) die("begin");
    close(go[1]);
    return child;
}

static void on_stop(pid_t tid, int status) {
    int signal = WSTOPSIG(status), event = status >> 16;
    struct tracee *t = tracee(tid);
    if (event == PTRACE_EVENT_SECCOMP) {
        on_call(t);
    } else if (event == PTRACE_EVENT_EXEC) {
        classify(t);
    } else if (event == PTRACE_EVENT_STOP && (signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU)) {
        ptrace(PTRACE_LISTEN, tid, 0, 0);
        return;
    }
    ptrace(PTRACE_CONT, tid, 0, event ? 0 : signal);
}

int main(int argc, char **argv) {
    if (argc < 6) {
        fprintf(stderr, "usage: tracer ROOT OUT HOW WHICH PROGRAM [ARGUMENT...]\n");
        return 125;
    }
    root = argv[1], out = argv[2], how = argv[3], which = argv[4];
    char path[LONGEST], text[32];
    snprintf(path, sizeof path, "%s.calls", out);
    calls = fopen(path, "we");
    if (!calls) die(path);
    signal(SIGINT, SIG_IGN); /* meant for the program */
    pid_t program = begin(argv + 5);
    int status;
    for (;;) {
        pid_t tid = waitpid(-1, &status, __WALL);
        if (tid < 0 && errno == EINTR) continue;
        if (tid < 0) break;
        if (WIFSTOPPED(status)) {
            on_stop(tid, status);
            continue;
        }
        forget(tid);
        if (tid == program) {
            snprintf(text, sizeof text, "%d", WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
            say("end", text);
        }
    }
    return 0;
}
