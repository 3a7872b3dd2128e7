/* Error handling of the programs of this directory. */
#ifndef EXAMPLES_CHECK_H
#define EXAMPLES_CHECK_H
#include <plimsoll.h>
#include <stdio.h>

/* Prints the error and jumps to `cleanup`, with the error in `status`. Functions that free ignore NULL, so one label serves all
   exits. */
#define CHECK(call)                                                                                \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != PLIM_OK) {                                                                   \
            fprintf(stderr, "%s\n%s: %s\n", #call, plim_status_name(status), plim_last_error());   \
            goto cleanup;                                                                          \
        }                                                                                          \
    } while (0)

#endif
