#include "compiler/program/sort_kernels.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "sinter/error.h"

namespace sinter {

namespace {

/// For each kernel, the number of extra passes over the kernels in program order until it is ready.
/// 0: it depends on no kernel, or only on earlier ones of the same pass.
std::vector<int> extra_passes_of(const std::vector<Kernel>& kernels) {
  std::vector<int> passes(kernels.size(), 0);
  std::vector<std::size_t> waiting(kernels.size());
  std::vector<std::vector<int>> later(kernels.size());
  std::vector<int> ready;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    waiting[i] = kernels[i].depends_on.size();
    if (waiting[i] == 0) ready.push_back(static_cast<int>(i));
    for (const int before : kernels[i].depends_on)
      later[static_cast<std::size_t>(before)].push_back(static_cast<int>(i));
  }
  std::size_t done = 0;
  for (; done < ready.size(); ++done) {
    const int at = ready[done];
    for (const int next : later[static_cast<std::size_t>(at)]) {
      int& pass = passes[static_cast<std::size_t>(next)];
      pass = std::max(pass, passes[static_cast<std::size_t>(at)] + (at > next ? 1 : 0));
      if (--waiting[static_cast<std::size_t>(next)] == 0) ready.push_back(next);
    }
  }
  ensure(done == kernels.size(), "updates make the kernels depend on each other in a cycle");
  return passes;
}

bool is_collective(const Kernel& kernel) {
  return kernel.kind == KernelKind::opaque && is_collective(kernel.nodes.front()->op);
}

/// Moves each collective to where its operand is ready, so that later kernels run beside it. Other
/// kernels stay in order, and so do the collectives, which depend on each other.
std::vector<int> with_early_collectives(const std::vector<Kernel>& kernels,
                                        const std::vector<int>& order) {
  std::vector<int> collectives;
  std::ranges::copy_if(order, std::back_inserter(collectives), [&](int i) {
    return is_collective(kernels[static_cast<std::size_t>(i)]);
  });
  if (collectives.empty()) return order;
  std::vector<int> result;
  std::vector<bool> is_placed(kernels.size());
  const auto place = [&](int i) {
    result.push_back(i);
    is_placed[static_cast<std::size_t>(i)] = true;
  };
  auto next = collectives.begin();
  const auto place_ready_collectives = [&] {
    for (; next != collectives.end(); ++next) {
      const std::vector<int>& needs = kernels[static_cast<std::size_t>(*next)].depends_on;
      if (!std::ranges::all_of(needs, [&](int i) { return is_placed[static_cast<std::size_t>(i)]; }))
        return;
      place(*next);
    }
  };
  place_ready_collectives();
  for (const int i : order) {
    if (is_placed[static_cast<std::size_t>(i)]) continue;
    place(i);
    place_ready_collectives();
  }
  return result;
}

}  // namespace

void sort_kernels(Program& program) {
  const std::vector<int> passes = extra_passes_of(program.kernels);
  std::vector<int> order(program.kernels.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int i) { return passes[static_cast<std::size_t>(i)]; });
  order = with_early_collectives(program.kernels, order);
  if (std::ranges::is_sorted(order)) return;
  std::vector<int> position(order.size());
  std::vector<Kernel> sorted;
  for (const int kernel : order) {
    position[static_cast<std::size_t>(kernel)] = static_cast<int>(sorted.size());
    sorted.push_back(std::move(program.kernels[static_cast<std::size_t>(kernel)]));
  }
  for (Kernel& kernel : sorted) {
    for (int& edge : kernel.depends_on) edge = position[static_cast<std::size_t>(edge)];
    std::ranges::sort(kernel.depends_on);
  }
  program.kernels = std::move(sorted);
}

}  // namespace sinter
