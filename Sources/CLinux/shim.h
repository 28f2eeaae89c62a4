#pragma once
#include <netinet/tcp.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

/// Names the calling thread, for ps and debuggers; prctl is variadic, which Swift does not import.
static inline void herald_name_thread(const char *name) {
    prctl(PR_SET_NAME, name, 0, 0, 0);
}

/// Lets the kernel prefer the other threads of the process to the calling one, where processors are short: a third of
/// their share. On Linux a nice value is a thread's own (setpriority(2), "C library/kernel differences").
static inline void herald_lower_priority_of_thread(void) {
    setpriority(PRIO_PROCESS, 0, 5);
}

/// What the ended children of this process have used, in numbers only: a caller needs no pointer.
struct herald_usage {
    int64_t user_microseconds;
    int64_t system_microseconds;
    int64_t peak_kibibytes;
};

static inline struct herald_usage herald_usage_of_children(void) {
    struct rusage usage = {0};
    getrusage(RUSAGE_CHILDREN, &usage);
    struct herald_usage result = {
        .user_microseconds = (int64_t)usage.ru_utime.tv_sec * 1000000 + usage.ru_utime.tv_usec,
        .system_microseconds = (int64_t)usage.ru_stime.tv_sec * 1000000 + usage.ru_stime.tv_usec,
        .peak_kibibytes = usage.ru_maxrss,
    };
    return result;
}

/// User and system time that all threads of a process have used, ended ones too; -1 when there is no such process. The
/// clock's number is what clock_getcpuclockid gives on Linux: the process's number in all but the last three bits.
static inline int64_t herald_processor_nanoseconds(int32_t process) {
    struct timespec time = {0};
    clockid_t clock = (clockid_t)((~(uint32_t)process << 3) | 2);
    if (clock_gettime(clock, &time) != 0) return -1;
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}
