#include "runtime/libraries/host/host_conv.h"

#include <limits>
#include <vector>

#include "runtime/libraries/host/gather.h"
#include "runtime/libraries/host/panel_elements.h"

namespace sinter {

namespace {

/// Positions of the image with one remainder modulo the strides, and the taps that reach them. The
/// data gradient at these positions is one product.
struct Phase {
  ConvProblem::Sizes first = {0, 0, 0};  ///< position
  ConvProblem::Sizes positions = {1, 1, 1};
  std::vector<ConvProblem::Sizes> taps;
};

std::vector<Phase> phases_of(const ConvProblem& problem) {
  std::vector<Phase> phases;
  ConvProblem::Sizes counts;
  for (std::size_t i = 0; i < 3; ++i) counts[i] = std::min(problem.strides[i], problem.size[i]);
  const auto is_reached = [&](const Phase& phase, const ConvProblem::Sizes& tap) {
    for (std::size_t i = 0; i < 3; ++i)
      if ((phase.first[i] + problem.padding_begin[i] - tap[i] * problem.dilations[i]) %
              problem.strides[i] !=
          0)
        return false;
    return true;
  };
  for (std::int64_t at = 0; at < product_of(counts); ++at) {
    Phase phase{.first = {at / counts[2] / counts[1], at / counts[2] % counts[1], at % counts[2]}};
    for (std::size_t i = 0; i < 3; ++i)
      phase.positions[i] =
          (problem.size[i] - phase.first[i] + problem.strides[i] - 1) / problem.strides[i];
    const ConvProblem::Sizes& filter = problem.filter_size;
    for (std::int64_t r = 0; r < product_of(filter); ++r) {
      const ConvProblem::Sizes tap = {r / filter[2] / filter[1], r / filter[2] % filter[1],
                                      r % filter[2]};
      if (is_reached(phase, tap)) phase.taps.push_back(tap);
    }
    phases.push_back(std::move(phase));
  }
  return phases;
}

/// The products of a convolution in elements of one dtype and numbers of type T. They refer to this
/// object.
template <class Element, class T>
class ConvProducts {
 public:
  using Storage = typename Element::Storage;

  ConvProducts(const ConvProblem& problem, const ConvArrays& arrays)
      : problem_(problem),
        arrays_(arrays),
        results_(product_of(problem.result_size)),
        taps_(product_of(problem.filter_size)),
        filter_length_(problem.channels_per_group() * taps_) {
    if (problem.kind == ConvKind::data_gradient) phases_ = phases_of(problem);
  }

  std::vector<HostProduct<T>> products() const {
    switch (problem_.kind) {
      case ConvKind::forward: return {forward()};
      case ConvKind::weight_gradient: return {weight_gradient()};
      case ConvKind::data_gradient: break;
    }
    std::vector<HostProduct<T>> products;
    for (const Phase& phase : phases_) products.push_back(data_gradient(phase));
    return products;
  }

 private:
  const Storage* x() const { return static_cast<const Storage*>(arrays_.x); }
  const Storage* w() const { return static_cast<const Storage*>(arrays_.w); }
  const Storage* y() const { return static_cast<const Storage*>(arrays_.y); }

  /// Results are rows of `length` adjacent elements, those of each batch behind one another.
  void store_rows(HostProduct<T>& product, void* result, std::int64_t length) const {
    const std::int64_t matrix = product.m * length;
    if constexpr (std::is_same_v<Storage, T>)
      if (length <= std::numeric_limits<int>::max())
        product.stored_result = [=](std::int64_t batch) {
          return StoredMatrix<T>{.data = static_cast<T*>(result) + batch * matrix,
                                 .stride = length};
        };
    product.store = [=, dtype = problem_.dtype](const Panel& panel, const T* sums) {
      for (std::int64_t i = 0; i < panel.rows; ++i)
        store_elements(dtype, result,
                       panel.batch * matrix + (panel.row + i) * length + panel.column,
                       sums + i * panel.columns, panel.columns);
    };
  }

  /// How a tap reads the image for the results.
  Gather reads_of_tap(std::int64_t tap) const {
    const ConvProblem::Sizes& filter = problem_.filter_size;
    const ConvProblem::Sizes at = {tap / filter[2] / filter[1], tap / filter[2] % filter[1],
                                   tap % filter[2]};
    Gather reads{problem_.result_size, problem_.size, problem_.strides, {}};
    for (std::size_t i = 0; i < 3; ++i)
      reads.base[i] = at[i] * problem_.dilations[i] - problem_.padding_begin[i];
    return reads;
  }

  /// y [filters, results] = w [filters, channels and taps] columns, for each image and group.
  HostProduct<T> forward() const {
    HostProduct<T> product{.batches = problem_.images * problem_.groups,
                           .m = problem_.filters_per_group(),
                           .n = results_,
                           .k = filter_length_};
    const std::int64_t filters = product.m * product.k;  // elements of a group
    if constexpr (std::is_same_v<Storage, T>)
      if (filter_length_ <= std::numeric_limits<int>::max())
        product.stored_a = [=, this](std::int64_t batch) {
          return StoredMatrix<const T>{.data = w() + batch % problem_.groups * filters,
                                       .stride = filter_length_};
        };
    product.pack_a = [=, this](const Panel& panel, T* packed) {
      const Storage* const from = w() + panel.batch % problem_.groups * filters;
      for (std::int64_t i = 0; i < panel.rows; ++i)
        for (std::int64_t j = 0; j < panel.columns; ++j)
          *packed++ = Element::value(from[(panel.row + i) * filter_length_ + panel.column + j]);
    };
    product.pack_b = [this](const Panel& panel, T* packed) {
      const std::int64_t image = panel.batch / problem_.groups;
      const std::int64_t first =
          image * problem_.channels + panel.batch % problem_.groups * problem_.channels_per_group();
      for (std::int64_t i = 0; i < panel.rows; ++i) {
        const std::int64_t channel = (panel.row + i) / taps_, tap = (panel.row + i) % taps_;
        gather<Element>(x() + (first + channel) * product_of(problem_.size), reads_of_tap(tap),
                        panel.column, panel.columns, packed + i * panel.columns, 1);
      }
    };
    store_rows(product, arrays_.y, results_);
    return product;
  }

  /// w [filters, channels and taps] = y [filters, images and results] columns, for each group.
  HostProduct<T> weight_gradient() const {
    HostProduct<T> product{.batches = problem_.groups,
                           .m = problem_.filters_per_group(),
                           .n = filter_length_,
                           .k = problem_.images * results_};
    // Calls part(image, result, offset, count) for the images of a range along k.
    const auto for_images = [results = results_](std::int64_t begin, std::int64_t count,
                                                 const auto& part) {
      for (std::int64_t done = 0; done < count;) {
        const std::int64_t at = (begin + done) % results;
        const std::int64_t run = std::min(count - done, results - at);
        part((begin + done) / results, at, done, run);
        done += run;
      }
    };
    product.pack_a = [=, this, rows = product.m](const Panel& panel, T* packed) {
      for (std::int64_t i = 0; i < panel.rows; ++i)
        for_images(panel.column, panel.columns, [&](auto image, auto at, auto done, auto run) {
          const std::int64_t filter = panel.batch * rows + panel.row + i;
          const Storage* const from = y() + (image * problem_.filters + filter) * results_ + at;
          T* const to = packed + i * panel.columns + done;
          for (std::int64_t j = 0; j < run; ++j) to[j] = Element::value(from[j]);
        });
    };
    product.pack_b = [=, this](const Panel& panel, T* packed) {
      for (std::int64_t j = 0; j < panel.columns; ++j) {
        const std::int64_t column = panel.column + j;
        const std::int64_t channel = panel.batch * problem_.channels_per_group() + column / taps_;
        const Gather reads = reads_of_tap(column % taps_);
        for_images(panel.row, panel.rows, [&](auto image, auto at, auto done, auto run) {
          gather<Element>(x() + (image * problem_.channels + channel) * product_of(problem_.size),
                          reads, at, run, packed + done * panel.columns + j, panel.columns);
        });
      }
    };
    store_rows(product, arrays_.w, filter_length_);
    return product;
  }

  /// x [channels, positions] = w [channels, filters and taps] rows of y, for each image and group,
  /// at the positions of one phase.
  HostProduct<T> data_gradient(const Phase& phase) const {
    const auto taps = static_cast<std::int64_t>(phase.taps.size());
    HostProduct<T> product{.batches = problem_.images * problem_.groups,
                           .m = problem_.channels_per_group(),
                           .n = product_of(phase.positions),
                           .k = problem_.filters_per_group() * taps};
    product.pack_a = [this, taps, &phase](const Panel& panel, T* packed) {
      const std::int64_t group = panel.batch % problem_.groups;
      for (std::int64_t i = 0; i < panel.rows; ++i)
        for (std::int64_t j = 0; j < panel.columns; ++j) {
          const std::int64_t column = panel.column + j;
          const std::int64_t filter = group * problem_.filters_per_group() + column / taps;
          const ConvProblem::Sizes& tap = phase.taps[static_cast<std::size_t>(column % taps)];
          const std::int64_t place =
              (tap[0] * problem_.filter_size[1] + tap[1]) * problem_.filter_size[2] + tap[2];
          *packed++ =
              Element::value(w()[filter * filter_length_ + (panel.row + i) * taps_ + place]);
        }
    };
    product.pack_b = [this, taps, &phase](const Panel& panel, T* packed) {
      const std::int64_t first = panel.batch * problem_.filters_per_group();
      for (std::int64_t i = 0; i < panel.rows; ++i) {
        const std::int64_t row = panel.row + i;
        const ConvProblem::Sizes& tap = phase.taps[static_cast<std::size_t>(row % taps)];
        Gather reads{phase.positions, problem_.result_size, {1, 1, 1}, {}};
        for (std::size_t a = 0; a < 3; ++a)
          reads.base[a] =
              (phase.first[a] + problem_.padding_begin[a] - tap[a] * problem_.dilations[a]) /
              problem_.strides[a];
        gather<Element>(y() + (first + row / taps) * results_, reads, panel.column, panel.columns,
                        packed + i * panel.columns, 1);
      }
    };
    if (phases_.size() == 1) {
      store_rows(product, arrays_.x, product.n);
      return product;
    }
    product.store = [this, &phase, rows = product.m](const Panel& panel, const T* sums) {
      for (std::int64_t i = 0; i < panel.rows; ++i)
        for (std::int64_t j = 0; j < panel.columns; ++j)
          store_element(problem_.dtype, arrays_.x,
                        (panel.batch * rows + panel.row + i) * product_of(problem_.size) +
                            place_of(phase, panel.column + j),
                        sums[i * panel.columns + j]);
    };
    return product;
  }

  /// The position in the image of position `at` of a phase.
  std::int64_t place_of(const Phase& phase, std::int64_t at) const {
    const ConvProblem::Sizes position = {at / phase.positions[2] / phase.positions[1],
                                         at / phase.positions[2] % phase.positions[1],
                                         at % phase.positions[2]};
    std::int64_t place = 0;
    for (std::size_t a = 0; a < 3; ++a)
      place = place * problem_.size[a] + phase.first[a] + position[a] * problem_.strides[a];
    return place;
  }

  const ConvProblem problem_;
  const ConvArrays arrays_;
  const std::int64_t results_;        ///< positions of y
  const std::int64_t taps_;           ///< positions of a filter
  const std::int64_t filter_length_;  ///< elements of a filter
  std::vector<Phase> phases_;
};

/// Calls `body` with the products of a convolution.
template <class Body>
void with_products(const ConvProblem& problem, const ConvArrays& arrays, const Body& body) {
  with_element(problem.dtype, [&](auto element) {
    using Element = decltype(element);
    using Number = decltype(Element::value({}));
    if constexpr (std::is_floating_point_v<Number>) {
      const ConvProducts<Element, Number> products(problem, arrays);
      body(products.products());
    }
  });
}

}  // namespace

std::int64_t host_conv_workspace(const ConvProblem& problem, const HostBlas& blas) {
  std::int64_t most = 0;
  with_products(problem, {}, [&](const auto& products) {
    for (const auto& product : products) most = std::max(most, workspace_bytes(product, blas));
  });
  return most;
}

void host_conv(const ConvProblem& problem, const ConvArrays& arrays, const HostBlas& blas,
               const HostWorkspace& workspace) {
  with_products(problem, arrays, [&](const auto& products) {
    for (const auto& product : products)
      if (product.batches > 0 && product.m > 0 && product.n > 0) multiply(product, blas, workspace);
  });
}

}  // namespace sinter
