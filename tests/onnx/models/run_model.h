// Runs small models by the oracle.
#pragma once

#include "ir/shape/host_array.h"
#include "tests/onnx/models/model_builder.h"

#include <initializer_list>
#include <vector>

namespace sinter::test {

/// The outputs of the model for these inputs of the graph. Weights have the contents of the model,
/// unless the inputs replace them.
HostArrays outputs_of(const ModelBuilder& model, const HostArrays& inputs = {});

/// An array of any floating dtype.
HostArray real_array(DType dtype, std::vector<std::int64_t> shape,
                     const std::vector<double>& values);
HostArray integer_array(DType dtype, std::vector<std::int64_t> shape,
                        const std::vector<std::int64_t>& values);
/// The elements of a floating array.
std::vector<double> reals_of(const HostArray& array);
/// The elements of an array of integers or bools.
std::vector<std::int64_t> integers_of(const HostArray& array);

}  // namespace sinter::test
