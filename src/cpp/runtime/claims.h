// Whether a backend runs a composite operator whole, because it has a faster kernel than the operators that
// it would be lowered to.
#pragma once

#include <span>
#include <vector>

#include "backends/backend.h"
#include "ir/infer.h"
#include "runtime/shape_questions.h"

namespace walle::runtime {

bool is_claimed(const std::vector<const backends::Backend*>& backends, ShapeQuestions& questions,
                const ir::OpDef& op, const ir::Attributes& attributes, std::span<const ir::InferInput> inputs,
                std::span<const ir::InferOutput> outputs);

bool some_supports(const std::vector<const backends::Backend*>& backends, const ops::Program& program,
                   const ops::ProgramNode& node);

}  // namespace walle::runtime
