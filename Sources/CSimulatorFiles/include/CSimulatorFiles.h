#pragma once
#include <stddef.h>

/// A file that browsers fetch for the page with the phones. It is part of the program.
struct simulator_file {
    const char *name;
    const unsigned char *bytes;
    size_t count;
};

size_t simulator_files_count(void);

/// `index` is below the count. The answer lives as long as the program.
const struct simulator_file *simulator_files_at(size_t index);
