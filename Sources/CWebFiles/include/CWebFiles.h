#pragma once
#include <stddef.h>

/// A file that is part of the program.
struct web_file {
    /// "site" for what browsers may fetch, "pictures" for the example community, "examples" for code that pages show.
    const char *folder;
    const char *name;
    const unsigned char *bytes;
    size_t count;
};

size_t web_files_count(void);

/// `index` is below the count. The answer lives as long as the program.
const struct web_file *web_files_at(size_t index);
