// Reads examples/data/digits.csv and splits it into a training set and a held-out set.
#pragma once

#include <string>
#include <vector>

namespace digits {

inline constexpr int kPixels = 64;
inline constexpr int kClasses = 10;

/// Images of kPixels pixels each, with values from 0 to 16, and their labels.
struct Set {
  std::vector<float> pixels;
  std::vector<int> labels;
  int size() const { return static_cast<int>(labels.size()); }
};

struct Data {
  Set train;
  Set held_out;  ///< a fifth of all images
};

/// Reads the file and splits it, always in the same way. Throws std::runtime_error if the file is
/// missing or damaged.
Data read_data(const std::string& path);

/// The numbers from 0 to `size - 1` in an order that depends only on `seed`, on every machine.
std::vector<int> shuffled(int size, unsigned seed);

}  // namespace digits
