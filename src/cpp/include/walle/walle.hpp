// walle.hpp: walle.h for C++11 and later. Objects free themselves and move, failures are exceptions of type
// walle::Error; everything is inline over the functions of walle.h, so the binary interface stays that of C.
//
// Threads: as in walle.h. A Model may be used by any number of threads, the runs of one Session follow one
// another, a CancelToken may be asked from any thread.
#ifndef WALLE_WALLE_HPP
#define WALLE_WALLE_HPP

#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "walle/walle.h"

namespace walle {
// Names of a program's own: the library's C++ functions lie in namespaces of theirs.
inline namespace api {

// What a call reported: given, expected, where and the next step in what().
class Error : public std::runtime_error {
 public:
  explicit Error(const walle_error_t& error) : std::runtime_error(error.message), status_(error.status) {}
  walle_status_t status() const noexcept { return status_; }

 private:
  walle_status_t status_;
};

inline void check(walle_status_t status, const walle_error_t& error) {
  if (status != WALLE_OK) throw Error(error);
}

template <class T>
struct DType;  // of the types that C++ has; give others their walle_dtype_t
template <> struct DType<float> { static constexpr walle_dtype_t value = WALLE_FLOAT32; };
template <> struct DType<double> { static constexpr walle_dtype_t value = WALLE_FLOAT64; };
template <> struct DType<int8_t> { static constexpr walle_dtype_t value = WALLE_INT8; };
template <> struct DType<int16_t> { static constexpr walle_dtype_t value = WALLE_INT16; };
template <> struct DType<int32_t> { static constexpr walle_dtype_t value = WALLE_INT32; };
template <> struct DType<int64_t> { static constexpr walle_dtype_t value = WALLE_INT64; };
template <> struct DType<uint8_t> { static constexpr walle_dtype_t value = WALLE_UINT8; };
template <> struct DType<uint16_t> { static constexpr walle_dtype_t value = WALLE_UINT16; };
template <> struct DType<uint32_t> { static constexpr walle_dtype_t value = WALLE_UINT32; };
template <> struct DType<uint64_t> { static constexpr walle_dtype_t value = WALLE_UINT64; };
template <> struct DType<bool> { static constexpr walle_dtype_t value = WALLE_BOOL; };

// An input over the caller's memory, which stays unchanged until the run is done. `name` is not copied.
inline walle_tensor_t input(const char* name, walle_dtype_t dtype, const std::vector<int64_t>& shape,
                            const void* data, size_t bytes) {
  if (shape.size() > WALLE_MAX_RANK)
    throw std::length_error("a shape of rank " + std::to_string(shape.size()) + "; expected at most 8");
  walle_tensor_t made = walle_tensor_t();
  made.name = name;
  made.dtype = dtype;
  made.rank = static_cast<int32_t>(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) made.shape[i] = shape[i];
  made.data = data;
  made.bytes = bytes;
  return made;
}

template <class T>
walle_tensor_t input(const char* name, const std::vector<int64_t>& shape, const T* data, size_t count) {
  return input(name, DType<T>::value, shape, data, count * sizeof(T));
}

template <class T>
walle_tensor_t input(const char* name, const std::vector<int64_t>& shape, const std::vector<T>& values) {
  static_assert(!std::is_same<T, bool>::value, "std::vector<bool> has no memory of bools: pass a pointer");
  return input(name, shape, values.data(), values.size());
}

// A model; copies share it.
class Model {
 public:
  static Model load(const std::string& path) {
    walle_error_t error;
    walle_model_t* made = nullptr;
    check(walle_model_load(path.c_str(), &made, &error), error);
    return Model(made);
  }
  static Model parse(const void* data, size_t bytes) {
    walle_error_t error;
    walle_model_t* made = nullptr;
    check(walle_model_parse(data, bytes, &made, &error), error);
    return Model(made);
  }

  std::vector<walle_value_info_t> inputs() const { return infos(walle_model_input_count, walle_model_input); }
  std::vector<walle_value_info_t> outputs() const {
    return infos(walle_model_output_count, walle_model_output);
  }
  // Empty where there is none.
  std::string metadata(const std::string& key) const {
    const char* text = walle_model_metadata(get(), key.c_str());
    return text == nullptr ? std::string() : std::string(text);
  }
  const walle_model_t* get() const noexcept { return model_.get(); }

 private:
  explicit Model(walle_model_t* model) : model_(model, walle_model_free) {}

  std::vector<walle_value_info_t> infos(size_t (*count)(const walle_model_t*),
                                        walle_status_t (*at)(const walle_model_t*, size_t,
                                                             walle_value_info_t*, walle_error_t*)) const {
    std::vector<walle_value_info_t> all(count(get()));
    walle_error_t error;
    for (size_t i = 0; i < all.size(); ++i) check(at(get(), i, &all[i], &error), error);
    return all;
  }

  std::shared_ptr<walle_model_t> model_;
};

// What a run gave. Tensors lie in its memory.
class Results {
 public:
  explicit Results(walle_results_t* results) : results_(results, walle_results_free) {}

  size_t size() const { return walle_results_count(results_.get()); }
  walle_tensor_t operator[](size_t index) const {
    walle_error_t error;
    walle_tensor_t tensor;
    check(walle_results_get(results_.get(), index, &tensor, &error), error);
    return tensor;
  }
  walle_tensor_t operator[](const std::string& name) const {
    walle_error_t error;
    walle_tensor_t tensor;
    check(walle_results_find(results_.get(), name.c_str(), &tensor, &error), error);
    return tensor;
  }
  // The elements of a result; std::invalid_argument where it has another dtype.
  template <class T>
  std::vector<T> values(const std::string& name) const {
    const walle_tensor_t tensor = (*this)[name];
    if (tensor.dtype != DType<T>::value)
      throw std::invalid_argument("result '" + name + "' is of dtype " + walle_dtype_name(tensor.dtype));
    std::vector<T> out(tensor.bytes / sizeof(T));
    if (!out.empty()) std::memcpy(out.data(), tensor.data, tensor.bytes);
    return out;
  }

 private:
  std::unique_ptr<walle_results_t, void (*)(walle_results_t*)> results_;
};

// Ends runs from any thread; once asked to it stays so.
class CancelToken {
 public:
  CancelToken() : token_(walle_cancel_create(), walle_cancel_free) {
    if (!token_) throw std::bad_alloc();
  }
  void cancel() const { walle_cancel_request(token_.get()); }
  walle_cancel_t* get() const noexcept { return token_.get(); }

 private:
  std::shared_ptr<walle_cancel_t> token_;
};

// All zero, which is every default, with its size.
template <class Options>
Options options() {
  Options made = Options();
  made.struct_size = sizeof(made);
  return made;
}
inline walle_session_options_t session_options() { return options<walle_session_options_t>(); }
inline walle_run_options_t run_options() { return options<walle_run_options_t>(); }

class Session {
 public:
  explicit Session(const Model& model, const walle_session_options_t& options = session_options())
      : session_(nullptr, walle_session_free) {
    walle_error_t error;
    walle_session_t* made = nullptr;
    check(walle_session_create(model.get(), &options, &made, &error), error);
    session_.reset(made);
  }

  Results run(const std::vector<walle_tensor_t>& inputs,
              const walle_run_options_t& options = run_options()) {
    walle_error_t error;
    walle_results_t* results = nullptr;
    check(walle_session_run_with(get(), &options, inputs.data(), inputs.size(), &results, &error), error);
    return Results(results);
  }
  // Plans ahead for inputs of these shapes; data may be nullptr.
  void prepare(const std::vector<walle_tensor_t>& inputs) {
    walle_error_t error;
    check(walle_session_prepare(get(), inputs.data(), inputs.size(), &error), error);
  }
  std::string explain() {
    walle_error_t error;
    const char* text = nullptr;
    check(walle_session_explain(get(), &text, &error), error);
    return text;
  }
  void start_profile() {
    walle_error_t error;
    check(walle_session_start_profile(get(), &error), error);
  }
  // The steps of the runs since start_profile; their texts live until the next call or the session's end.
  std::vector<walle_profile_step_t> stop_profile() {
    walle_error_t error;
    const walle_profile_step_t* steps = nullptr;
    size_t count = 0;
    check(walle_session_stop_profile(get(), &steps, &count, &error), error);
    return std::vector<walle_profile_step_t>(steps, steps + count);
  }
  walle_session_t* get() const noexcept { return session_.get(); }

 private:
  std::unique_ptr<walle_session_t, void (*)(walle_session_t*)> session_;
};

}  // namespace api
}  // namespace walle

#endif  // WALLE_WALLE_HPP
