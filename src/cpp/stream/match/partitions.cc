#include "stream/match/partitions.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "stream/match/tight.h"
#include "stream/trigger/trigger_spec.h"

namespace walle::stream {

namespace {
// Rows are copied and cleared as bytes.
static_assert(std::is_trivially_copyable_v<Slot> && std::is_trivially_copyable_v<Pending>);
static_assert(sizeof(Slot) % 8 == 0 && sizeof(Pending) % 8 == 0 && kMaxSteps * sizeof(uint16_t) % 8 == 0);

size_t row_bytes(const RowShape& s) {
  return s.nodes * sizeof(Slot) + (s.guards + s.triggers) * sizeof(uint64_t) + s.absences * sizeof(Pending) +
         (s.chains ? kMaxSteps * sizeof(uint16_t) : 0);
}

RowShape wider(const RowShape& a, const RowShape& b) {
  return {.nodes = std::max(a.nodes, b.nodes),
          .guards = std::max(a.guards, b.guards),
          .triggers = std::max(a.triggers, b.triggers),
          .absences = std::max(a.absences, b.absences),
          .chains = a.chains || b.chains};
}

// The next part of a row.
template <class T>
T* part(std::byte*& at, size_t count) {
  auto* here = reinterpret_cast<T*>(at);
  at += count * sizeof(T);
  return here;
}

// At most half full, or chains of collisions grow.
size_t index_slots(size_t rows) { return std::bit_ceil(rows * 2); }

// Doubled, so that keys pay for few copies, and never beyond what was declared.
size_t grown(size_t capacity, size_t needed, size_t most) {
  return std::min(most, std::max(needed, capacity * 2));
}
}  // namespace

// The keys of by(field) are hashes already, those of pages are numbers in a row: the product spreads both.
size_t Partitions::slot_of(uint64_t key) const {
  return static_cast<size_t>(key * uint64_t{0x9e3779b97f4a7c15} >> 32) & (index_.size() - 1);
}

Partition* Partitions::find(uint64_t key) {
  if (index_.empty()) return nullptr;
  for (size_t i = slot_of(key);; i = (i + 1) & (index_.size() - 1)) {
    const uint32_t at = index_[i];
    if (at == kNoPartition) return nullptr;
    if (all_[at].key == key) return &all_[at];
  }
}

void Partitions::put_in_index(uint32_t at) {
  size_t i = slot_of(all_[at].key);
  while (index_[i] != kNoPartition) i = (i + 1) & (index_.size() - 1);
  index_[i] = at;
}

// Those behind move up, so that the table has no holes.
void Partitions::drop_from_index(const Partition& p) {
  const size_t mask = index_.size() - 1;
  size_t hole = slot_of(p.key);
  while (index_[hole] != number(p)) hole = (hole + 1) & mask;
  for (size_t i = (hole + 1) & mask; index_[i] != kNoPartition; i = (i + 1) & mask) {
    const size_t home = slot_of(all_[index_[i]].key);
    if (((i - home) & mask) < ((i - hole) & mask)) continue;  // the hole lies before its home
    index_[hole] = index_[i];
    hole = i;
  }
  index_[hole] = kNoPartition;
}

Partition* Partitions::take(uint64_t key) {
  if (free_.empty() && !grow()) return nullptr;
  const uint32_t at = free_.back();
  free_.pop_back();
  Partition& p = all_[at];
  p.key = key;
  p.taken = true;
  put_in_index(at);
  link_newest(p);
  return &p;
}

void Partitions::release(Partition& p) {
  unlink(p);
  drop_from_index(p);
  std::fill_n(p.slots, shape_.nodes, Slot{});
  std::fill_n(p.guards, shape_.guards, 0);
  std::fill_n(p.barriers, shape_.triggers, 0);
  // A timer that waits finds nothing armed, or what the row's next key has armed by then.
  for (size_t i = 0; i < shape_.absences; ++i) p.pending[i] = {.queued = p.pending[i].queued};
  p.previous = 0;
  p.outer = 0;
  p.waits = 0;
  p.lives = 0;
  p.taken = p.closed = false;
  free_.push_back(number(p));
}

Partition* Partitions::ended() {
  if (idle_.oldest == kNoPartition) return nullptr;
  Partition& p = all_[idle_.oldest];
  return p.closed ? &p : nullptr;
}

void Partitions::use(Partition& p) {
  p.closed = false;
  if (p.newer == kNoPartition) return;
  unlink(p);
  link_newest(p);
}

// The end of a wait is a use: the key is not the next to go.
void Partitions::add_wait(Partition& p) {
  unlink(p);
  ++p.waits;
  link_newest(p);
}

void Partitions::end_wait(Partition& p) {
  unlink(p);
  --p.waits;
  if (p.closed && p.waits == 0)
    link_oldest(p);
  else
    link_newest(p);
}

void Partitions::close(Partition& p) {
  p.closed = true;
  if (p.waits) return;
  unlink(p);
  link_oldest(p);
}

void Partitions::make_oldest(Partition& p, bool closed) {
  p.closed = closed;
  unlink(p);
  link_oldest(p);
}

void Partitions::link_newest(Partition& p) {
  Order& order = order_of(p);
  const uint32_t at = number(p);
  p.older = order.newest;
  p.newer = kNoPartition;
  (order.newest == kNoPartition ? order.oldest : all_[order.newest].newer) = at;
  order.newest = at;
}

void Partitions::link_oldest(Partition& p) {
  Order& order = order_of(p);
  const uint32_t at = number(p);
  p.older = kNoPartition;
  p.newer = order.oldest;
  (order.oldest == kNoPartition ? order.newest : all_[order.oldest].older) = at;
  order.oldest = at;
}

void Partitions::unlink(Partition& p) {
  Order& order = order_of(p);
  (p.older == kNoPartition ? order.oldest : all_[p.older].newer) = p.newer;
  (p.newer == kNoPartition ? order.newest : all_[p.newer].older) = p.older;
  p.older = p.newer = kNoPartition;
}

// The parts of `count` rows from `first` on lie in `page`.
void Partitions::place_rows(size_t first, size_t count, std::byte* page) {
  for (size_t at = first; at < first + count; ++at) {
    Partition& p = all_[at];
    p.slots = part<Slot>(page, shape_.nodes);
    p.guards = part<uint64_t>(page, shape_.guards);
    p.barriers = part<uint64_t>(page, shape_.triggers);
    p.pending = part<Pending>(page, shape_.absences);
    p.live = part<uint16_t>(page, shape_.chains ? kMaxSteps : 0);
  }
}

// One page more; false when all that were declared are there.
bool Partitions::grow() {
  const size_t first = all_.size();
  const size_t rows = std::min(rows_per_page_, most_ - first);
  if (rows == 0) return false;
  const size_t most_pages = (most_ + rows_per_page_ - 1) / rows_per_page_;
  if (first + rows > all_.capacity()) {
    const size_t room = grown(all_.capacity(), first + rows, most_);
    all_.reserve(room);
    free_.reserve(room);
    index_ = std::vector<uint32_t>(index_slots(room), kNoPartition);
    for (const Partition& p : all_)
      if (p.taken) put_in_index(number(p));
  }
  if (pages_.size() == pages_.capacity())
    pages_.reserve(grown(pages_.capacity(), pages_.size() + 1, most_pages));
  pages_.push_back(std::make_unique<std::byte[]>(rows * row_bytes(shape_)));  // of zeros
  all_.resize(first + rows);
  place_rows(first, rows, pages_.back().get());
  // Backwards: rows are given out from the front.
  for (size_t at = first + rows; at-- > first;) free_.push_back(static_cast<uint32_t>(at));
  return true;
}

void Partitions::fit(const RowShape& shape) {
  if (shape_.holds(shape)) return;
  // Rows that exist are copied: some room for the next triggers. Without rows, no more than is needed.
  const auto room = [&](size_t have, size_t need) {
    return have >= need ? have : all_.empty() ? need : need + need / 16 + 1;
  };
  const RowShape old = shape_;
  shape_ = {.nodes = room(old.nodes, shape.nodes),
            .guards = room(old.guards, shape.guards),
            .triggers = room(old.triggers, shape.triggers),
            .absences = room(old.absences, shape.absences),
            .chains = old.chains || shape.chains};
  for (size_t page = 0; page < pages_.size(); ++page) {
    const size_t first = page * rows_per_page_;
    const size_t rows = std::min(rows_per_page_, all_.size() - first);
    auto next = std::make_unique<std::byte[]>(rows * row_bytes(shape_));
    const std::vector<Partition> before(all_.begin() + static_cast<ptrdiff_t>(first),
                                        all_.begin() + static_cast<ptrdiff_t>(first + rows));
    place_rows(first, rows, next.get());
    for (size_t i = 0; i < rows; ++i) {
      Partition& p = all_[first + i];
      std::copy_n(before[i].slots, old.nodes, p.slots);
      std::copy_n(before[i].guards, old.guards, p.guards);
      std::copy_n(before[i].barriers, old.triggers, p.barriers);
      std::copy_n(before[i].pending, old.absences, p.pending);
      std::copy_n(before[i].live, old.chains ? kMaxSteps : 0, p.live);
    }
    pages_[page] = std::move(next);
  }
}

void Partitions::clear() { *this = Partitions(most_, rows_per_page_); }

size_t Partitions::memory_bytes() const {
  return tight::bytes(all_) + tight::bytes(pages_) + tight::bytes(free_) + tight::bytes(index_) +
         all_.size() * row_bytes(shape_);
}

size_t Partitions::memory_bytes_at_most(const RowShape& needed) const {
  const size_t pages = (most_ + rows_per_page_ - 1) / rows_per_page_;
  const RowShape shape = wider(shape_, needed);
  return most_ * (sizeof(Partition) + sizeof(uint32_t) + row_bytes(shape)) + pages * sizeof(Page) +
         index_slots(most_) * sizeof(uint32_t);
}

}  // namespace walle::stream
