/* DEFLATE (RFC 1951), decoding only, into a buffer of known size. Own code because it is 2 KB where zlib is
 * 60, and because the container's sizes are known beforehand, which leaves out every stream state.
 *
 * Canonical Huffman decoding by counting, one bit at a time, as in the RFC's own description: library modules
 * are inflated once per process, 1 MB in all, about 15 ms. */
#include "vm/inside/code/bundle.h"

/* Of the RFC: bits of the longest code, symbols of lengths and distances, and of the fixed code, which has
 * two more lengths than may occur. */
enum { kMaxBits = 15, kLengthCodes = 286, kDistanceCodes = 30, kFixedCodes = 288 };

typedef struct {
  const uint8_t* prior; /* what matches may reach back into from the start of `out` */
  size_t prior_size;
  const uint8_t* in;
  size_t in_size, in_at;
  uint8_t* out;
  size_t out_size, out_at;
  uint32_t bits;
  int bit_count;
  int failed;
} stream;

typedef struct {
  uint16_t count[kMaxBits + 1];
  uint16_t symbol[kFixedCodes];
} huffman;

static int take_bits(stream* s, int need) {
  uint32_t value = s->bits;
  while (s->bit_count < need) {
    if (s->in_at == s->in_size) {
      s->failed = 1;
      return 0;
    }
    value |= (uint32_t)s->in[s->in_at++] << s->bit_count;
    s->bit_count += 8;
  }
  s->bits = value >> need;
  s->bit_count -= need;
  return (int)(value & ((1u << need) - 1));
}

static int decode(stream* s, const huffman* h) {
  int code = 0, first = 0, index = 0;
  for (int length = 1; length <= kMaxBits && !s->failed; ++length) {
    code |= take_bits(s, 1);
    const int count = h->count[length];
    if (code - count < first) return h->symbol[index + (code - first)];
    index += count;
    first = (first + count) << 1;
    code <<= 1;
  }
  s->failed = 1;
  return 0;
}

/* 0 when the lengths describe a complete code, or the one-code special case. */
static int build(huffman* h, const uint8_t* lengths, int n) {
  uint16_t offsets[kMaxBits + 1];
  memset(h->count, 0, sizeof h->count);
  for (int i = 0; i < n; ++i) ++h->count[lengths[i]];
  if (h->count[0] == n) return 0;
  int left = 1;
  for (int length = 1; length <= kMaxBits; ++length) {
    left = (left << 1) - h->count[length];
    if (left < 0) return -1;
  }
  offsets[1] = 0;
  for (int length = 1; length < kMaxBits; ++length)
    offsets[length + 1] = (uint16_t)(offsets[length] + h->count[length]);
  for (int i = 0; i < n; ++i) {
    if (lengths[i]) h->symbol[offsets[lengths[i]]++] = (uint16_t)i;
  }
  return left == 0 || n - h->count[0] == 1 ? 0 : -1;
}

static void copy_match(stream* s, int length, size_t distance) {
  if (distance > s->out_at + s->prior_size || (size_t)length > s->out_size - s->out_at) {
    s->failed = 1;
    return;
  }
  for (int i = 0; i < length; ++i, ++s->out_at) {
    const size_t missing = distance > s->out_at ? distance - s->out_at : 0;
    s->out[s->out_at] = missing ? s->prior[s->prior_size - missing] : s->out[s->out_at - distance];
  }
}

static void codes(stream* s, const huffman* lengths, const huffman* distances) {
  static const uint16_t kLength[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                     31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
  static const uint8_t kLengthExtra[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                         2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
  static const uint16_t kDistance[] = {1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                       33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                       1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
  while (!s->failed) {
    int symbol = decode(s, lengths);
    if (s->failed || symbol == 256) return;
    if (symbol < 256) {
      if (s->out_at == s->out_size)
        s->failed = 1;
      else
        s->out[s->out_at++] = (uint8_t)symbol;
      continue;
    }
    symbol -= 257;
    if (symbol >= 29) break;
    const int length = kLength[symbol] + take_bits(s, kLengthExtra[symbol]);
    const int code = decode(s, distances);
    if (s->failed || code >= kDistanceCodes) break;
    const int extra = code < 2 ? 0 : (code >> 1) - 1;
    copy_match(s, length, (size_t)(kDistance[code] + take_bits(s, extra)));
  }
  s->failed = 1;
}

static void stored_block(stream* s) {
  s->bits = 0; /* the rest of the byte that was begun is padding */
  s->bit_count = 0;
  if (s->in_size - s->in_at < 4) {
    s->failed = 1;
    return;
  }
  const size_t length = s->in[s->in_at] | (size_t)s->in[s->in_at + 1] << 8;
  const size_t inverse = s->in[s->in_at + 2] | (size_t)s->in[s->in_at + 3] << 8;
  s->in_at += 4;
  if (length != (~inverse & 0xffff) || length > s->in_size - s->in_at || length > s->out_size - s->out_at) {
    s->failed = 1;
    return;
  }
  memcpy(s->out + s->out_at, s->in + s->in_at, length);
  s->in_at += length;
  s->out_at += length;
}

static void fixed_block(stream* s) {
  huffman lengths, distances;
  uint8_t sizes[kFixedCodes];
  /* RFC 1951, section 3.2.6. */
  for (int i = 0; i < kFixedCodes; ++i) sizes[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
  build(&lengths, sizes, kFixedCodes);
  memset(sizes, 5, kDistanceCodes);
  build(&distances, sizes, kDistanceCodes);
  codes(s, &lengths, &distances);
}

static int read_code_lengths(stream* s, uint8_t* sizes, int total, const huffman* order) {
  for (int at = 0; at < total && !s->failed;) {
    const int symbol = decode(s, order);
    if (symbol < 16) { /* section 3.2.7: a length itself; 16 repeats the last one, 17 and 18 repeat zero */
      sizes[at++] = (uint8_t)symbol;
      continue;
    }
    if (symbol == 16 && at == 0) return -1;
    const uint8_t value = symbol == 16 ? sizes[at - 1] : 0;
    const int repeat = symbol == 16   ? 3 + take_bits(s, 2)
                       : symbol == 17 ? 3 + take_bits(s, 3)
                                      : 11 + take_bits(s, 7);
    if (at + repeat > total) return -1;
    for (int i = 0; i < repeat; ++i) sizes[at++] = value;
  }
  return s->failed ? -1 : 0;
}

static void dynamic_block(stream* s) {
  static const uint8_t kOrder[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
  huffman lengths, distances;
  uint8_t sizes[kLengthCodes + 32] = {
      0}; /* both codes in one run, as they are sent: 30 distances, rounded up */
  const int length_count = take_bits(s, 5) + 257, distance_count = take_bits(s, 5) + 1,
            order_count = take_bits(s, 4) + 4;
  if (s->failed || length_count > kLengthCodes || distance_count > kDistanceCodes) {
    s->failed = 1;
    return;
  }
  for (int i = 0; i < order_count; ++i) sizes[kOrder[i]] = (uint8_t)take_bits(s, 3);
  if (build(&lengths, sizes, 19) < 0) s->failed = 1;
  memset(sizes, 0, sizeof sizes);
  const huffman order = lengths;
  if (s->failed || read_code_lengths(s, sizes, length_count + distance_count, &order) < 0 ||
      sizes[256] == 0 /* a block that cannot end */ || build(&lengths, sizes, length_count) < 0 ||
      build(&distances, sizes + length_count, distance_count) < 0) {
    s->failed = 1;
    return;
  }
  codes(s, &lengths, &distances);
}

int wvm_inflate(const uint8_t* data, size_t size, uint8_t* out, size_t out_size, const uint8_t* prior,
                size_t prior_size) {
  stream s = {.prior = prior,
              .prior_size = prior_size,
              .in = data,
              .in_size = size,
              .out = out,
              .out_size = out_size};
  int last = 0;
  while (!last && !s.failed) {
    last = take_bits(&s, 1);
    switch (take_bits(&s, 2)) {
      case 0: stored_block(&s); break;
      case 1: fixed_block(&s); break;
      case 2: dynamic_block(&s); break;
      default: s.failed = 1;
    }
  }
  return !s.failed && s.out_at == out_size ? 0 : -1;
}
