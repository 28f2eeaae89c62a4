#pragma once
#include <netinet/tcp.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>

/// Names the calling thread, for ps and debuggers; prctl is variadic, which Swift does not import.
static inline void herald_name_thread(const char *name) {
    prctl(PR_SET_NAME, name, 0, 0, 0);
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
