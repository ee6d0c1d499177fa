// Reads bench/suite/suite.json, the description of the suite for sinter and its peers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sinter::suite {

struct Case {
  std::string name;   ///< `softmax_bf16_32768x4096`
  std::string op;     ///< `softmax`
  std::string group;  ///< `normalisation`
  std::string dtype;
  std::string text;                ///< the graph with its sizes filled in
  std::string small_text;          ///< the graph with a reduced leading size, for contents
  std::string tiny_text;           ///< the graph at the sizes that the oracle checks
  std::int64_t bytes = 0;          ///< every input once, every result once
  std::string modes;               ///< some of K, L and E
  std::vector<std::string> tiers;  ///< some of tiny, quick, full and sweep
  std::int64_t offset = 0;         ///< elements between an aligned address and each array
  std::uint64_t seed = 1;          ///< of the contents
  int kernels = 1;                 ///< per call; more than 1 means one per op, not fused
};

/// The cases of a file, in the order in which they are measured. Throws UserError if the file
/// cannot be read or is not a suite.
std::vector<Case> read_suite(const std::string& file);

}  // namespace sinter::suite
