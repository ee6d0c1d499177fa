// The digits of examples/data/digits.csv, dealt out to training and held-out sets.
#pragma once

#include <string>
#include <vector>

namespace digits {

inline constexpr int kPixels = 64;
inline constexpr int kClasses = 10;

/// Images of kPixels pixels each, from 0 to 16, and what they show.
struct Set {
  std::vector<float> pixels;
  std::vector<int> labels;
  int size() const { return static_cast<int>(labels.size()); }
};

struct Data {
  Set train;
  Set held_out;  ///< a fifth of all
};

/// Reads the file and deals it out: the same deal every time. Throws std::runtime_error where the
/// file is missing or damaged.
Data read_data(const std::string& path);

/// The numbers from 0 to `size - 1` in an order that `seed` decides, the same on every machine.
std::vector<int> shuffled(int size, unsigned seed);

}  // namespace digits
