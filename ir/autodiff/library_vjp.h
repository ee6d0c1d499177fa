// The vjps of library ops, which are library ops again.
#pragma once

#include "sinter/graph.h"

#include <span>
#include <vector>

namespace sinter {

std::vector<Tensor> matmul_vjp(std::span<const Tensor> operands, Tensor y, Tensor g);
std::vector<Tensor> conv_vjp(std::span<const Tensor> operands, Tensor y, Tensor g);
std::vector<Tensor> conv_data_gradient_vjp(std::span<const Tensor> operands, Tensor y, Tensor g);
std::vector<Tensor> conv_weight_gradient_vjp(std::span<const Tensor> operands, Tensor y, Tensor g);

std::vector<Tensor> all_reduce_vjp(std::span<const Tensor> operands, Tensor y, Tensor g);
std::vector<Tensor> all_gather_vjp(std::span<const Tensor> operands, Tensor y, Tensor g);
std::vector<Tensor> reduce_scatter_vjp(std::span<const Tensor> operands, Tensor y, Tensor g);
std::vector<Tensor> broadcast_vjp(std::span<const Tensor> operands, Tensor y, Tensor g);
std::vector<Tensor> reduce_to_vjp(std::span<const Tensor> operands, Tensor y, Tensor g);
std::vector<Tensor> all_to_all_vjp(std::span<const Tensor> operands, Tensor y, Tensor g);
std::vector<Tensor> send_receive_vjp(std::span<const Tensor> operands, Tensor y, Tensor g);

}  // namespace sinter
