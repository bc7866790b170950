#pragma once
// What Hiroba asks of libvips, as functions that are not variadic, so that Swift can call them.
#include <stddef.h>

enum cvips_format { CVIPS_JPEG = 1, CVIPS_PNG = 2, CVIPS_WEBP = 3 };

struct cvips_picture {
  enum cvips_format format;
  int width;
  int height;
  /// From malloc; give it back with cvips_free.
  void *bytes;
  size_t count;
};

/// Once, before anything else. 0 is success.
int cvips_start(void);

/// Width and height from the head of a file, without decoding it. 0 is success.
int cvips_size(const void *bytes, size_t count, int *width, int *height);

/// Decodes all of a picture, turns it upright, scales it down to fit into `most` pixels a side (never up), converts it
/// to sRGB and writes it without metadata: as `opaque`, or as `transparent` if it has an alpha channel. Damaged and
/// truncated pictures are errors. 0 is success.
int cvips_render(const void *bytes, size_t count, int most, enum cvips_format opaque, enum cvips_format transparent,
                 int quality, struct cvips_picture *picture);

void cvips_free(void *bytes);

/// The last error, valid until the next call; it is forgotten with it.
const char *cvips_error(void);
