// Nodes of a program whose sizes may be symbols: which they are, and whether two nodes are one for every
// value of the symbols.
#pragma once

#include <functional>
#include <vector>

#include "ops/program.h"

namespace walle::ops {

// Some operand, movement or attribute of the node is a symbol.
bool is_symbolic(const Program& program, const ProgramNode& node);

// Both compute the same of operands of the same types and sizes, so that they have the same choices; small
// constants, which candidates read (axes, numbers to divide by), are the same as well.
bool are_alike(const Program& program, const ProgramNode& node, const Program& other_program,
               const ProgramNode& other);

// All constants of two alike nodes are the same: one kernel serves both.
bool share_constants(const Program& program, const ProgramNode& node, const ProgramNode& other);

// Every size of the node's raster or loop, in their order.
std::vector<Dim> sizes_of_movement(const ProgramNode& node);

// Sizes that are symbols, to be read or written. Of an attribute its number is written as well.
void for_each_size(ProgramValue& value, const std::function<void(Dim&)>& visit);
void for_each_size(ProgramNode& node, const std::function<void(Dim&)>& visit);

}  // namespace walle::ops
