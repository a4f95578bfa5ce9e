#include "container/host/cell_values.h"

#include "vm/convert.h"

namespace walle::container {

Result<Cell> cell_of(const wvm_value& value, std::string_view column) {
  switch (vm::kind_of(value)) {
    case WVM_NONE: return Cell();
    case WVM_BOOL: return Cell::of(value.as.integer != 0);
    case WVM_INT: return Cell::of(static_cast<int64_t>(value.as.integer));
    case WVM_FLOAT: return Cell::of(value.as.real);
    case WVM_STR: return Cell::of(std::string_view(value.as.text, value.size));
    case WVM_BYTES: return Cell::of_bytes({value.as.text, value.size});
    case WVM_LIST:
    case WVM_MAP:
    case WVM_TENSOR:
    case WVM_BUFFER: break;
  }
  constexpr size_t kShown = 80;  // a task may name a column as it likes
  return argument_error("a value that is no int, float, bool, str, bytes or None", "a value of one row",
                        {"column '", column.substr(0, kShown), "'"},
                        "convert it: float(tensor), bytes(view), json.dumps(list)")
      .of_kind(base::ErrorKind::wrong_type);
}

Result<vm::Value> value_of(const Cell& cell) {
  if (!cell.present) return vm::Value();
  switch (cell.type) {
    case ColumnType::integer: return vm::Value(cell.i);
    case ColumnType::real: return vm::Value(cell.d);
    case ColumnType::boolean: return vm::Value(cell.i != 0);
    case ColumnType::text: return vm::Value(std::string(cell.text));
    case ColumnType::bytes: return vm::Value(vm::Bytes{std::string(cell.text)});
    case ColumnType::vector: break;
  }
  Floats floats;
  cell.append_floats(floats);
  WALLE_ASSIGN(Tensor out,
               Tensor::from(Shape{static_cast<int64_t>(floats.size())}, std::span<const float>(floats)));
  return vm::Value(std::move(out));
}

}  // namespace walle::container
