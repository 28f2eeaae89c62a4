#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "CTestDefaults.h"

// Swift Testing starts all tests of a bundle at once. Here are well over a thousand, among them whole gateways, TLS
// handshakes and deadlines of seconds: with few cores each would wait for all others. The width must be in the
// environment before the runner reads it, hence before main; a value that is there already stays.
__attribute__((constructor)) static void limit_parallel_tests(void) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    char width[16];
    snprintf(width, sizeof width, "%ld", cores < 2 ? 8 : 4 * cores);
    setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", width, 0);
}
