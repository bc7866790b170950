#include "CVips.h"

#include <string.h>

// The few functions of libvips and GLib that are used here, declared by hand. Their headers would need the flags of
// `pkg-config vips`, some of which SwiftPM refuses with a warning at every command. All of them have had this shape
// since libvips 8.13, and libvips.so.42, the name that is linked, promises to keep it.
typedef struct _VipsImage VipsImage;
int vips_init(const char *argv0);
void vips_block_untrusted_set(int state);
void vips_cache_set_max(int max);
void vips_concurrency_set(int concurrency);
VipsImage *vips_image_new_from_buffer(const void *buf, size_t len, const char *option_string, ...)
    __attribute__((sentinel));
int vips_image_get_width(const VipsImage *image);
int vips_image_get_height(const VipsImage *image);
int vips_image_hasalpha(VipsImage *image);
int vips_thumbnail_buffer(void *buf, size_t len, VipsImage **out, int width, ...) __attribute__((sentinel));
int vips_jpegsave_buffer(VipsImage *in, void **buf, size_t *len, ...) __attribute__((sentinel));
int vips_pngsave_buffer(VipsImage *in, void **buf, size_t *len, ...) __attribute__((sentinel));
int vips_webpsave_buffer(VipsImage *in, void **buf, size_t *len, ...) __attribute__((sentinel));
const char *vips_error_buffer(void);
void vips_error_clear(void);
void g_object_unref(void *object);
void g_free(void *memory);

enum { VIPS_SIZE_DOWN = 2, TRUE = 1 };

int cvips_start(void) {
  if (vips_init("hiroba-thumbnailer")) return -1;
  // Formats whose decoders their own authors do not trust with strangers' files: SVG, PDF, whatever ImageMagick reads.
  vips_block_untrusted_set(TRUE);
  // Nothing is asked for twice, and what is kept only costs memory.
  vips_cache_set_max(0);
  // Several pictures at once are several processes.
  vips_concurrency_set(1);
  return 0;
}

int cvips_size(const void *bytes, size_t count, int *width, int *height) {
  vips_error_clear();
  VipsImage *image = vips_image_new_from_buffer(bytes, count, "", NULL);
  if (!image) return -1;
  *width = vips_image_get_width(image);
  *height = vips_image_get_height(image);
  g_object_unref(image);
  return 0;
}

static int save(VipsImage *image, enum cvips_format format, int quality, void **bytes, size_t *count) {
  // Better tables save some bytes of a small picture; for a large one the encoder would keep all of it in memory.
  int is_small = vips_image_get_width(image) <= 2048 && vips_image_get_height(image) <= 2048;
  switch (format) {
  case CVIPS_JPEG:
    return vips_jpegsave_buffer(image, bytes, count, "Q", quality, "strip", TRUE, "optimize_coding", is_small, NULL);
  case CVIPS_PNG:
    return vips_pngsave_buffer(image, bytes, count, "strip", TRUE, NULL);
  case CVIPS_WEBP:
    return vips_webpsave_buffer(image, bytes, count, "Q", quality, "strip", TRUE, NULL);
  }
  return -1;
}

int cvips_render(const void *bytes, size_t count, int most, enum cvips_format opaque, enum cvips_format transparent,
                 int quality, struct cvips_picture *picture) {
  vips_error_clear();
  VipsImage *image = NULL;
  // libvips does not write to the buffer; the missing const is an oversight of its interface. fail_on stands in the
  // options of the loader because 8.14 forgets the property of the same name on this way.
  if (vips_thumbnail_buffer((void *)bytes, count, &image, most, "height", most, "size", VIPS_SIZE_DOWN,
                            "export_profile", "srgb", "option_string", "fail_on=error", NULL))
    return -1;
  memset(picture, 0, sizeof *picture);
  picture->format = vips_image_hasalpha(image) ? transparent : opaque;
  picture->width = vips_image_get_width(image);
  picture->height = vips_image_get_height(image);
  int status = save(image, picture->format, quality, &picture->bytes, &picture->count);
  g_object_unref(image);
  return status;
}

void cvips_free(void *bytes) { g_free(bytes); }

const char *cvips_error(void) { return vips_error_buffer(); }
