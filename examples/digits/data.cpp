#include "data.h"

#include <fstream>
#include <numeric>
#include <random>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace digits {

namespace {

Set read_file(const std::string& path) {
  std::ifstream file(path);
  Set set;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    char comma = ',';
    for (float pixel = 0; set.pixels.size() < (set.labels.size() + 1) * kPixels; fields >> comma)
      if (fields >> pixel)
        set.pixels.push_back(pixel);
      else
        break;
    int label = -1;
    if (!(fields >> label) || label < 0 || label >= kClasses)
      throw std::runtime_error(path + ": line " + std::to_string(set.size() + 1) +
                               " is not 64 pixels and a digit");
    set.labels.push_back(label);
  }
  if (set.labels.empty())
    throw std::runtime_error(path + ": missing or empty; run from the root of the project");
  return set;
}

void append(const Set& from, int image, Set& to) {
  const auto first = from.pixels.begin() + image * kPixels;
  to.pixels.insert(to.pixels.end(), first, first + kPixels);
  to.labels.push_back(from.labels[static_cast<std::size_t>(image)]);
}

}  // namespace

Data read_data(const std::string& path) {
  const Set all = read_file(path);
  const int held_out = all.size() / 5;
  Data data;
  int count = 0;
  for (const int image : shuffled(all.size(), /*seed=*/1))
    append(all, image, count++ < held_out ? data.held_out : data.train);
  return data;
}

std::vector<int> shuffled(int size, unsigned seed) {
  std::vector<int> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(seed);
  // Not std::shuffle, because its use of the generator differs between standard libraries.
  for (std::size_t left = order.size(); left > 1; --left)
    std::swap(order[left - 1], order[random() % left]);
  return order;
}

}  // namespace digits
