#include "tools/sinter/files/npy.h"

#include "ir/shape/strided_iterator.h"
#include "sinter/error.h"
#include "sinter/shape.h"
#include "tools/sinter/arguments/arguments.h"
#include "tools/sinter/files/npy_header.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sinter::command {

namespace {

/// NumPy's own limit is 10,000 bytes.
constexpr std::size_t kMaxHeaderBytes = 1 << 16;

class NpyFile {
 public:
  explicit NpyFile(const std::string& name) : name_(name) {
    std::error_code error;
    if (std::filesystem::is_directory(name, error)) throw unreadable("it is a directory");
    stream_.reset(std::fopen(name.c_str(), "rb"));
    if (!stream_) throw unreadable(std::strerror(errno));
    const std::uintmax_t size = std::filesystem::file_size(name, error);
    if (error) throw unreadable("it is not a regular file; write the data of a pipe to one");
    left_ = size;
  }

  /// The number of bytes that were not read yet.
  std::uintmax_t left() const { return left_; }

  void read(void* to, std::size_t count, const char* what) {
    if (count > left_ || std::fread(to, 1, count, stream_.get()) != count)
      throw broken(fmt::format("it ends within {}; write it again", what));
    left_ -= count;
  }

  UserError broken(const std::string& why) const {
    return UserError(fmt::format("{}: {}", name_, why));
  }

 private:
  UsageError unreadable(const std::string& why) const {
    return UsageError(fmt::format("{} cannot be read: {}", name_, why));
  }

  std::string name_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream_{nullptr, &std::fclose};
  std::uintmax_t left_ = 0;
};

NpyHeader read_header(NpyFile& file) {
  unsigned char start[8] = {};
  file.read(start, sizeof start, "the first 8 bytes, which identify a .npy file");
  if (std::memcmp(start, kNpyMagic.data(), kNpyMagic.size()) != 0)
    throw file.broken(
        "it is not a .npy file: it does not begin with \\x93NUMPY; write it with numpy.save");
  const int version = start[6];
  if (version < 1 || version > 3)
    throw file.broken(
        fmt::format("its format is version {}.{}; known are 1.0 to 3.0: write it with numpy.save",
                    version, start[7]));
  unsigned char length[4] = {};
  file.read(length, version == 1 ? 2 : 4, "its header");
  const std::size_t bytes = length[0] | std::size_t{length[1]} << 8 | std::size_t{length[2]} << 16 |
                            std::size_t{length[3]} << 24;
  if (bytes > kMaxHeaderBytes)
    throw file.broken(fmt::format("its header has {} bytes; headers of arrays have at most {}",
                                  bytes, kMaxHeaderBytes));
  std::string dictionary(bytes, '\0');
  file.read(dictionary.data(), bytes, "its header");
  try {
    return parse_npy_header(dictionary);
  } catch (const UserError& error) {
    throw file.broken(error.what());
  }
}

void check_dtype(const NpyFile& file, const NpyHeader& header, DType dtype) {
  if (is_npy_descr_of(header.descr, dtype)) return;
  throw file.broken(fmt::format(
      "its elements are '{}', but the graph expects {}: '{}'; convert it with astype({})",
      header.descr, name(dtype), npy_descr(dtype), numpy_dtype(dtype)));
}

/// Column-major strides.
std::vector<std::int64_t> column_major(std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t axis = 1; axis < shape.size(); ++axis)
    strides[axis] = strides[axis - 1] * shape[axis - 1];
  return strides;
}

/// Throws UserError if the size of the elements differs from the rest of the file. Called before
/// the array is allocated.
void check_size(const NpyFile& file, const NpyHeader& header, DType dtype) {
  const std::span<const std::int64_t> shape = header.shape;
  if (shape.size() > kMaxRank)
    throw file.broken(
        fmt::format("it has {} axes; arrays have at most {}", shape.size(), kMaxRank));
  // Strides are products of extents, too, so the product must fit even if an extent is 0.
  std::int64_t bytes = size_of(dtype);
  bool overflows = false;
  for (const std::int64_t extent : shape)
    overflows |= __builtin_mul_overflow(bytes, std::max<std::int64_t>(extent, 1), &bytes);
  if (std::ranges::count(shape, 0) > 0) bytes = 0;
  if (!overflows && static_cast<std::uintmax_t>(bytes) == file.left()) return;
  throw file.broken(fmt::format(
      "its shape ({}) of '{}' takes {} bytes, but {} follow; write it again",
      fmt::join(shape, ", "), header.descr,
      overflows ? std::string("more than 2^63") : fmt::format("{}", bytes), file.left()));
}

void check_bools(const NpyFile& file, const HostArray& array) {
  const auto bad =
      std::ranges::find_if(array.bytes(), [](std::byte b) { return b > std::byte{1}; });
  if (bad != array.bytes().end())
    throw file.broken(fmt::format("element {} of its bools is the byte {}; only 0 and 1 are bools",
                                  bad - array.bytes().begin(), std::to_integer<int>(*bad)));
}

}  // namespace

HostArray read_npy(const std::string& name, DType dtype) {
  NpyFile file(name);
  const NpyHeader header = read_header(file);
  check_dtype(file, header, dtype);
  check_size(file, header, dtype);
  HostArray array(dtype, header.shape,
                  header.is_fortran_order ? column_major(header.shape) : row_major(header.shape));
  file.read(array.bytes().data(), array.bytes().size(), "its elements");
  if (dtype == DType::boolean) check_bools(file, array);
  return array;
}

void write_npy(const std::string& file, const HostArray& array) {
  HostArray plain(array.dtype(), {array.shape().begin(), array.shape().end()});
  copy_elements(array, plain);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(file.c_str(), "wb"),
                                                               &std::fclose);
  const auto fail = [&] {
    return UserError(fmt::format("{} cannot be written: {}", file, std::strerror(errno)));
  };
  if (!stream) throw fail();
  const std::string head = npy_head(plain.dtype(), plain.shape());
  const auto put = [&](const void* from, std::size_t count) {
    if (count > 0 && std::fwrite(from, 1, count, stream.get()) != count) throw fail();
  };
  put(head.data(), head.size());
  put(plain.bytes().data(), plain.bytes().size());
  if (std::fflush(stream.get()) != 0) throw fail();
}

void copy_elements(const HostArray& from, HostArray& to) {
  ensure(from.dtype() == to.dtype() && std::ranges::equal(from.shape(), to.shape()),
         "elements are copied between arrays of one dtype and shape");
  if (std::ranges::equal(from.strides(), to.strides()) &&
      std::ranges::equal(from.strides(), row_major(from.shape()))) {
    std::ranges::copy(from.bytes(), to.bytes().begin());
    return;
  }
  const auto size = static_cast<std::size_t>(size_of(from.dtype()));
  StridedIterator iterator(from.shape(), {{from.strides().begin(), from.strides().end()},
                                          {to.strides().begin(), to.strides().end()}});
  for (std::int64_t i = 0; i < from.size(); ++i, iterator.next())
    std::memcpy(to.bytes().data() + static_cast<std::size_t>(iterator.offset(1)) * size,
                from.bytes().data() + static_cast<std::size_t>(iterator.offset(0)) * size, size);
}

}  // namespace sinter::command
