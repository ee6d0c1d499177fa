#include "tools/sinter/arguments/options.h"

#include <charconv>
#include <limits>
#include <system_error>

#include <fmt/format.h>

namespace sinter::command {

CLI::Validator one_of(std::span<const char* const> words) {
  return CLI::IsMember(std::vector<std::string>(words.begin(), words.end()));
}

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  return {[=](std::string& text) -> std::string {
            std::uint64_t number = 0;
            const char* const end = text.data() + text.size();
            const auto [stop, error] = std::from_chars(text.data(), end, number);
            if (error != std::errc{} || stop != end || number < least || number > most)
              return fmt::format("{} is not a whole number from {} to {}", text, least, most);
            text = std::to_string(number);  // CLI11 would read leading zeros as octal
            return {};
          },
          ""};
}

void refuse_empty_values(CLI::App& app) {
  const CLI::Validator is_given(
      [](const std::string& text) { return text.empty() ? "the value is empty" : ""; }, "");
  for (CLI::Option* option : app.get_options())
    if (option->get_expected_max() > 0 && option->get_type_size() > 0) option->check(is_given);
  for (CLI::App* command : app.get_subcommands(nullptr)) refuse_empty_values(*command);
}

void add_sizes(CLI::App& command, std::vector<std::string>& sizes) {
  command
      .add_option("--size", sizes,
                  fmt::format("Sizes of symbols; default: {}, or less if values would be large",
                              kDefaultSize))
      ->type_name("NAME=NUMBER")
      ->delimiter(',');
}

void add_graph(CLI::App& command, GraphArguments& arguments) {
  command.add_option("FILE", arguments.file, "A graph in text form; - reads standard input")
      ->type_name("");
  add_sizes(command, arguments.sizes);
}

void add_arch(CLI::App& command, std::string& arch) {
  command.add_option("--arch", arch, "The GPU to plan and compile for: sm_80, h200, ...")
      ->type_name("ARCH")
      ->capture_default_str();
}

void add_numerics(CLI::App& command, NumericsArguments& arguments) {
  command.add_option("--rounding", arguments.rounding, "Rounding of ops on narrow dtypes")
      ->type_name("MODE")
      ->check(CLI::IsMember({"as_recorded", "wide"}))
      ->capture_default_str();
  command.add_option("--math", arguments.math, "Accuracy of f32 functions on GPUs")
      ->type_name("MODE")
      ->check(CLI::IsMember({"accurate", "fast"}))
      ->capture_default_str();
}

void add_device(CLI::App& command, std::string& device) {
  command
      .add_option("--device", device, "Where to run: host or cuda; default: cuda if there is a GPU")
      ->type_name("DEVICE")
      ->check(CLI::IsMember({"host", "cuda"}));
}

void add_quiet(CLI::App& command, bool& quiet) {
  command.add_flag("--quiet", quiet, "Show no progress on the terminal");
}

void add_repeats(CLI::App& command, int& repeats, const char* what) {
  command.add_option("--repeats", repeats, what)
      ->type_name("NUMBER")
      ->transform(whole_number(1, 100'000))
      ->capture_default_str();
}

void add_device_and_seed(CLI::App& command, std::string& device, std::uint64_t& seed) {
  add_device(command, device);
  command.add_option("--seed", seed, "Seed of the random inputs")
      ->type_name("NUMBER")
      ->transform(whole_number(0, std::numeric_limits<std::uint64_t>::max()))
      ->capture_default_str();
}

}  // namespace sinter::command
