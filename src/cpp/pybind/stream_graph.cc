#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <random>

#include "pybind/session.h"
#include "pybind/stream.h"
#include "stream/egress/egress.h"
#include "stream/operators/operators.h"
#include "stream/operators/privacy.h"

namespace py = pybind11;

namespace walle::pybind {

using namespace walle::stream;

namespace {
Cell cell_of(const py::handle& v) {
  if (v.is_none()) return std::monostate();
  if (py::isinstance<py::bool_>(v)) return int64_t{v.cast<bool>()};
  if (py::isinstance<py::int_>(v)) return v.cast<int64_t>();
  if (py::isinstance<py::float_>(v)) return v.cast<double>();
  if (py::isinstance<py::str>(v)) return v.cast<std::string>();
  if (const auto vector = py::array_t < float, py::array::c_style | py::array::forcecast > ::ensure(v);
      vector && vector.ndim() == 1)
    return Floats(vector.data(), vector.data() + vector.size());
  PyErr_Clear();
  throw CoreError(argument_error("a value of type " + std::string(py::str(py::type::of(v).attr("__name__"))),
                                 "None, int, float, bool, str or a one-dimensional array of floats", "batch",
                                 "convert it"));
}

py::object object_of(const Cell& c) {
  if (const auto* i = std::get_if<int64_t>(&c)) return py::int_(*i);
  if (const auto* d = std::get_if<double>(&c)) return py::float_(*d);
  if (const auto* s = std::get_if<std::string>(&c)) return py::str(*s);
  if (const auto* v = std::get_if<Floats>(&c))
    return py::array_t<float>(static_cast<py::ssize_t>(v->size()), v->data());
  return py::none();
}

using Labels = std::map<std::string, std::pair<int, std::string>>;  // name: (sensitivity, path)

// {"ts": [...], name: [...]}, labels, events behind each row
Batch batch_of(const py::dict& columns, const Labels& labels, const std::vector<int64_t>& support) {
  Batch b;
  b.ts = columns["ts"].cast<std::vector<int64_t>>();
  b.support = support;
  if (!support.empty() && support.size() != b.ts.size())
    throw CoreError(argument_error("support of " + std::to_string(support.size()) + " rows",
                                   std::to_string(b.ts.size()) + " rows as in 'ts'", "batch",
                                   "leave it out for rows of one event each"));
  for (const auto& [key, values] : columns) {
    const auto name = key.cast<std::string>();
    if (name == "ts") continue;
    Column c{name, Sensitivity::personal, {}};
    if (const auto it = labels.find(name); it != labels.end())
      c.sensitivity = static_cast<Sensitivity>(it->second.first), c.path = it->second.second;
    for (const auto& v : values) c.cells.push_back(cell_of(v));
    if (c.cells.size() != b.ts.size())
      throw CoreError(argument_error("column '" + name + "' of " + std::to_string(c.cells.size()) + " rows",
                                     std::to_string(b.ts.size()) + " rows as in 'ts'", "batch",
                                     "give every column one value per row"));
    b.columns.push_back(std::move(c));
  }
  return b;
}

py::tuple columns_of(const Batch& b) {
  py::dict out, labels;
  out["ts"] = b.ts;
  for (const Column& c : b.columns) {
    py::list cells;
    for (const Cell& v : c.cells) cells.append(object_of(v));
    out[py::str(c.name)] = cells;
    labels[py::str(c.name)] = py::make_tuple(static_cast<int>(c.sensitivity), c.path);
  }
  return py::make_tuple(out, labels, b.support);
}

// A model's first input and output as an encoder: rows of floats in, rows of floats out.
class SessionEncoder final : public Encoder {
 public:
  explicit SessionEncoder(py::object session)
      : owner_(std::move(session)), session_(owner_.cast<NativeSession&>().native()) {}
  ~SessionEncoder() override {
    const py::gil_scoped_acquire locked;
    owner_ = py::object();
  }

  Status run(std::span<const float> in, size_t rows, Floats& out) override {
    const auto width = static_cast<int64_t>(in.size() / rows);
    WALLE_ASSIGN(Tensor given, Tensor::allocate(DType::float32, Shape{static_cast<int64_t>(rows), width}));
    std::memcpy(given.mutable_data(), in.data(), in.size_bytes());
    std::vector<ir::RuntimeValue> inputs;
    inputs.emplace_back(std::move(given));
    WALLE_ASSIGN(const auto results, session_.run(std::move(inputs)));
    const Tensor* made = results.empty() ? nullptr : results[0].tensor();
    if (!made || made->dtype() != DType::float32)
      return argument_error("a model whose first output is no float32 tensor",
                            "one float32 input [N, width] and output [N, codes]", "encode",
                            "choose another model");
    const auto* floats = static_cast<const float*>(made->data());
    out.assign(floats, floats + made->bytes() / static_cast<int64_t>(sizeof(float)));
    return {};
  }

 private:
  py::object owner_;
  runtime::Session& session_;
};

AggregateSpec aggregate_of(
    const std::tuple<std::string, std::string, std::string, int, double, double>& given) {
  const auto& [function, column, out, k, low, high] = given;
  return {unwrap(aggregate_kind(function)), column, out, k, low, high};
}

// task, feature, fields (name, type, max size, highest), bytes and sends a day, minimum events, consent,
// expiry
using PolicyGiven =
    std::tuple<std::string, std::string, std::vector<std::tuple<std::string, int, uint32_t, int>>, int64_t,
               int64_t, int64_t, std::string, int64_t>;

EgressPolicy policy_of(const PolicyGiven& given) {
  const auto& [task, feature, fields, bytes, sends, events, consent, expires] = given;
  EgressPolicy p{task, feature, {}, bytes, sends, events, consent, expires};
  for (const auto& [name, type, size, highest] : fields)
    p.fields.push_back({name, static_cast<FeatureType>(type), size, static_cast<Sensitivity>(highest)});
  return p;
}

std::mt19937_64 generator(const std::optional<uint64_t>& seed) {
  if (seed) return std::mt19937_64(*seed);
  std::random_device device;
  std::seed_seq entropy{device(), device(), device(), device(), device(), device(), device(), device()};
  return std::mt19937_64(entropy);
}
}  // namespace

void bind_stream_graph(py::module_& m) {
  py::class_<Operator>(m, "Operator")
      .def("push",
           [](Operator& o, const py::dict& columns, const Labels& labels,
              const std::vector<int64_t>& support) {
             return columns_of(unwrap(o.push(batch_of(columns, labels, support))));
           })
      .def("finish", [](Operator& o) { return columns_of(unwrap(o.finish())); })
      .def("late", &Operator::late)
      .def("outside", &Operator::outside)
      .def("evicted", &Operator::evicted);
  m.def("make_filter", [](const std::string& p) { return unwrap(make_filter(p)); });
  m.def("make_map", [](const std::string& out, const std::string& left, char op, const std::string& right) {
    return unwrap(make_map(out, left, op, right));
  });
  m.def("make_select", [](const std::vector<std::string>& names) { return unwrap(make_select(names)); });
  m.def("make_dedupe", [](const std::vector<std::string>& keys, int64_t within) {
    return unwrap(make_dedupe(keys, within));
  });
  m.def("make_window",
        [](int kind, int64_t size, int64_t slide, int64_t disorder, int64_t lateness,
           const std::vector<std::string>& keys,
           const std::vector<std::tuple<std::string, std::string, std::string, int, double, double>>&
               aggregates) {
          WindowSpec s{static_cast<WindowKind>(kind), size, slide, disorder, lateness, keys, {}};
          for (const auto& a : aggregates) s.aggregates.push_back(aggregate_of(a));
          return unwrap(make_window(std::move(s)));
        });
  m.def("make_state",
        [](int kind, const std::vector<std::string>& keys, const std::string& column,
           const std::tuple<std::string, std::string, std::string, int, double, double>& aggregate,
           const std::string& out, size_t max_keys) {
          return unwrap(make_state(
              {static_cast<StateKind>(kind), keys, column, aggregate_of(aggregate), out, max_keys}));
        });
  m.def("make_encode",
        [](const std::vector<std::string>& columns, const std::string& out, const py::object& session) {
          return unwrap(make_encode(columns, out, std::make_shared<SessionEncoder>(session)));
        });
  m.def(
      "make_noise",
      [](EventLog& log, const std::string& account, double limit, int kind, const std::string& column,
         double low, double high, double epsilon, double delta, double resolution,
         std::optional<uint64_t> seed) {
        return unwrap(
            make_noise({static_cast<NoiseKind>(kind), column, low, high, epsilon, delta, resolution},
                       PrivacyAccount(log.index(), account, limit), generator(seed)));
      },
      py::keep_alive<0, 1>());
  m.def("as_of_join",
        [](const py::dict& left, const Labels& left_labels, const std::vector<int64_t>& left_support,
           const py::dict& right, const Labels& right_labels, const std::vector<int64_t>& right_support,
           const std::vector<std::string>& keys, int64_t within) {
          return columns_of(unwrap(as_of_join(batch_of(left, left_labels, left_support),
                                              batch_of(right, right_labels, right_support), keys, within)));
        });

  py::class_<EgressGate>(m, "EgressGate")
      .def_static("open", [](const std::string& dir) { return unwrap(EgressGate::open(Env::system(), dir)); })
      .def("allow", [](EgressGate& g, const PolicyGiven& p) { unwrap(g.allow(policy_of(p))); })
      .def("load",
           [](EgressGate& g, const std::string& bytes, const py::function& verify) {
             unwrap(g.load(bytes, [&](std::string_view policy, std::string_view algorithm,
                                      std::string_view key, std::string_view signature) {
               if (verify(py::bytes(policy), py::str(std::string(algorithm)), py::str(std::string(key)),
                          py::bytes(signature))
                       .cast<bool>())
                 return Status();
               return Status(Error(base::ErrorGroup::task,
                                   {"a signature that does not verify", "one by a key the device trusts",
                                    "egress policy, key '" + std::string(key) + "'",
                                    "fetch the task's configuration again"}));
             }));
           })
      .def("set_consents", &EgressGate::set_consents)
      .def(
          "check",
          [](const EgressGate& g, const std::string& task, const std::string& feature, const Labels& labels) {
            std::vector<Column> columns;
            for (const auto& [name, label] : labels)
              columns.push_back({name, static_cast<Sensitivity>(label.first), {}, label.second});
            unwrap(g.check_columns(task, feature, columns));
          })
      .def("send",
           [](EgressGate& g, const std::string& task, const std::string& feature, const py::dict& columns,
              const Labels& labels, const std::vector<int64_t>& support) {
             return py::bytes(unwrap(g.send(task, feature, batch_of(columns, labels, support))));
           })
      .def("ledger", [](const EgressGate& g) {
        py::list out;
        for (const LedgerEntry& e : g.ledger())
          out.append(py::make_tuple(e.ts, e.task, e.feature, e.rows, e.bytes));
        return out;
      });

  m.def("pack_policies", [](const std::string& task, const std::vector<PolicyGiven>& given) {
    std::vector<EgressPolicy> policies;
    for (const auto& p : given) policies.push_back(policy_of(p));
    return py::bytes(pack_policies(task, policies));
  });
  m.def("sign_policy", [](const std::string& policy, const std::string& algorithm, const std::string& key,
                          const std::string& signature) {
    return py::bytes(sign_policy(policy, algorithm, key, signature));
  });

  m.def("spent_epsilon", [](EventLog& log, const std::string& name) {
    return unwrap(PrivacyAccount(log.index(), name, 0).spent());
  });
  m.def("spend_epsilon", [](EventLog& log, const std::string& name, double limit, double epsilon) {
    PrivacyAccount account(log.index(), name, limit);
    unwrap(account.spend(epsilon));
    return unwrap(account.spent());
  });
  m.def("laplace_sum", [](const std::vector<double>& values, double low, double high, double epsilon,
                          double resolution, std::optional<uint64_t> seed) {
    auto random = generator(seed);
    return unwrap(laplace_sum(values, low, high, epsilon, resolution, random));
  });
  m.def("gaussian_sum", [](const std::vector<double>& values, double low, double high, double epsilon,
                           double delta, double resolution, std::optional<uint64_t> seed) {
    auto random = generator(seed);
    return unwrap(gaussian_sum(values, low, high, epsilon, delta, resolution, random));
  });
  m.def("discrete_gaussian", [](double sigma, size_t n, std::optional<uint64_t> seed) {
    auto random = generator(seed);
    std::vector<int64_t> out(n);
    for (int64_t& v : out) v = unwrap(discrete_gaussian(sigma, random));
    return out;
  });
  m.def("randomised_response",
        [](const std::vector<int>& truths, int k, double epsilon, std::optional<uint64_t> seed) {
          auto random = generator(seed);
          std::vector<int> out;
          for (const int t : truths) out.push_back(unwrap(randomised_response(t, k, epsilon, random)));
          return out;
        });
}

}  // namespace walle::pybind
