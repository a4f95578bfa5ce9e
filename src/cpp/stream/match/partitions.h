// Partitions: the partitions of one scope: found by key, kept in order of use, made as keys come.
//
// State lies in rows of equal shape, some rows to a page. A page is allocated when a key finds every row
// taken and the declared number not reached; that is the only allocation of a step, one per page of new keys
// and never again for known ones. At the declared number a key gives way to a new one (oldest()).
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "stream/match/partition.h"

namespace walle::stream {

struct RowShape {  // what a row has room for
  size_t nodes = 0, guards = 0, triggers = 0, absences = 0;
  bool chains = false;
  bool holds(const RowShape& o) const {
    return nodes >= o.nodes && guards >= o.guards && triggers >= o.triggers && absences >= o.absences &&
           chains >= o.chains;
  }
};

// Not synchronised. References to partitions hold until the next take() or fit().
class Partitions {
 public:
  // Precondition: both at least 1.
  Partitions(size_t most, size_t rows_per_page) : most_(most), rows_per_page_(rows_per_page) {}

  size_t size() const { return all_.size(); }  // rows, taken or not
  size_t most() const { return most_; }
  // Precondition: at least as many as there are rows.
  void keep(size_t most) { most_ = most; }
  const RowShape& shape() const { return shape_; }
  size_t taken() const { return all_.size() - free_.size(); }
  Partition& operator[](size_t at) { return all_[at]; }
  const Partition& operator[](size_t at) const { return all_[at]; }
  auto begin() { return all_.begin(); }
  auto end() { return all_.end(); }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }
  uint32_t number(const Partition& p) const { return static_cast<uint32_t>(&p - all_.data()); }

  Partition* find(uint64_t key);
  // A row for a key that has none; nullptr when all the declared ones are taken.
  Partition* take(uint64_t key);
  // Makes it free, and its row as new but for timers that wait.
  void release(Partition& p);
  // The one that gives way: the least recently used, those with waiting absences last. Precondition: one is
  // taken.
  Partition& oldest() { return all_[(idle_.oldest != kNoPartition ? idle_ : waiting_).oldest]; }
  // The same, if its page has ended.
  Partition* ended();
  void use(Partition& p);       // is the newest now
  void add_wait(Partition& p);  // an absence was armed
  void end_wait(Partition& p);  // an absence is no longer armed
  void close(Partition& p);     // becomes the oldest, unless it waits
  void make_oldest(Partition& p, bool closed);

  // Rows get room for `shape`; what they hold stays.
  void fit(const RowShape& shape);
  void clear();  // no rows at all

  size_t memory_bytes() const;
  // What memory_bytes() would be with rows that have room for `needed`, too, and the declared number of keys.
  size_t memory_bytes_at_most(const RowShape& needed) const;
  // Calls visit(partition) for all that are taken: those without waits first, and within them the oldest
  // first.
  template <class Visit>
  void in_order_of_use(Visit&& visit) const {
    for (const Order& order : {idle_, waiting_})
      for (uint32_t at = order.oldest; at != kNoPartition; at = all_[at].newer) visit(all_[at]);
  }

 private:
  struct Order {  // of use
    uint32_t oldest = kNoPartition, newest = kNoPartition;
  };
  using Page = std::unique_ptr<std::byte[]>;

  Order& order_of(const Partition& p) { return p.waits ? waiting_ : idle_; }
  void link_newest(Partition& p);
  void link_oldest(Partition& p);
  void unlink(Partition& p);
  bool grow();
  void place_rows(size_t first, size_t count, std::byte* page);
  size_t slot_of(uint64_t key) const;
  void put_in_index(uint32_t at);
  void drop_from_index(const Partition& p);

  size_t most_, rows_per_page_;
  RowShape shape_;
  std::vector<Partition> all_;
  std::vector<Page> pages_;
  std::vector<uint32_t> free_;
  std::vector<uint32_t> index_;  // by hash of the key: a power of two, at most half full
  Order idle_, waiting_;
};

}  // namespace walle::stream
