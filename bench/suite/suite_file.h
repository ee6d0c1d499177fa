// The suite as bench/suite/suite.json describes it for sinter and all its peers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sinter::suite {

struct Case {
  std::string name;   ///< `softmax_bf16_32768x4096`
  std::string op;     ///< `softmax`
  std::string group;  ///< `normalisation`
  std::string dtype;
  std::string text;                ///< the graph, with its sizes filled in
  std::string small_text;          ///< the same with its leading size cut down, for contents
  std::string tiny_text;           ///< the same op at the sizes that the oracle judges
  std::int64_t bytes = 0;          ///< every input once, every result once
  std::string modes;               ///< some of K, L and E
  std::vector<std::string> tiers;  ///< some of tiny, quick, full and sweep
  std::int64_t offset = 0;         ///< elements that each array starts past an aligned address
  std::uint64_t seed = 1;          ///< of the contents
  int kernels = 1;                 ///< of a call; more than one: one per op, not fused
};

/// The cases of a file, in the order in which they are to be measured. Throws UserError where the
/// file cannot be read or is no suite.
std::vector<Case> read_suite(const std::string& file);

}  // namespace sinter::suite
