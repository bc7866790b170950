// The files of the page with the phones, put into the program by the compiler.

#include "CSimulatorFiles.h"

// #embed is C23, which the compiler remarks on in every other mode.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char app_svg[] = {
#embed "web/app.svg"
};
static const unsigned char favicon_svg[] = {
#embed "web/favicon.svg"
};
static const unsigned char morph_js[] = {
#embed "web/morph.js"
};
static const unsigned char phones_css[] = {
#embed "web/phones.css"
};
static const unsigned char phones_js[] = {
#embed "web/phones.js"
};
static const unsigned char symbols_svg[] = {
#embed "web/symbols.svg"
};

#define FILE_NAMED(name, bytes) {name, bytes, sizeof bytes}

static const struct simulator_file files[] = {
    FILE_NAMED("app.svg", app_svg),       FILE_NAMED("favicon.svg", favicon_svg),
    FILE_NAMED("morph.js", morph_js),     FILE_NAMED("phones.css", phones_css),
    FILE_NAMED("phones.js", phones_js),   FILE_NAMED("symbols.svg", symbols_svg),
};

size_t simulator_files_count(void) { return sizeof files / sizeof files[0]; }

const struct simulator_file *simulator_files_at(size_t index) { return &files[index]; }
