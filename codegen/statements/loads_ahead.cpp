#include "codegen/statements/loads_ahead.h"

#include <algorithm>

namespace sinter {

LoadsAhead::LoadsAhead(KernelWriter& writer, const std::vector<bool>& needed) : writer_(&writer) {
  for (std::size_t value = 0; value < needed.size(); ++value)
    if (needed[value] && writer.may_load_ahead(static_cast<int>(value)))
      loads_.push_back(static_cast<int>(value));
}

int LoadsAhead::words() const {
  int words = 0;
  for (const int load : loads_)
    words += std::max(size_of(writer_->body.values[static_cast<std::size_t>(load)].dtype) *
                          writer_->schedule.vector / 4,
                      1);
  return words;
}

void LoadsAhead::with_arrays(int vectors, const std::function<void()>& inside) {
  for (const int load : loads_) names_.push_back(writer_->declare_ahead(load, vectors));
  inside();
  for (const std::string& name : names_) writer_->release(name);
  names_.clear();
}

void LoadsAhead::write_loads(const std::string& place, const Tile& tile) {
  for (std::size_t i = 0; i < loads_.size(); ++i)
    writer_->write_load_ahead(loads_[i], fmt::format("{}[{}]", names_[i], place), tile);
}

void LoadsAhead::write_vectors(const std::string& place,
                               const std::function<std::string(int)>& vector_of) {
  for (std::size_t i = 0; i < loads_.size(); ++i)
    writer_->out.line(fmt::format("{}[{}] = {};", names_[i], place, vector_of(loads_[i])));
}

void LoadsAhead::with_loads(const std::string& place, const std::function<void()>& inside) {
  for (std::size_t i = 0; i < loads_.size(); ++i)
    writer_->read_ahead(loads_[i], fmt::format("{}[{}]", names_[i], place));
  inside();
  for (const int load : loads_) writer_->read_ahead(load, {});
}

}  // namespace sinter
