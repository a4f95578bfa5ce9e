// Watermarked: an operator that gathers rows under something that ends - a window, a page - and gives it out
// when the watermark, the latest time seen less the disorder allowed, has reached that end.
//
// Like every operator: one thread at a time.
#pragma once

#include "stream/operators/batch_rows.h"
#include "stream/operators/operators.h"

namespace walle::stream {

class Watermarked : public Operator {
 public:
  Result<Batch> push(const Batch& in) final;
  Result<Batch> finish() final;
  uint64_t late() const final { return late_; }
  uint64_t outside() const final { return outside_; }

 protected:
  // `name` of the operator, for errors.
  Watermarked(const char* name, int64_t disorder_us) : name_(name), disorder_us_(disorder_us) {}

  int64_t watermark_ = INT64_MIN;
  int64_t due_ = INT64_MAX;  // the next watermark at which close() has something to do
  uint64_t late_ = 0, outside_ = 0;

 private:
  // The columns that are needed, in a batch whose layout may differ from the one before.
  virtual Status bind(const Batch& in) = 0;
  // What comes out, without rows.
  virtual Batch layout() const = 0;
  virtual void place(const Batch& in, size_t row, Batch& out) = 0;
  // Gives out, or forgets, what watermark_ has reached; sets due_.
  virtual void close(Batch& out) = 0;

  const char* name_;
  int64_t disorder_us_;
  ColumnKinds kinds_;
};

}  // namespace walle::stream
