// The site's files, put into the program by the compiler: the program is one file and always finds them.

#include "CWebFiles.h"

// #embed is C23, which the compiler remarks on in every other mode.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char dom_js[] = {
#embed "site/dom.js"
};
static const unsigned char door_client_svg[] = {
#embed "site/door-client.svg"
};
static const unsigned char door_forum_svg[] = {
#embed "site/door-forum.svg"
};
static const unsigned char door_photos_svg[] = {
#embed "site/door-photos.svg"
};
static const unsigned char door_push_svg[] = {
#embed "site/door-push.svg"
};
static const unsigned char favicon_svg[] = {
#embed "site/favicon.svg"
};
static const unsigned char icons_svg[] = {
#embed "site/icons.svg"
};
static const unsigned char live_js[] = {
#embed "site/live.js"
};
static const unsigned char rows_js[] = {
#embed "site/rows.js"
};
static const unsigned char sheet_js[] = {
#embed "site/sheet.js"
};
static const unsigned char site_css[] = {
#embed "site/site.css"
};
static const unsigned char site_js[] = {
#embed "site/site.js"
};

static const unsigned char bakery_jpg[] = {
#embed "pictures/bakery.jpg"
};
static const unsigned char bicycle_jpg[] = {
#embed "pictures/bicycle.jpg"
};
static const unsigned char cat_jpg[] = {
#embed "pictures/cat.jpg"
};
static const unsigned char garden_jpg[] = {
#embed "pictures/garden.jpg"
};
static const unsigned char mountain_jpg[] = {
#embed "pictures/mountain.jpg"
};
static const unsigned char rain_jpg[] = {
#embed "pictures/rain.jpg"
};
static const unsigned char ramen_jpg[] = {
#embed "pictures/ramen.jpg"
};
static const unsigned char square_jpg[] = {
#embed "pictures/square.jpg"
};
static const unsigned char sunset_jpg[] = {
#embed "pictures/sunset.jpg"
};
static const unsigned char train_jpg[] = {
#embed "pictures/train.jpg"
};

// The example that the page about the typed client shows: the very file that is built and tested.
static const unsigned char marvel_swift[] = {
#embed "../../Examples/Marvel/App/main.swift"
};

#define FILE_NAMED(folder, name, bytes) {folder, name, bytes, sizeof bytes}

static const struct web_file files[] = {
    FILE_NAMED("site", "dom.js", dom_js),
    FILE_NAMED("site", "door-client.svg", door_client_svg),
    FILE_NAMED("site", "door-forum.svg", door_forum_svg),
    FILE_NAMED("site", "door-photos.svg", door_photos_svg),
    FILE_NAMED("site", "door-push.svg", door_push_svg),
    FILE_NAMED("site", "favicon.svg", favicon_svg),
    FILE_NAMED("site", "icons.svg", icons_svg),
    FILE_NAMED("site", "live.js", live_js),
    FILE_NAMED("site", "rows.js", rows_js),
    FILE_NAMED("site", "sheet.js", sheet_js),
    FILE_NAMED("site", "site.css", site_css),
    FILE_NAMED("site", "site.js", site_js),
    FILE_NAMED("pictures", "bakery.jpg", bakery_jpg),
    FILE_NAMED("pictures", "bicycle.jpg", bicycle_jpg),
    FILE_NAMED("pictures", "cat.jpg", cat_jpg),
    FILE_NAMED("pictures", "garden.jpg", garden_jpg),
    FILE_NAMED("pictures", "mountain.jpg", mountain_jpg),
    FILE_NAMED("pictures", "rain.jpg", rain_jpg),
    FILE_NAMED("pictures", "ramen.jpg", ramen_jpg),
    FILE_NAMED("pictures", "square.jpg", square_jpg),
    FILE_NAMED("pictures", "sunset.jpg", sunset_jpg),
    FILE_NAMED("pictures", "train.jpg", train_jpg),
    FILE_NAMED("examples", "marvel.swift", marvel_swift),
};

size_t web_files_count(void) { return sizeof files / sizeof files[0]; }

const struct web_file *web_files_at(size_t index) { return &files[index]; }
