// Shapes, buffers and tensors: what untrusted sizes may do, and who owns the bytes.
#include "tensor/tensor.h"

#include <cstring>
#include <limits>
#include <new>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "base/memory.h"
#include "tensor/representable.h"

namespace walle::tensor {
namespace {

Result<Shape> checked(const std::vector<int64_t>& dims, int64_t size = 4) {
  return Shape::checked(dims, size, "here");
}

TEST(Shape, AcceptsWhatFits) {
  EXPECT_EQ(checked({2, 3, 4})->elements(), 24);
  EXPECT_EQ(checked({})->elements(), 1);
  EXPECT_EQ(checked({0, int64_t{1} << 30})->elements(), 0);
  EXPECT_EQ(checked(std::vector<int64_t>(8, 1))->rank(), 8);
  EXPECT_TRUE(checked({base::kMaxTensorBytes}, 1).ok());
}

TEST(Shape, RefusesHostileSizes) {
  struct Row {
    std::vector<int64_t> dims;
    base::ErrorGroup group;
    const char* word;
  };
  const int64_t huge = std::numeric_limits<int64_t>::max();
  const Row rows[] = {
      {{-1}, base::ErrorGroup::model, "-1"},
      {{std::numeric_limits<int64_t>::min()}, base::ErrorGroup::model, "-9223372036854775808"},
      {{0, -5}, base::ErrorGroup::model, "-5"},
      {{huge}, base::ErrorGroup::resource, "9223372036854775807"},
      {{huge, huge, huge}, base::ErrorGroup::resource, "bytes"},
      {{int64_t{1} << 32, int64_t{1} << 32}, base::ErrorGroup::resource, "4294967296"},
      {{base::kMaxTensorBytes / 4 + 1}, base::ErrorGroup::resource, "bytes"},
      // As NumPy: of no element, and yet strides and products of its other axes would overflow.
      {{0, int64_t{1} << 62, int64_t{1} << 62}, base::ErrorGroup::resource, "4611686018427387904"},
      {std::vector<int64_t>(9, 1), base::ErrorGroup::model, "rank 9"},
      {std::vector<int64_t>(200, 1), base::ErrorGroup::model, "rank 200"},
  };
  for (const Row& row : rows) {
    const auto shape = checked(row.dims);
    ASSERT_FALSE(shape.ok()) << row.word;
    EXPECT_EQ(shape.error().group(), row.group) << shape.error().message();
    EXPECT_NE(shape.error().message().find(row.word), std::string::npos) << shape.error().message();
    EXPECT_EQ(shape.error().text().where, "here");
    EXPECT_FALSE(shape.error().text().next.empty());
  }
}

TEST(Shape, StridesAndProducts) {
  EXPECT_EQ((Shape{2, 3, 4}).strides(), (Shape{12, 4, 1}));
  EXPECT_EQ((Shape{}).strides(), (Shape{}));
  EXPECT_EQ((Shape{2, 3, 4}).product(1, 3), 12);
  EXPECT_EQ((Shape{2, 3, 4}).product(2, 2), 1);
  EXPECT_EQ((Shape{2, 3, 4}).sub(1, 3), (Shape{3, 4}));
  EXPECT_EQ((Shape{1, 0}).text(), "[1, 0]");
}

TEST(Shape, BroadcastIsSymmetricAndNumPys) {
  struct Row {
    Shape a, b;
    std::optional<Shape> want;
  };
  const Row rows[] = {
      {{}, {}, Shape{}},          {{3}, {}, Shape{3}},
      {{2, 1}, {3}, Shape{2, 3}}, {{4, 1, 5}, {3, 1}, Shape{4, 3, 5}},
      {{0}, {1}, Shape{0}},       {{0}, {2}, std::nullopt},
      {{2}, {3}, std::nullopt},   {{2, 3}, {2}, std::nullopt},
  };
  for (const Row& row : rows)
    for (const bool swapped : {false, true}) {
      const auto got = swapped ? broadcast(row.b, row.a) : broadcast(row.a, row.b);
      ASSERT_EQ(got.ok(), row.want.has_value()) << row.a.text() << " and " << row.b.text();
      if (got.ok()) {
        EXPECT_EQ(*got, *row.want);
      }
    }
}

TEST(Shape, AxesAreNormalisedAndChecked) {
  EXPECT_EQ(*normalize_axis(-1, 3), 2);
  EXPECT_EQ(*normalize_axis(0, 3), 0);
  for (const int64_t axis :
       {int64_t{3}, int64_t{-4}, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()})
    EXPECT_FALSE(normalize_axis(axis, 3).ok()) << axis;
  EXPECT_FALSE(normalize_axis(0, 0).ok());
}

TEST(Buffer, ReleasesWhatItWrapsOnceAndLast) {
  int released = 0;
  float value = 7;
  {
    const Buffer first = Buffer::wrap(&value, sizeof value, [&] { ++released; }, false);
    EXPECT_FALSE(first.writable());
    const Tensor second(DType::float32, Shape{1}, first);
    EXPECT_EQ(second.as<float>()[0], 7);
  }
  EXPECT_EQ(released, 1);
  EXPECT_FALSE(static_cast<bool>(Buffer()));
}

TEST(Buffer, WindowsKeepTheirOwnerAlive) {
  auto owner = std::make_shared<std::vector<float>>(3, 2.0F);
  std::weak_ptr<std::vector<float>> watch = owner;
  Buffer window = Buffer::window(owner, owner->data() + 1, 8);
  owner.reset();
  EXPECT_FALSE(watch.expired());
  EXPECT_FALSE(window.writable());
  window = Buffer();
  EXPECT_TRUE(watch.expired());
}

TEST(Tensor, RefusalOfMemoryIsAResourceError) {
  base::set_allocation_fault([](uint64_t, size_t) { return true; });
  const auto t = Tensor::zeros(DType::float32, Shape{3});
  const auto v = Tensor::vector_i64(std::vector<int64_t>{1});
  base::set_allocation_fault(nullptr);
  ASSERT_FALSE(t.ok());
  EXPECT_EQ(t.error().group(), base::ErrorGroup::resource);
  EXPECT_NE(t.error().message().find("12"), std::string::npos) << t.error().message();
  EXPECT_FALSE(v.ok());
  EXPECT_FALSE(Tensor::allocate(DType::float64, Shape{int64_t{1} << 40}).ok());
}

TEST(Tensor, CopiesShareBytesAndReshapesToo) {
  Tensor t = *Tensor::zeros(DType::int32, Shape{2, 3});
  const Tensor same = t, flat = t.reshaped(Shape{6});
  t.as_mutable<int32_t>()[5] = 9;
  EXPECT_EQ(same.as<int32_t>()[5], 9);
  EXPECT_EQ(flat.as<int32_t>()[5], 9);
  EXPECT_TRUE(t.identical(same));
  EXPECT_FALSE(t.identical(flat)) << "another shape";
  EXPECT_FALSE(t.identical(*Tensor::zeros(DType::int32, Shape{2, 3})));
  EXPECT_FALSE(Tensor::zeros(DType::float32, Shape{1})->identical(*Tensor::zeros(DType::int32, Shape{1})));
  EXPECT_TRUE(Tensor::zeros(DType::float32, Shape{0})->identical(*Tensor::zeros(DType::float32, Shape{0})));
}

TEST(Tensor, ReadsNumbersOfEveryType) {
  for (int i = 1; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    Tensor t = *Tensor::zeros(dtype, Shape{2});
    const bool known = visit_all(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
        t.as_mutable<T>()[1] = T(1.0F);
      else
        t.as_mutable<T>()[1] = T(1);
    });
    EXPECT_EQ(t.to_f64().ok(), known) << dtype_name(dtype);
    if (known) {
      EXPECT_EQ(*t.to_f64(), (std::vector<double>{0, 1})) << dtype_name(dtype);
    }
    EXPECT_EQ(t.to_i64().ok(), is_integer(dtype) || dtype == DType::boolean) << dtype_name(dtype);
  }
}

TEST(Tensor, BooleansOfAnyByteBecomePlain) {
  Tensor t = *Tensor::zeros(DType::boolean, Shape{3});
  EXPECT_TRUE(t.has_plain_booleans());
  EXPECT_EQ((*t.with_plain_booleans()).data(), t.data());  // nothing to do: the same bytes
  const uint8_t bytes[] = {0, 1, 255};
  std::memcpy(t.mutable_data(), bytes, 3);
  EXPECT_FALSE(t.has_plain_booleans());
  const Tensor plain = *t.with_plain_booleans();
  EXPECT_TRUE(plain.has_plain_booleans());
  EXPECT_EQ(*plain.to_i64(), (std::vector<int64_t>{0, 1, 1}));
  const Tensor bits(DType::uint8, Shape{3}, t.buffer());
  EXPECT_TRUE(bits.has_plain_booleans());  // a question about booleans only
}

TEST(Tensor, SeesAByteThatIsNoBooleanWhereverItIs) {
  for (const int64_t n : {0, 1, 63, 64, 65, 150}) {
    Tensor t = *Tensor::allocate(DType::boolean, Shape{n});
    const auto bytes = t.as_mutable<uint8_t>();
    std::ranges::fill(bytes, uint8_t{1});
    EXPECT_TRUE(t.has_plain_booleans());
    for (int64_t i = 0; i < n; ++i)
      for (const uint8_t odd : {2, 0x80, 0xff}) {
        bytes[i] = odd;
        EXPECT_FALSE(t.has_plain_booleans()) << n << ' ' << i;
        bytes[i] = 0;
      }
  }
}

TEST(Shape, UncheckedProductsStopAtTheLargestNumber) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  const Shape shape{2, int64_t{1} << 40, int64_t{1} << 40};
  EXPECT_EQ(shape.elements(), most);
  EXPECT_EQ(shape.strides(), (Shape{most, int64_t{1} << 40, 1}));
  EXPECT_EQ((Shape{int64_t{1} << 40, int64_t{1} << 40, 0}).product(0, 3), 0);
}

TEST(Representable, IsWhatAConversionKeeps) {
  EXPECT_TRUE(representable<int8_t>(127.9));
  EXPECT_FALSE(representable<int8_t>(128));
  EXPECT_TRUE(representable<int8_t>(-128.9));
  EXPECT_FALSE(representable<int8_t>(-129));
  EXPECT_TRUE(representable<uint8_t>(-0.5));
  EXPECT_FALSE(representable<uint8_t>(-1));
  EXPECT_FALSE(representable<int64_t>(0x1p63));
  EXPECT_TRUE(representable<int64_t>(-0x1p63));
  EXPECT_TRUE(representable<uint64_t>(0x1.fffffffffffffp63));
  EXPECT_FALSE(representable<uint64_t>(0x1p64));
  EXPECT_FALSE(representable<int32_t>(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_TRUE(representable<float>(1e300));
  EXPECT_TRUE(representable<bool>(7));
}

// Floats at an odd address, as in most ONNX files.
struct Unaligned {
  std::vector<std::byte> bytes = std::vector<std::byte>(4 * sizeof(float) + 1);
  Tensor tensor;

  Unaligned() {
    const std::vector<float> values{1, 2, 3, 4};
    std::memcpy(bytes.data() + 1, values.data(), 4 * sizeof(float));
    const Buffer whole = Buffer::wrap(bytes.data(), bytes.size(), {}, false);
    tensor = Tensor(DType::float32, {4}, Buffer::aligned_late(whole.part(1, 4 * sizeof(float))));
  }
};

TEST(LateCopy, IsMadeOnceForAllHandlesAndThreads) {
  const Unaligned given;
  const Tensor other = given.tensor;
  EXPECT_FALSE(other.buffer().lies_aligned());
  EXPECT_EQ(other.address(), given.bytes.data() + 1);
  std::vector<const void*> seen(4);
  {
    std::vector<std::jthread> threads;
    for (auto& at : seen) threads.emplace_back([&] { at = given.tensor.data(); });
  }
  EXPECT_EQ(seen, std::vector<const void*>(4, other.data()));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(other.data()) % 64, 0u);
  EXPECT_EQ(other.as<float>()[3], 4);
  EXPECT_EQ(other.address(), given.bytes.data() + 1) << "what tells the bytes apart stays";
  EXPECT_EQ(static_cast<const float*>(Tensor(DType::float32, {2}, other.buffer().part(8, 8)).data())[0], 3);
}

TEST(LateCopy, IsNotMadeForOneReading) {
  const Unaligned given;
  const uint64_t before = base::allocation_count();
  {
    const Tensor once = *given.tensor.for_one_reading();
    EXPECT_EQ(once.as<float>()[2], 3);
    EXPECT_NE(once.address(), given.tensor.address());
  }
  EXPECT_EQ(base::allocation_count(), before + 1);
  EXPECT_EQ(given.tensor.as<float>()[0], 1);
  EXPECT_EQ(base::allocation_count(), before + 2) << "this one stays";
  EXPECT_EQ(given.tensor.for_one_reading()->as<float>()[1], 2);
}

TEST(LateCopy, ThrowsWhereMemoryIsRefusedAndIsMadeTheNextTime) {
  const Unaligned given;
  base::set_allocation_fault([](uint64_t, size_t) { return true; });
  EXPECT_FALSE(given.tensor.for_one_reading().ok());
  EXPECT_THROW(given.tensor.data(), std::bad_alloc);
  base::set_allocation_fault(nullptr);
  EXPECT_EQ(given.tensor.as<float>()[3], 4);
}

}  // namespace
}  // namespace walle::tensor
