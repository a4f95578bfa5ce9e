// LabelEncoder (ai.onnx.ml) between numbers: the position of the
// matching key chooses the value; no match gives the default.
#include <cmath>

#include "ops/rules/views.h"

namespace walle::ops {

namespace {
struct Table {
  DType key_dtype = DType::undefined;
  DType value_dtype = DType::undefined;
  std::vector<double> keys, values;
  double otherwise = 0;
};

// Labels travel through doubles, which hold integers up to 2^53 exactly.
Status check_label(DType dtype, double v) {
  if (!tensor::is_integer(dtype) || std::fabs(v) <= 0x1p53) return {};  // false for NaN
  return model_error("a label beyond 2^53", "smaller labels", "LabelEncoder", "renumber the labels");
}

// The list given as ints, floats or a tensor under `<stem>int64s`, `<stem>floats` or `<stem>tensor`.
Status read(const ir::Attributes& attrs, const std::string& stem, DType& dtype, std::vector<double>& out) {
  // Version 4 of the operator has tensors, the versions before it lists.
  if (const Tensor* t = attrs.get_tensor(stem + "tensor")) {
    dtype = t->dtype();
    WALLE_ASSIGN(out, t->to_f64());
  } else if (attrs.has(stem + "int64s")) {
    dtype = DType::int64;
    for (int64_t v : attrs.get_ints(stem + "int64s")) out.push_back(static_cast<double>(v));
  } else if (attrs.has(stem + "floats")) {
    dtype = DType::float32;
    out = attrs.get_floats(stem + "floats");
  }
  if (out.empty())
    return model_error({"no numeric attribute ", stem, "..."}, "int64s, floats or a numeric tensor",
                       "LabelEncoder", "encode strings before the model");
  for (double v : out) WALLE_TRY(check_label(dtype, v));
  return {};
}

Result<Table> table_of(const ir::Attributes& attrs) {
  Table t;
  WALLE_TRY(read(attrs, "keys_", t.key_dtype, t.keys));
  WALLE_TRY(read(attrs, "values_", t.value_dtype, t.values));
  if (t.keys.size() != t.values.size())
    return model_error({t.keys.size(), " keys and ", t.values.size(), " values"}, "one value per key",
                       "LabelEncoder", "correct the lists");
  if (const Tensor* d = attrs.get_tensor("default_tensor")) {
    WALLE_ASSIGN(const std::vector<double> v, d->to_f64());
    if (v.size() != 1)
      return model_error({"default_tensor of shape ", d->shape().text()}, "one element", "LabelEncoder",
                         "correct it");
    t.otherwise = v[0];
  } else {
    // -0.0 and -1: the defaults of ai.onnx.ml, odd as the first one is.
    t.otherwise = tensor::is_float(t.value_dtype) ? attrs.get_float("default_float", -0.0)
                                                  : static_cast<double>(attrs.get_int("default_int64", -1));
  }
  WALLE_TRY(check_label(t.value_dtype, t.otherwise));
  return t;
}

Status infer(ir::InferContext& c) {
  WALLE_ASSIGN(const Table t, table_of(c.attrs()));
  // One axis more is needed for the comparison with all keys.
  if (c.dtype(0) != t.key_dtype || c.rank(0) >= base::kMaxRank)
    return model_error({dtype_name(c.dtype(0)), c.shape(0).text()},
                       {"input of the keys' dtype ", dtype_name(t.key_dtype)}, "LabelEncoder",
                       "insert a Cast");
  c.output(0, t.value_dtype, c.shape(0));
  return {};
}

Status lower(LowerContext& c) {
  WALLE_ASSIGN(const Table t, table_of(c.attrs()));
  if (!c.may_tabulate(static_cast<int64_t>(t.keys.size()), kSearchWork)) return {};
  const Shape shape = c.shape(c.in(0));
  Shape one = shape;
  one.push_back(1);
  const auto n = static_cast<int64_t>(t.keys.size());
  // [..., keys] of booleans; ArgMax finds the first match, ReduceMax whether there is one.
  const Ref equal = c.emit("Equal", {c.reshape(c.in(0), one), constant_of(c, t.key_dtype, Shape{n}, t.keys)});
  const int64_t last = shape.rank();
  // The first match counts: of equal keys the first value is meant.
  const Ref at = c.emit("ArgMax", {equal}, {{"axis", last}, {"keepdims", int64_t{0}}});
  const Ref chosen =
      c.emit("Gather", {constant_of(c, t.value_dtype, Shape{n}, t.values), at}, {{"axis", int64_t{0}}});
  const double otherwise[] = {t.otherwise};
  c.result(0, c.emit("Where", {c.reduce("ReduceMax", equal, {last}, false), chosen,
                               constant_of(c, t.value_dtype, Shape{}, otherwise)}));
  return {};
}
}  // namespace

extern const ir::OpDef kLabelEncoderOp{
    .name = "LabelEncoder", .op_class = ir::OpClass::composite, .infer = infer, .lower = lower};

}  // namespace walle::ops
