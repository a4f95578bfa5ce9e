// Manifests: what is packed is read, what means nothing is refused by name, and no bytes do harm.
#include "container/task/manifest.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "seed.h"

namespace walle::container {
namespace {

using stream::Sensitivity;

Manifest whole() {
  Manifest m;
  m.name = "ipv-1";
  m.version = "1.2.3-rc.1+build.7";
  m.vm = "3.13";
  m.priority = 9;
  m.triggers = {{"left", "page_exit@item"}, {"daily", "daily 03:00"}};
  m.queue = 7;
  m.when_full = stream::WhenFull::drop_new;
  m.past = stream::Past::delivered;
  m.module = "pages.item";
  m.preprocess = "before";
  m.execute_model = "models/encoder.walle";
  m.postprocess = "after";
  m.postprocess_event = true;
  m.preprocess_limits = {.wall_ms = 10, .cpu_ms = 5};
  m.execute_limits = {.wall_ms = 600'000, .cpu_ms = 0};
  m.heap_bytes = uint64_t{1} << 20;
  m.log_bytes = 0;
  m.state_bytes = 1;
  m.imports = {"json", "walle"};
  m.host_calls = {"walle.kv", "walle.log.info"};
  m.tables = {{.name = "visits",
               .columns = {{"item", ColumnType::integer}, {"code", ColumnType::bytes}},
               .max_bytes = 4096,
               .max_age_us = 1}};
  m.features = {{.policy = {.task = "ipv-1",
                            .feature = "ipv",
                            .fields = {{.name = "code",
                                        .type = ColumnType::vector,
                                        .max_size = 32,
                                        .highest = Sensitivity::personal}},
                            .bytes_per_day = 4096,
                            .sends_per_day = 10,
                            .minimum_events = 12,
                            .consent = "features",
                            .expires_ts = 5},
                 .graph = "page.graph"}};
  m.requires_facts = {"charging", "idle"};
  m.breaker = 3;
  m.retry = {.attempts = 3, .first_delay_us = 1, .max_delay_us = 9, .factor = 2, .waiting = 8};
  m.events = {{.name = "exposure",
               .kind = stream::EventKind::exposure,
               .fields = {{.name = "item", .type = ColumnType::integer, .sensitivity = Sensitivity::open}}}};
  m.pages = {"item"};
  m.zone = {.name = "Europe/Berlin",
            .local = std::make_shared<const stream::LocalTime>(
                7, std::vector<stream::UtcOffset>{{.from_us = 5, .offset_us = 9}})};
  m.rolling = {{.name = "seen",
                .event = "exposure[item > 1]",
                .by = {"item"},
                .kind = stream::RollingKind::max,
                .value = "item",
                .over_us = 5,
                .keys = 7}};
  m.states = {"wifi"};
  m.app = {{.function = "price",
            .arguments = {CallType::integer},
            .returns = CallType::real,
            .limits = {.wall_ms = 200},
            .per_firing = 7}};
  return m;
}

Manifest least() {
  Manifest m;
  m.name = "t";
  m.version = "0.0.0";
  m.triggers = {{"x", "click"}};
  m.main_function = "main";
  return m;
}

std::string packed(const Manifest& m) {
  auto bytes = pack_manifest(m);
  EXPECT_TRUE(bytes.ok()) << bytes.error().message();
  return bytes.ok() ? *bytes : std::string();
}

TEST(Manifest, WhatIsPackedIsRead) {
  for (const Manifest& m : {whole(), least()}) {
    const std::string bytes = packed(m);
    const auto read = read_manifest(bytes);
    ASSERT_TRUE(read.ok()) << read.error().message();
    // Equal manifests give equal bytes, so that this compares every member that is packed.
    EXPECT_EQ(packed(*read), bytes);
  }
  const Manifest read = *read_manifest(packed(whole()));
  EXPECT_EQ(read.triggers[1].text, "daily 03:00");
  EXPECT_EQ(read.past, stream::Past::delivered);
  EXPECT_EQ(read.execute_limits.wall_ms, 600'000u);
  EXPECT_EQ(read.tables[0].columns[1].type, ColumnType::bytes);
  EXPECT_EQ(read.features[0].policy.task, "ipv-1");
  EXPECT_EQ(read.features[0].policy.fields[0].highest, Sensitivity::personal);
  EXPECT_EQ(read.features[0].graph, "page.graph");
  EXPECT_EQ(read.events[0].fields[0].sensitivity, Sensitivity::open);
  EXPECT_EQ(read.breaker, 3u);
  EXPECT_EQ(read.app[0].arguments[0], CallType::integer);
  EXPECT_EQ(read.app[0].returns, CallType::real);
  EXPECT_EQ(read.app[0].limits.wall_ms, 200u);
  EXPECT_EQ(read.app[0].per_firing, 7u);
  EXPECT_EQ(read.retry.attempts, 3u);
  EXPECT_EQ(read.retry.waiting, 8u);
  EXPECT_EQ(read.retry.delay_us(1), 1);
  EXPECT_EQ(read.retry.delay_us(3), 4);
  EXPECT_EQ(read.retry.delay_us(16), 9);
  EXPECT_EQ(read.rolling, whole().rolling);
}

// One change to a right manifest, and what the message names.
struct Wrong {
  const char* says;
  std::function<void(Manifest&)> change;
};

TEST(Manifest, WhatMeansNothingIsRefusedByName) {
  const std::vector<Wrong> all = {
      {"task ''", [](Manifest& m) { m.name = ""; }},
      {"task '../x'", [](Manifest& m) { m.name = "../x"; }},
      {"version '1.0'", [](Manifest& m) { m.version = "1.0"; }},
      {"version of Python 'x'", [](Manifest& m) { m.vm = "x"; }},
      {"priority 10", [](Manifest& m) { m.priority = 10; }},
      {"number of triggers 0", [](Manifest& m) { m.triggers.clear(); }},
      {"number of triggers 65", [](Manifest& m) { m.triggers.resize(65, {"a", "click"}); }},
      {"trigger 'left' twice", [](Manifest& m) { m.triggers[1].name = "left"; }},
      {"trigger 'left' of task", [](Manifest& m) { m.triggers[0].text = "click ~"; }},
      {"queue 0", [](Manifest& m) { m.queue = 0; }},
      {"queue 65537", [](Manifest& m) { m.queue = 65'537; }},
      {"queue policy 3", [](Manifest& m) { m.when_full = static_cast<stream::WhenFull>(3); }},
      {"past 3", [](Manifest& m) { m.past = static_cast<stream::Past>(3); }},
      {"module ''", [](Manifest& m) { m.module = ""; }},
      {"main function and phases", [](Manifest& m) { m.main_function = "main"; }},
      {"no execute", [](Manifest& m) { m.execute_model = ""; }},
      {"two things to execute", [](Manifest& m) { m.execute_function = "f"; }},
      {"function 'a b'", [](Manifest& m) { m.preprocess = "a b"; }},
      {"without preprocess", [](Manifest& m) { m.preprocess = ""; }},
      {"an event for postprocess", [](Manifest& m) { m.postprocess = ""; }},
      {"file '../m'", [](Manifest& m) { m.execute_model = "../m"; }},
      {"preprocess.wall_ms 0", [](Manifest& m) { m.preprocess_limits.wall_ms = 0; }},
      {"execute.wall_ms 600001", [](Manifest& m) { m.execute_limits.wall_ms = 600'001; }},
      {"postprocess.cpu_ms", [](Manifest& m) { m.postprocess_limits.cpu_ms = 600'001; }},
      {"state_keys", [](Manifest& m) { m.state_keys = kMaxStateKeys + 1; }},
      {"recorded event 'exposure'", [](Manifest& m) { m.record_events = {"exposure"}; }},
      {"recorded event 'nothing'", [](Manifest& m) { m.record_events = {"nothing"}; }},
      {"record.per_firing 0", [](Manifest& m) { m.record_per_firing = 0; }},
      {"record.per_day 1000001", [](Manifest& m) { m.record_per_day = 1'000'001; }},
      {"which is a trigger, too", [](Manifest& m) { m.timer_names = {m.triggers[0].name}; }},
      {"timers that wait 4097", [](Manifest& m) { m.timers_most = 4097; }},
      {"timer_due", [](Manifest& m) { m.events.push_back({.name = "timer_due"}); }},
      {"app 'price' twice", [](Manifest& m) { m.app.push_back(m.app[0]); }},
      {"number of apps 33", [](Manifest& m) { m.app.resize(33, m.app[0]); }},
      {"arguments of app price 17", [](Manifest& m) { m.app[0].arguments.resize(17); }},
      {"price.wall_ms 0", [](Manifest& m) { m.app[0].limits.wall_ms = 0; }},
      {"price.per_firing 0", [](Manifest& m) { m.app[0].per_firing = 0; }},
      {"price.per_firing 1000001", [](Manifest& m) { m.app[0].per_firing = 1'000'001; }},
      {"without offsets", [](Manifest& m) { m.zone.local = nullptr; }},
      {"with offsets", [](Manifest& m) { m.zone.name.clear(); }},
      {"time zone '../UTC'", [](Manifest& m) { m.zone.name = "../UTC"; }},
      {"offsets of zone",
       [](Manifest& m) { m.zone.local = std::make_shared<const stream::LocalTime>(INT64_MAX); }},
      {"retry.attempts 17", [](Manifest& m) { m.retry.attempts = 17; }},
      {"features kept per key 33", [](Manifest& m) { m.rolling.resize(33, m.rolling[0]); }},
      {"feature kept per key 'seen' twice", [](Manifest& m) { m.rolling.push_back(m.rolling[0]); }},
      {"function 'a b'", [](Manifest& m) { m.rolling[0].name = "a b"; }},
      {"one event", [](Manifest& m) { m.rolling[0].event = "a > b"; }},
      {"0 fields in by", [](Manifest& m) { m.rolling[0].by.clear(); }},
      {"field ''", [](Manifest& m) { m.rolling[0].by = {""}; }},
      {"unknown aggregate", [](Manifest& m) { m.rolling[0].kind = static_cast<stream::RollingKind>(5); }},
      {"no value", [](Manifest& m) { m.rolling[0].value.clear(); }},
      {"both time and number", [](Manifest& m) { m.rolling[0].over_events = 1; }},
      {"-1 us", [](Manifest& m) { m.rolling[0].over_us = -1; }},
      {"keys = 0", [](Manifest& m) { m.rolling[0].keys = 0; }},
      {"retry.factor 0", [](Manifest& m) { m.retry.factor = 0; }},
      {"retry.waiting 1025", [](Manifest& m) { m.retry.waiting = 1025; }},
      {"retry.first_delay_us 0", [](Manifest& m) { m.retry.first_delay_us = 0; }},
      {"retry.max_delay_us 0", [](Manifest& m) { m.retry.max_delay_us = 0; }},
      {"heap_bytes 0", [](Manifest& m) { m.heap_bytes = 0; }},
      {"state_bytes", [](Manifest& m) { m.state_bytes = kMaxTaskBytes + 1; }},
      {"module of the library 'a.b'", [](Manifest& m) { m.imports = {"a.b"}; }},
      {"imports 'a' twice", [](Manifest& m) { m.imports = {"a", "a"}; }},
      {"host call ''", [](Manifest& m) { m.host_calls = {""}; }},
      {"number of host calls", [](Manifest& m) { m.host_calls.resize(kMaxTaskNames + 1, "a"); }},
      {"result table 'A'", [](Manifest& m) { m.tables[0].name = "A"; }},
      {"result table 'visits' twice", [](Manifest& m) { m.tables.push_back(m.tables[0]); }},
      {"columns of table visits 0", [](Manifest& m) { m.tables[0].columns.clear(); }},
      {"column 'item' twice", [](Manifest& m) { m.tables[0].columns[1].name = "item"; }},
      {"column 'a-b'", [](Manifest& m) { m.tables[0].columns[1].name = "a-b"; }},
      {"column '_ts'", [](Manifest& m) { m.tables[0].columns[1].name = "_ts"; }},
      {"type of column code", [](Manifest& m) { m.tables[0].columns[1].type = static_cast<ColumnType>(5); }},
      {"max_bytes of table visits", [](Manifest& m) { m.tables[0].max_bytes = 4095; }},
      {"max_bytes of table visits", [](Manifest& m) { m.tables[0].max_bytes = -1; }},
      {"max_age", [](Manifest& m) { m.tables[0].max_age_us = -1; }},
      {"of task 'other'", [](Manifest& m) { m.features[0].policy.task = "other"; }},
      {"fields of feature ipv 0", [](Manifest& m) { m.features[0].policy.fields.clear(); }},
      {"column ''", [](Manifest& m) { m.features[0].policy.fields[0].name = ""; }},
      {"column 'code' of feature",
       [](Manifest& m) { m.features[0].policy.fields[0].type = static_cast<ColumnType>(4); }},
      {"budgets", [](Manifest& m) { m.features[0].policy.sends_per_day = -1; }},
      {"budgets", [](Manifest& m) { m.features[0].policy.minimum_events = 0; }},
      {"file '/x'", [](Manifest& m) { m.features[0].graph = "/x"; }},
      {"fact 'a b'", [](Manifest& m) { m.requires_facts = {"a b"}; }},
      {"breaker 0", [](Manifest& m) { m.breaker = 0; }},
      {"event 'click'",
       [](Manifest& m) { m.events = {{.name = "click", .kind = stream::EventKind::timer, .fields = {}}}; }},
      {"event ''", [](Manifest& m) { m.events[0].name = ""; }},
      {"state ''", [](Manifest& m) { m.states = {""}; }},
  };
  for (const Wrong& wrong : all) {
    Manifest m = whole();
    wrong.change(m);
    const Status refused = verify_manifest(m);
    ASSERT_FALSE(refused.ok()) << wrong.says;
    EXPECT_NE(refused.error().message().find(wrong.says), std::string::npos) << refused.error().message();
    EXPECT_FALSE(pack_manifest(m).ok());
  }
}

// The limits themselves are allowed.
TEST(Manifest, BoundsAreInclusive) {
  Manifest m = whole();
  m.queue = stream::kMaxQueue;
  m.breaker = kMaxBreaker;
  m.log_bytes = m.heap_bytes = kMaxTaskBytes;
  m.state_bytes = kMaxStateBytes;
  m.state_keys = kMaxStateKeys;
  m.priority = 0;
  m.name = m.features[0].policy.task = std::string(64, 'a');
  EXPECT_TRUE(verify_manifest(m).ok()) << verify_manifest(m).error().message();
  m.name += 'a';
  EXPECT_FALSE(verify_manifest(m).ok());
}

TEST(Manifest, OneThatIsTooLargeIsNotWritten) {
  Manifest m = least();
  for (int i = 0; i < 64; ++i)
    m.triggers.push_back({"t" + std::to_string(i), std::string(20'000, ' ') + "click"});
  m.triggers.erase(m.triggers.begin());
  const auto bytes = pack_manifest(m);
  ASSERT_FALSE(bytes.ok());
  EXPECT_NE(bytes.error().message().find("at most 1 MiB"), std::string::npos);
  EXPECT_FALSE(read_manifest(std::string(kMaxManifestBytes + 1, 'x')).ok());
}

// A flip gives a refusal or another manifest that means something, never harm.
TEST(Manifest, EveryFlippedBitIsSurvived) {
  const std::string good = packed(whole());
  size_t refused = 0;
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    const auto read = read_manifest(bad);
    if (!read.ok())
      ++refused;
    else
      EXPECT_TRUE(verify_manifest(*read).ok());
  }
  EXPECT_GT(refused, 0u);
  // FlatBuffers ends with padding or texts: cut ones are refused all the same, or read what is whole.
  for (size_t size = 0; size < good.size(); ++size)
    if (const auto read = read_manifest(std::string_view(good).substr(0, size)); read.ok()) {
      EXPECT_TRUE(verify_manifest(*read).ok());
    }
}

TEST(Manifest, RandomDamageIsSurvived) {
  std::mt19937 random(test_seed());
  const std::string good = packed(whole());
  for (int round = 0; round < 2000; ++round) {
    std::string bad = good;
    for (int n = 1 + static_cast<int>(random() % 8); n > 0; --n)
      bad[random() % bad.size()] = static_cast<char>(random());
    if (const auto read = read_manifest(bad); read.ok()) {
      EXPECT_TRUE(verify_manifest(*read).ok());
    }
  }
}

}  // namespace
}  // namespace walle::container
